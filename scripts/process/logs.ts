import { appendFileSync, existsSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";

const LIMIT_BYTES = 10 * 1024 * 1024;

/**
 * Lines are collected for this many milliseconds and then written together. Writing each line separately would slow
 * down a busy process.
 */
const WAIT_MS = 50;

/**
 * Returns a function that appends a line to a log file. When the file has 10 MB, it is renamed to end in `.1`, and a
 * new one begins. Lines that cannot be written, for example because the disk is full, are dropped: logging must never
 * stop the platform.
 */
export function logFile(path: string, say: (line: string) => void): (line: string) => void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  let size = existsSync(path) ? statSync(path).size : 0;
  let waiting: string[] = [];
  let dropping = false;
  const write = (text: string) => {
    const bytes = Buffer.byteLength(text);
    if (size + bytes > LIMIT_BYTES && existsSync(path)) {
      renameSync(path, `${path}.1`);
      size = 0;
    }
    appendFileSync(path, text, { mode: 0o600 });
    size += bytes;
  };
  const flush = () => {
    if (waiting.length === 0) return;
    // Begin with a line break if a full disk has cut off the last line.
    const text = `${dropping ? "\n" : ""}${waiting.join("\n")}\n`;
    waiting = [];
    try {
      write(text);
      dropping = false;
    } catch (error) {
      if (dropping) return;
      dropping = true;
      const reason = error instanceof Error ? error.message : String(error);
      say(`The log ${path} cannot be written (${reason}). Its lines are dropped until it can.`);
    }
  };
  process.once("exit", flush);
  return (line) => {
    if (waiting.push(line) === 1) setTimeout(flush, WAIT_MS).unref();
  };
}

/** Warnings that the terminal does not show, because the operator caused them. */
const FOR_THE_LOG: readonly unknown[] = ["bootstrap access"];

/** Returns whether the terminal should show a log line. */
export function isNotable(line: string): boolean {
  if (line.trim() === "") return false;
  // Skip most lines quickly, without parsing them. JSON escapes quotes inside strings, so this text cannot be part of a
  // value.
  if (line.startsWith("{") && /,"level":"(info|debug)"/.test(line)) return false;
  try {
    const entry: unknown = JSON.parse(line);
    if (typeof entry !== "object" || entry === null || !("level" in entry)) return true;
    if ("message" in entry && FOR_THE_LOG.includes(entry.message)) return false;
    return entry.level !== "info" && entry.level !== "debug";
  } catch {
    return true;
  }
}
