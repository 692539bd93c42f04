import type { Log } from "../../shared/deps.ts";

/**
 * A process that serves everybody outlives a promise that failed while nobody waited for it: that is a defect, and the
 * log tells it with its stack, but it is one request's.
 */
export function outliveRejections(log: Log): void {
  process.on("unhandledRejection", (reason) => {
    // Its words and where it comes from, and nothing else that it may carry.
    const { message, stack } = reason instanceof Error ? reason : new Error(`a ${typeof reason}`);
    log.error("a promise failed that nobody waited for", { error: message, stack });
  });
}
