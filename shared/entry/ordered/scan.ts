/**
 * Reads the pairs (a value and an entry id) of an ordered index in ascending or descending order, from any position.
 */
import { BoundedMap } from "../../kernel/bounded-map.ts";
import { unavailable } from "../../kernel/errors.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Consistency, type Store, type StoredMessage, TooMuch } from "../../store/types.ts";
import type { OrderedValue } from "../model/ordered-value.ts";
import { type OpenedIndex, openIndex } from "./open.ts";
import {
  comparePairs,
  compareValues,
  countBefore,
  type OrderedField,
  type PagePlace,
  type Pair,
  pairKey,
  pairsOf,
  type StoredPage,
  sortedPairs,
} from "./pages.ts";

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

/** Maximum pages of the index per read. Such small reads start immediately, while larger ones wait in a queue. */
const PAGES_AT_ONCE = 4;
const ATTEMPTS = 8;

/** Cache of pages. Pages never change, and their names are never reused. */
const known = new BoundedMap<string, Pair[]>(64);

/** Thrown if a page no longer exists. Between the reads of its name and its content, a compaction replaced it. */
export class PageGone extends Error {}

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
function within(pairs: readonly Pair[], { low, high }: Range): Pair[] {
  const from = countBefore(pairs, (pair) => isBelow(pair, low));
  const to = countBefore(pairs, (pair) => !isAbove(pair, high));
  return pairs.slice(from, to);
}

/** Reads pages of an ordered index. Returns the pairs (a value and an entry id) of each page by its name. */
export async function readPages(
  store: Store,
  index: OrderedField,
  names: readonly string[],
  consistency: Consistency,
): Promise<Map<string, Pair[]>> {
  const subjectOf = (name: string) => subjects.orderedPage(index, index.field, name);
  const found = new Map<string, Pair[]>();
  const missing: string[] = [];
  for (const name of names) {
    const page = known.get(subjectOf(name));
    if (page === undefined) missing.push(name);
    else found.set(name, page);
  }
  const messages = await readMessages(store, streams.orb(index.orb), missing.map(subjectOf), consistency);
  for (const name of missing) {
    const message = messages.get(subjectOf(name));
    if (message === undefined || message.size === 0) throw new PageGone();
    const pairs = pairsOf(message.json<StoredPage>());
    known.set(subjectOf(name), pairs);
    found.set(name, pairs);
  }
  return found;
}

export async function readMessages(
  store: Store,
  stream: string,
  pages: readonly string[],
  consistency: Consistency,
): Promise<Map<string, StoredMessage>> {
  try {
    if (pages.length > 1) return await store.getMany(stream, pages, { consistency, maxBytes: SMALL_BYTES });
  } catch (error) {
    if (!(error instanceof TooMuch)) throw error;
  }
  const messages = new Map<string, StoredMessage>();
  for (const page of pages) {
    const message = await store.get(stream, page, { consistency });
    if (message !== null) messages.set(page, message);
  }
  return messages;
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
 * Returns a lower bound for the number of pairs (a value and an entry id) in a range. Does not count the first and the
 * last page, which may lie mostly outside the range.
 */
export function pairsBetween({ root: { pages } }: OpenedIndex, range: Range): number {
  const { from, to } = pagesIn(pages, range);
  return pages.slice(from + 1, to - 1).reduce((sum, { pairs }) => sum + pairs, 0);
}

async function* scanOpened(
  store: Store,
  index: OrderedField,
  { root, added }: OpenedIndex,
  range: Range,
  descending: boolean,
  consistency: Consistency,
): AsyncGenerator<Pair[]> {
  const { pages } = root;
  const extra = within(sortedPairs([...root.recent, ...added]), range);
  const gone = new Set(root.gone.map(pairKey));
  for (const pair of extra) gone.delete(pairKey(pair));
  if (pages.length === 0) {
    yield descending ? extra.reverse() : extra;
    return;
  }
  const { from, to } = pagesIn(pages, range);
  const order = Array.from({ length: to - from }, (_, at) => (descending ? to - 1 - at : from + at));
  for (let at = 0, size = 1; at < order.length; at += size, size = Math.min(PAGES_AT_ONCE, size * 2)) {
    const part = order.slice(at, at + size);
    const names = part.map((number) => pages[number]?.name ?? "");
    const read = await readPages(store, index, names, consistency);
    for (const number of part) {
      const first = number === from ? undefined : pages[number]?.first;
      const next = number === to - 1 ? undefined : pages[number + 1]?.first;
      const own = within(read.get(pages[number]?.name ?? "") ?? [], range);
      const start = first === undefined ? 0 : countBefore(extra, (pair) => comparePairs(pair, first) < 0);
      const end =
        next === undefined ? extra.length : countBefore(extra, (pair) => comparePairs(pair, next) < 0);
      const kept = gone.size === 0 ? own : own.filter((pair) => !gone.has(pairKey(pair)));
      const merged = end > start ? sortedPairs([...kept, ...extra.slice(start, end)]) : kept;
      yield descending ? merged.toReversed() : merged;
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
  let state: OpenedIndex | undefined = opened;
  let rest = range;
  for (let attempt = 0; attempt < ATTEMPTS && state !== undefined; attempt++) {
    try {
      const consistency = attempt === 0 ? "stale" : "leader";
      for await (const pairs of scanOpened(store, index, state, rest, descending, consistency)) {
        yield pairs;
        const last = pairs.at(-1);
        if (last === undefined) continue;
        const edge = { ...last, inclusive: false };
        rest = descending ? { ...rest, high: edge } : { ...rest, low: edge };
      }
      return;
    } catch (error) {
      if (!(error instanceof PageGone)) throw error;
      state = await openIndex(store, index);
    }
  }
  throw unavailable("an ordered index changes too fast");
}
