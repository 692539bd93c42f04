/** The history of an orb: a message per revision on `platform.orbs.<id>`. The last one is the truth about the orb. */
import type { Deps } from "../../deps.ts";
import { READ_BYTES } from "../../store/budget.ts";
import { type Home, type LiveRole, streams, subjects } from "../../store/subjects.ts";
import type { Append, Consistency, StoredMessage } from "../../store/types.ts";
import type { Operation as PatchOperation } from "../document/diff.ts";
import type { OrbDocument } from "../document/document.ts";
import type { Status } from "../document/lifecycle.ts";
import type { Retired } from "../retired.ts";

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
  /** Entries of an export are being written; `create` follows when all are there, and `deleting` when that fails. */
  | "importing"
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
  /** Null while it is imported, and while and after it is deleted. */
  status: Status | null;
  /** Revision of the document that is live; null when none is. */
  publishedRevision: number | null;
  /** Null for `importing`, `deleting` and `deleted`. */
  document: OrbDocument | null;
  /** JSON Patch against the revision before. */
  changes: PatchOperation[];
  /** The same in words. */
  summary: string[];
  createdAt: string;
  createdBy: string;
  /** Revision of the definition that stored entries were last judged by. */
  basis: number;
  /** What is stored and the definition speaks of no more. */
  retired?: Retired[] | undefined;
  /** What becoming live asks of stored entries; repeatable, done by `shared/orb/migrate/reconcile.ts`. */
  work?: EntryWork | undefined;
}

/** Entries that must follow a definition which became live. */
export interface EntryWork {
  /** Schemas whose claims and indexes are written once more, for entries written meanwhile. */
  claims: Home[];
  /** Live copies that move to another audience; `to` is null where the schema is gone, `from` where it is back. */
  moves: (Home & { from: LiveRole | null; to: LiveRole | null })[];
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

/** Whether the orb exists: not deleted, not being deleted, and not still being imported. */
export function exists(head: OrbHead | null): head is ExistingOrb {
  return head !== null && head.document !== null && head.status !== null;
}

/** Who, what and when of a new revision. */
export interface Act {
  operation: OrbOperation;
  by: string;
  /** Milliseconds since the epoch. */
  now: number;
}

/** The revision after another one. What is not said stays as it was; nothing is said to have changed. */
export function following(head: OrbHead, act: Act, change: Partial<OrbRecord>): OrbRecord {
  const { seq: _seq, work: _work, ...rest } = head;
  return {
    ...rest,
    changes: [],
    summary: [],
    revision: head.revision + 1,
    operation: act.operation,
    by: act.by,
    at: new Date(act.now).toISOString(),
    ...change,
  };
}

/**
 * Appends a revision after the one that is the newest; everything in one atomic act.
 * @param also further messages of the act; they come before the revision
 * @returns the sequence of the revision's message
 * @throws Conflict when another revision came first, or an expectation of `also` does not hold
 */
export function appendRecord(
  deps: Pick<Deps, "store">,
  orb: string,
  record: OrbRecord,
  afterSeq: number,
  also: readonly Append[] = [],
): Promise<number> {
  return deps.store.batch(streams.platform, [
    ...also,
    { subject: subjects.orbHistory(orb), data: JSON.stringify(record), expect: { seq: afterSeq } },
  ]);
}

/** How many history messages one request reads: each holds a whole document. */
const PAGE = 16;

/**
 * Finds a revision's message by bisection over the stream: revisions of an orb are numbered without gaps in its order.
 * @returns null when there is none of this number
 */
export async function findRevision(
  deps: Pick<Deps, "store">,
  orb: string,
  head: OrbHead,
  revision: number,
): Promise<OrbHead | null> {
  if (revision === head.revision) return head;
  if (!Number.isSafeInteger(revision) || revision < 1 || revision > head.revision) return null;
  let low = 1;
  // Later revisions have a message each, so it lies at least this far before the newest.
  let high = head.seq - (head.revision - revision);
  let guess = high;
  while (low <= high) {
    const page = await deps.store.scan(streams.platform, subjects.orbHistory(orb), {
      fromSeq: guess,
      limit: 1,
      maxBytes: READ_BYTES,
    });
    const message = page.messages[0];
    const found = message === undefined ? null : headOf(message);
    if (found?.revision === revision) return found;
    if (found !== null && found.revision < revision) low = found.seq + 1;
    else high = guess - 1;
    guess = Math.floor((low + high) / 2);
  }
  return null;
}

/** The definition that stored entries go by while none is live. */
export interface Basis {
  revision: number;
  document: OrbDocument;
}

/** The revision whose document stored entries were last judged by. No request where that is the newest one. */
export async function basisOf(deps: Pick<Deps, "store">, orb: string, head: ExistingOrb): Promise<Basis> {
  const { revision, document } = (await findRevision(deps, orb, head, head.basis)) ?? head;
  return document === null ? head : { revision, document };
}

/** Revisions `first` to `last`, in this order. Documents are read page by page and given to `take` one by one. */
export async function readRevisions<T>(
  deps: Pick<Deps, "store">,
  orb: string,
  head: OrbHead,
  first: number,
  last: number,
  take: (record: OrbHead) => T,
): Promise<T[]> {
  const start = await findRevision(deps, orb, head, first);
  const out: T[] = [];
  for (let fromSeq = start?.seq; fromSeq !== undefined && out.length <= last - first; ) {
    const limit = Math.min(PAGE, last - first + 1 - out.length);
    const page = await deps.store.scan(streams.platform, subjects.orbHistory(orb), {
      fromSeq,
      limit,
      maxBytes: READ_BYTES,
    });
    for (const message of page.messages) out.push(take(headOf(message)));
    const end = page.messages.at(-1);
    fromSeq = end === undefined || page.pending === 0 ? undefined : end.seq + 1;
  }
  return out;
}
