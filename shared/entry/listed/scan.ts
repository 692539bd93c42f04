/** Reads the live index: lists the visible entries in order of creation, and counts them. */

import { BoundedMap } from "../../kernel/bounded-map.ts";
import { Again, retry, retryEach } from "../../kernel/retry.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { Consistency, Store, StoredMessage } from "../../store/types.ts";
import { readPage } from "../index/index.ts";
import { isListed, isOngoing, type Listing } from "../model/index.ts";
import {
  countBefore,
  type OrderedField,
  PAGES_AT_ONCE,
  PageGone,
  readMessages,
  tooFast,
  WHILE_COMPACTED,
} from "../ordered/index.ts";
import {
  type Correction,
  corrected,
  isCounted,
  type ListedPlace,
  type LivePage,
  type LiveRoot,
  lastMark,
  livePageOf,
  liveRootOf,
  nextEdgeIn,
} from "./pages.ts";

/** If the log has more changes than this, lists do without the index until a compaction has shortened the log. */
const LONGEST_LOG = 4_000;
/** Changes per read of the log. A larger read would have to wait for other large reads. */
const LOG_READ = 500;
/** Maximum subjects in one request to the broker. */
const PLACES_AT_ONCE = 1_000;

/** Pages in memory. Pages never change, and their names are never reused. */
const known = new BoundedMap<string, ListedPlace[]>(64);
/** Positions of entries by the subject of their creation, which never change. */
const positions = new BoundedMap<string, number>(20_000);

/** The state of a live index. Lists share it until the log has another change, so it never changes. */
export interface OpenedLive {
  root: LiveRoot;
  corrections: ReadonlyMap<string, Correction>;
  /** The listings of the corrections that begin or end to be visible at some time. */
  windows: readonly Listing[];
  /** Number of changes in the log that are not in the root yet. */
  logged: number;
  /** The published entries among the corrections, in order of creation. Undefined before the first list needs them. */
  added?: readonly ListedPlace[];
}

/** A root in memory. */
interface KnownRoot {
  root: LiveRoot;
  /** Time of the change `upTo` of the root. It tells whether the log is still that of the same application. */
  time: number;
  /** Sequence number of the last change in the log, with which the index was opened. */
  last: number;
  opened: OpenedLive;
}

const roots = new BoundedMap<string, KnownRoot>(200);

/** Reads the log from the last change that the root includes. Undefined if it is too long. */
async function readLog(
  store: Store,
  index: OrderedField,
  { upTo }: LiveRoot,
): Promise<StoredMessage[] | undefined> {
  const filter = subjects.orderedLog(index, index.field);
  const changes: StoredMessage[] = [];
  for (let fromSeq = upTo; ; ) {
    const { messages, pending } = await readPage(store, index.orb, filter, { fromSeq, limit: LOG_READ });
    changes.push(...messages);
    const last = messages.at(-1);
    if (pending === 0 || last === undefined) return changes;
    if (changes.length + pending > LONGEST_LOG) return undefined;
    fromSeq = last.seq + 1;
  }
}

export async function readRoot(
  store: Store,
  index: OrderedField,
  consistency: Consistency,
): Promise<StoredMessage | null> {
  const subject = subjects.orderedRoot(index, index.field);
  return nullIfMissing(store.get(streams.orb(index.orb), subject, { consistency }));
}

/**
 * Reads the state of a live index: one read of the log if the root is in memory. The log has a mark for each new root,
 * so it tells whether there is a newer one.
 * @returns `missing` if the index has not been built yet, `long` if its log is too long to read
 */
export async function openLive(store: Store, index: OrderedField): Promise<OpenedLive | "missing" | "long"> {
  const name = subjects.orderedLog(index, index.field);
  return retry(WHILE_COMPACTED, async (attempt) => {
    const known = attempt === 0 ? roots.get(name) : undefined;
    const root =
      known?.root ??
      liveRootOf(attempt < 2 ? await readRoot(store, index, "stale") : null) ??
      liveRootOf(await readRoot(store, index, "leader"));
    if (root === null) return "missing";
    const changes = await readLog(store, index, root);
    const [first] = changes ?? [];
    // A compaction keeps the last change that its root includes. If it is not there, this root is outdated.
    if (changes !== undefined && first?.seq !== root.upTo) throw new Again();
    if (known !== undefined && known.time !== first?.time) throw new Again();
    if (changes === undefined) return "long";
    const last = changes.at(-1)?.seq ?? 0;
    if (known?.last === last) return known.opened;
    const rest = changes.slice(1);
    const mark = lastMark(rest);
    if (mark !== undefined && mark !== root.name) throw new Again();
    const corrections = corrected(root.recent, rest);
    const windows = [...corrections.values()].flatMap(({ after }) =>
      typeof after === "number" ? [] : [after],
    );
    const opened = { root, corrections, windows, logged: rest.length };
    roots.set(name, { root, time: first?.time ?? 0, last, opened });
    return opened;
  });
}

