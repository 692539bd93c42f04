import { spawn } from "node:child_process";
import { programsIn } from "../bundle/layout.ts";
import { systemVariables } from "../process/environment.ts";
import { retryDelay, supervise } from "../process/supervise.ts";
import type { Functions, FunctionsOptions } from "./functions.ts";
import { drainMs } from "./shutdown.ts";

/**
 * Node options that save memory. Most objects live only during one request, so a small memory area for new objects is
 * enough. Turning off the middle compiler (Maglev) saves 15 MiB of fragmented memory. The last option makes the
 * optimizing compiler start earlier; otherwise the host would have half its speed in the first five seconds.
 */
const FLAGS = [
  "--max-semi-space-size=4",
  "--heap-growing-percent=30",
  "--no-maglev",
  "--invocation-count-for-turbofan=500",
];

/** Serves the platform from a Node process, and restarts the process if it dies. */
export async function serveProcess(options: FunctionsOptions): Promise<Functions> {
  const { host, port, bindings, log, programs, givenUp } = options;
  const { NODE_COMPILE_CACHE } = process.env;
  const child = supervise({
    failure: "The host did not start",
    spawn: () =>
      spawn(process.execPath, [...FLAGS, programsIn(programs).host], {
        stdio: ["ignore", "pipe", "pipe", "ipc"],
        // With several memory arenas in the C library, memory that one thread has freed cannot be used by others. So
        // use only one.
        env: {
          ...systemVariables(),
          NODE_COMPILE_CACHE,
          MALLOC_ARENA_MAX: "1",
          ...bindings,
          HOST: host,
          PORT: String(port),
        },
      }),
    readyLimitMs: 20_000,
    graceMs: 5_000 + drainMs(bindings.HOST_DRAIN_SECONDS),
    line: log,
    retryMs: ({ failures, served }) => (served ? retryDelay(failures, 100, 3_000) : undefined),
    restarting: (why) =>
      log(JSON.stringify({ level: "warn", message: "the host stopped; starting it again", why })),
    givenUp,
  });
  await child.start();
  const stop = () => child.stop();
  return { url: `http://localhost:${port}`, stop, [Symbol.asyncDispose]: stop };
}
