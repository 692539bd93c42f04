/** Reads all entries of a list. A client that follows the list gets them first, and then the changes. */
import type { Deps } from "../../deps.ts";
import { PAGE_SIZE } from "../query/index.ts";
import { listVisible } from "../read/index.ts";
import { type ListView, type LiveEntry, liveEntry } from "./judge.ts";
import { partsOf, type QueryPart } from "./parts.ts";

/** An entry of a snapshot, and the newest revision of it that the snapshot has read. */
export interface SnapshotEntry {
  entry: LiveEntry;
  head: number;
  /** Time of that revision, in milliseconds since the epoch. */
  writtenAt: number;
}

/** A page of a list. It can be empty, because the filter may match none of the entries that were read. */
export interface SnapshotPage {
  entries: SnapshotEntry[];
  /** Where the next page begins. Undefined on the last one. */
  rest: SnapshotRest | undefined;
}

/** Where a snapshot continues: the parts of the list that are still to read, and the place in the first of them. */
export interface SnapshotRest {
  parts: readonly QueryPart[];
  cursor: string | undefined;
}

/**
 * Yields the entries of a list, one page at a time.
 * @param after `rest` of an earlier page, if not the start of the list
 */
export async function* snapshotOfList(
  deps: Deps,
  view: ListView,
  after?: SnapshotRest,
): AsyncGenerator<SnapshotPage> {
  // Clients sort the entries themselves, so the snapshot reads them as the indexes have them. An entry that changes its
  // place while the snapshot is read is also in the changes that follow.
  const parts =
    after?.parts ?? (await partsOf(deps, view.reading.schema, view.reading.orb, view.query.conditions));
  let rest: SnapshotRest | undefined = after ?? { parts, cursor: undefined };
  while (rest !== undefined) {
    const { parts, cursor }: SnapshotRest = rest;
    const [part, ...others] = parts;
    if (part === undefined) return;
    const { order, ...planned } = part;
    const query = { ...view.query, ...planned, sort: [order], limit: PAGE_SIZE.max, cursor };
    const page = await listVisible(deps, { ...view, query });
    if (page.nextCursor !== null) rest = { parts, cursor: page.nextCursor };
    else rest = others.length === 0 ? undefined : { parts: others, cursor: undefined };
    const entries = page.items.map((seen): SnapshotEntry => {
      const { revision, updatedAt } = seen.head;
      return { entry: liveEntry(view, seen), head: revision, writtenAt: Date.parse(updatedAt) };
    });
    yield { entries, rest };
  }
}
