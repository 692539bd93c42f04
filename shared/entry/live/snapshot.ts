/** Reads all entries of a list. A client that follows the list gets them first, and then the changes. */
import type { Deps } from "../../deps.ts";
import { BY_CREATION } from "../query/parameters.ts";
import { PAGE_SIZE } from "../query/query.ts";
import { listVisible } from "../read/list.ts";
import { type ListView, type LiveEntry, liveEntry } from "./judge.ts";

/** A page of a list. It can be empty, because the filter may match none of the entries that were read. */
export interface SnapshotPage {
  entries: LiveEntry[];
  /** Cursor of the next page. Undefined on the last one. */
  next: string | undefined;
}

/**
 * Yields the entries of a list in order of creation, one page at a time.
 * @param after cursor of the first page, if not the start of the list
 */
export async function* snapshotOfList(
  deps: Deps,
  view: ListView,
  after?: string,
): AsyncGenerator<SnapshotPage> {
  const { actor, ...input } = view;
  let cursor = after;
  do {
    const query = { ...view.query, sort: [BY_CREATION], limit: PAGE_SIZE.max, cursor };
    const page = await listVisible(deps, actor, { ...input, query });
    cursor = page.nextCursor ?? undefined;
    yield { entries: page.items.map((seen) => liveEntry(view, seen)), next: cursor };
  } while (cursor !== undefined);
}
