/**
 * Compaction of an ordered index (the entries of a schema sorted by one field). It moves changes from the index's log
 * into the root (the list of pages), and from the root into sorted pages. Each step writes new pages and a new root in
 * one atomic batch. The batch fails if another compaction has replaced the root since, so a compaction that runs twice
 * or crashes does no harm.
 */
import type { Fence } from "../../definition/live-orb.ts";
import type { Deps } from "../../deps.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict, type Store } from "../../store/types.ts";
import { readPage } from "../index/scan.ts";
import { nullIfMissing } from "../model/resolve.ts";
import { changesOf, freedPages, writeRoot } from "./changes.ts";
import { parsedRoot } from "./open.ts";
import {
  comparePairs,
  countBefore,
  type OrderedField,
  type PagePlace,
  type Pair,
  pageBody,
  pairKey,
  type Root,
  rootBody,
} from "./pages.ts";
import { PageGone, readPages } from "./scan.ts";

export interface CompactionLimits {
  /** Maximum changes that one compaction moves out of the log. */
  changes: number;
  /** Maximum pairs (a value and an entry id) in the root itself. All other pairs are in pages. */
  recent: number;
  /** Maximum pairs in a page. */
  page: number;
  /**
   * Once this many changes of the log are also in the root (the list of pages), the compaction removes them from the
   * log.
   */
  dead: number;
}

export const LIMITS: CompactionLimits = { changes: 8_000, recent: 1_000, page: 1_000, dead: 1_000 };

/** Maximum characters of a page, and of the pairs that the root (the list of pages) contains itself. */
const PAGE_SIZE = 96 * 1024;
/** Maximum pages that one step reads and replaces. */
const PAGES_PER_STEP = 24;
/** Estimated characters that a pair (a value and an entry id) needs in addition to the value. */
const PAIR_SIZE = 40;

/**
 * A pair (a value and an entry id) that a compaction adds to an index. It may also remove one, because the entry now
 * has another value.
 */
interface Item {
  pair: Pair;
  added: boolean;
}

export interface Compaction {
  deps: Pick<Deps, "store">;
  index: OrderedField;
  fence: Fence | undefined;
  limits: CompactionLimits;
}

/** The root (the list of an index's pages), and the sequence number of its message. */
interface CurrentRoot {
  root: Root;
  seq: number;
}

function sizeOf(pairs: readonly Pair[]): number {
  return pairs.reduce(
    (sum, { value }) => sum + PAIR_SIZE + (typeof value === "string" ? value.length : 0),
    0,
  );
}

/**
 * Moves changes from the log of an index into its pages, and updates the root (the list of the pages).
 * @returns the number of moved changes, 0 if the log has fewer than `least`
 * @throws Conflict if another compaction or another definition came first
 */
export async function compact(compaction: Compaction, least: number): Promise<number> {
  const { deps, index, limits } = compaction;
  const { store } = deps;
  const stream = streams.orb(index.orb);
  const log = subjects.orderedLog(index, index.field);
  const message = await nullIfMissing(store.get(stream, subjects.orderedRoot(index, index.field)));
  const current: CurrentRoot = { root: parsedRoot(message), seq: message?.seq ?? 0 };
  const { root } = current;
  const page = await readPage(store, index.orb, log, { fromSeq: root.upTo + 1, limit: limits.changes });
  const last = page.messages.at(-1);
  if (last === undefined || page.messages.length < least) return 0;

  const items = new Map<string, Item>();
  for (const pair of root.gone) items.set(pairKey(pair), { pair, added: false });
  for (const pair of root.recent) items.set(pairKey(pair), { pair, added: true });
  const changed = await changesOf(store, index, root.upTo, page.messages);
  for (const pair of changed.added) items.set(pairKey(pair), { pair, added: true });
  for (const pair of changed.gone) items.set(pairKey(pair), { pair, added: false });

  const shortens = root.dead >= limits.dead;
  const rest = await moveToPages(compaction, current, [...items.values()]);
  const sorted = rest.sort((a, b) => comparePairs(a.pair, b.pair));
  await replaceRoot(compaction, current, [], {
    upTo: last.seq,
    dead: (shortens ? 0 : root.dead) + page.messages.length,
    pages: current.root.pages,
    recent: sorted.filter((item) => item.added).map(({ pair }) => pair),
    gone: current.root.pages.length === 0 ? [] : sorted.filter((item) => !item.added).map(({ pair }) => pair),
  });
  // Keep the last change that is in the root. Readers look for this change to find out whether the log is complete.
  if (shortens) await store.purge(stream, log, { beforeSeq: last.seq });
  return page.messages.length;
}

/**
 * Moves pairs from the root into pages until the remaining pairs fit into the root. Begins with the pages that get the
 * most pairs. Updates `current`.
 * @returns the remaining pairs
 */
