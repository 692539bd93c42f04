import { appendFileSync, existsSync, mkdirSync, renameSync, statSync } from "node:fs";
import { dirname } from "node:path";

const LIMIT_BYTES = 10 * 1024 * 1024;

/** Milliseconds that lines wait for others: a write each would cost a busy process more than the work it logs. */
const WAIT_MS = 50;

/**
 * A log file that never grows beyond 10 MB: what is older moves to one file beside it (`.1`). Lines that cannot be
 * written, on a full disk say, are dropped: what is logged must not end what logs it.
 * @param say told once when lines begin to be dropped
 * @returns a function that appends a line, together with those of the next 50 ms
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
    // What was cut off by the end of the disk ends its line.
    const text = `${dropping ? "\n" : ""}${waiting.join("\n")}\n`;
    waiting = [];
    try {
      write(text);
      dropping = false;
    } catch (error) {
      if (dropping) return;
      dropping = true;
      const reason = error instanceof Error ? error.message : String(error);
      say(`The log ${path} cannot be written (${reason}): its lines are dropped until it can.`);
    }
  };
  process.once("exit", flush);
  return (line) => {
    if (waiting.push(line) === 1) setTimeout(flush, WAIT_MS).unref();
  };
}

/** Warnings for whoever reads the log later: at the terminal sits the person whom they are about. */
const FOR_THE_LOG: readonly unknown[] = ["bootstrap access"];

/** True when a line of the functions' log (JSON with `level`) is worth a look at the terminal. */
export function isNotable(line: string): boolean {
  if (line.trim() === "") return false;
  // Nearly all lines: quotes inside a JSON string are escaped, so this cannot be part of one.
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
