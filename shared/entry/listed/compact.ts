/**
 * Compaction of a live index. It moves changes from the log into the root, and from the root into pages. It also drops
 * entries from the pages whose `validTo` has passed. Each step writes new pages and a new root in one atomic batch, and
 * the root says exactly up to which change it is complete.
 */
import type { Deps } from "../../deps.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict, type Store } from "../../store/types.ts";
import { isTogether } from "../../store/whole.ts";
import { readPage } from "../index/index.ts";
import { markBody } from "../model/index.ts";
import {
  type CompactionLimits,
  freedPages,
  type OrderedField,
  PageGone,
  type Compaction as PlainCompaction,
  writeRoot,
} from "../ordered/index.ts";
import {
  type Correction,
  type Corrections,
  corrected,
  isCounted,
  isOver,
  type ListedPlace,
  type LivePage,
  type LiveRoot,
  livePageAt,
  livePageBody,
  liveRootBody,
  liveRootOf,
  pageFor,
} from "./pages.ts";
import { positionsOf, readLivePages, readRoot } from "./scan.ts";

/** The root contains all changes that one compaction reads, so these are fewer than in other indexes. */
export const LIVE_LIMITS: CompactionLimits = { changes: 2_000, recent: 1_000, page: 1_000, dead: 1_000 };

/** Maximum pages that one step reads and replaces. */
const PAGES_PER_STEP = 24;

/** A compaction of a live index. It needs the time, to find out which entries are visible. */
export interface LiveCompaction extends PlainCompaction {
  deps: Pick<Deps, "store" | "clock">;
}

/** The work of one compaction. */
export interface LiveDuty {
  /** Minimum number of changes in the log for which to compact. */
  least: number;
  /** Whether to renew the pages in which a `validFrom` or `validTo` has passed, even if the log is short. */
  renew?: boolean;
}

/**
 * @returns the number of changes that it moved out of the log
 * @throws Conflict if another compaction or another definition came first
 */
export async function compactLive(compaction: LiveCompaction, { least, renew }: LiveDuty): Promise<number> {
  const { deps, index, limits } = compaction;
  const { store } = deps;
  const stream = streams.orb(index.orb);
  const log = subjects.orderedLog(index, index.field);
  const message = await readRoot(store, index, "leader");
  const root = liveRootOf(message);
  if (message === null || root === null) return 0;
  const page = await readPage(store, index.orb, log, { fromSeq: root.upTo + 1, limit: limits.changes });
  const last = page.messages.at(-1);
  const moved = page.messages.length < least ? [] : page.messages;
  const now = deps.clock.now();
  const passed =
    renew === true ? root.pages.flatMap((one, number) => (isCounted(one, now) ? [] : [number])) : [];
  if (moved.length === 0 && passed.length === 0) return 0;
  const corrections = corrected(root.recent, moved);
  await place(compaction, corrections, now);
  const shortens = moved.length > 0 && root.dead >= limits.dead;
  const next: LiveRoot = {
    ...root,
    upTo: moved.length === 0 ? root.upTo : (last?.seq ?? root.upTo),
    dead: (shortens ? 0 : root.dead) + moved.length,
    recent: corrections,
  };
  await moveToPages({ ...compaction, isTogether: moved.some(isTogether) }, message.seq, next, passed);
  // Keep the last change that is in the root. Readers look for this change to find out whether the log is complete.
  if (shortens) await store.purge(stream, log, { beforeSeq: next.upTo });
  return moved.length;
}

/** Adds the positions of entries. Removes the corrections that no longer make a difference. */
async function place(
  { deps: { store }, index }: LiveCompaction,
  corrections: Corrections,
  now: number,
): Promise<void> {
  for (const [id, { after, before }] of corrections)
    if (isOver(after, now) && isOver(before, now)) corrections.delete(id);
  const unplaced = [...corrections].filter(([, { seq }]) => seq === undefined).map(([id]) => id);
  const placed = await positionsOf(store, index, unplaced, "leader");
  for (const id of unplaced) {
    const correction = corrections.get(id);
    if (correction === undefined) continue;
    const seq = placed.get(id) ?? (await firstRevision(store, index, id));
    if (seq !== undefined) corrections.set(id, { ...correction, seq });
    // The entry was purged. Only a page can still have it.
    else corrections.set(id, { ...correction, after: 0 });
  }
}

/** Returns the sequence number of an entry's first revision. It comes right after the position of a deleted entry. */
async function firstRevision(store: Store, index: OrderedField, id: string): Promise<number | undefined> {
  const log = subjects.entryLog({ ...index, id });
  return (await store.nextMessage(streams.orb(index.orb), log, 1))?.seq;
}

/**
 * Writes the root. If it has too many corrections, moves them into pages: those first that belong to the pages with the
 * most corrections.
 * @param seq sequence number of the root to replace
 * @param passed positions in the list of pages of those to renew
 */
async function moveToPages(
  compaction: LiveCompaction,
  seq: number,
  root: LiveRoot,
  passed: readonly number[],
): Promise<void> {
  let next = root;
  let current = seq;
  let renewed = new Set(passed.map((number) => root.pages[number]?.name));
  do {
    let chosen: ByPage = new Map();
    if (next.recent.size > compaction.limits.recent) {
      const largest = [...pagesOf(next)].sort((a, b) => b[1].size - a[1].size);
      chosen = new Map(largest.slice(0, PAGES_PER_STEP));
      await moveStrays(compaction, next, chosen);
    }
    for (const [number, { name }] of next.pages.entries())
      if (renewed.has(name) && chosen.size < PAGES_PER_STEP && !chosen.has(number))
        chosen.set(number, new Map());
    const made = await replacePages(compaction, next, chosen);
    current = await writeLiveRoot(compaction, current, made.messages, made.root);
    next = made.root;
    const names = new Set(next.pages.map(({ name }) => name));
    renewed = new Set([...renewed].filter((name) => name !== undefined && names.has(name)));
  } while (next.recent.size > compaction.limits.recent || renewed.size > 0);
}

