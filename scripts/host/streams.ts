import { type ChildProcess, spawn } from "node:child_process";
import { get } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Failure } from "../failure.ts";

const SCRIPT = join(fileURLToPath(new URL("..", import.meta.url)), "streams.ts");
const READY_LIMIT_MS = 15_000;

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

/** True once anything answers HTTP there; the connection is not kept, so that it delays no later stop. */
function answers(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get(`${url}/api/health`, { agent: false, timeout: 1_000 }, (answer) => {
      answer.resume();
      resolve(true);
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(false));
  });
}

/** Starts the long-lived process that serves streams, and waits until it answers. */
export async function serveStreams(options: StreamsOptions): Promise<Streams> {
  const { host, port, env, log } = options;
  let child: ChildProcess | undefined;
  let wanted = true;

  function start(): void {
    const born = spawn(process.execPath, [SCRIPT], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH: process.env.PATH, ...env, HOST: host, STREAMS_PORT: String(port) },
    });
    child = born;
    for (const output of [born.stdout, born.stderr])
      if (output) createInterface({ input: output }).on("line", log);
    const again = (why: Record<string, unknown>) => {
      if (!wanted) return;
      const msg = "the streams process stopped; starting it again";
      log(JSON.stringify({ level: "warn", msg, ...why }));
      setTimeout(() => wanted && start(), 500);
    };
    born.once("exit", (code, signal) => again({ code, signal }));
    // One that never began does not end either.
    born.on("error", (error) => born.pid === undefined && again({ error: error.message }));
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
  const url = `http://${host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host}:${port}`;
  const deadline = Date.now() + READY_LIMIT_MS;
  while (!(await answers(url))) {
    if (Date.now() > deadline) {
      await stop();
      throw new Failure(
        `The streams process did not answer on port ${port} within ${READY_LIMIT_MS / 1000} s.`,
      );
    }
    await delay(50);
  }
  const kill = (signal: NodeJS.Signals = "SIGKILL") => void child?.kill(signal);
  return { url, kill, stop, [Symbol.asyncDispose]: stop };
}
