/**
 * The live index lists the published entries of a schema in order of creation, and counts those that are visible. It
 * has the same parts as an ordered index: log, pages and root. Unlike other indexes it is exact: each change is in the
 * same atomic batch as the revision that causes it, so no reader has to compare it with the entry.
 */
import type { StoredMessage } from "../../store/types.ts";
import {
  isListed,
  isSameListing,
  type ListedWindow,
  type Listing,
  listingIn,
  markIn,
} from "../model/index.ts";
import { countBefore } from "../ordered/index.ts";

/** A published entry in the index. */
export interface ListedPlace {
  /** Sequence number of the entry's message in the order of creation. */
  seq: number;
  id: string;
  listing: Exclude<Listing, 0>;
}

/** One item in the list of pages. The page contains the entries from the position `first` up to that of the next one. */
export interface LivePage {
  name: string;
  size: number;
  first: number;
  /** Number of entries of the page that are visible between the times `since` and `until`. Null means no limit. */
  shown: number;
  since: number | null;
  until: number | null;
}

/** An entry whose listing differs from that in the pages. */
export interface Correction {
  /** Undefined if the position is not known yet. */
  seq: number | undefined;
  after: Listing;
  /** Listing in the pages. */
  before: Listing;
}

export type Corrections = Map<string, Correction>;

export interface LiveRoot {
  /** Unique name, which is also in the mark that the log gets together with this root. */
  name: string;
  /** Sequence number of the last change in the log that the root includes. */
  upTo: number;
  /** Number of changes that are in the root and still in the log. */
  dead: number;
  pages: LivePage[];
  /** Changes that are not in the pages yet. */
  recent: ReadonlyMap<string, Correction>;
}

interface StoredRoot {
  v: 1;
  name: string;
  upTo: number;
  dead: number;
  pages: [
    name: string,
    size: number,
    first: number,
    shown: number,
    since?: number | null,
    until?: number | null,
  ][];
  recent: [id: string, seq: number, after: Listing, before: Listing][];
}

interface StoredPage {
  v: 1;
  seqs: number[];
  ids: string[];
  windows?: [at: number, from: number | null, to: number | null][];
}

/** Milliseconds after its `validTo` at which an entry leaves the pages. The clocks of two hosts may differ by less. */
const EXPIRED_MS = 60_000;

/** Returns the root in a message, or null if there is none: nothing has built the index yet. */
export function liveRootOf(message: StoredMessage | null): LiveRoot | null {
  if (message === null || message.size === 0) return null;
  const { name: root, upTo, dead, pages, recent } = message.json<StoredRoot>();
  return {
    name: root,
    upTo,
    dead,
    pages: pages.map(([name, size, first, shown, since = null, until = null]) => ({
      name,
      size,
      first,
      shown,
      since,
      until,
    })),
    recent: new Map(
      recent.map(([id, seq, after, before]) => [id, { seq: seq === 0 ? undefined : seq, after, before }]),
    ),
  };
}

export function liveRootBody({ name: root, upTo, dead, pages, recent }: LiveRoot): string {
  const stored: StoredRoot = {
    v: 1,
    name: root,
    upTo,
    dead,
    pages: pages.map(({ name, size, first, shown, since, until }) =>
      since === null ? [name, size, first, shown] : [name, size, first, shown, since, until],
    ),
    recent: [...recent].map(([id, { seq = 0, after, before }]) => [id, seq, after, before]),
  };
  return JSON.stringify(stored);
}

export function livePageOf({ seqs, ids, windows = [] }: StoredPage): ListedPlace[] {
  const listings = new Map<number, ListedWindow>(windows.map(([at, from, to]) => [at, [from, to]]));
  return ids.map((id, at) => ({ seq: seqs[at] ?? 0, id, listing: listings.get(at) ?? 1 }));
}

export function livePageBody(places: readonly ListedPlace[]): string {
  const windows = places.flatMap(
    ({ listing }, at): NonNullable<StoredPage["windows"]> => (listing === 1 ? [] : [[at, ...listing]]),
  );
  const stored: StoredPage = {
    v: 1,
    seqs: places.map(({ seq }) => seq),
    ids: places.map(({ id }) => id),
    ...(windows.length === 0 ? {} : { windows }),
  };
  return JSON.stringify(stored);
}

/** Returns the item for a page in the list of pages. */
export function livePageAt(name: string, places: readonly ListedPlace[], now: number): LivePage {
  const first = places[0]?.seq ?? 0;
  const shown = places.filter(({ listing }) => isListed(listing, now)).length;
  const since = places.some(({ listing }) => listing !== 1) ? now : null;
  const until = nextEdgeIn(
    places.map(({ listing }) => listing),
    now,
  );
  return { name, size: places.length, first, shown, since, until };
}

/** Returns the next time at which one of these listings begins or ends to be visible, or null. */
export function nextEdgeIn(listings: readonly Listing[], now: number): number | null {
  let next: number | null = null;
  for (const listing of listings) {
    if (typeof listing === "number") continue;
    for (const edge of listing)
      if (edge !== null && edge > now && (next === null || edge < next)) next = edge;
  }
  return next;
}

/** Returns whether `shown` of a page is right at a time. Otherwise, the page must be read. */
export function isCounted({ since, until }: LivePage, now: number): boolean {
  return since === null || (since <= now && (until === null || now < until));
}

/** Returns whether an entry can never become visible again without another write. */
export function isOver(listing: Listing, now: number): boolean {
  if (typeof listing === "number") return listing === 0;
  return listing[1] !== null && listing[1] + EXPIRED_MS < now;
}

/** Returns the position in the list of pages of the page that may contain an entry. */
export function pageFor(pages: readonly LivePage[], seq: number): number {
  return Math.max(0, countBefore(pages, ({ first }) => first <= seq) - 1);
}

/** Returns the name of the newest root that the log mentions, if any. */
export function lastMark(changes: readonly StoredMessage[]): string | undefined {
  for (const message of changes.toReversed()) {
    const name = markIn(message.json());
    if (name !== undefined) return name;
  }
  return undefined;
}

/**
 * Adds changes of the log to corrections of the pages. A correction keeps its first `before`, because that is the
 * listing in the pages.
 */
export function corrected(
  recent: ReadonlyMap<string, Correction>,
  changes: readonly StoredMessage[],
): Corrections {
  const all = new Map(recent);
  for (const message of changes) {
    const change = listingIn(message.json());
    if (change === null) continue;
    const { id, after, before, isNew } = change;
    // A mark of a build.
    if (id === "") continue;
    const known = all.get(id);
    // The next message of the batch is that of the creation order.
    const seq = isNew ? message.seq + 1 : known?.seq;
    all.set(id, { seq, after, before: known === undefined ? before : known.before });
  }
  for (const [id, { after, before }] of all) if (isSameListing(after, before)) all.delete(id);
  return all;
}
