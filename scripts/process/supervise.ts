/**
 * Child processes that are to stay up: each is started until it serves, started again when it dies, and stopped so that
 * nothing of it is left. What differs between them (how readiness is told, how long to wait, when to give up) is theirs
 * to say in a {@link Program}.
 */
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { Failure } from "./failure.ts";

/** What a child with a channel to us tells: that it serves, or in one line why it cannot. */
export type Word = { ready: true } | { failure: string };

/** A start that failed. */
export interface FailedStart {
  /** How many in a row have failed; 0 when a process that served has died. */
  failures: number;
  /** Whether one has served since {@link Supervised.start}. */
  served: boolean;
  /** Whether it just ended: neither did it say itself why it cannot serve, nor did it hang. */
  ended: boolean;
}

/** What to keep running, and how. */
export interface Program {
  /** What the message of a failed start begins with, such as "The host did not start". */
  failure: string;
  spawn(): ChildProcess;
  /** Part of the line by which it tells that it serves; where there is none it sends us a {@link Word}. */
  readyLine?: string;
  /** Milliseconds it has until it serves. */
  readyLimitMs: number;
  /** Milliseconds it has to end when it is told to; then it is killed. */
  graceMs: number;
  /** Called with each line that it prints. */
  line?(line: string): void;
  /** Why it ended, by the last lines that it printed; the very last one unless this is given. */
  reason?(lines: readonly string[]): string | undefined;
  /** Called once it serves, and part of the start: when this fails, the start has failed. */
  served?(): Promise<void>;
  /** Milliseconds until it is started again; undefined gives it up. */
  retryMs(start: FailedStart): number | undefined;
  /** Told that it died, or that another start failed, and that it is started again. */
  restarting(why: string): void;
  /** Told that it serves again. */
  restarted?(): void;
  /** Told that it is given up after it once served; before that, the first start fails. */
  givenUp?(failure: Failure): void;
}

/** A program that is kept running. */
export interface Supervised {
  /** Of the running process; undefined between two lives. */
  readonly pid: number | undefined;
  /** Starts it, for the first time or after {@link stop}. @throws Failure in one line when it does not come to serve */
  start(): Promise<void>;
  /** Resolves when it serves again, or was given up, if it died. */
  settled(): Promise<void>;
  /** Sends the running process a signal that ends it, and resolves when it is gone; it is then started again. */
  kill(signal: NodeJS.Signals): Promise<void>;
  /** Ends it for good, whether it serves or is being started again. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Exponential backoff: `firstMs` after the first failure, `mostMs` at most. */
export function backoff(failures: number, firstMs: number, mostMs: number): number {
  return Math.min(firstMs * 2 ** Math.max(0, failures - 1), mostMs);
}

/** Number of output lines to keep for the reason of an exit. */
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
  return `it ended with ${code ?? signal}`;
}

function isGone(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

/** Ends a process and waits until it is gone. @param graceMs milliseconds until SIGKILL */
export async function endChild(child: ChildProcess, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  if (isGone(child)) return;
  const gone = once(child, "exit");
  child.kill(signal);
  const timer = setTimeout(() => child.kill("SIGKILL"), graceMs);
  await gone;
  clearTimeout(timer);
}

/** Resolves once a process serves, and rejects with a StartFailure if it does not. */
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
  // Wait for the rest of the output, which says why it ended.
  child.once("close", (code, signal) => fail(reason(lines) ?? endedBy(code, signal), true));
  const timer = setTimeout(fail, readyLimitMs, `it did not serve within ${readyLimitMs / 1000} s`);
  try {
    await promise;
    await program.served?.();
  } finally {
    clearTimeout(timer);
  }
  // The process may have died since it reported that it serves.
  if (isGone(child))
    throw new StartFailure(program.failure, reason(lines) ?? endedBy(child.exitCode, child.signalCode), true);
}

/** Keeps a program running after {@link Supervised.start}. */
export function supervise(program: Program): Supervised {
  let child: ChildProcess | undefined;
  let stopping = new AbortController();
  let served = false;
  let reviving: Promise<void> | undefined;

  /** @throws StartFailure; nothing is left of the process then */
  async function startOnce(): Promise<void> {
    let born: ChildProcess | undefined;
    try {
      born = child = program.spawn();
      await serving(program, born);
    } catch (error) {
      // Without this, the process would run unsupervised next to its replacement.
      if (born !== undefined) await endChild(born, "SIGKILL", program.graceMs);
      if (error instanceof StartFailure) throw error;
      throw new StartFailure(program.failure, error instanceof Error ? error.message : String(error), false);
    }
    served = true;
    born.once("exit", (code, signal) => {
      if (!stopping.signal.aborted && child === born) reviving = revive(endedBy(code, signal));
    });
  }

  /**
   * Starts it until it serves.
   * @param failure that of the process which served before
   * @throws StartFailure the last one, when it is given up or stopped
   */
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
