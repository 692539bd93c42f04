import { appendFileSync, existsSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";

const LIMIT_BYTES = 10 * 1024 * 1024;

/** Milliseconds that lines wait for others: a write each would cost a busy process more than the work it logs. */
const WAIT_MS = 50;

/**
 * A log file that never grows beyond 10 MB: what is older moves to one file beside it (`.1`).
 * @returns a function that appends a line, together with those of the next 50 ms
 */
export function logFile(path: string): (line: string) => void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  let size = existsSync(path) ? statSync(path).size : 0;
  let waiting: string[] = [];
  const flush = () => {
    if (waiting.length === 0) return;
    const text = `${waiting.join("\n")}\n`;
    waiting = [];
    if (size + text.length > LIMIT_BYTES && existsSync(path)) {
      renameSync(path, `${path}.1`);
      size = 0;
    }
    appendFileSync(path, text, { mode: 0o600 });
    size += text.length;
  };
  process.once("exit", flush);
  return (line) => {
    if (waiting.push(line) === 1) setTimeout(flush, WAIT_MS).unref();
  };
}

/** True when a line of the functions' log (JSON with `level`) is worth a look at the terminal. */
export function isNotable(line: string): boolean {
  if (line.trim() === "") return false;
  // Nearly all lines: quotes inside a JSON string are escaped, so this cannot be part of one.
  if (line.startsWith("{") && /,"level":"(info|debug)"/.test(line)) return false;
  try {
    const entry: unknown = JSON.parse(line);
    if (typeof entry !== "object" || entry === null || !("level" in entry)) return true;
    return entry.level !== "info" && entry.level !== "debug";
  } catch {
    return true;
  }
}
