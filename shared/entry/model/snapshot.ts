/**
 * Each write appends a complete revision of the entry (a snapshot) to the entry's log. The last snapshot is the truth:
 * readers compare published copies, index messages and schedules with it.
 */
import type { Status } from "../../definition/document/index.ts";
import { withoutAnyMarks } from "../../definition/names/index.ts";
import type { StoredMessage } from "../../store/types.ts";
import { maskValues, type Secrets } from "./masking.ts";

/** The operation that created a revision. An `unpublish` by {@link SCHEDULER} means that `validTo` has passed. */
export type EntryOperation =
  | "create"
  | "update"
  | "publish"
  | "unpublish"
  | "archive"
  | "restore"
  | "delete"
  /** Restored the values of an older revision as a draft. */
  | "revert"
  /** Encrypted the sensitive values under a new key. Nothing else changed. */
  | "reseal";

export const SCHEDULER = "scheduler";

/** Any JSON value. Fields with several languages or markets have maps. Sensitive values are encrypted as `Sealed`. */
export type StoredValue = unknown;

/** The members of an entry that clients see. Times are ISO 8601 in UTC with milliseconds. */
export interface EntryView {
  id: string;
  orb: string;
  module: string;
  /** The schema's id when the revision was stored. The current definition may use another id for the same schema. */
  schema: string;
  status: Status | "DELETED";
  revision: number;
  /** Number of the published revision, or null. Clients see it only between its `validFrom` and `validTo`. */
  publishedRevision: number | null;
  /** If this revision is published, it is visible from `validFrom` to `validTo`. Null means no limit. */
  validFrom: string | null;
  validTo: string | null;
  createdAt: string;
  createdBy: string;
  updatedAt: string;
  updatedBy: string;
  /** Id of the change set whose publication wrote this revision. Clients see it in streams, live lists and hooks. */
  change?: string | undefined;
  values: Record<string, StoredValue>;
}

export interface EntrySnapshot extends EntryView {
  v: 1;
  operation: EntryOperation;
  /** The handler that wrote this revision on behalf of its author. */
  through?: string | undefined;
  /** Id of the API token with which this revision was written. */
  token?: string | undefined;
  /** Set if a `publish` operation also changed the values. */
  updated?: true;
  /**
   * Set if an import wrote this revision and said who created the entry, when, or its state. `updatedAt` and `updatedBy`
   * say when the import wrote it, and who ran the import.
   */
  imported?: true | undefined;
  /**
   * Sequence number of the published revision in the log. Null if this revision is the published one, or if none is.
   * {@link JUST_BEFORE} is stored if one atomic batch contains both revisions; {@link snapshotOf} replaces it.
   */
  publishedSeq: number | null;
  /** `validFrom` and `validTo` of the published revision. It is visible between these times. */
  liveFrom: string | null;
  liveTo: string | null;
  /** Keys under which indexes list the values of this revision. */
  claims: string[];
  /** Index keys of the published revision; null if this revision is the published one. */
  liveClaims: string[] | null;
  /** Revision of the application's definition from which the index keys were computed. */
  defRevision: number;
}

declare const STORED: unique symbol;

/**
 * The values of a message, under their stored names. After a rename these differ from the names of the definition, so
 * only `names.ts` reads them.
 */
export interface StoredValues {
  readonly [STORED]: never;
}

/** What is known of a revision without its values. */
export type RevisionState = Omit<EntrySnapshot, "values">;

/** A revision as a message contains it. */
export type StoredSnapshot = RevisionState & { values: StoredValues };

/** Stands for the sequence number before that of the message itself. The messages of a batch follow each other. */
export const JUST_BEFORE = -1;

export interface LiveCopy extends EntryView {
  v: 1;
  status: "PUBLISHED";
  publishedRevision: number;
}

/** A published copy as a message contains it. */
export type StoredCopy = Omit<LiveCopy, "values"> & { values: StoredValues };

