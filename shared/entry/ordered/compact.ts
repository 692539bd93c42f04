/**
 * Compaction of an ordered index (the entries of a schema sorted by one field). It moves changes from the index's log
 * into the root (the lists of pages), and from the root into sorted pages. Each step writes new pages and a new root in
 * one atomic batch. The batch fails if another compaction has replaced the root since, so a compaction that runs twice
 * or crashes does no harm.
 */
import { nullIfMissing } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict } from "../../store/types.ts";
import { isTogether } from "../../store/whole.ts";
import { readPage } from "../index/index.ts";
import { changesOf, freedPages, type RootWriter, writeRoot } from "./changes.ts";
import { byPage, countOf, fullest, groupsOf, overfull, settled, windowToMove } from "./levels.ts";
import { parsedRoot } from "./open.ts";
import {
  goneItems,
  type Item,
  listedIn,
  merged,
  type OrderedField,
  type PagePlace,
  type Pair,
  pageBody,
  type Root,
  rootBody,
  sortedPairs,
} from "./pages.ts";
import { PageGone } from "./read-pages.ts";
import { readPages } from "./scan.ts";

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

export interface OrderedLimits extends CompactionLimits {
  /** A level has up to this many times as many pairs as the one before it. The first one has as many pages. */
  growth: number;
  /** Maximum pages of a level that one step replaces. */
  step: number;
}

export const LIMITS: OrderedLimits = {
  changes: 24_000,
  recent: 1_000,
  page: 1_000,
  dead: 1_000,
  growth: 8,
  step: 24,
};

/** Maximum characters of a page, and of the pairs that the root (the list of pages) contains itself. */
const PAGE_SIZE = 96 * 1024;
/** Maximum pairs that one step adds to or removes from pages. One page may get more. */
const ITEMS_PER_STEP = 8_000;
/** Estimated characters that a pair (a value and an entry id) needs in addition to the value. */
const PAIR_SIZE = 40;

export interface Compaction extends RootWriter {
  limits: CompactionLimits;
}

export interface OrderedCompaction extends Compaction {
  limits: OrderedLimits;
}

/** The root (the lists of an index's pages), and the sequence number of its message. */
interface CurrentRoot {
  root: Root;
  seq: number;
}

/** The lists of pages after a step, and the messages with the new pages. */
interface Step {
  levels: PagePlace[][];
  messages: Append[];
}

function sizeOf(pairs: readonly Pair[]): number {
  return pairs.reduce(
    (sum, { value }) => sum + PAIR_SIZE + (typeof value === "string" ? value.length : 0),
    0,
  );
}

/**
 * Moves changes from the log of an index into its pages, and updates the root (the lists of the pages).
 * @returns the number of moved changes, 0 if the log has fewer than `least`
 * @throws Conflict if another compaction or another definition came first
 */
export async function compact(plain: OrderedCompaction, least: number): Promise<number> {
  const { deps, index, limits } = plain;
  const { store } = deps;
  const stream = streams.orb(index.orb);
  const log = subjects.orderedLog(index, index.field);
  const message = await nullIfMissing(store.get(stream, subjects.orderedRoot(index, index.field)));
  const root = parsedRoot(message);
  const page = await readPage(store, index.orb, log, { fromSeq: root.upTo + 1, limit: limits.changes });
  const last = page.messages.at(-1);
  if (last === undefined || page.messages.length < least) return 0;
  const compaction = { ...plain, isTogether: page.messages.some(isTogether) };

  const { added, gone } = await changesOf(store, index, root.upTo, page.messages);
  const items = [goneItems(root.gone), root.recent, sortedPairs(added), goneItems(sortedPairs(gone))].reduce(
    (older, newer) => merged(older, newer),
  );
  const shortens = root.dead >= limits.dead;
  const levels = settled(root.levels, limits);
  const current: CurrentRoot = { root: { ...root, levels }, seq: message?.seq ?? 0 };
  const { rest, messages } = await moveToPages(compaction, current, items);
  const hasPages = current.root.levels.length > 0;
  await replaceRoot(compaction, current, messages, {
    upTo: last.seq,
    dead: (shortens ? 0 : root.dead) + page.messages.length,
    levels: current.root.levels,
    recent: listedIn(rest),
    gone: hasPages ? rest.filter((item) => item.gone === true) : [],
  });
  // Keep the last change that is in the root. Readers look for this change to find out whether the log is complete.
  if (shortens) await store.purge(stream, log, { beforeSeq: last.seq });
  await moveDown(compaction, current);
  return page.messages.length;
}

/**
 * Moves items from the root into pages of the first level until the others fit into the root. Begins with the pages
 * that get the most items. Updates `current`.
 * @param items sorted items
 * @returns the remaining items, and messages to write together with the root: the pages of the last step
 */