/** @throws PageGone if a compaction has replaced one of the pages */
export async function readLivePages(
  store: Store,
  index: OrderedField,
  pages: readonly LivePage[],
  consistency: Consistency,
): Promise<ListedPlace[][]> {
  const subjectOf = ({ name }: LivePage) => subjects.orderedPage(index, index.field, name);
  const found = new Map<LivePage, ListedPlace[]>();
  for (const page of pages) {
    const places = known.get(subjectOf(page));
    if (places !== undefined) found.set(page, places);
  }
  const missing = pages.filter((page) => !found.has(page));
  for (let at = 0; at < missing.length; at += PAGES_AT_ONCE) {
    const some = missing.slice(at, at + PAGES_AT_ONCE);
    const messages = await readMessages(store, streams.orb(index.orb), some.map(subjectOf), consistency);
    for (const page of some) {
      const message = messages.get(subjectOf(page));
      if (message === undefined || message.size === 0) throw new PageGone();
      const places = livePageOf(message.json());
      known.set(subjectOf(page), places);
      found.set(page, places);
    }
  }
  return pages.map((page) => found.get(page) ?? []);
}

/** Returns the positions of entries in the order of creation. The map omits entries that do not exist. */
export async function positionsOf(
  store: Store,
  index: OrderedField,
  ids: readonly string[],
  consistency: Consistency,
): Promise<Map<string, number>> {
  const subjectOf = (id: string) => subjects.entryIndex({ ...index, id });
  const found = new Map<string, number>();
  const missing: string[] = [];
  for (const id of ids) {
    const seq = positions.get(subjectOf(id));
    if (seq === undefined) missing.push(id);
    else found.set(id, seq);
  }
  for (let at = 0; at < missing.length; at += PLACES_AT_ONCE) {
    const wanted = missing.slice(at, at + PLACES_AT_ONCE).map(subjectOf);
    const messages = await readMessages(store, streams.orb(index.orb), wanted, consistency);
    for (const id of missing.slice(at, at + PLACES_AT_ONCE)) {
      const message = messages.get(subjectOf(id));
      if (message === undefined || message.size === 0) continue;
      positions.set(subjectOf(id), message.seq);
      found.set(id, message.seq);
    }
  }
  return found;
}

/** Receives the next time at which what was read changes without a write, in milliseconds since the epoch. */
type OnEdge = (time: number) => void;

function tellEdge(onEdge: OnEdge | undefined, edge: number | null): void {
  if (edge !== null) onEdge?.(edge);
}

/** A part of the order of creation, without its ends. */
interface Span {
  after: number;
  before: number;
}

interface ScanOptions {
  descending: boolean;
  now: number;
  /** Whether to yield entries that become visible later, too. */
  upcoming?: boolean | undefined;
  /** Number of entries that the reader probably needs. The first group has as many. */
  first?: number | undefined;
  onEdge?: OnEdge | undefined;
}

/** Returns the places in a span of places in order of creation, in the order of the list. */
function placesIn(
  places: readonly ListedPlace[],
  { after, before }: Span,
  descending: boolean,
): readonly ListedPlace[] {
  const from = countBefore(places, ({ seq }) => seq <= after);
  const to = countBefore(places, ({ seq }) => seq < before);
  const some = from === 0 && to === places.length ? places : places.slice(from, to);
  return descending ? some.toReversed() : some;
}

/** Returns the published entries among the corrections, in order of creation. */
async function addedTo(
  store: Store,
  index: OrderedField,
  opened: OpenedLive,
  consistency: Consistency,
): Promise<readonly ListedPlace[]> {
  if (opened.added !== undefined) return opened.added;
  const published = [...opened.corrections].filter(([, { after }]) => after !== 0);
  const unplaced = published.filter(([, { seq }]) => seq === undefined).map(([id]) => id);
  const placed = await positionsOf(store, index, unplaced, consistency);
  const added = published
    .flatMap(([id, { seq = placed.get(id), after }]): ListedPlace[] =>
      seq === undefined || after === 0 ? [] : [{ id, seq, listing: after }],
    )
    .sort((a, b) => a.seq - b.seq);
  // A replica may lack a position that it has later.
  if (added.length === published.length) opened.added = added;
  return added;
}

/** Number of entries in the groups of a scan. */
const GROUP = 1_000;