async function moveToPages(
  compaction: Compaction,
  current: CurrentRoot,
  items: readonly Item[],
): Promise<Item[]> {
  const { limits } = compaction;
  let rest = [...items];
  const isFew = () => rest.length <= limits.recent && sizeOf(rest.map(({ pair }) => pair)) <= PAGE_SIZE;
  while (!isFew()) {
    const { pages } = current.root;
    const byPage = Map.groupBy(rest, ({ pair }) =>
      Math.max(0, countBefore(pages, ({ first }) => comparePairs(first, pair) <= 0) - 1),
    );
    const chosen = [...byPage].sort((a, b) => b[1].length - a[1].length).slice(0, PAGES_PER_STEP);
    await replacePages(compaction, current, new Map(chosen));
    const moved = new Set(chosen.flatMap(([, some]) => some));
    rest = rest.filter((item) => !moved.has(item));
  }
  return rest;
}

/** Replaces pages of an index by new ones that include the given changes. */
async function replacePages(
  compaction: Compaction,
  current: CurrentRoot,
  items: ReadonlyMap<number, readonly Item[]>,
): Promise<void> {
  const { deps, index, limits } = compaction;
  const { root } = current;
  const old = root.pages.filter((_, number) => items.has(number));
  const names = old.map(({ name }) => name);
  const read = await readMany(deps.store, index, names);
  const most = Math.max(
    limits.page,
    Math.ceil(Math.sqrt(root.pages.reduce((sum, { pairs }) => sum + pairs, 0))),
  );
  const messages: Append[] = [];
  const written = new Map<number, PagePlace[]>();
  for (const [number, some] of items) {
    const pairs = merged(read.get(root.pages[number]?.name ?? "") ?? [], some);
    written.set(
      number,
      splitPairs(pairs, most).map((part) => {
        const name = crypto.randomUUID();
        messages.push({ subject: subjects.orderedPage(index, index.field, name), data: pageBody(part) });
        return { name, pairs: part.length, first: part[0] ?? { value: null, id: "" } };
      }),
    );
  }
  messages.push(...freedPages(index, names));
  const pages = root.pages.flatMap((place, number) => written.get(number) ?? [place]);
  const next = root.pages.length === 0 ? (written.get(0) ?? []) : pages;
  await replaceRoot(compaction, current, messages, { ...root, pages: next });
}

/** Reads pages, four at a time, so that no single response becomes too large. */
async function readMany(
  store: Store,
  index: OrderedField,
  names: readonly string[],
): Promise<Map<string, Pair[]>> {
  const all = new Map<string, Pair[]>();
  for (let at = 0; at < names.length; at += 4) {
    const some = await pagesOf(store, index, names.slice(at, at + 4));
    for (const [name, pairs] of some) all.set(name, pairs);
  }
  return all;
}

async function pagesOf(
  store: Store,
  index: OrderedField,
  names: readonly string[],
): Promise<Map<string, Pair[]>> {
  try {
    return await readPages(store, index, names, "leader");
  } catch (error) {
    // Another compaction has replaced the page since its name was read.
    throw error instanceof PageGone ? new Conflict() : error;
  }
}

function merged(pairs: readonly Pair[], items: readonly Item[]): Pair[] {
  const all = new Map(pairs.map((pair) => [pairKey(pair), pair]));
  for (const { pair, added } of items) {
    if (added) all.set(pairKey(pair), pair);
    else all.delete(pairKey(pair));
  }
  return [...all.values()].sort(comparePairs);
}

/** Splits pairs into as few pages as possible, all of about the same size. */
function splitPairs(pairs: readonly Pair[], most: number): Pair[][] {
  const count = Math.max(Math.ceil(pairs.length / most), Math.ceil(sizeOf(pairs) / PAGE_SIZE));
  const parts: Pair[][] = [];
  for (let part = 0; part < count; part++) {
    const from = Math.round((part * pairs.length) / count);
    parts.push(pairs.slice(from, Math.round(((part + 1) * pairs.length) / count)));
  }
  return parts.filter((part) => part.length > 0);
}

/**
 * Writes a root and pages in one batch. Updates `current`.
 * @throws Conflict if the root or the definition changed
 */
async function replaceRoot(
  compaction: Compaction,
  current: CurrentRoot,
  messages: readonly Append[],
  root: Root,
): Promise<void> {
  const next = { upTo: root.upTo, body: rootBody(root) };
  current.seq = await writeRoot(compaction, current.seq, messages, next);
  current.root = root;
}

/** Compacts an index until its log is short. Returns false if another compaction is running. */
export async function compactFully(compaction: Compaction): Promise<boolean> {
  try {
    while ((await compact(compaction, 1)) > 0);
    return true;
  } catch (error) {
    if (error instanceof Conflict) return false;
    throw error;
  }
}
