/**
 * Cursors of paged lists, encoded so that clients cannot rely on their content. Each cursor is valid only for one list
 * in one order.
 */
import { base64url } from "jose";
import { CURSOR_FORM, LONGEST_CURSOR } from "../../shared/entry/model/cursor.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import type { Place } from "../../shared/store/types.ts";

function invalidCursor(): AppError {
  return new AppError(
    "malformed",
    "invalid_cursor",
    "The cursor is not valid for this list. Use nextCursor from a response of the same list and sort order.",
  );
}

/** @param kind identifies the list and its order */
export function writeCursor(kind: string, value: number | null): string | null {
  return value === null ? null : encode(kind, value);
}

/** Decodes a cursor. Rejects a cursor of another list. */
export function readCursor(kind: string, cursor: string | undefined): number | undefined {
  return cursor === undefined ? undefined : decode(kind, cursor, 1)[0];
}

export function writePlace(kind: string, place: Place | null): string | null {
  return place === null ? null : encode(kind, place.number, place.seq);
}

export function readPlace(kind: string, cursor: string | undefined): Place | undefined {
  if (cursor === undefined) return undefined;
  const [number = 0, seq = 0] = decode(kind, cursor, 2);
  return { number, seq };
}

function encode(kind: string, ...numbers: number[]): string {
  return base64url.encode(`${kind}:${numbers.join(":")}`);
}

function decode(kind: string, cursor: string, count: number): number[] {
  if (cursor.length > LONGEST_CURSOR || !CURSOR_FORM.test(cursor)) throw invalidCursor();
  let text: string;
  try {
    text = new TextDecoder().decode(base64url.decode(cursor));
  } catch {
    throw invalidCursor();
  }
  const [is, ...numbers] = text.split(":");
  const valid = numbers.length === count && numbers.every((number) => /^[1-9]\d{0,14}$/.test(number));
  if (is !== kind || !valid) throw invalidCursor();
  return numbers.map(Number);
}