/** Returns the copy of a revision for its readers, without encrypted text. */
export function liveCopy(snapshot: StoredSnapshot): StoredCopy {
  const { id, orb, module, schema, validFrom, validTo, createdAt, createdBy, updatedAt, updatedBy } =
    snapshot;
  return {
    v: 1,
    id,
    orb,
    module,
    schema,
    status: "PUBLISHED",
    revision: snapshot.revision,
    publishedRevision: snapshot.revision,
    validFrom,
    validTo,
    createdAt,
    createdBy,
    updatedAt,
    updatedBy,
    ...(snapshot.change === undefined ? {} : { change: snapshot.change }),
    // Encrypted text is masked under any name.
    values: maskValues({ ...snapshot.values }) as unknown as StoredValues,
  };
}

/**
 * A message that replaces a published copy. It tells subscribers that the entry is no longer published, and expires
 * after one day.
 */
export interface Tombstone {
  v: 1;
  id: string;
  orb: string;
  module: string;
  schema: string;
  tombstone: true;
  revision: number;
  /** Id of the change set whose publication withdrew the entry. */
  change?: string | undefined;
  /** ISO 8601. */
  at: string;
}

export const TOMBSTONE_SECONDS = 86_400;

/** Returns the revision that a message contains, or null if the message marks a deleted entry. */
export function snapshotOf(message: StoredMessage | null | undefined): StoredSnapshot | null {
  if (message === null || message === undefined || message.size === 0) return null;
  const body = message.json<StoredSnapshot | Tombstone>();
  if ("tombstone" in body) return null;
  return body.publishedSeq === JUST_BEFORE ? { ...body, publishedSeq: message.seq - 1 } : body;
}

/**
 * Returns the published copy that a message contains, or null if the message says that the entry is no longer
 * published.
 */
export function liveCopyOf(message: StoredMessage | null | undefined): StoredCopy | null {
  if (message === null || message === undefined || message.size === 0) return null;
  const body = message.json<StoredCopy | Tombstone>();
  return "tombstone" in body ? null : body;
}

function at(time: string | null): number | undefined {
  return time === null ? undefined : Date.parse(time);
}

function closed(head: RevisionState, now: number): boolean {
  const to = at(head.liveTo);
  return head.status === "PUBLISHED" && to !== undefined && to <= now;
}

/**
 * Returns the newest revision as it is at a given time. After `validTo`, the entry counts as unpublished, in a revision
 * with the next number. That revision is not stored yet: the next write appends it to the log.
 * @param now milliseconds since the epoch
 */
export function effective<T extends RevisionState>(head: T, now: number): T {
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
    through: undefined,
    token: undefined,
    imported: undefined,
    change: undefined,
  };
}

/** Returns whether the published revision is visible at a point in time. */
export function visible(head: RevisionState, now: number): boolean {
  if (head.status !== "PUBLISHED" || head.publishedRevision === null) return false;
  const from = at(head.liveFrom);
  return (from === undefined || from <= now) && !closed(head, now);
}

/** Returns when the entry will next become visible or hidden, in milliseconds since the epoch. */
export function nextEdge(head: RevisionState, now: number): number | undefined {
  const edges = [at(head.liveFrom), at(head.liveTo)].filter((edge) => edge !== undefined && edge > now);
  return edges.length === 0 ? undefined : Math.min(...(edges as number[]));
}

/** Returns whether the newest revision is a draft that is not published. */
export function hasDraft(head: RevisionState): boolean {
  return head.publishedRevision === null || head.revision !== head.publishedRevision;
}

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

/** @param named the current ids of the entry's module and schema */
export function viewWith(
  stored: Omit<EntryView, "values">,
  values: EntryView["values"],
  named: Pick<EntryView, "module" | "schema"> = stored,
): EntryView {
  return {
    id: stored.id,
    orb: stored.orb,
    module: named.module,
    schema: named.schema,
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

/** Returns a revision as clients see it: with the current id of its schema, and with sensitive values masked. */
export function entryView(stored: EntryView, schema?: Secrets & { readonly id: string }): EntryView {
  const { module, schema: stale } = stored;
  return viewWith(stored, maskValues(withoutAnyMarks(stored.values), schema), {
    module,
    schema: schema?.id ?? stale,
  });
}