async function moveToPages(
  compaction: OrderedCompaction,
  current: CurrentRoot,
  items: readonly Item[],
): Promise<{ rest: readonly Item[]; messages: readonly Append[] }> {
  const { limits } = compaction;
  let rest = items;
  let messages: readonly Append[] = [];
  while (rest.length > limits.recent || sizeOf(rest) > PAGE_SIZE) {
    // The items of this root are those of before. Some of them are now in pages too, which does no harm.
    if (messages.length > 0) await replaceRoot(compaction, current, messages, current.root);
    const { levels } = current.root;
    const chosen = fullest(byPage(levels[0] ?? [], rest), { pages: limits.step, items: ITEMS_PER_STEP });
    const step = await replacePages(compaction, levels, 0, chosen);
    const moved = new Set([...chosen.values()].flat());
    rest = rest.filter((item) => !moved.has(item));
    current.root = { ...current.root, levels: step.levels };
    messages = step.messages;
  }
  return { rest, messages };
}

/** Moves pages of levels that have become too large into the next levels. Updates `current`. */
async function moveDown(compaction: OrderedCompaction, current: CurrentRoot): Promise<void> {
  const { index, limits } = compaction;
  for (;;) {
    const levels = settled(current.root.levels, limits);
    const number = overfull(levels, limits);
    const [upper, lower] = [levels[number], levels[number + 1]];
    if (upper === undefined || lower === undefined) return;
    const { from, to } = windowToMove(upper, lower, limits.step);
    const old = upper.slice(from, to);
    const items = await readAll(compaction, old);
    const pages = byPage(lower, items);
    const moved = new Map([...pages].slice(0, limits.step));
    // Pages can have more neighbours below them than one step may replace.
    const rest = newPages(
      index,
      limits,
      countOf(levels.flat()),
      [...pages].slice(limits.step).flatMap(([, some]) => some),
    );
    const step = await replacePages(
      compaction,
      levels.with(number, upper.toSpliced(from, to - from, ...rest.places)),
      number + 1,
      moved,
    );
    const messages = [
      ...step.messages,
      ...rest.messages,
      ...freedPages(
        index,
        old.map(({ name }) => name),
      ),
    ];
    await replaceRoot(compaction, current, messages, { ...current.root, levels: step.levels });
  }
}

/**
 * Returns the levels of an index with new pages in place of those that get items, and the messages of the new pages.
 * @param items the items that each page gets, by the page's position in its level
 */
async function replacePages(
  compaction: OrderedCompaction,
  levels: PagePlace[][],
  number: number,
  items: ReadonlyMap<number, readonly Item[]>,
): Promise<Step> {
  const { index, limits } = compaction;
  const level = levels[number] ?? [];
  const total = countOf(levels.flat());
  const messages: Append[] = [];
  let places = level;
  // The last group comes first, so that the positions of the others stay the same.
  for (const group of groupsOf(items).reverse()) {
    const old = level.slice(group.from, group.to);
    const all = merged(await readAll(compaction, old), group.items);
    // Below the last level, a mark hides nothing.
    const made = newPages(index, limits, total, number >= levels.length - 1 ? listedIn(all) : all);
    const freed = freedPages(
      index,
      old.map(({ name }) => name),
    );
    messages.push(...made.messages, ...freed);
    places = places.toSpliced(group.from, old.length, ...made.places);
  }
  return { levels: number < levels.length ? levels.with(number, places) : [...levels, places], messages };
}

/** Reads adjacent pages, four at a time, so that no single response becomes too large. */
async function readAll({ deps, index }: OrderedCompaction, places: readonly PagePlace[]): Promise<Item[]> {
  const names = places.map(({ name }) => name);
  const all: Item[] = [];
  try {
    for (let at = 0; at < names.length; at += 4) {
      const some = names.slice(at, at + 4);
      const read = await readPages(deps.store, index, some, "leader");
      all.push(...some.flatMap((name) => read.get(name) ?? []));
    }
  } catch (error) {
    // Another compaction has replaced the page since its name was read.
    throw error instanceof PageGone ? new Conflict() : error;
  }
  return all;
}

/**
 * Splits items into as few pages as possible, all of about the same size.
 * @param total number of all items of the index
 */
export function newPages(
  index: OrderedField,
  limits: CompactionLimits,
  total: number,
  items: readonly Item[],
): { places: PagePlace[]; messages: Append[] } {
  const most = Math.max(limits.page, Math.ceil(Math.sqrt(total)));
  const count = Math.max(Math.ceil(items.length / most), Math.ceil(sizeOf(items) / PAGE_SIZE));
  const places: PagePlace[] = [];
  const messages: Append[] = [];
  for (let part = 0; part < count; part++) {
    const from = Math.round((part * items.length) / count);
    const some = items.slice(from, Math.round(((part + 1) * items.length) / count));
    const [first] = some;
    if (first === undefined) continue;
    const name = crypto.randomUUID();
    places.push({ name, pairs: some.length, first: { value: first.value, id: first.id } });
    messages.push({ subject: subjects.orderedPage(index, index.field, name), data: pageBody(some) });
  }
  return { places, messages };
}

/**
 * Writes the root of an index and new pages in one batch. Then `current` contains the new root.
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
export async function compactFully(compaction: OrderedCompaction): Promise<boolean> {
  try {
    while ((await compact(compaction, 1)) > 0);
    return true;
  } catch (error) {
    if (error instanceof Conflict) return false;
    throw error;
  }
}
