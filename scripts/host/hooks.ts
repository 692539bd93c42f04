import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { systemVariables } from "../process/environment.ts";
import { backoff, supervise } from "../process/supervise.ts";

const SCRIPT = fileURLToPath(new URL("../hooks/main.ts", import.meta.url));

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
}): Promise<HooksProcess> {
  const { env, log } = options;
  const { NODE_COMPILE_CACHE } = process.env;
  const child = supervise({
    failure: "The hooks process does not start",
    spawn: () =>
      spawn(process.execPath, [SCRIPT], {
        stdio: ["ignore", "pipe", "pipe", "ipc"],
        env: { ...systemVariables(), NODE_COMPILE_CACHE, ...env },
      }),
    readyLimitMs: 15_000,
    graceMs: 12_000,
    line: log,
    retryMs: ({ failures, served, ended }) => (served || ended ? backoff(failures, 500, 5_000) : undefined),
    restarting: (why) =>
      log(JSON.stringify({ level: "warn", message: "the hooks process stopped; starting it again", why })),
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