async function* scanOpened(
  store: Store,
  index: OrderedField,
  opened: OpenedLive,
  span: Span,
  {
    descending,
    now,
    upcoming,
    first = GROUP,
    consistency,
    onEdge,
  }: ScanOptions & { consistency: Consistency },
): AsyncGenerator<ListedPlace[]> {
  const { pages } = opened.root;
  const { corrections, windows } = opened;
  const isShown = upcoming === true ? isOngoing : isListed;
  tellEdge(onEdge, nextEdgeIn(windows, now));
  const added = placesIn(await addedTo(store, index, opened, consistency), span, descending);
  const parts = pages.map((page, number) => ({
    page,
    from: number === 0 ? 0 : page.first,
    to: pages[number + 1]?.first ?? Number.POSITIVE_INFINITY,
  }));
  const wanted = parts.filter(({ page, from, to }) => {
    if (to <= span.after || from >= span.before) return false;
    const isHidden = upcoming !== true && isCounted(page, now) && page.shown === 0;
    if (isHidden) tellEdge(onEdge, page.until);
    return !isHidden;
  });
  if (descending) wanted.reverse();
  const isBefore = (a: number, b: number) => (descending ? a > b : a < b);
  let next = 0;
  let group: ListedPlace[] = [];
  let most = first;
  /** Adds the added entries before a position. */
  const addBefore = (seq: number) => {
    for (let place = added[next]; place !== undefined && isBefore(place.seq, seq); place = added[++next])
      if (isShown(place.listing, now)) group.push(place);
  };
  for (let at = 0, size = 1; at < wanted.length; at += size, size = Math.min(PAGES_AT_ONCE, size * 2)) {
    const some = wanted.slice(at, at + size);
    const read = await readLivePages(
      store,
      index,
      some.map(({ page }) => page),
      consistency,
    );
    for (const [number, { page, from, to }] of some.entries()) {
      const places = read[number] ?? [];
      const until = () =>
        nextEdgeIn(
          places.map(({ listing }) => listing),
          now,
        );
      tellEdge(onEdge, isCounted(page, now) ? page.until : until());
      for (const place of placesIn(places, span, descending)) {
        addBefore(place.seq);
        if (!corrections.has(place.id) && isShown(place.listing, now)) group.push(place);
        if (group.length < most) continue;
        yield group;
        [group, most] = [[], GROUP];
      }
      // The page ends before the next one begins, which has this position.
      addBefore(descending ? from - 1 : to);
    }
  }
  addBefore(descending ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY);
  yield group;
}

/** Yields the visible entries, or also the upcoming ones, in order of creation, in groups. */
export async function* scanLive(
  store: Store,
  index: OrderedField,
  opened: OpenedLive,
  { from, ...options }: ScanOptions & { from: number | undefined },
): AsyncGenerator<ListedPlace[]> {
  let span: Span = { after: 0, before: Number.POSITIVE_INFINITY };
  const proceed = (seq: number) => {
    span = options.descending ? { ...span, before: seq } : { ...span, after: seq };
  };
  if (from !== undefined) proceed(from);
  yield* retryEach(WHILE_COMPACTED, async function* (attempt) {
    const state = attempt === 0 ? opened : await openLive(store, index);
    if (typeof state === "string") throw tooFast();
    const consistency = attempt === 0 ? "stale" : "leader";
    for await (const places of scanOpened(store, index, state, span, { ...options, consistency })) {
      yield places;
      const last = places.at(-1);
      if (last !== undefined) proceed(last.seq);
    }
  });
}

interface Counted {
  count: number;
  /** Number of pages that had to be read, because a `validFrom` or `validTo` has passed. */
  read: number;
  /** The next time at which the count changes without a write, or null. */
  edge: number | null;
}

async function countOpened(
  store: Store,
  index: OrderedField,
  { root, corrections, windows }: OpenedLive,
  now: number,
  consistency: Consistency,
): Promise<Counted> {
  let count = 0;
  const edges: (number | null)[] = [nextEdgeIn(windows, now)];
  const passed: LivePage[] = [];
  for (const page of root.pages) {
    if (!isCounted(page, now)) {
      passed.push(page);
      continue;
    }
    count += page.shown;
    edges.push(page.until);
  }
  for (const places of await readLivePages(store, index, passed, consistency)) {
    const listings = places.map(({ listing }) => listing);
    count += listings.filter((listing) => isListed(listing, now)).length;
    edges.push(nextEdgeIn(listings, now));
  }
  for (const { after, before } of corrections.values())
    count += (isListed(after, now) ? 1 : 0) - (isListed(before, now) ? 1 : 0);
  const next = edges.filter((edge) => edge !== null);
  return { count, read: passed.length, edge: next.length === 0 ? null : Math.min(...next) };
}

/** Returns the number of visible entries. */
export async function countLive(
  store: Store,
  index: OrderedField,
  opened: OpenedLive,
  now: number,
): Promise<Counted> {
  return retry(WHILE_COMPACTED, async (attempt) => {
    const state = attempt === 0 ? opened : await openLive(store, index);
    if (typeof state === "string") throw tooFast();
    return countOpened(store, index, state, now, attempt === 0 ? "stale" : "leader");
  });
}
