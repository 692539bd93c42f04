/** Offsets and cursors of the Durable Streams protocol. An offset is a position in the broker's stream. */
import { AppError } from "../../kernel/errors.ts";

const DIGITS = 20;
const OFFSET = /^\d{1,20}$/;
/** Length of a cursor's interval, milliseconds. */
const CURSOR_INTERVAL_MS = 20_000;
/** How many intervals a colliding cursor may jump ahead, at most (one hour). */
const CURSOR_JUMP = 180;

/** Where reading begins: at the first retained message, at the end, or behind a position. */
export type Start = { at: "beginning" } | { at: "now" } | { at: "after"; position: number };

/** A position as clients see it: zero-padded, so that offsets sort as text. */
export function formatOffset(position: number): string {
  return String(position).padStart(DIGITS, "0");
}

/**
 * What a client's offset means.
 * @throws AppError malformed
 */
export function parseOffset(text: string): Start {
  if (text === "-1") return { at: "beginning" };
  if (text === "now") return { at: "now" };
  const position = OFFSET.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(position)) {
    throw new AppError(
      "malformed",
      "invalid_offset",
      "The offset must be -1, now, or one that was given out.",
    );
  }
  return { at: "after", position };
}

/** The number of the current interval. */
export function currentCursor(now: number): number {
  return Math.floor(now / CURSOR_INTERVAL_MS);
}

/**
 * The cursor to answer with. It grows past an echoed one, so that a cache in between never gives a client the answer
 * to its own last request again.
 * @param echoed the request's `cursor`; what is no number is ignored
 */
export function answerCursor(echoed: string | undefined, now: number): number {
  const current = currentCursor(now);
  const seen = echoed !== undefined && /^\d{1,15}$/.test(echoed) ? Number(echoed) : -1;
  return seen < current ? current : seen + 1 + (now % CURSOR_JUMP);
}