type ByPage = Map<number, Map<string, Correction>>;

function addTo(byPage: ByPage, number: number, id: string, correction: Correction): void {
  const some = byPage.get(number) ?? new Map<string, Correction>();
  byPage.set(number, some.set(id, correction));
}

/** Returns the corrections for each page, by the page's position in the list of pages. */
function pagesOf({ pages, recent }: LiveRoot): ByPage {
  const byPage: ByPage = new Map();
  for (const [id, correction] of recent) addTo(byPage, pageFor(pages, correction.seq ?? 0), id, correction);
  return byPage;
}

/**
 * Moves each correction to the page that has its entry. The position of a deleted entry is known only roughly, and that
 * of a purged one not at all.
 */
async function moveStrays(
  { deps, index }: LiveCompaction,
  { pages }: LiveRoot,
  chosen: ByPage,
): Promise<void> {
  const strays = new Map<string, number>();
  for (const [number, some] of chosen) {
    const own = pages[number];
    const [places = []] = own === undefined ? [] : await readOrConflict(deps.store, index, [own]);
    const ids = new Set(places.map(({ id }) => id));
    for (const [id, { before }] of some) if (before !== 0 && !ids.has(id)) strays.set(id, number);
  }
  for (const [number, page] of pages.entries()) {
    if (strays.size === 0) return;
    const [places = []] = await readOrConflict(deps.store, index, [page]);
    for (const { id } of places) {
      const from = strays.get(id);
      const correction = from === undefined ? undefined : chosen.get(from)?.get(id);
      if (from === undefined || correction === undefined) continue;
      strays.delete(id);
      chosen.get(from)?.delete(id);
      addTo(chosen, number, id, correction);
    }
  }
}

async function readOrConflict(
  store: Store,
  index: OrderedField,
  pages: readonly LivePage[],
): Promise<ListedPlace[][]> {
  try {
    return await readLivePages(store, index, pages, "leader");
  } catch (error) {
    // Another compaction has replaced the page since its name was read.
    throw error instanceof PageGone ? new Conflict() : error;
  }
}

function merged(
  places: readonly ListedPlace[],
  some: ReadonlyMap<string, Correction>,
  now: number,
): ListedPlace[] {
  const kept = places.filter(({ id, listing }) => !some.has(id) && !isOver(listing, now));
  for (const [id, { seq, after }] of some)
    if (after !== 0 && seq !== undefined && !isOver(after, now)) kept.push({ seq, id, listing: after });
  return kept.sort((a, b) => a.seq - b.seq);
}

/** Splits entries into as few pages as possible, all of about the same size. */
export function livePagesOf(
  index: OrderedField,
  places: readonly ListedPlace[],
  most: number,
  now: number,
): { pages: LivePage[]; messages: Append[] } {
  const count = Math.ceil(places.length / most);
  const pages: LivePage[] = [];
  const messages: Append[] = [];
  for (let part = 0; part < count; part++) {
    const from = Math.round((part * places.length) / count);
    const some = places.slice(from, Math.round(((part + 1) * places.length) / count));
    const name = crypto.randomUUID();
    messages.push({ subject: subjects.orderedPage(index, index.field, name), data: livePageBody(some) });
    pages.push(livePageAt(name, some, now));
  }
  return { pages, messages };
}

/**
 * Writes a root and pages in one batch, with a mark in the log that names the root.
 * @param seq sequence number of the root to replace, 0 if there is none
 * @throws Conflict if the root or the definition changed
 */
export function writeLiveRoot(
  compaction: LiveCompaction,
  seq: number,
  messages: readonly Append[],
  root: LiveRoot,
): Promise<number> {
  const { index } = compaction;
  const mark = { subject: subjects.orderedLog(index, index.field), data: markBody(root.name) };
  const body = { upTo: root.upTo, body: liveRootBody(root) };
  return writeRoot(compaction, seq, [...messages, mark], body);
}

/** Returns the messages of new pages that include the given corrections, and the root that lists them. */
async function replacePages(
  { deps, index, limits }: LiveCompaction,
  root: LiveRoot,
  chosen: ReadonlyMap<number, ReadonlyMap<string, Correction>>,
): Promise<{ messages: Append[]; root: LiveRoot }> {
  const now = deps.clock.now();
  const size = root.pages.reduce((sum, page) => sum + page.size, 0);
  const most = Math.max(limits.page, Math.ceil(Math.sqrt(size)));
  const numbers = [...chosen.keys()].filter((number) => root.pages[number] !== undefined);
  const old = numbers.flatMap((number) => root.pages[number] ?? []);
  const read = await readOrConflict(deps.store, index, old);
  const placesOf = new Map(numbers.map((number, at) => [number, read[at] ?? []]));
  const messages: Append[] = [];
  const written = new Map<number, LivePage[]>();
  for (const [number, some] of chosen) {
    const made = livePagesOf(index, merged(placesOf.get(number) ?? [], some, now), most, now);
    messages.push(...made.messages);
    written.set(number, made.pages);
  }
  const names = old.map(({ name }) => name);
  messages.push(...freedPages(index, names));
  const moved = new Set([...chosen.values()].flatMap((some) => [...some.keys()]));
  const pages = root.pages.flatMap((page, number) => written.get(number) ?? [page]);
  return {
    messages,
    root: {
      ...root,
      name: crypto.randomUUID(),
      pages: root.pages.length === 0 ? (written.get(0) ?? []) : pages,
      recent: new Map([...root.recent].filter(([id]) => !moved.has(id))),
    },
  };
}
