import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, renameSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Failure, systemCode } from "../process/failure.ts";
import { makeFolder } from "./folders.ts";

/** Minimum number of free bytes on the disk. The broker needs them for new streams. */
const LEAST_ROOM = 32 * 1024 * 1024;

/** Creates the data folder for its owner only, and checks that it is writable. */
export function prepareDataDir(dataDir: string): void {
  const probe = join(dataDir, `.probe-${process.pid}`);
  let room: number;
  try {
    makeFolder(dataDir);
    const { bavail, bsize } = statfsSync(dataDir);
    room = bavail * bsize;
    writeFileSync(probe, "");
    rmSync(probe);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Failure(
      `The data folder ${dataDir} is not writable (${why}). Choose another one with DATA_DIR=….`,
    );
  }
  if (room < LEAST_ROOM) {
    throw new Failure(
      `The disk of the data folder ${dataDir} is full. Free some space, or choose another folder with DATA_DIR=….`,
    );
  }
}

/** Writes a file atomically. Only its owner may read it. */
export function writePrivate(path: string, text: string): void {
  const draft = `${path}.${process.pid}.tmp`;
  writeFileSync(draft, text, { mode: 0o600, flush: true });
  renameSync(draft, path);
}

/**
 * Content of `<data folder>/running.json`: the lock file of a running platform, which also says how to connect to its
 * broker.
 */
export interface Running {
  pid: number;
  /** Start time of the process. Together with the process id, it identifies the process, because ids are reused. */
  mark: string;
  /** URL of the broker, with the operator's credentials. Missing if the platform did not start the broker. */
  natsUrl?: string;
  /** WebSocket URL of the broker, without credentials. Missing if the platform did not start the broker. */
  natsWsUrl?: string;
  replicas?: number;
  url?: string;
}

/**
 * Returns the start time of a process; undefined if the process is not running. The start time matters because
 * process ids are reused.
 */
function processMark(pid: number): string | undefined {
  if (process.platform === "linux") {
    try {
      const boot = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
      // The command name may contain spaces, so count from its closing parenthesis: the start time is the 20th field
      // after it.
      const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
      return fields[0] === "Z" ? undefined : `${boot}/${fields[19]}`;
    } catch {
      return undefined;
    }
  }
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (systemCode(error) !== "EPERM") return undefined;
  }
  const started = spawnSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" });
  return started.status === 0 ? started.stdout.trim() : "running";
}

/** Returns the content of a lock file; undefined if the process that wrote it has ended. */
function living(text: string): Running | undefined {
  try {
    const found = JSON.parse(text) as Partial<Running> | null;
    if (typeof found?.pid !== "number" || typeof found.mark !== "string") return undefined;
    return processMark(found.pid) === found.mark ? (found as Running) : undefined;
  } catch {
    return undefined;
  }
}

export function readRunning(dataDir: string): Running | undefined {
  const found = readState(join(dataDir, "running.json"));
  return found === undefined ? undefined : living(found.text);
}

interface FileState {
  text: string;
  /** Identifies this file, even if another file has the same content. */
  identity: string;
  ageMs: number;
}

function readState(path: string): FileState | undefined {
  try {
    const { ino, mtimeMs } = statSync(path);
    const text = readFileSync(path, "utf8");
    return { text, identity: `${ino} ${mtimeMs} ${text}`, ageMs: Date.now() - mtimeMs };
  } catch {
    return undefined;
  }
}

function create(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { mode: 0o600, flag: "wx" });
    return true;
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
    return false;
  }
}

const sleep = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

/**
 * A process writes its lock file right after creating it. If the file is still empty after this many milliseconds, the
 * process has died.
 */
const WRITTEN_MS = 1_000;

/**
 * Creates a lock file. Replaces an existing one if its process has ended.
 * @returns the process that owns the lock file; undefined if this process owns it now
 */
function hold(path: string, text: string): Running | undefined {
  for (;;) {
    if (create(path, text)) return undefined;
    const found = readState(path);
    if (found === undefined) continue;
    const other = living(found.text);
    if (other !== undefined) return other;
    if (!found.text.endsWith("}") && found.ageMs < WRITTEN_MS) {
      sleep(20);
      continue;
    }
    const right = `${path}.${createHash("sha256").update(found.identity).digest("hex").slice(0, 16)}`;
    if (hold(right, text) !== undefined) {
      sleep(20);
      continue;
    }
    try {
      if (readState(path)?.identity !== found.identity) continue;
      writePrivate(path, text);
      return undefined;
    } finally {
      rmSync(right, { force: true });
    }
  }
}

/**
 * Locks the data folder for a restore.
 * @throws Failure if another process is restoring into the same data folder
 */
export function claimRestore(dataDir: string): { release(): void } {
  const path = join(dataDir, "restoring.json");
  const other = hold(path, JSON.stringify({ pid: process.pid, mark: processMark(process.pid) ?? "" }));
  if (other === undefined || other.pid === process.pid)
    return { release: () => rmSync(path, { force: true }) };
  throw new Failure(
    `Another restore (process ${other.pid}) is running for the data folder ${dataDir}. Wait until it ends.`,
  );
}

/** Returns whether a process runs, whoever it is. */
function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemCode(error) === "EPERM";
  }
}

/**
 * Returns an empty folder for the programs that this process starts. It lies in the data folder and not in the
 * system's temporary folder, because cleaners delete old files there. Removes the folders of processes that have ended.
 */
export function runFolder(dataDir: string): string {
  const all = join(dataDir, "run");
  makeFolder(all);
  for (const name of readdirSync(all)) {
    const pid = Number(name);
    if (pid === process.pid || !(pid > 0 && runs(pid)))
      rmSync(join(all, name), { recursive: true, force: true });
  }
  return join(all, String(process.pid));
}

/** Returns the folder with the records of what the broker's streams must contain. A restore removes it. */
export const recordFolder = (dataDir: string) => join(dataDir, "record");

export interface Claim {
  tell(more: Omit<Running, "pid" | "mark">): void;
  release(): void;
}

/**
 * Locks the data folder, because two brokers would destroy each other's files.
 * @throws Failure if another platform that is running uses the folder
 */
export function claimDataDir(dataDir: string): Claim {
  const path = join(dataDir, "running.json");
  let record: Running = { pid: process.pid, mark: processMark(process.pid) ?? "" };
  const other = hold(path, JSON.stringify(record));
  if (other !== undefined) {
    throw new Failure(
      `Another instance (process ${other.pid}) uses the data folder ${dataDir}. Stop it, or choose another folder with DATA_DIR=….`,
    );
  }
  return {
    tell(more) {
      record = { ...record, ...more };
      writePrivate(path, JSON.stringify(record));
    },
    release: () => rmSync(path, { force: true }),
  };
}
