import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Failure } from "../failure.ts";

const SCRIPT = join(fileURLToPath(new URL("..", import.meta.url)), "streams.ts");
const READY_LIMIT_MS = 15_000;
/** Lives in a row that end before anything is served, until it is given up; each waits twice as long as the one before. */
const MOST_STILLBORN = 4;
const FIRST_WAIT_MS = 500;

/** What the process tells who started it: that it serves, or in one line why it cannot. */
export type StreamsWord = { ready: true } | { failure: string };

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
  const ready = Promise.withResolvers<void>();
  let child: ChildProcess | undefined;
  let wanted = true;
  let stillborn = 0;
  let begun = false;

  function start(): void {
    const born = spawn(process.execPath, [SCRIPT], {
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      env: { PATH: process.env.PATH, ...env, HOST: host, STREAMS_PORT: String(port) },
    });
    child = born;
    let served = false;
    let last = "it said nothing";
    let told: string | undefined;
    for (const output of [born.stdout, born.stderr]) {
      if (output === null) continue;
      createInterface({ input: output }).on("line", (line) => {
        last = line;
        log(line);
      });
    }
    born.on("message", (word: StreamsWord) => {
      if ("failure" in word) {
        told = word.failure;
        return;
      }
      served = true;
      begun = true;
      stillborn = 0;
      ready.resolve();
    });
    let over = false;
    const ended = (exit: Record<string, unknown>) => {
      if (!wanted || over) return;
      over = true;
      if (!served) stillborn += 1;
      // What it tells of itself the person at the terminal must mend: that ends a start at once.
      if ((told !== undefined && !begun) || stillborn >= MOST_STILLBORN) return giveUp(told ?? last);
      const message = "the streams process stopped; starting it again";
      const why = told === undefined ? {} : { why: told };
      log(JSON.stringify({ level: "warn", message, ...exit, ...why }));
      setTimeout(() => wanted && start(), FIRST_WAIT_MS * 2 ** Math.max(0, stillborn - 1));
    };
    // After the last of its output, which says why it ended.
    born.once("close", (code, signal) => ended({ code, signal }));
    // One that never began does not end either.
    born.on("error", (error) => {
      last = error.message;
      if (born.pid === undefined) ended({ error: error.message });
    });
  }

  /** Before it ever served, this ends the start; later everything else goes on without it. */
  function giveUp(why: string): void {
    const message = `The streams process does not start: ${why}`;
    if (begun) log(JSON.stringify({ level: "error", message }));
    else ready.reject(new Failure(message));
  }

  async function stop(): Promise<void> {
    wanted = false;
    const dying = child;
    if (dying?.pid === undefined || dying.exitCode !== null || dying.signalCode !== null) return;
    const gone = new Promise((resolve) => dying.once("exit", resolve));
    dying.kill("SIGTERM");
    const timer = setTimeout(() => dying.kill("SIGKILL"), 3_000);
    await gone;
    clearTimeout(timer);
  }

  start();
  const timer = setTimeout(
    () =>
      ready.reject(
        new Failure(`The streams process did not answer on port ${port} within ${READY_LIMIT_MS / 1000} s.`),
      ),
    READY_LIMIT_MS,
  );
  try {
    await ready.promise;
  } catch (error) {
    await stop();
    throw error;
  } finally {
    clearTimeout(timer);
  }
  const url = `http://${host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host}:${port}`;
  const kill = (signal: NodeJS.Signals = "SIGKILL") => void child?.kill(signal);
  return { url, kill, stop, [Symbol.asyncDispose]: stop };
}
