/** Offsets of the Durable Streams protocol. An offset is a position in a stream: here, the broker's sequence number. */
import { AppError } from "../../kernel/errors.ts";

const DIGITS = 20;
const OFFSET = /^\d{20}$/;
/** Length of the protocol's time intervals in milliseconds. A cursor is the number of an interval. */
const CURSOR_INTERVAL_MS = 20_000;
/**
 * A client may send a cursor that is not behind the current interval. The new cursor is then higher by at most this
 * many intervals (180 × 20 s = 1 hour).
 */
const CURSOR_JUMP = 180;

/** Where reading begins: at the oldest stored message, at the end, or after a position. */
export type Start = { at: "beginning" } | { at: "now" } | { at: "after"; position: number };

/** Returns an offset as text. Leading zeros make offsets sort in numeric order. */
export function formatOffset(position: number): string {
  return String(position).padStart(DIGITS, "0");
}

/** Parses an offset, or throws 400. */
export function parseOffset(text: string): Start {
  if (text === "-1") return { at: "beginning" };
  if (text === "now") return { at: "now" };
  const position = OFFSET.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(position)) {
    throw new AppError(
      "malformed",
      "invalid_offset",
      `The offset is not valid. Use -1 (start), now (end), or an offset of ${DIGITS} digits from an earlier response.`,
    );
  }
  return { at: "after", position };
}

export function currentCursor(now: number): number {
  return Math.floor(now / CURSOR_INTERVAL_MS);
}

/**
 * Returns the cursor for a response. It is higher than the request's cursor, so the client's next request has another
 * URL, and a shared cache cannot answer it with this response.
 */
export function answerCursor(echoed: string | undefined, now: number): number {
  const current = currentCursor(now);
  const seen = echoed !== undefined && /^\d{1,15}$/.test(echoed) ? Number(echoed) : -1;
  return seen < current ? current : seen + 1 + (now % CURSOR_JUMP);
}
