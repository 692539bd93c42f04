/** Reads all entries of a list, as the start of a live list. */
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { BY_CREATION } from "../query/parameters.ts";
import { PAGE_SIZE } from "../query/query.ts";
import { listVisible } from "../read/list.ts";
import { type ListView, type LiveEntry, liveEntry } from "./judge.ts";

/** Maximum pages per snapshot. There can be many pages, because a page is short if few of the read entries match. */
const MOST_PAGES = 150;
/** Maximum entries and bytes of a snapshot. */
export const LIVE_LIMITS = { entries: 10_000, bytes: 16_000_000 } as const;

export function tooLarge(): AppError {
  const { entries, bytes } = LIVE_LIMITS;
  return new AppError(
    "invalid",
    "live_too_large",
    `A live list holds at most ${entries} entries and ${bytes / 1_000_000} MB. Add a filter, or request fewer fields.`,
    { data: { limit: entries } },
  );
}

/**
 * Yields the entries of a list in order of creation, one page at a time.
 * @throws AppError invalid `live_too_large`
 */
export async function* snapshotOfList(deps: Deps, view: ListView): AsyncGenerator<LiveEntry[]> {
  const { actor, ...input } = view;
  let cursor: string | undefined;
  let count = 0;
  let pages = 0;
  do {
    const query = { ...view.query, sort: [BY_CREATION], limit: PAGE_SIZE.max, cursor };
    const page = await listVisible(deps, actor, { ...input, query });
    count += page.items.length;
    if (count > LIVE_LIMITS.entries || ++pages > MOST_PAGES) throw tooLarge();
    yield page.items.map((seen) => liveEntry(view, seen));
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}
