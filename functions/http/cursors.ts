/** Cursors of lists that page by a number. They are opaque and valid only for the same kind of list and order. */
import { base64url } from "jose";
import { AppError } from "../../shared/kernel/errors.ts";

function invalidCursor(): AppError {
  return new AppError(
    "malformed",
    "invalid_cursor",
    "The cursor is not valid for this list. Use nextCursor from a response of the same list and sort order.",
  );
}

/** The cursor of the page that starts at a number; null at the end. @param kind kind of list and order */
export function writeCursor(kind: string, value: number | null): string | null {
  if (value === null) return null;
  return base64url.encode(`${kind}:${value}`);
}

/** The number in a cursor; undefined without one. @throws AppError malformed for a cursor of another list */
export function readCursor(kind: string, cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined;
  let text: string;
  try {
    text = new TextDecoder().decode(base64url.decode(cursor));
  } catch {
    throw invalidCursor();
  }
  const match = /^([A-Za-z-]+):([1-9]\d{0,14})$/.exec(text);
  if (match === null || match[1] !== kind) throw invalidCursor();
  return Number(match[2]);
}
