/**
 * Supervises child processes: starts a process and waits until it is ready, restarts it when it dies, and stops it
 * completely.
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "./failure.ts";

/** A message from a child process. It says that the process is ready, or why it cannot start. */
export type Word = { ready: true } | { failure: string };

export interface FailedStart {
  /** Number of failures in a row; 0 if the process had been ready and then died. */
  failures: number;
  /** Whether the process has been ready at least once since {@link Supervised.start}. */
  served: boolean;
  /** Whether the process simply exited: it neither reported a reason nor took too long. */
  ended: boolean;
}

export interface Program {
  /** Beginning of the error message if the start fails, such as "The host did not start". */
  failure: string;
  spawn(): ChildProcess;
  /**
   * Text in the line of output that says that the process is ready. Without it, the process must send a {@link Word}.
   */
  readyLine?: string;
  /** Maximum milliseconds within which the process must be ready. */
  readyLimitMs: number;
  /** Milliseconds between the stop signal and SIGKILL. */
  graceMs: number;
  line?(line: string): void;
  /** Returns why the process exited, derived from its last lines of output. Default: the first line of its error. */
  reason?(lines: readonly string[]): string | undefined;
  /** Called when the process is ready. If this call fails, the start has failed. @param isRunning whether it still runs */
  served?(isRunning: () => boolean): Promise<void>;
  /** Returns the milliseconds to wait before the next start; undefined to give up. */
  retryMs(start: FailedStart): number | undefined;
  restarting(why: string): void;
  restarted?(): void;
  /** Called when no further restart is attempted. */
  givenUp?: ((failure: Failure) => void) | undefined;
}

export interface Supervised {
  /** Process id; undefined while no process is running. */
  readonly pid: number | undefined;
  /** @throws Failure if the process does not become ready */
  start(): Promise<void>;
  /** After a crash, resolves when the process is ready again, or when no further restart is attempted. */
  settled(): Promise<void>;
  /** Sends a signal and resolves when the process has ended. The process then starts again. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Stops the process for good, even while it is being restarted. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Returns the delay for exponential backoff: `firstMs` after the first failure, and at most `mostMs`. */
export function backoff(failures: number, firstMs: number, mostMs: number): number {
  return Math.min(firstMs * 2 ** Math.max(0, failures - 1), mostMs);
}

/** After this many failed starts in a row, a program is given up, and the process that started it ends. */
const MOST_FAILURES = 8;

/**
 * Returns the milliseconds until the next start, with exponential backoff. Returns undefined after too many failures:
 * the caller must then end, so that the service manager of the machine starts everything anew.
 */
export function retryDelay(failures: number, firstMs: number, mostMs: number): number | undefined {
  return failures >= MOST_FAILURES ? undefined : backoff(failures, firstMs, mostMs);
}

const KEPT_LINES = 50;

/** Milliseconds to wait for the last output of a process that has ended. */
const LAST_OUTPUT_MS = 500;

/**
 * Returns the first line of the error that ended a Node process. Node prints a source line and `throw err;` before it,
 * and the stack and Node's version after it.
 */
function errorIn(lines: readonly string[]): string | undefined {
  return lines.findLast((line) => /^(Uncaught )?[\w.]*(Error|Failure|Exception)\b|^FATAL ERROR: /.test(line));
}

/** Returns the last line of a process that failed to start, without lines of the log and of a stack. */
function lastWords(lines: readonly string[]): string | undefined {
  return lines.findLast((line) => /^[^\s{}]/.test(line) && !line.startsWith("Node.js v"));
}

class StartFailure extends Failure {
  readonly why: string;
  readonly ended: boolean;

