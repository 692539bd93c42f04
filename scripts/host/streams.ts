import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemVariables } from "../process/environment.ts";
import { backoff, supervise } from "../process/supervise.ts";

const SCRIPT = join(fileURLToPath(new URL("..", import.meta.url)), "streams.ts");
/** After this many failed starts in a row, the streams process is not started again. */
const MOST_FAILURES = 4;

export interface StreamsOptions {
  host: string;
  port: number;
  /** Environment variables of the process, in addition to those that every child process gets. */
  env: Record<string, string>;
  log: (line: string) => void;
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
  const { host, port, env, log } = options;
  const { NODE_COMPILE_CACHE } = process.env;
  const child = supervise({
    failure: "The streams process does not start",
    spawn: () =>
      spawn(process.execPath, [SCRIPT], {
        stdio: ["ignore", "pipe", "pipe", "ipc"],
        env: { ...systemVariables(), NODE_COMPILE_CACHE, ...env, HOST: host, STREAMS_PORT: String(port) },
      }),
    readyLimitMs: 15_000,
    graceMs: 3_000,
    line: log,
    retryMs({ failures, served, ended }) {
      // If the first start fails with a reported error, do not retry it, because the operator must fix the cause.
      if (failures >= MOST_FAILURES || (!served && !ended)) return undefined;
      return backoff(failures, 500, 3_000);
    },
    restarting: (why) =>
      log(JSON.stringify({ level: "warn", message: "the streams process stopped; starting it again", why })),
    // Only log the failure: the platform continues without the streams process.
    givenUp: ({ message }) => log(JSON.stringify({ level: "error", message })),
  });
  await child.start();
  const url = `http://${host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host}:${port}`;
  const kill = (signal: NodeJS.Signals = "SIGKILL") => void child.kill(signal);
  const stop = () => child.stop();
  return { url, kill, stop, [Symbol.asyncDispose]: stop };
}
