import type { Failure } from "./failure.ts";

/** Returns a signal that aborts on the first stop signal, or when the parent process has ended. */
export function stopRequest(): AbortSignal {
  const controller = new AbortController();
  const stop = () => controller.abort();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, stop);
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) stop();
  }, 500).unref();
  return controller.signal;
}

/** Something that runs until it is stopped. */
export interface Stoppable {
  /** Resolves when one of its processes has died and cannot be started again. */
  readonly failed: Promise<Failure>;
  stop(): Promise<void>;
}

/**
 * Waits for a stop signal, then stops everything. Also stops everything after a failure, so that the service manager of
 * the machine starts it anew.
 * @throws Failure that says which process cannot be started again
 */
export async function untilStopped(running: Stoppable, stopped: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  stopped.addEventListener("abort", () => resolve(undefined));
  if (stopped.aborted) resolve(undefined);
  const failure = await Promise.race([promise, running.failed]);
  await running.stop();
  if (failure !== undefined) throw failure;
}
