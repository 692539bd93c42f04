/**
 * The stored form of an entry, and its meaning at a point in time. All functions are pure.
 *
 * Each write appends a whole snapshot to the entry's log (subjects with the role `owner`). The last message of the
 * log is the head, and the head is the truth. Live copies, index keys and schedules are derived from it. Readers
 * verify them against the head, and the next write repairs them.
 */
import type { Status } from "../../definition/document/lifecycle.ts";
import type { StoredMessage } from "../../store/types.ts";
import { maskValues, type Secrets } from "./masking.ts";

/** The operation that created a revision. `unpublish` by {@link SCHEDULER} is the closing of a validity window. */
export type EntryOperation =
  | "create"
  | "update"
  | "publish"
  | "unpublish"
  | "archive"
  | "restore"
  | "delete"
  /** An older revision's values restored as a new draft. */
  | "revert"
  /** Sensitive values sealed again under a newer key. Nothing else changed. */
  | "reseal";

/** `updatedBy` of revisions that stand for the closing of a validity window. */
export const SCHEDULER = "scheduler";

/** A field's stored value: any JSON value; sealed ones are `Sealed`; per language and market, maps of them. */
export type StoredValue = unknown;

/** The members of an entry that clients see. Times are ISO 8601 in UTC with milliseconds. */
export interface EntryView {
  id: string;
  orb: string;
  module: string;
  schema: string;
  status: Status | "DELETED";
  /** Revision number, from 1. */
  revision: number;
  /** The live revision, or null. Its window may be closed or not yet open. */
  publishedRevision: number | null;
  /** Validity window of this revision, as its author wrote it. */
  validFrom: string | null;
  validTo: string | null;
  createdAt: string;
  createdBy: string;
  updatedAt: string;
  updatedBy: string;
  values: Record<string, StoredValue>;
}

/** One revision of an entry, as its log holds it. */
export interface EntrySnapshot extends EntryView {
  v: 1;
  operation: EntryOperation;
  /** Sequence of the log message of the live revision. Null if there is none, and if it is this message. */
  publishedSeq: number | null;
  /** Validity window of the live revision. It decides visibility. */
  liveFrom: string | null;
  liveTo: string | null;
  /** Index keys of this revision's values (`index-keys.ts`): reservations, equality index, references. */
  claims: string[];
  /** Index keys of the live revision, if that is another one. */
  liveClaims: string[] | null;
  /** Revision of the orb's definition that the index keys were computed with. */
  defRevision: number;
}

/** The live copy: the live revision as published on its live subject, without sealed values. */
export interface LiveCopy extends EntryView {
  v: 1;
  status: "PUBLISHED";
  publishedRevision: number;
}

/**
 * The tombstone: it replaces the live copy when the entry is no longer live, so that subscribers notice. The broker
 * removes it after {@link TOMBSTONE_SECONDS}.
 */
export interface Tombstone {
  v: 1;
  id: string;
  orb: string;
  module: string;
  schema: string;
  tombstone: true;
  /** The revision that removed the entry. After the closing of a window, the live revision itself. */
  revision: number;
  /** When the entry stopped being live, ISO 8601. */
  at: string;
}

/** One day: how long subscribers can still read a tombstone. */
export const TOMBSTONE_SECONDS = 86_400;

/** Returns the snapshot in a log message, or null for the tombstone of a purge. */
export function snapshotOf(message: StoredMessage | null | undefined): EntrySnapshot | null {
  if (message === null || message === undefined || message.size === 0) return null;
  const body = message.json<EntrySnapshot | Tombstone>();
  return "tombstone" in body ? null : body;
}

/** Returns the live copy in a live subject's message, or null for a tombstone. */
export function liveCopyOf(message: StoredMessage | null | undefined): LiveCopy | null {
  if (message === null || message === undefined || message.size === 0) return null;
  const body = message.json<LiveCopy | Tombstone>();
  return "tombstone" in body ? null : body;
}

/** Returns a stored time in milliseconds, or undefined for null. */
function at(time: string | null): number | undefined {
  return time === null ? undefined : Date.parse(time);
}

/** Returns whether the window of the live revision has closed. */
function closed(head: EntrySnapshot, now: number): boolean {
  const to = at(head.liveTo);
  return head.status === "PUBLISHED" && to !== undefined && to <= now;
}

/**
 * Returns the head as it is at a point in time. If the live window has closed, this is the revision that the closing
 * stands for: UNPUBLISHED by the scheduler at `liveTo`, with the next revision number. No process needs to write that
 * revision when the window closes; the next write appends it. Otherwise returns the same object.
 * @param now milliseconds since the epoch
 */
export function effective(head: EntrySnapshot, now: number): EntrySnapshot {
  if (!closed(head, now) || head.liveTo === null) return head;
  return {
    ...head,
    operation: "unpublish",
    status: "UNPUBLISHED",
    revision: head.revision + 1,
    publishedRevision: null,
    publishedSeq: null,
    liveFrom: null,
    liveTo: null,
    liveClaims: null,
    updatedAt: head.liveTo,
    updatedBy: SCHEDULER,
  };
}

/** Returns whether the live revision is visible at a point in time: published, and inside its window. */
export function visible(head: EntrySnapshot, now: number): boolean {
  if (head.status !== "PUBLISHED" || head.publishedRevision === null) return false;
  const from = at(head.liveFrom);
  return (from === undefined || from <= now) && !closed(head, now);
}

/**
 * Returns when the live revision next becomes visible or invisible without a write, in milliseconds since the epoch.
 */
export function nextEdge(head: EntrySnapshot, now: number): number | undefined {
  const edges = [at(head.liveFrom), at(head.liveTo)].filter((edge) => edge !== undefined && edge > now);
  return edges.length === 0 ? undefined : Math.min(...(edges as number[]));
}

/** Returns whether the newest revision is not the live one. */
export function hasDraft(head: EntrySnapshot): boolean {
  return head.publishedRevision === null || head.revision !== head.publishedRevision;
}

/** Returns the live copy of a published revision. `snapshot` is that very revision. */
export function liveCopy(snapshot: EntrySnapshot): LiveCopy {
  const view = entryView(snapshot);
  return { v: 1, ...view, status: "PUBLISHED", publishedRevision: snapshot.revision };
}

/** Returns the tombstone for an entry that is no longer live. */
export function tombstone(
  entry: Pick<EntrySnapshot, "id" | "orb" | "module" | "schema">,
  revision: number,
  at: string,
): Tombstone {
  return {
    v: 1,
    id: entry.id,
    orb: entry.orb,
    module: entry.module,
    schema: entry.schema,
    tombstone: true,
    revision,
    at,
  };
}

/** Returns the members of a revision that clients see, with these values. */
export function viewWith(stored: EntryView, values: EntryView["values"]): EntryView {
  return {
    id: stored.id,
    orb: stored.orb,
    module: stored.module,
    schema: stored.schema,
    status: stored.status,
    revision: stored.revision,
    publishedRevision: stored.publishedRevision,
    validFrom: stored.validFrom,
    validTo: stored.validTo,
    createdAt: stored.createdAt,
    createdBy: stored.createdBy,
    updatedAt: stored.updatedAt,
    updatedBy: stored.updatedBy,
    values,
  };
}

/**
 * Returns the response form of a revision, masked. Pass `effective(head, now)` for the newest revision.
 * @param schema as of {@link maskValues}
 */
export function entryView(stored: EntryView, schema?: Secrets): EntryView {
  return viewWith(stored, maskValues(stored.values, schema));
}
