import { appendFileSync, existsSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";

const LIMIT_BYTES = 10 * 1024 * 1024;

/**
 * A log file that never grows beyond 10 MB: what is older moves to one file beside it (`.1`).
 * @returns a function that appends a line
 */
export function logFile(path: string): (line: string) => void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  let size = existsSync(path) ? statSync(path).size : 0;
  return (line) => {
    const text = `${line}\n`;
    if (size + text.length > LIMIT_BYTES) {
      renameSync(path, `${path}.1`);
      size = 0;
    }
    appendFileSync(path, text, { mode: 0o600 });
    size += text.length;
  };
}

/** True when a line of the functions' log (JSON with `level`) is worth a look at the terminal. */
export function isNotable(line: string): boolean {
  if (line.trim() === "") return false;
  try {
    const entry: unknown = JSON.parse(line);
    if (typeof entry !== "object" || entry === null || !("level" in entry)) return true;
    return entry.level !== "info" && entry.level !== "debug";
  } catch {
    return true;
  }
}
