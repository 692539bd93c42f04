/**
 * How the live index lists an entry. The live index contains the published entries of a schema in order of creation, so
 * that lists need not read drafts, archived and expired entries.
 */
import type { ModuleToken } from "../../store/subjects.ts";
import type { RevisionState } from "./snapshot.ts";

/** Name of the live index among the ordered indexes of a schema. No field can have this name. */
export const LIVE = "-live";

/** The times between which a published entry is visible, in milliseconds since the epoch. Null means no limit. */
export type ListedWindow = readonly [from: number | null, to: number | null];

/** 0: the entry is not published. 1: it is published and always visible. */
export type Listing = 0 | 1 | ListedWindow;

/** A change of the live index, in the same batch as the revision that it belongs to. */
export interface ListingChange {
  id: string;
  after: Listing;
  before: Listing;
  /** Whether the same batch creates the entry. The next message of the batch is then that of the creation order. */
  isNew: boolean;
}

type StoredChange = [id: string, after: Listing, before: Listing, isNew?: 1];

/** A mark in the log of changes: from here on there is a new root. */
type StoredMark = [root: string];

/**
 * Returns whether schemas of a module have a live index. Settings and records of transactions have no drafts, so an
 * index of the published ones would not help.
 */
export function hasLiveIndex(type: ModuleToken): boolean {
  return type !== "settings" && type !== "transactions";
}

function timeIn(text: string | null): number | null {
  return text === null ? null : Date.parse(text);
}

/** Returns how the live index lists an entry with this newest revision. */
export function listingOf(head: RevisionState | undefined): Listing {
  if (head?.status !== "PUBLISHED" || head.publishedRevision === null) return 0;
  if (head.liveFrom === null && head.liveTo === null) return 1;
  return [timeIn(head.liveFrom), timeIn(head.liveTo)];
}

/** @param now milliseconds since the epoch */
export function isListed(listing: Listing, now: number): boolean {
  if (typeof listing === "number") return listing === 1;
  const [from, to] = listing;
  return (from === null || from <= now) && (to === null || to > now);
}

/** Returns whether an entry is published, and visible now or later. */
export function isOngoing(listing: Listing, now: number): boolean {
  if (typeof listing === "number") return listing === 1;
  return listing[1] === null || listing[1] > now;
}

export function isSameListing(a: Listing, b: Listing): boolean {
  return a === b || (typeof a !== "number" && typeof b !== "number" && a[0] === b[0] && a[1] === b[1]);
}

export function listingBody({ id, after, before, isNew }: ListingChange): string {
  const body: StoredChange = isNew ? [id, after, before, 1] : [id, after, before];
  return JSON.stringify(body);
}

/** Returns the change in a message of the log, or null if the message is a mark. */
export function listingIn(stored: StoredChange | StoredMark): ListingChange | null {
  if (stored.length === 1) return null;
  const [id, after, before, isNew] = stored;
  return { id, after, before, isNew: isNew === 1 };
}

/** @param root name of the new root */
export function markBody(root: string): string {
  const body: StoredMark = [root];
  return JSON.stringify(body);
}

/** Returns the name of the root in a mark, or undefined if the message is a change. */
export function markIn(stored: StoredChange | StoredMark): string | undefined {
  return stored.length === 1 ? stored[0] : undefined;
}