  constructor(failure: string, why: string, ended: boolean) {
    super(`${failure}: ${why}`);
    this.why = why;
    this.ended = ended;
  }
}

function endedBy({ exitCode, signalCode }: ChildProcess): string {
  return `it exited with ${exitCode ?? signalCode}`;
}

function isGone(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

/**
 * Ends a process and waits until it has ended.
 * @param graceMs milliseconds until SIGKILL
 */
export async function endChild(child: ChildProcess, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  if (isGone(child)) return;
  const gone = once(child, "exit");
  child.kill(signal);
  const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
  await gone;
  clearTimeout(timer);
}

/**
 * Waits until a process is ready.
 * @returns its last lines of output, which later lines join
 */
async function serving(program: Program, child: ChildProcess): Promise<readonly string[]> {
  const { readyLine, readyLimitMs } = program;
  const lines: string[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (why: string, ended = false) => reject(new StartFailure(program.failure, why, ended));
  const reason = program.reason ?? ((all) => errorIn(all) ?? lastWords(all));
  const why = () => reason(lines) ?? endedBy(child);
  for (const output of [child.stdout, child.stderr]) {
    if (output === null) continue;
    createInterface({ input: output }).on("line", (line) => {
      lines.push(line);
      if (lines.length > KEPT_LINES) lines.shift();
      program.line?.(line);
      if (readyLine !== undefined && line.includes(readyLine)) resolve();
    });
  }
  child.on("message", (word: Word) => ("ready" in word ? resolve() : fail(word.failure)));
  child.on("error", (error) => fail(error.message, child.pid === undefined));
  // The output says why the process ended, so wait for the end of the output (`close`), not of the process (`exit`).
  child.once("close", () => fail(why(), true));
  const timer = setTimeout(fail, readyLimitMs, `it was not ready within ${readyLimitMs / 1000} s`);
  try {
    await promise;
    await program.served?.(() => !isGone(child));
  } finally {
    clearTimeout(timer);
  }
  // The process may have died since it reported that it is ready.
  if (isGone(child)) throw new StartFailure(program.failure, why(), true);
  return lines;
}

/** Waits until all output of a process that has ended was read. */
async function lastOutput(child: ChildProcess): Promise<void> {
  const outputs = [child.stdout, child.stderr].flatMap((output) =>
    output === null || output.closed ? [] : [output],
  );
  const timeout = delay(LAST_OUTPUT_MS, undefined, { ref: false });
  await Promise.race([Promise.all(outputs.map((output) => once(output, "close"))), timeout]);
}

export function supervise(program: Program): Supervised {
  let child: ChildProcess | undefined;
  let stopping = new AbortController();
  let served = false;
  let reviving: Promise<void> | undefined;

  /** @throws StartFailure after the process has ended */
  async function startOnce(): Promise<void> {
    let born: ChildProcess | undefined;
    let lines: readonly string[];
    try {
      born = child = program.spawn();
      lines = await serving(program, born);
    } catch (error) {
      // End a process whose start failed. Otherwise it would continue to run together with its replacement.
      if (born !== undefined) await endChild(born, "SIGKILL", program.graceMs);
      if (error instanceof StartFailure) throw error;
      throw new StartFailure(program.failure, error instanceof Error ? error.message : String(error), false);
    }
    served = true;
    const { signal } = stopping;
    const ended = born;
    born.once("exit", () => {
      if (signal.aborted || child !== ended) return;
      child = undefined;
      reviving = lastOutput(ended).then(() => revive(errorIn(lines) ?? endedBy(ended), signal));
    });
  }

  /** @throws StartFailure the error of the last attempt */
  async function keepStarting(failure?: StartFailure): Promise<void> {
    const { signal } = stopping;
    let last = failure;
    for (let failures = 0; ; failures++) {
      if (last !== undefined) {
        const wait = program.retryMs({ failures, served, ended: last.ended });
        if (wait === undefined || signal.aborted) throw last;
        program.restarting(last.why);
        await delay(wait, undefined, { signal }).catch(() => undefined);
        if (signal.aborted) throw last;
      }
      try {
        return await startOnce();
      } catch (error) {
        if (!(error instanceof StartFailure)) throw error;
        last = error;
      }
    }
  }

  async function revive(why: string, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    try {
      await keepStarting(new StartFailure(program.failure, why, true));
      program.restarted?.();
    } catch (error) {
      if (!signal.aborted) program.givenUp?.(error instanceof Failure ? error : new Failure(String(error)));
    }
  }

  return {
    get pid() {
      return child?.pid;
    },
    async start() {
      stopping = new AbortController();
      served = false;
      await keepStarting();
    },
    async settled() {
      await reviving;
    },
    async kill(signal) {
      if (child !== undefined) await endChild(child, signal, program.graceMs);
    },
    async stop(signal = "SIGTERM") {
      stopping.abort();
      if (child !== undefined) await endChild(child, signal, program.graceMs);
      await reviving;
      child = undefined;
    },
  };
}
