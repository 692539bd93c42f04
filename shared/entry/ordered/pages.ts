/**
 * An ordered index lists the entries of a schema in the order of one field. It consists of messages in the
 * application's stream:
 *
 * - the log: each write that changes an entry's value appends the change to it
 * - pages: each contains up to about a thousand sorted pairs of a value and an entry id. A page never changes.
 * - the root: the lists of pages (levels), the pairs that are not yet in a page, and the last position in the log that
 *   the index includes
 *
 * Each level is a sorted list of pages, several times as large as the level before it (a leveled LSM tree). Pairs go
 * from the root to the first level, and from a full level to the next one. With a single level, random values would
 * replace one page for almost every pair, because the pairs of the root would be spread over all pages.
 *
 * A pair may be outdated, because the entry may have another value now. So readers compare each pair with the entry.
 * The pair with the entry's current value is never missing: it is in a page, in the root or in the log.
 */
import type { Home } from "../../store/subjects.ts";
import type { OrderedValue } from "../model/index.ts";

/** Identifies an ordered index. */
export interface OrderedField extends Home {
  orb: string;
  /** Name of the index: that of the field, and of the language in which the index sorts texts, if there is one. */
  field: string;
}

export interface Pair {
  value: OrderedValue;
  id: string;
}

/** A pair that an index lists, or one that it no longer lists, because the entry has another value. */
export interface Item extends Pair {
  /** The pair is outdated. The mark hides the pair in older levels. */
  gone?: true;
}

/** Several pairs (of a value and an entry id), as pages store them. */
export interface Pairs {
  values: OrderedValue[];
  ids: string[];
}

export interface StoredPage extends Pairs {
  v: 1;
  gone?: Pairs;
}

/**
 * One item in the list of an index's pages. The page contains the pairs from `first` up to the `first` of the next
 * page.
 */
export interface PagePlace {
  name: string;
  /** Number of pairs, including those that are marked as outdated. */
  pairs: number;
  first: Pair;
}

export interface Root {
  /** Sequence of the last change that the index includes, or 0 for a new index. */
  upTo: number;
  /** Number of changes in the log that are also in the index's pages or root, so that readers skip them. */
  dead: number;
  /** Lists of pages, the newest and smallest first. The last one has no marks of outdated pairs. */
  levels: PagePlace[][];
  /** Pairs (a value and an entry id) that are not in a page yet, in order. */
  recent: Pair[];
  /**
   * Outdated pairs (a value and an entry id) that a page may still contain. A page never changes, so readers ignore
   * these pairs until a new page replaces the page.
   */
  gone: Pair[];
}

type StoredPlace = [name: string, pairs: number, value: OrderedValue, id: string];

interface StoredRootParts {
  upTo: number;
  dead: number;
  recent: Pairs;
  gone: Pairs;
}

/** Body of a root. The first version had a single level, `pages`. */
export type StoredRoot = StoredRootParts &
  ({ v: 1; pages: StoredPlace[] } | { v: 2; levels: StoredPlace[][] });

/**
 * Body of the message that replaces the root of an erased index. It is the same for ordered indexes and word indexes.
 */
export const REMOVED = JSON.stringify({ v: 1, removed: true });

export const EMPTY: Root = { upTo: 0, dead: 0, levels: [], recent: [], gone: [] };

export function rootOf(stored: StoredRoot): Root {
  const { upTo, dead, recent, gone } = stored;
  const levels = stored.v === 1 ? [stored.pages] : stored.levels;
  return {
    upTo,
    dead,
    levels: levels.map((pages) =>
      pages.map(([name, pairs, value, id]) => ({ name, pairs, first: { value, id } })),
    ),
    recent: pairsOf(recent),
    gone: pairsOf(gone),
  };
}

export function rootBody({ upTo, dead, levels, recent, gone }: Root): string {
  const stored: StoredRoot = {
    v: 2,
    upTo,
    dead,
    levels: levels.map((pages) =>
      pages.map(({ name, pairs, first }) => [name, pairs, first.value, first.id]),
    ),
    recent: storedPairs(recent),
    gone: storedPairs(gone),
  };
  return JSON.stringify(stored);
}

export function pageBody(items: readonly Item[]): string {
  const gone = items.filter((item) => item.gone === true);
  const stored: StoredPage = {
    v: 1,
    ...storedPairs(gone.length === 0 ? items : listedIn(items)),
    ...(gone.length === 0 ? {} : { gone: storedPairs(gone) }),
  };
  return JSON.stringify(stored);
}

/** Returns the content of a page in order. */
export function itemsOf({ gone, ...pairs }: StoredPage): Item[] {
  return gone === undefined ? pairsOf(pairs) : merged(pairsOf(pairs), goneItems(pairsOf(gone)));
}

export function goneItems(pairs: readonly Pair[]): Item[] {
  return pairs.map(({ value, id }) => ({ value, id, gone: true }));
}

/** Returns the pairs that an index lists. */
export function listedIn(items: readonly Item[]): Pair[] {
  return items.filter(({ gone }) => gone !== true);
}

/** Merges two sorted lists. If both have a pair, the newer item replaces the older one. */
export function merged(older: readonly Item[], newer: readonly Item[]): Item[] {
  if (older.length === 0 || newer.length === 0) return [...older, ...newer];
  const all: Item[] = [];
  let at = 0;
  for (const item of newer) {
    for (let next = older[at]; next !== undefined; next = older[++at]) {
      const order = comparePairs(next, item);
      if (order === 0) at++;
      if (order >= 0) break;
      all.push(next);
    }
    all.push(item);
  }
  for (let next = older[at]; next !== undefined; next = older[++at]) all.push(next);
  return all;
}

function pairsOf({ values, ids }: Pairs): Pair[] {
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
