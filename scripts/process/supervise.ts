/** Supervises child processes: starts each until it is ready, restarts it when it dies, and stops it completely. */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "./failure.ts";

/** A message from a child process: it is ready, or why it cannot start. */
export type Word = { ready: true } | { failure: string };

export interface FailedStart {
  /** Number of consecutive failures; 0 if a ready process has died. */
  failures: number;
  /** Whether a process has been ready since {@link Supervised.start}. */
  served: boolean;
  /** Whether the process just exited, without reporting a reason or timing out. */
  ended: boolean;
}

export interface Program {
  /** Beginning of the message for a failed start, such as "The host did not start". */
  failure: string;
  spawn(): ChildProcess;
  /** Text in the output line that reports readiness. Without it, the process must send a {@link Word}. */
  readyLine?: string;
  /** Maximum milliseconds until the process is ready. */
  readyLimitMs: number;
  /** Milliseconds between the stop signal and the kill. */
  graceMs: number;
  line?(line: string): void;
  /** Returns why the process exited, from its last lines of output. */
  reason?(lines: readonly string[]): string | undefined;
  /** Called once the process is ready. If this fails, the start has failed. */
  served?(): Promise<void>;
  /** Returns the milliseconds until the next start; undefined to give up. */
  retryMs(start: FailedStart): number | undefined;
  restarting(why: string): void;
  restarted?(): void;
  /** Called after the last failed restart. */
  givenUp?(failure: Failure): void;
}

export interface Supervised {
  /** Process id; undefined while no process is running. */
  readonly pid: number | undefined;
  /** @throws Failure if the process does not become ready */
  start(): Promise<void>;
  /** After a crash, resolves when the process is ready again or no longer restarted. */
  settled(): Promise<void>;
  /** Sends a signal and resolves when the process has ended. It is then restarted. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Stops the process for good, whether it is ready or restarting. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Exponential backoff: `firstMs` after the first failure, `mostMs` at most. */
export function backoff(failures: number, firstMs: number, mostMs: number): number {
  return Math.min(firstMs * 2 ** Math.max(0, failures - 1), mostMs);
}

const KEPT_LINES = 50;

class StartFailure extends Failure {
  readonly why: string;
  readonly ended: boolean;

  constructor(failure: string, why: string, ended: boolean) {
    super(`${failure}: ${why}`);
    this.why = why;
    this.ended = ended;
  }
}

function endedBy(code: number | null, signal: NodeJS.Signals | null): string {
  return `it exited with ${code ?? signal}`;
}

function isGone(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

/** Ends a process and waits until it has ended. @param graceMs milliseconds until SIGKILL */
export async function endChild(child: ChildProcess, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  if (isGone(child)) return;
  const gone = once(child, "exit");
  child.kill(signal);
  const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
  await gone;
  clearTimeout(timer);
}

async function serving(program: Program, child: ChildProcess): Promise<void> {
  const { readyLine, readyLimitMs } = program;
  const lines: string[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (why: string, ended = false) => reject(new StartFailure(program.failure, why, ended));
  const reason = program.reason ?? ((all) => all.at(-1));
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
  // Wait for the end of the output, which says why the process ended.
  child.once("close", (code, signal) => fail(reason(lines) ?? endedBy(code, signal), true));
  const timer = setTimeout(fail, readyLimitMs, `it was not ready within ${readyLimitMs / 1000} s`);
  try {
    await promise;
    await program.served?.();
  } finally {
    clearTimeout(timer);
  }
  // The process may have died since it reported that it is ready.
  if (isGone(child))
    throw new StartFailure(program.failure, reason(lines) ?? endedBy(child.exitCode, child.signalCode), true);
}

export function supervise(program: Program): Supervised {
  let child: ChildProcess | undefined;
  let stopping = new AbortController();
  let served = false;
  let reviving: Promise<void> | undefined;

  /** @throws StartFailure after the process has ended */
  async function startOnce(): Promise<void> {
    let born: ChildProcess | undefined;
    try {
      born = child = program.spawn();
      await serving(program, born);
    } catch (error) {
      // End a process that failed to start. Otherwise it would run unsupervised next to its replacement.
      if (born !== undefined) await endChild(born, "SIGKILL", program.graceMs);
      if (error instanceof StartFailure) throw error;
      throw new StartFailure(program.failure, error instanceof Error ? error.message : String(error), false);
    }
    served = true;
    born.once("exit", (code, signal) => {
      if (!stopping.signal.aborted && child === born) reviving = revive(endedBy(code, signal));
    });
  }

  /** @throws StartFailure of the last attempt */
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

  async function revive(why: string): Promise<void> {
    const { signal } = stopping;
    child = undefined;
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
