import { spawn } from "node:child_process";
import { programsIn } from "../bundle/layout.ts";
import { systemVariables } from "../process/environment.ts";
import type { Failure } from "../process/failure.ts";
import { retryDelay, supervise } from "../process/supervise.ts";

export interface HooksProcess extends AsyncDisposable {
  /** Process id. Undefined while the process is restarting. */
  readonly pid: number | undefined;
  stop(): Promise<void>;
}

/** Starts the hooks process, which runs after-write hooks and schedules. Restarts the process whenever it exits. */
export async function serveHooks(options: {
  /** Environment variables of the process, in addition to those that every child process gets. */
  env: Record<string, string>;
  log: (line: string) => void;
  /** Folder that `buildPrograms` wrote. */
  programs: string;
  /** Called when the process died and cannot be started again. */
  givenUp?: ((failure: Failure) => void) | undefined;
}): Promise<HooksProcess> {
  const { env, log, programs, givenUp } = options;
  const { NODE_COMPILE_CACHE } = process.env;
  const child = supervise({
    failure: "The hooks process does not start",
    spawn: () =>
      spawn(process.execPath, [programsIn(programs).hooks], {
        stdio: ["ignore", "pipe", "pipe", "ipc"],
        env: { ...systemVariables(), NODE_COMPILE_CACHE, ...env },
      }),
    readyLimitMs: 15_000,
    graceMs: 12_000,
    line: log,
    retryMs: ({ failures, served, ended }) =>
      served || ended ? retryDelay(failures, 500, 5_000) : undefined,
    restarting: (why) =>
      log(JSON.stringify({ level: "warn", message: "the hooks process stopped; starting it again", why })),
    givenUp,
  });
  await child.start();
  const stop = () => child.stop();
  return {
    get pid() {
      return child.pid;
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
