/**
 * Pagination cursors. A cursor contains a position and a checksum over the position and the query, so a cursor of
 * another orb, schema or query is refused instead of being read as a wrong position. Cursors are not signed: a
 * position reveals nothing that its list does not show, and every page checks access again. Clients can forge
 * cursors, so their content is validated like any other input.
 */
import { base64url } from "jose";
import { z } from "zod";
import { AppError } from "../../kernel/errors.ts";
import { fingerprint } from "../../kernel/tags.ts";

const seq = z.int().min(0);
const density = z.number().min(0).max(1);
const key = z.union([z.string(), z.number(), z.boolean(), z.null()]);

const positions = z.strictObject({
  /** How the first page was read, which the following pages keep. */
  kind: z.enum(["index", "order", "value", "set", "sorted"]),
  /** The last sequence of the index that was read. */
  seq,
  /** Index messages per sequence, a hint for reading backwards. 0 if unknown. */
  density,
  /** The last entry of a known set or of a sort order, and the last of those that got a value after their creation. */
  id: z.string(),
  /** Sort keys of that entry. */
  keys: z.array(key),
});

/** A position in a list: everything up to it was read. */
export type Position = z.infer<typeof positions>;

/** Returns a position. Members that its kind does not use are empty. */
export function positionAt(kind: Position["kind"], at: Partial<Position>): Position {
  return { seq: 0, density: 0, id: "", keys: [], ...at, kind };
}

const decoder = new TextDecoder("utf-8", { fatal: true });

/** 400: the cursor does not belong to this list and query. */
function refusedCursor(): AppError {
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

/** Encodes a cursor. `query` identifies everything that the position depends on. */
export function writeCursor(position: Position, query: string): string {
  const text = JSON.stringify(position);
  return base64url.encode(`${fingerprint(`${query}\n${text}`)}.${text}`);
}

/**
 * Maximum length of a cursor. Five sort keys of 200 characters that JSON escapes, and an id, take up to 8,300
 * characters.
 */
const LONGEST = 9000;

/** Decodes and validates a cursor. @throws AppError malformed `invalid_cursor` */
export function readCursor(cursor: string, query: string): Position {
  if (cursor.length > LONGEST || !/^[A-Za-z0-9_-]+$/.test(cursor)) throw refusedCursor();
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
