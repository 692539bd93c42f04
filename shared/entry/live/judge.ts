/**
 * Decides what a change of an entry means for a list that a client follows: the list gets the entry, updates it,
 * removes it, or stays the same.
 */
import { maskedRevision, presentEntry, type RuntimeEntry, type VisibleEntry } from "../index/index.ts";
import { addressOf, type RevisionState, visible, withNames } from "../model/index.ts";
import { matches, type SortValue, sortValues, type Work } from "../query/index.ts";
import type { ListInput } from "../read/index.ts";
import { type Change, type EntryState, HistoryErased } from "./changes.ts";

/** A list as one caller sees it, because callers may see different entries and values. */
export type ListView = Omit<ListInput, "last">;

/** An entry of a live list. */
export interface LiveEntry extends RuntimeEntry {
  /** Values of the fields by which the list is sorted. Missing if the list has no sort order. */
  rank?: SortValue[];
}

/** An event that clients receive when they follow a list. */
export type ListEvent = { type: "upsert"; entry: LiveEntry } | { type: "leave"; id: string };

/** The effect of a change on a list. `lost`: the list may have contained the entry, but this can no longer be found out. */
export type ListEffect = ListEvent | { type: "lost" };

/**
 * Returns the entry as the list shows it, or undefined if the list does not contain it.
 * @param when `now` requires that the entry is within its period of visibility; `ever` also accepts an entry whose
 *   period has ended
 */
async function seenIn(
  { reading, query, choice }: ListView,
  { head: stored, published }: EntryState,
  now: number,
  when: "now" | "ever",
  work: Work | undefined,
): Promise<VisibleEntry | undefined> {
  if (stored.status === "DELETED") return undefined;
  const { schema } = reading;
  const head = withNames(schema, stored);
  const newest = reading.latest ? reading.newest(head, now) : undefined;
  let found = newest;
  if (found === undefined) {
    // A client may still show an entry whose `validTo` has passed, so ignore `validTo` here.
    const open = when === "now" ? visible(head, now) : visible({ ...head, liveTo: null }, now);
    const live = open ? await published() : null;
    if (live === null) return undefined;
    const address = addressOf(schema, head.id);
    found = {
      schema,
      address,
      head,
      newest: head.revision,
      shown: maskedRevision(schema, withNames(schema, live)),
    };
  }
  const seen = reading.shown(found);
  return seen !== undefined && matches(query.conditions, seen.shown, choice, undefined, work)
    ? seen
    : undefined;
}

/** Returns an entry in the form that clients of a live list receive. */
export function liveEntry({ query, choice, pinned }: ListView, seen: VisibleEntry): LiveEntry {
  const { change } = seen.shown;
  const shaped = pinned?.seen(seen) ?? seen;
  const presented = presentEntry(shaped, { choice, fields: query.fields }, new Set());
  const entry = change === undefined ? presented : { ...presented, change };
  return query.sort.length === 0 ? entry : { ...entry, rank: sortValues(query.sort, seen.shown, choice) };
}

/** Returns whether two revisions of an entry have the same published revision, `validFrom` and `validTo`. */
function sameLive(a: RevisionState, b: RevisionState): boolean {
  return (
    a.status === b.status &&
    a.publishedRevision === b.publishedRevision &&
    a.liveFrom === b.liveFrom &&
    a.liveTo === b.liveTo
  );
}

/**
 * Returns the effect of a change on the list, or undefined if it does not affect the list. Reports the removal of an
 * entry only if the list contained it, so no event reveals an entry that the caller could not see.
 * @param now milliseconds since the epoch
 * @param work counts how much is compared
 */
export async function effectOf(
  view: ListView,
  change: Change,
  now: number,
  work?: Work,
): Promise<ListEffect | undefined> {
  if (change.kind === "lost") return { type: "lost" };
  try {
    return await eventOf(view, change, now, work);
  } catch (error) {
    if (error instanceof HistoryErased) return { type: "lost" };
    throw error;
  }
}

async function eventOf(
  view: ListView,
  change: Change,
  now: number,
  work: Work | undefined,
): Promise<ListEvent | undefined> {
  const { before, after, kind, id } = change;
  const drafts = view.reading.latest;
  if (kind === "write" && !drafts && before !== undefined && after !== undefined) {
    if (sameLive(before.head, after.head)) return undefined;
  }
  // The broker's clock may be ahead of this host's clock, so use the later time.
  const at = Math.max(now, change.time);
  const seen = after === undefined ? undefined : await seenIn(view, after, at, "now", work);
  if (seen !== undefined) {
    // The published copy was removed before its `validTo`. Ignore this, because a new revision in the log reports the
    // same change.
    if (kind === "close" && !drafts) return undefined;
    return { type: "upsert", entry: liveEntry(view, seen) };
  }
  const was = before === undefined ? undefined : await seenIn(view, before, at, "ever", work);
  return was === undefined ? undefined : { type: "leave", id };
}
