/**
 * Pagination cursors contain a position in a list, and a checksum that detects cursors of other lists. Cursors are not
 * signed. A forged cursor reveals nothing, because every page checks access again.
 */
import { base64url } from "jose";
import { z } from "zod";
import { AppError } from "../../kernel/errors.ts";
import { fingerprint } from "../../kernel/tags.ts";

const seq = z.int().min(0);
const density = z.number().min(0).max(1);
const key = z.union([z.string(), z.number(), z.boolean(), z.null()]);

/** Maximum number of entry names in a cursor. Must be at least the maximum page size. */
const MOST_NAMES = 200;

const positions = z.strictObject({
  /** How the first page was read. The following pages must be read in the same way. */
  kind: z.enum(["index", "order", "value", "set", "sorted", "ranked"]),
  seq,
  /**
   * Estimated share of index messages among all messages of the stream, from 0 to 1; 0 if unknown. A backward scan uses
   * this share to estimate at which sequence number to start its next read.
   */
  density,
  id: z.string(),
  keys: z.array(key),
  /**
   * Present if sorting needs more entries than one request can read. Several requests then collect the page together,
   * each continuing from the previous one's cursor.
   */
  best: z
    .strictObject({
      /** Ids of the first entries in sort order, among all entries that the requests have read so far. */
      names: z.array(z.string()).max(MOST_NAMES),
      /** The last entry of the previous page. */
      from: z.strictObject({ keys: z.array(key), id: z.string() }).optional(),
      /** The first entry after the page. */
      bound: z.strictObject({ keys: z.array(key), id: z.string() }).optional(),
    })
    .optional(),
});

export type Position = z.infer<typeof positions>;

export function positionAt(kind: Position["kind"], at: Partial<Position>): Position {
  return { seq: 0, density: 0, id: "", keys: [], ...at, kind };
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Error 400: the list cannot be continued from this cursor. */
export function refusedCursor(): AppError {
  return new AppError(
    "malformed",
    "invalid_cursor",
    "The cursor does not belong to this list and query. Start again without a cursor.",
    {
      errors: [
        {
          path: "/cursor",
          code: "invalid_cursor",
          message: "must be an unchanged nextCursor of a list with the same filters and sort order",
        },
      ],
    },
  );
}

/** Encodes a cursor. `query` must contain everything that affects the list, such as filters and sort order. */
export function writeCursor(position: Position, query: string): string {
  const text = JSON.stringify(position);
  return base64url.encode(`${fingerprint(`${query}\n${text}`)}.${text}`);
}

/**
 * Maximum characters of a cursor. The largest cursor has five sort keys of 200 characters, each escaped, and an id:
 * about 8,300 characters.
 */
export const LONGEST_CURSOR = 9_000;
export const CURSOR_FORM = /^[A-Za-z0-9_-]+$/;

/** Decodes a cursor. Rejects it if it was made for another query. */
export function readCursor(cursor: string, query: string): Position {
  if (cursor.length > LONGEST_CURSOR || !CURSOR_FORM.test(cursor)) throw refusedCursor();
  let decoded: string;
  try {
    decoded = decoder.decode(base64url.decode(cursor));
  } catch {
    throw refusedCursor();
  }
  const dot = decoded.indexOf(".");
  const text = decoded.slice(dot + 1);
  if (dot < 1 || decoded.slice(0, dot) !== fingerprint(`${query}\n${text}`)) throw refusedCursor();
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
