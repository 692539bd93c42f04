import type { Log } from "../../shared/deps.ts";

/** An unhandled promise rejection is a bug, but it affects only one request, so keep the process running. */
export function outliveRejections(log: Log): void {
  process.on("unhandledRejection", (reason) => {
    // Log message and stack only, because an error may carry other data.
    const { message, stack } = reason instanceof Error ? reason : new Error(`a ${typeof reason}`);
    log.error("unhandled promise rejection", { error: message, stack });
  });
}
