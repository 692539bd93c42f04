import type { Log } from "../../shared/deps.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;

/** Writes one JSON object per line. Never log user content. */
export function consoleLog(
  level: (typeof LEVELS)[number] | "silent",
  base: Record<string, unknown> = {},
  line: (text: string) => void = (text) => console.log(text),
): Log {
  return new LineLog(level === "silent" ? LEVELS.length : LEVELS.indexOf(level), base, line);
}

/** A class instead of a closure: each request creates a log, and the objects of a class share their methods. */
class LineLog implements Log {
  readonly #least: number;
  readonly #base: Record<string, unknown>;
  readonly #line: (text: string) => void;

  constructor(least: number, base: Record<string, unknown>, line: (text: string) => void) {
    this.#least = least;
    this.#base = base;
    this.#line = line;
  }

  debug(message: string, fields?: Record<string, unknown>): void {
    this.#write(0, message, fields);
  }

  info(message: string, fields?: Record<string, unknown>): void {
    this.#write(1, message, fields);
  }

  warn(message: string, fields?: Record<string, unknown>): void {
    this.#write(2, message, fields);
  }

  error(message: string, fields?: Record<string, unknown>): void {
    this.#write(3, message, fields);
  }

  #write(at: number, message: string, fields?: Record<string, unknown>): void {
    if (at < this.#least) return;
    const time = new Date().toISOString();
    this.#line(JSON.stringify({ time, level: LEVELS[at], message, ...this.#base, ...fields }));
  }
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Returns the request id and `traceparent` (W3C Trace Context) that the client sent, or new ones. */
export function namesOf(
  given: string | undefined,
  incoming: string | undefined,
): { requestId: string; traceparent: string } {
  const requestId = given !== undefined && REQUEST_ID.test(given) ? given : crypto.randomUUID();
  const match = incoming === undefined ? null : TRACEPARENT.exec(incoming);
  const trace = match?.[1] !== undefined && !/^0+$/.test(match[1]) ? match[1] : randomTrace();
  return { requestId, traceparent: `00-${trace}-${randomTrace().slice(16)}-${match?.[3] ?? "01"}` };
}

/** Returns 32 random hexadecimal digits. */
function randomTrace(): string {
  const uuid = crypto.randomUUID();
  return `${uuid.slice(0, 8)}${uuid.slice(9, 13)}${uuid.slice(14, 18)}${uuid.slice(19, 23)}${uuid.slice(24)}`;
}
