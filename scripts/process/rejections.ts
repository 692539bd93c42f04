import type { Log } from "../../shared/deps.ts";

/** Keeps the process running after an unhandled promise rejection. It is a bug, but it affects only one request. */
export function outliveRejections(log: Log): void {
  process.on("unhandledRejection", (reason) => {
    // Log only the message and the stack, because an error may contain other data.
    const { message, stack } = reason instanceof Error ? reason : new Error(`a ${typeof reason}`);
    log.error("unhandled promise rejection", { error: message, stack });
  });
}
