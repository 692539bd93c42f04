/**
 * Reads the pairs (a value and an entry id) of an ordered index in ascending or descending order, from any position.
 */
import { retryEach } from "../../kernel/retry.ts";
import type { Consistency, Store } from "../../store/types.ts";
import type { OrderedValue } from "../model/index.ts";
import { type OpenedIndex, openIndex, tooFast, WHILE_COMPACTED } from "./open.ts";
import {
  comparePairs,
  compareValues,
  countBefore,
  goneItems,
  type Item,
  itemsOf,
  listedIn,
  merged,
  type OrderedField,
  type PagePlace,
  type Pair,
  type StoredPage,
  sortedPairs,
} from "./pages.ts";
import { PAGES_AT_ONCE, pageReader } from "./read-pages.ts";

/**
 * The lower or upper end of a range of a sorted index. Without an id, the range ends before the first or after the last
 * entry that has the value.
 */
export interface Edge {
  value: OrderedValue;
  id?: string;
  /** Whether an entry exactly at this end belongs to the range. */
  inclusive: boolean;
}

export interface Range {
  low?: Edge | undefined;
  high?: Edge | undefined;
}

/** Reads pages of an ordered index by their names. */
export const readPages = pageReader((message) => itemsOf(message.json<StoredPage>()));

/** Compares a pair with the end of a range. The result is negative if the pair comes before that end. */
function toEdge(pair: Pair, edge: Edge): number {
  const order = compareValues(pair.value, edge.value);
  if (order !== 0 || edge.id === undefined) return order;
  return pair.id < edge.id ? -1 : pair.id > edge.id ? 1 : 0;
}

function isBelow(pair: Pair, low: Edge | undefined): boolean {
  if (low === undefined) return false;
  const order = toEdge(pair, low);
  return order < 0 || (order === 0 && !low.inclusive);
}

function isAbove(pair: Pair, high: Edge | undefined): boolean {
  if (high === undefined) return false;
  const order = toEdge(pair, high);
  return order > 0 || (order === 0 && !high.inclusive);
}

/** Returns the part of a sorted list that is in a range. */
function within(items: readonly Item[], { low, high }: Range): Item[] {
  const from = countBefore(items, (item) => isBelow(item, low));
  const to = countBefore(items, (item) => !isAbove(item, high));
  return items.slice(from, to);
}

/** Returns the pages that may have pairs in a range. */
function pagesIn(pages: readonly PagePlace[], { low, high }: Range): { from: number; to: number } {
  // A page ends where the next one starts. So the last page that starts before the range may also contain the range's
  // first pairs.
  const before = low === undefined ? 0 : countBefore(pages, ({ first }) => toEdge(first, low) < 0);
  const from = Math.max(0, before - 1);
  const to = high === undefined ? pages.length : countBefore(pages, ({ first }) => toEdge(first, high) <= 0);
  return { from, to: Math.max(from + 1, to) };
}

/**
 * Returns roughly how many pairs (a value and an entry id) are at least in a range. Does not count the first and the
 * last page of each level, which may lie mostly outside the range.
 */
export function pairsBetween({ root: { levels } }: OpenedIndex, range: Range): number {
  return levels.reduce((sum, pages) => {
    const { from, to } = pagesIn(pages, range);
    return sum + pages.slice(from + 1, to - 1).reduce((all, { pairs }) => all + pairs, 0);
  }, 0);
}

/** A part of an index for which each level has at most one page. */
interface Cell {
  /** The pages, that of the newest level first. */
  places: PagePlace[];
  /** The first pair of the part. Undefined: the part has no lower end. */
  from: Pair | undefined;
  /** The first pair behind the part. */
  to: Pair | undefined;
}

/** Yields the parts of a range in order. They end where a page of any level ends. */
function* cellsIn(
  levels: readonly (readonly PagePlace[])[],
  range: Range,
  descending: boolean,
): Generator<Cell> {
  const cursors = levels
    .filter((pages) => pages.length > 0)
    .map((pages) => {
      const { from, to } = pagesIn(pages, range);
      return descending ? { pages, at: to - 1, last: from } : { pages, at: from, last: to - 1 };
    });
  // Where a level's current page ends, in the direction of the scan. Undefined for its last page.
  const endOf = ({ pages, at, last }: (typeof cursors)[number]): Pair | undefined =>
    at === last ? undefined : pages[descending ? at : at + 1]?.first;
  for (let start: Pair | undefined; ; ) {
    const places = cursors.flatMap(({ pages, at }) => pages[at] ?? []);
    const ends = cursors.flatMap((cursor) => endOf(cursor) ?? []).sort(comparePairs);
    const end = descending ? ends.at(-1) : ends[0];
    yield descending ? { places, from: end, to: start } : { places, from: start, to: end };
    if (end === undefined) return;
    for (const cursor of cursors) {
      const own = endOf(cursor);
      if (own !== undefined && comparePairs(own, end) === 0) cursor.at += descending ? -1 : 1;
    }
    start = end;
  }
}

/** Returns the items of a sorted list that are in a part of the index. */
function inCell(items: readonly Item[], { from, to }: Cell): Item[] {
  const start = from === undefined ? 0 : countBefore(items, (item) => comparePairs(item, from) < 0);
  const end = to === undefined ? items.length : countBefore(items, (item) => comparePairs(item, to) < 0);
  return items.slice(start, end);
}

/** Yields lists of 1, 2, 4, 4 … items. */
function* growing<T>(items: Iterable<T>): Generator<T[]> {
  let size = 1;
  let list: T[] = [];
  for (const item of items) {
    list.push(item);
    if (list.length < size) continue;
    yield list;
    list = [];
    size = Math.min(PAGES_AT_ONCE, size * 2);
  }
  if (list.length > 0) yield list;
}

async function* scanOpened(
  store: Store,
  index: OrderedField,
  { root, added }: OpenedIndex,
  range: Range,
  descending: boolean,
  consistency: Consistency,
): AsyncGenerator<Pair[]> {
  const newest = within(merged(goneItems(root.gone), sortedPairs([...root.recent, ...added])), range);
  for (const cells of growing(cellsIn(root.levels, range, descending))) {
    const names = new Set(cells.flatMap(({ places }) => places.map(({ name }) => name)));
    const read = await readPages(store, index, [...names], consistency);
    for (const cell of cells) {
      const parts = cell.places.map(({ name }) => inCell(within(read.get(name) ?? [], range), cell));
      const items = [inCell(newest, cell), ...parts].reduceRight((older, newer) => merged(older, newer));
      const pairs = listedIn(items);
      yield descending ? pairs.reverse() : pairs;
    }
  }
}

/** Yields the pairs (a value and an entry id) of a range in order, in groups. */
export async function* scanOrdered(
  store: Store,
  index: OrderedField,
  opened: OpenedIndex,
  range: Range,
  descending: boolean,
): AsyncGenerator<Pair[]> {
  let rest = range;
  yield* retryEach(WHILE_COMPACTED, async function* (attempt) {
    const state = attempt === 0 ? opened : await openIndex(store, index);
    if (state === undefined) throw tooFast();
    const consistency = attempt === 0 ? "stale" : "leader";
    for await (const pairs of scanOpened(store, index, state, rest, descending, consistency)) {
      yield pairs;
      const last = pairs.at(-1);
      if (last === undefined) continue;
      const edge = { ...last, inclusive: false };
      rest = descending ? { ...rest, high: edge } : { ...rest, low: edge };
    }
  });
}
