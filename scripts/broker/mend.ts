/**
 * Restarts a broker that no longer stores data. After a single failed write to its disk, nats-server refuses every
 * further write to that stream until it is restarted, also when the disk works again.
 */
import { mkdir, open, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { backoff } from "../process/supervise.ts";

/** Size of the trial write. The largest message has as much. */
const TRIAL_BYTES = 4 * 1024 * 1024;
const FULL = "no space left on device";
const TRIAL_FILE = ".write-check";
/** Milliseconds between two trial writes, and before the first restart. */
const TRIAL_MS = 1_000;
/**
 * Longest wait before a restart, in milliseconds, while the broker cannot write although the trial write succeeds, such
 * as with one damaged file. Each restart interrupts all applications for a moment, so the wait doubles.
 */
const LONGEST_PAUSE_MS = 5 * 60_000;
/** A restart this many milliseconds ago no longer counts. */
const CALM_MS = 10 * 60_000;

const LOST_WRITE =
  /\[(?:ERR|WRN|FTL)\] ((?:Filestore|JetStream|RAFT|File ?system) .*(?:write error|failed to store a msg|DISABLED|disabling JetStream).*)$/;

/** Returns what a line of the broker's log says if a stream of it, or the whole broker, stopped storing data. */
export function lostWrite(line: string): string | undefined {
  return LOST_WRITE.exec(line)?.[1];
}

async function isFull(dir: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize < TRIAL_BYTES;
}

/** Returns why data cannot be written to the disk of a folder; undefined if it can. */
export async function writeFault(dir: string): Promise<string | undefined> {
  const file = join(dir, TRIAL_FILE);
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    if (await isFull(dir)) return FULL;
    const handle = await open(file, "w", 0o600);
    try {
      await handle.writeFile(new Uint8Array(TRIAL_BYTES));
      await handle.sync();
    } finally {
      await handle.close();
    }
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await rm(file, { force: true }).catch(() => undefined);
  }
}

export interface MendOptions {
  /** Folder on the disk of the broker's data. The broker itself must not use it. */
  dir: string;
  /** Id of the broker's process; undefined while it does not run. */
  pid: () => number | undefined;
  restart: () => Promise<void>;
  say: (line: string) => void;
}

export interface Mender {
  /** Call this for each line of the broker's log. */
  read(line: string): void;
  /**
   * Returns why the running broker cannot store data, such as `no space left on device`. On a full disk, some writes may
   * still succeed.
   */
  fault(): Promise<string | undefined>;
  /** Ends a restart that waits for the disk. */
  stop(): void;
}

/** Restarts a broker whose log says that it stopped storing data, once its disk stores data again. */
export function mender({ dir, pid, restart, say }: MendOptions): Mender {
  let stopping = new AbortController();
  /** The process that is being mended. Further lines of it change nothing. */
  let broken: number | undefined;
  let cause = "";
  let restartedAt = Number.NEGATIVE_INFINITY;
  /** Restarts in a row, each after a failure that the trial write did not see. */
  let unexplained = 0;

  async function mend(why: string, process: number, signal: AbortSignal): Promise<void> {
    const isBroken = () => !signal.aborted && pid() === process;
    const pause = (ms: number) => delay(ms, undefined, { signal, ref: false }).catch(() => undefined);
    say(
      `The broker cannot store data, so writes fail (${why}). It is restarted once its disk stores data again.`,
    );
    if (performance.now() - restartedAt > CALM_MS) unexplained = 0;
    let explained = false;
    await pause(unexplained === 0 ? TRIAL_MS : backoff(unexplained, TRIAL_MS, LONGEST_PAUSE_MS));
    while (isBroken() && (await writeFault(dir)) !== undefined) {
      explained = true;
      await pause(TRIAL_MS);
    }
    if (!isBroken()) return;
    unexplained = explained ? 0 : unexplained + 1;
    restartedAt = performance.now();
    say("The broker's disk stores data. Restarting the broker …");
    await restart();
  }

  return {
    read(line) {
      const why = lostWrite(line);
      const process = pid();
      if (why === undefined || process === undefined || process === broken) return;
      broken = process;
      // The last part of the line has no path.
      cause = why.slice(why.lastIndexOf(": ") + 1).trim();
      void mend(why, process, stopping.signal);
    },
    async fault() {
      if (broken !== undefined && pid() === broken) return cause;
      return (await isFull(dir).catch(() => false)) ? FULL : undefined;
    },
    stop() {
      stopping.abort();
      stopping = new AbortController();
    },
  };
}
