import type { Log } from "../../shared/deps.ts";
import { randomBytes } from "../../shared/kernel/ids.ts";

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

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function hex(bytes: Uint8Array): string {
  let out = "";
  for (const byte of bytes) out += HEX[byte] ?? "";
  return out;
}

/** Returns the request id and `traceparent` (W3C Trace Context) that the client sent, or new ones. */
export function namesOf(
  given: string | undefined,
  incoming: string | undefined,
): { requestId: string; traceparent: string } {
  const requestId = given !== undefined && REQUEST_ID.test(given) ? given : hex(randomBytes(12));
  return { requestId, traceparent: trace(incoming) };
}

function trace(incoming: string | undefined): string {
  const match = incoming === undefined ? null : TRACEPARENT.exec(incoming);
  const random = randomBytes(24);
  const traceId = match?.[1] !== undefined && !/^0+$/.test(match[1]) ? match[1] : hex(random.subarray(0, 16));
  return `00-${traceId}-${hex(random.subarray(16))}-${match?.[3] ?? "01"}`;
}
