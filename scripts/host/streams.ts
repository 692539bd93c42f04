import { spawn } from "node:child_process";
import { programsIn } from "../bundle/layout.ts";
import { systemVariables } from "../process/environment.ts";
import type { Failure } from "../process/failure.ts";
import { retryDelay, supervise } from "../process/supervise.ts";

export interface StreamsOptions {
  host: string;
  port: number;
  /** Environment variables of the process, in addition to those that every child process gets. */
  env: Record<string, string>;
  log: (line: string) => void;
  /** Folder that `buildPrograms` wrote. */
  programs: string;
  /** Called when the process died and cannot be started again. */
  givenUp?: ((failure: Failure) => void) | undefined;
}

export interface Streams extends AsyncDisposable {
  readonly url: string;
  /** Sends a signal to the process, SIGKILL by default. The process then starts again. */
  kill(signal?: NodeJS.Signals): void;
  stop(): Promise<void>;
}

/**
 * Starts the streams process. Waits until the process itself reports that it is ready: a request to its port is no
 * proof, because another program may answer there.
 */
export async function serveStreams(options: StreamsOptions): Promise<Streams> {
  const { host, port, env, log, programs, givenUp } = options;
  const { NODE_COMPILE_CACHE } = process.env;
  const child = supervise({
    failure: "The streams process does not start",
    spawn: () =>
      spawn(process.execPath, [programsIn(programs).streams], {
        stdio: ["ignore", "pipe", "pipe", "ipc"],
        env: { ...systemVariables(), NODE_COMPILE_CACHE, ...env, HOST: host, STREAMS_PORT: String(port) },
      }),
    readyLimitMs: 15_000,
    graceMs: 3_000,
    line: log,
    retryMs({ failures, served, ended }) {
      // If the first start fails with a reported error, do not retry it, because the operator must fix the cause.
      return served || ended ? retryDelay(failures, 500, 3_000) : undefined;
    },
    restarting: (why) =>
      log(JSON.stringify({ level: "warn", message: "the streams process stopped; starting it again", why })),
    givenUp,
  });
  await child.start();
  const url = `http://${host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host}:${port}`;
  const kill = (signal: NodeJS.Signals = "SIGKILL") => void child.kill(signal);
  const stop = () => child.stop();
  return { url, kill, stop, [Symbol.asyncDispose]: stop };
}
