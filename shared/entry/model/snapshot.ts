/**
 * The stored shape of an entry, and what it means at a moment. Everything here is pure.
 *
 * Each write appends a whole snapshot to the entry's log (role `owner`); the last one is the head, and the head is the
 * truth. Live copies, indexes and schedules follow it and never lead.
 */
import type { Status } from "../../definition/document/lifecycle.ts";
import type { StoredMessage } from "../../store/types.ts";
import { maskValues, type Secrets } from "./masking.ts";

/** What made a revision. `unpublish` by {@link SCHEDULER} is the closing of a validity window. */
export type EntryOperation =
  | "create"
  | "update"
  | "publish"
  | "unpublish"
  | "archive"
  | "restore"
  | "delete"
  /** An older revision's values brought back as a new draft. */
  | "revert"
  /** Sensitive values sealed again under a newer key; nothing else changed. */
  | "reseal";

/** Who closes windows: the broker's own scheduler. */
export const SCHEDULER = "scheduler";

/** A field's stored value: any JSON value; sealed ones are `Sealed`; per language and market, maps of them. */
export type StoredValue = unknown;

/** One revision of an entry, as its log holds it. Times are ISO 8601 in UTC with milliseconds. */
export interface EntrySnapshot {
  v: 1;
  id: string;
  orb: string;
  module: string;
  schema: string;
  operation: EntryOperation;
  status: Status | "DELETED";
  /** Numbered from 1; this very snapshot's. */
  revision: number;
  /** The revision that is live (its window may be closed or not yet open); null when none is. */
  publishedRevision: number | null;
  /** Sequence of the log message that holds the live revision; null when none is, and while this very message is it. */
  publishedSeq: number | null;
  /** Window of the newest revision, as its author wrote it. */
  validFrom: string | null;
  validTo: string | null;
  /** Window of the live revision: what visibility is judged by. */
  liveFrom: string | null;
  liveTo: string | null;
  createdAt: string;
  createdBy: string;
  updatedAt: string;
  updatedBy: string;
  values: Record<string, StoredValue>;
  /** Keys of what this revision's values hold (`claims.ts`): unique values, equality index, references. */
  claims: string[];
  /** Keys of what the live revision holds, when it is another one than this. */
  liveClaims: string[] | null;
  /** Revision of the orb definition that the claims follow. */
  defRevision: number;
}

/** What a live subject holds: the live revision without any sealed value. */
export interface LiveCopy {
  v: 1;
  id: string;
  orb: string;
  module: string;
  schema: string;
  status: "PUBLISHED";
  revision: number;
  publishedRevision: number;
  validFrom: string | null;
  validTo: string | null;
  createdAt: string;
  createdBy: string;
  updatedAt: string;
  updatedBy: string;
  values: Record<string, StoredValue>;
}

/** What a live subject holds after the entry left it; the broker removes it after {@link TOMBSTONE_SECONDS}. */
export interface Tombstone {
  v: 1;
  id: string;
  orb: string;
  module: string;
  schema: string;
  tombstone: true;
  /** The revision that ended it; for the closing of a window, the live revision itself. */
  revision: number;
  /** When it left, ISO 8601. */
  at: string;
}

/** How long subscribers can still see that an entry left: a day. */
export const TOMBSTONE_SECONDS = 86_400;

/** The snapshot in a log message; null for what a purge leaves behind. */
export function snapshotOf(message: StoredMessage | null | undefined): EntrySnapshot | null {
  if (message === null || message === undefined || message.size === 0) return null;
  const body = message.json<EntrySnapshot | Tombstone>();
  return "tombstone" in body ? null : body;
}

/** The live copy in a live subject's message; null for a tombstone. */
export function liveCopyOf(message: StoredMessage | null | undefined): LiveCopy | null {
  if (message === null || message === undefined || message.size === 0) return null;
  const body = message.json<LiveCopy | Tombstone>();
  return "tombstone" in body ? null : body;
}

/** Milliseconds of a stored time; undefined for none. */
function at(time: string | null): number | undefined {
  return time === null ? undefined : Date.parse(time);
}

/** Whether the window of what is live has closed. */
function closed(head: EntrySnapshot, now: number): boolean {
  const to = at(head.liveTo);
  return head.status === "PUBLISHED" && to !== undefined && to <= now;
}

/**
 * The head as it stands at a moment. When the live window has closed, the answer is the revision that closing made:
 * UNPUBLISHED by the scheduler at `validTo`, one number on. No process had to write it; the next write does.
 * Otherwise the very same object.
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

/** Whether the public side of an entry may be seen at a moment: published, and inside the live window. */
export function visible(head: EntrySnapshot, now: number): boolean {
  if (head.status !== "PUBLISHED" || head.publishedRevision === null) return false;
  const from = at(head.liveFrom);
  return (from === undefined || from <= now) && !closed(head, now);
}

/** When what is live of an entry next becomes visible or invisible by itself, in milliseconds since 1970. */
export function nextEdge(head: EntrySnapshot, now: number): number | undefined {
  const edges = [at(head.liveFrom), at(head.liveTo)].filter((edge) => edge !== undefined && edge > now);
  return edges.length === 0 ? undefined : Math.min(...(edges as number[]));
}

/** Whether a newer draft than what is live exists. */
export function hasDraft(head: EntrySnapshot): boolean {
  return head.publishedRevision === null || head.revision !== head.publishedRevision;
}

/** What goes onto the live subject for a published revision. `snapshot` is that very revision. */
export function liveCopy(snapshot: EntrySnapshot): LiveCopy {
  return {
    v: 1,
    id: snapshot.id,
    orb: snapshot.orb,
    module: snapshot.module,
    schema: snapshot.schema,
    status: "PUBLISHED",
    revision: snapshot.revision,
    publishedRevision: snapshot.revision,
    validFrom: snapshot.validFrom,
    validTo: snapshot.validTo,
    createdAt: snapshot.createdAt,
    createdBy: snapshot.createdBy,
    updatedAt: snapshot.updatedAt,
    updatedBy: snapshot.updatedBy,
    values: maskValues(snapshot.values),
  };
}

/** What goes onto the live subject when the entry leaves it. */
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

/** An entry as the management API answers it. Runtime answers start from it too. */
export interface EntryView {
  id: string;
  orb: string;
  module: string;
  schema: string;
  status: Status | "DELETED";
  revision: number;
  publishedRevision: number | null;
  validFrom: string | null;
  validTo: string | null;
  createdAt: string;
  createdBy: string;
  updatedAt: string;
  updatedBy: string;
  values: Record<string, StoredValue>;
}

/**
 * The answer's shape of a snapshot, masked. Pass `effective(head, now)` for the newest revision.
 * @param schema as of {@link maskValues}
 */
export function entryView(snapshot: EntrySnapshot, schema?: Secrets): EntryView {
  return {
    id: snapshot.id,
    orb: snapshot.orb,
    module: snapshot.module,
    schema: snapshot.schema,
    status: snapshot.status,
    revision: snapshot.revision,
    publishedRevision: snapshot.publishedRevision,
    validFrom: snapshot.validFrom,
    validTo: snapshot.validTo,
    createdAt: snapshot.createdAt,
    createdBy: snapshot.createdBy,
    updatedAt: snapshot.updatedAt,
    updatedBy: snapshot.updatedBy,
    values: maskValues(snapshot.values, schema),
  };
}
