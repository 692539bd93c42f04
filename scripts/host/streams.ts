import { spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { backoff, supervise } from "../process/supervise.ts";

const SCRIPT = join(fileURLToPath(new URL("..", import.meta.url)), "streams.ts");
/** Starts in a row that fail until it is given up. */
const MOST_FAILURES = 4;

/** What to run. */
export interface StreamsOptions {
  host: string;
  port: number;
  /** The process's variables beside PATH; it sees nothing else of ours. */
  env: Record<string, string>;
  log: (line: string) => void;
}

/** The streams process, watched: when it dies it is started again. */
export interface Streams extends AsyncDisposable {
  readonly url: string;
  /** Sends the running process a signal; by default it is killed outright, and started again. */
  kill(signal?: NodeJS.Signals): void;
  stop(): Promise<void>;
}

/**
 * Starts the long-lived process that serves streams, and waits until it says that it does: whatever else answers on
 * its port is not it.
 * @throws Failure in one line when it does not
 */
export async function serveStreams(options: StreamsOptions): Promise<Streams> {
  const { host, port, env, log } = options;
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = supervise({
    failure: "The streams process does not start",
    spawn: () =>
      spawn(process.execPath, [SCRIPT], {
        stdio: ["ignore", "pipe", "pipe", "ipc"],
        env: { PATH, NODE_COMPILE_CACHE, ...env, HOST: host, STREAMS_PORT: String(port) },
      }),
    readyLimitMs: 15_000,
    graceMs: 3_000,
    line: log,
    retryMs({ failures, served, ended }) {
      // What it tells of itself the person at the terminal must mend: that ends the first start at once.
      if (failures >= MOST_FAILURES || (!served && !ended)) return undefined;
      return backoff(failures, 500, 3_000);
    },
    restarting: (why) =>
      log(JSON.stringify({ level: "warn", message: "the streams process stopped; starting it again", why })),
    // Everything else goes on without it.
    givenUp: ({ message }) => log(JSON.stringify({ level: "error", message })),
  });
  await child.start();
  const url = `http://${host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host}:${port}`;
  const kill = (signal: NodeJS.Signals = "SIGKILL") => void child.kill(signal);
  const stop = () => child.stop();
  return { url, kill, stop, [Symbol.asyncDispose]: stop };
}
