/** The history of an orb: a message per revision on `platform.orbs.<id>`. The last one is the truth about the orb. */
import type { Deps } from "../deps.ts";
import { streams, subjects } from "../store/subjects.ts";
import type { Consistency, StoredMessage } from "../store/types.ts";
import type { Operation as PatchOperation } from "./diff.ts";
import type { OrbDocument } from "./document.ts";
import type { Status } from "./lifecycle.ts";

/** What made a revision. */
export type OrbOperation =
  | "create"
  | "update"
  | "publish"
  | "unpublish"
  | "archive"
  | "restore"
  /** An older revision's document brought back as a new draft. */
  | "revert"
  /** Deletion has begun; it is finished by `deleted`. */
  | "deleting"
  | "deleted";

/** One revision as it is stored. */
export interface OrbRecord {
  v: 1;
  /** Numbered from 1; goes on after a deletion. */
  revision: number;
  operation: OrbOperation;
  by: string;
  /** ISO 8601. */
  at: string;
  /** Null while and after it is deleted. */
  status: Status | null;
  /** Revision of the document that is live; null when none is. */
  publishedRevision: number | null;
  /** Null for `deleting` and `deleted`. */
  document: OrbDocument | null;
  /** JSON Patch against the revision before. */
  changes: PatchOperation[];
  /** The same in words. */
  summary: string[];
  createdAt: string;
  createdBy: string;
}

/** The newest revision and where it is stored. */
export interface OrbHead extends OrbRecord {
  /** Sequence of the message in the platform's stream: what the next write expects. */
  seq: number;
}

/** A revision of an orb that exists. */
export interface ExistingOrb extends OrbHead {
  status: Status;
  document: OrbDocument;
}

/** The last message of an orb's history, whatever it says; null when there never was such an orb. One request. */
export async function orbHead(
  deps: Pick<Deps, "store">,
  orb: string,
  consistency: Consistency = "leader",
): Promise<OrbHead | null> {
  const message = await deps.store.get(streams.platform, subjects.orbHistory(orb), { consistency });
  return message === null ? null : headOf(message);
}

/** Reads a history message. */
export function headOf(message: StoredMessage): OrbHead {
  return { ...message.json<OrbRecord>(), seq: message.seq };
}

/** Whether the orb exists: not deleted, and not being deleted. */
export function exists(head: OrbHead | null): head is ExistingOrb {
  return head !== null && head.document !== null && head.status !== null;
}

/** Appends a revision after the one that is the newest. @throws Conflict when another came first */
export function appendRecord(
  deps: Pick<Deps, "store">,
  orb: string,
  record: OrbRecord,
  afterSeq: number,
): Promise<number> {
  return deps.store.append(streams.platform, {
    subject: subjects.orbHistory(orb),
    data: JSON.stringify(record),
    expect: { seq: afterSeq },
  });
}
