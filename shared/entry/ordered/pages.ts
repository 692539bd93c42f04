/**
 * An ordered index lists the entries of a schema in the order of one field. It consists of messages in the
 * application's stream:
 *
 * - the log: each write that changes an entry's value appends the change to it
 * - pages: each contains up to about a thousand sorted pairs of a value and an entry id. A page never changes.
 * - the root: the list of pages, the pairs that are not yet in a page, and the last position in the log that the index
 *   includes
 *
 * A pair may be outdated, because the entry may have another value now. So readers compare each pair with the entry.
 * The pair with the entry's current value is never missing: it is in a page, in the root or in the log.
 */
import type { Home } from "../../store/subjects.ts";
import type { OrderedValue } from "../model/ordered-value.ts";

/** Identifies an ordered index: a field of a schema. */
export interface OrderedField extends Home {
  orb: string;
  field: string;
}

export interface Pair {
  value: OrderedValue;
  id: string;
}

/** Several pairs (of a value and an entry id), as pages store them. */
export interface Pairs {
  values: OrderedValue[];
  ids: string[];
}

export interface StoredPage extends Pairs {
  v: 1;
}

/**
 * One item in the list of an index's pages. The page contains the pairs from `first` up to the `first` of the next
 * page.
 */
export interface PagePlace {
  name: string;
  pairs: number;
  first: Pair;
}

export interface Root {
  /** Sequence of the last change that the index includes, or 0 for a new index. */
  upTo: number;
  /** Number of changes in the log that are also in the index's pages or root, so that readers skip them. */
  dead: number;
  pages: PagePlace[];
  /** Pairs (a value and an entry id) that are not in a page yet, in order. */
  recent: Pair[];
  /**
   * Outdated pairs (a value and an entry id) that a page may still contain. A page never changes, so readers ignore
   * these pairs until a new page replaces the page.
   */
  gone: Pair[];
}

export interface StoredRoot {
  v: 1;
  upTo: number;
  dead: number;
  pages: [name: string, pairs: number, value: OrderedValue, id: string][];
  recent: Pairs;
  gone: Pairs;
}

/**
 * Body of the message that replaces the root of an erased index. It is the same for ordered indexes and word indexes.
 */
export const REMOVED = JSON.stringify({ v: 1, removed: true });

export const EMPTY: Root = { upTo: 0, dead: 0, pages: [], recent: [], gone: [] };

export function rootOf(stored: StoredRoot): Root {
  const { upTo, dead, pages, recent, gone } = stored;
  return {
    upTo,
    dead,
    pages: pages.map(([name, pairs, value, id]) => ({ name, pairs, first: { value, id } })),
    recent: pairsOf(recent),
    gone: pairsOf(gone),
  };
}

export function rootBody({ upTo, dead, pages, recent, gone }: Root): string {
  const stored: StoredRoot = {
    v: 1,
    upTo,
    dead,
    pages: pages.map(({ name, pairs, first }) => [name, pairs, first.value, first.id]),
    recent: storedPairs(recent),
    gone: storedPairs(gone),
  };
  return JSON.stringify(stored);
}

export function pageBody(pairs: readonly Pair[]): string {
  const stored: StoredPage = { v: 1, ...storedPairs(pairs) };
  return JSON.stringify(stored);
}

export function pairsOf({ values, ids }: Pairs): Pair[] {
  return ids.map((id, at) => ({ value: values[at] ?? null, id }));
}

function storedPairs(pairs: readonly Pair[]): Pairs {
  return { values: pairs.map(({ value }) => value), ids: pairs.map(({ id }) => id) };
}

/** Compares values in the sort order of lists. A missing value comes first, and numbers come before strings. */
export function compareValues(a: OrderedValue, b: OrderedValue): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a < b ? -1 : 1;
}

export function comparePairs(a: Pair, b: Pair): number {
  return compareValues(a.value, b.value) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

/** Returns a string that identifies a pair, to use as a key in maps. */
export function pairKey({ value, id }: Pair): string {
  return `${id} ${JSON.stringify(value)}`;
}

/** Sorts pairs and removes duplicates. */
export function sortedPairs(pairs: Iterable<Pair>): Pair[] {
  const sorted = [...pairs].sort(comparePairs);
  return sorted.filter((pair, at) => {
    const before = sorted[at - 1];
    return before === undefined || comparePairs(before, pair) !== 0;
  });
}

/** Returns how many items at the start of a sorted list come before a position. */
export function countBefore<T>(items: readonly T[], isBefore: (item: T) => boolean): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const item = items[middle];
    if (item !== undefined && isBefore(item)) low = middle + 1;
    else high = middle;
  }
  return low;
}
