/**
 * Cursors of paged lists, encoded so that clients cannot rely on their content. Each cursor is valid only for one list
 * in one order.
 */
import { base64url } from "jose";
import { isEntryId, isOrbId } from "../../shared/definition/document/index.ts";
import { CURSOR_FORM, LONGEST_CURSOR } from "../../shared/entry/model/index.ts";
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

/** @param id the last item of the page; null after the last page */
export function writeId(kind: string, id: string | null): string | null {
  return id === null ? null : base64url.encode(`${kind}:${id}`);
}

export function readId(kind: string, cursor: string | undefined): string | undefined {
  if (cursor === undefined) return undefined;
  const [is, id = "", ...more] = partsOf(cursor);
  if (is !== kind || !isEntryId(id) || more.length > 0) throw invalidCursor();
  return id;
}

/** Encodes where each source of a merged list continues. */
export function writePlaces(kind: string, places: readonly number[] | null): string | null {
  return places === null ? null : encode(kind, ...places);
}

/** @param count the number of sources of the list */
export function readPlaces(kind: string, cursor: string | undefined, count: number): number[] | undefined {
  return cursor === undefined ? undefined : decode(kind, cursor, count);
}

export function writePlace(kind: string, place: Place | null): string | null {
  return place === null ? null : encode(kind, place.number, place.seq);
}

export function readPlace(kind: string, cursor: string | undefined): Place | undefined {
  if (cursor === undefined) return undefined;
  const [number = 0, seq = 0] = decode(kind, cursor, 2);
  return { number, seq };
}

/** A place in a list in the order of orbs: within the items of an orb, or after it. */
export interface OrbPlace {
  orb: string;
  /** Items of this orb that were listed. */
  number: number;
}

export function writeOrbPlace(kind: string, place: OrbPlace | null): string | null {
  return place === null ? null : base64url.encode(`${kind}:${place.orb}:${place.number}`);
}

export function readOrbPlace(kind: string, cursor: string | undefined): OrbPlace | undefined {
  if (cursor === undefined) return undefined;
  const [is, orb = "", number = "", ...more] = partsOf(cursor);
  if (is !== kind || !isOrbId(orb) || !/^\d{1,6}$/.test(number) || more.length > 0) throw invalidCursor();
  return { orb, number: Number(number) };
}

function encode(kind: string, ...numbers: number[]): string {
  return base64url.encode(`${kind}:${numbers.join(":")}`);
}

function partsOf(cursor: string): string[] {
  if (cursor.length > LONGEST_CURSOR || !CURSOR_FORM.test(cursor)) throw invalidCursor();
  try {
    return new TextDecoder().decode(base64url.decode(cursor)).split(":");
  } catch {
    throw invalidCursor();
  }
}

function decode(kind: string, cursor: string, count: number): number[] {
  const [is, ...numbers] = partsOf(cursor);
  const valid = numbers.length === count && numbers.every((number) => /^[1-9]\d{0,14}$/.test(number));
  if (is !== kind || !valid) throw invalidCursor();
  return numbers.map(Number);
}
