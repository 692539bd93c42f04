/**
 * Cursors: where the next page of a list begins. They carry a position and a check over the position and the query, so
 * that one of another orb, schema or query is refused and never read as a wrong place. A position says nothing that
 * its list did not say, and every page judges anew what its caller may see, so there is nothing to sign; but anybody can
 * make one, so what it says is checked like any other input.
 */
import { z } from "zod";
import { AppError } from "../../kernel/errors.ts";
import { base64url } from "../../kernel/ids.ts";

const seq = z.int().min(0);
const density = z.number().min(0).max(1);
const key = z.union([z.string(), z.number(), z.boolean(), z.null()]);

const positions = z.discriminatedUnion("kind", [
  /**
   * Creation order by the index: after (or, newest first, before) this sequence. `density` is index messages per
   * sequence.
   */
  z.strictObject({ kind: z.enum(["index", "order"]), seq, density }),
  /** Creation order by a value's index: like `index`, and beyond this entry among those that took the value later. */
  z.strictObject({ kind: z.literal("value"), seq, density, id: z.string() }),
  /** Creation order of a set: beyond this id. */
  z.strictObject({ kind: z.literal("set"), key: z.string() }),
  /** Sorted: beyond the entry with these sort keys and id. */
  z.strictObject({ kind: z.literal("sorted"), keys: z.array(key), id: z.string() }),
]);

/** A place in a list. */
export type Position = z.infer<typeof positions>;

/** 53 bits that spread well (no secret, no signature): for cursors and entity tags. */
export function fingerprint(text: string): string {
  let a = 0xdeadbeef;
  let b = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return (4294967296 * (2097151 & b) + (a >>> 0)).toString(36);
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/** 400: the cursor is none of this list and query. */
export function refusedCursor(): AppError {
  return new AppError("malformed", "invalid_cursor", "The cursor is not one of this list and this query.", {
    errors: [
      {
        path: "/cursor",
        code: "invalid_cursor",
        message: "must be an unchanged nextCursor of a list with the same filters and sort order",
      },
    ],
  });
}

/** Writes a cursor. `query` names everything that the position depends on. */
export function writeCursor(position: Position, query: string): string {
  const text = JSON.stringify(position);
  return base64url(encoder.encode(`${fingerprint(`${query}\n${text}`)}.${text}`));
}

/** Longer than any: five sort keys of 200 characters that JSON escapes, and an id, come to 8,300. */
const LONGEST = 9000;

/** Reads a cursor. @throws AppError malformed `invalid_cursor` */
export function readCursor(cursor: string, query: string): Position {
  if (cursor.length > LONGEST || !/^[A-Za-z0-9_-]+$/.test(cursor)) throw refusedCursor();
  let whole: string;
  try {
    const binary = atob(cursor.replaceAll("-", "+").replaceAll("_", "/"));
    whole = decoder.decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)));
  } catch {
    throw refusedCursor();
  }
  const dot = whole.indexOf(".");
  const text = whole.slice(dot + 1);
  if (dot < 1 || whole.slice(0, dot) !== fingerprint(`${query}\n${text}`)) throw refusedCursor();
  const position = positions.safeParse(parsed(text));
  if (!position.success) throw refusedCursor();
  return position.data;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
