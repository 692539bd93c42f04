import type { Log } from "../../shared/deps.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;

/** Writes one JSON object per line. Never log user content. */
export function consoleLog(
  level: (typeof LEVELS)[number] | "silent",
  base: Record<string, unknown> = {},
  line: (text: string) => void = (text) => console.log(text),
): Log {
  const least = level === "silent" ? LEVELS.length : LEVELS.indexOf(level);
  const write = (at: number, message: string, fields?: Record<string, unknown>) => {
    if (at < least) return;
    line(JSON.stringify({ time: new Date().toISOString(), level: LEVELS[at], message, ...base, ...fields }));
  };
  return {
    debug: (message, fields) => write(0, message, fields),
    info: (message, fields) => write(1, message, fields),
    warn: (message, fields) => write(2, message, fields),
    error: (message, fields) => write(3, message, fields),
  };
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** Returns the request id and `traceparent` (W3C Trace Context) that the client sent, or new ones. */
export function namesOf(
  given: string | undefined,
  incoming: string | undefined,
): { requestId: string; traceparent: string } {
  const requestId = given !== undefined && REQUEST_ID.test(given) ? given : crypto.randomUUID();
  return { requestId, traceparent: trace(incoming) };
}

/** Returns 16 random hexadecimal digits. */
function randomHex(): string {
  const uuid = crypto.randomUUID();
  return uuid.slice(0, 8) + uuid.slice(24, 32);
}

function trace(incoming: string | undefined): string {
  const match = incoming === undefined ? null : TRACEPARENT.exec(incoming);
  const traceId = match?.[1] !== undefined && !/^0+$/.test(match[1]) ? match[1] : randomHex() + randomHex();
  return `00-${traceId}-${randomHex()}-${match?.[3] ?? "01"}`;
}
