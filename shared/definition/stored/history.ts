/**
 * The history of an orb: one message per revision on `platform.orbs.<id>`. The last message is the truth about the
 * orb.
 */
import type { Deps } from "../../deps.ts";
import { READ_BYTES } from "../../store/budget.ts";
import { NumberedLog } from "../../store/numbered-log.ts";
import { type Home, type LiveRole, streams, subjects } from "../../store/subjects.ts";
import type { Append, Consistency, StoredMessage } from "../../store/types.ts";
import type { Operation as PatchOperation } from "../document/diff.ts";
import type { OrbDocument } from "../document/document.ts";
import type { Status } from "../document/lifecycle.ts";
import type { Retired } from "../retired.ts";

/** The operation that created a revision. */
export type OrbOperation =
  | "create"
  | "update"
  | "publish"
  | "unpublish"
  | "archive"
  | "restore"
  /** An older revision's document restored as a new draft. */
  | "revert"
  /** An import is writing entries. `create` follows when it succeeds, `deleting` when it fails. */
  | "importing"
  /** A deletion has begun. `deleted` finishes it. */
  | "deleting"
  | "deleted";

/** One stored revision. */
export interface OrbRecord {
  v: 1;
  /** Numbered from 1. Numbers continue after a deletion. */
  revision: number;
  operation: OrbOperation;
  by: string;
  /** ISO 8601. */
  at: string;
  /** Null during an import, and during and after a deletion. */
  status: Status | null;
  /** Revision of the live document; null if none is live. */
  publishedRevision: number | null;
  /** Null for `importing`, `deleting` and `deleted`. */
  document: OrbDocument | null;
  /** JSON Patch against the previous revision. */
  changes: PatchOperation[];
  /** The changes in words. */
  summary: string[];
  createdAt: string;
  createdBy: string;
  /** Revision of the document that stored entries were last validated against. */
  basis: number;
  /** Removed fields and schemas whose values are still stored. */
  retired?: Retired[] | undefined;
  /**
   * Work on stored entries that the activation of this revision requires. Repeatable;
   * `shared/orb/migrate/reconcile.ts` does it.
   */
  work?: EntryWork | undefined;
}

/** Work on stored entries after a definition has been activated. */
export interface EntryWork {
  /** Schemas whose index keys are backfilled again, for entries written in the meantime. */
  claims: Home[];
  /**
   * Live copies that move to another audience. `to` is null if the schema was removed, `from` if it was added again.
   */
  moves: (Home & { from: LiveRole | null; to: LiveRole | null })[];
}

/** The newest revision and its position. */
export interface OrbHead extends OrbRecord {
  /** Sequence of the message in the platform's stream. The next write expects it. */
  seq: number;
}

/** A revision of an orb that exists. */
export interface ExistingOrb extends OrbHead {
  status: Status;
  document: OrbDocument;
}

/**
 * Returns the last message of an orb's history, also after a deletion; null if there never was such an orb. One
 * request.
 */
export async function orbHead(
  deps: Pick<Deps, "store">,
  orb: string,
  consistency: Consistency = "leader",
): Promise<OrbHead | null> {
  const message = await deps.store.get(streams.platform, subjects.orbHistory(orb), { consistency });
  return message === null ? null : headOf(message);
}

/** Returns the revision in a history message. */
export function headOf(message: StoredMessage): OrbHead {
  return { ...message.json<OrbRecord>(), seq: message.seq };
}

/** Returns whether the orb exists: not deleted, not being deleted and not being imported. */
export function exists(head: OrbHead | null): head is ExistingOrb {
  return head !== null && head.document !== null && head.status !== null;
}

/** The operation, author and time of a new revision. */
export interface Act {
  operation: OrbOperation;
  by: string;
  /** Milliseconds since the epoch. */
  now: number;
}

/** Returns the next revision. Properties that `change` omits stay, except that the list of changes is empty. */
export function nextRevision(head: OrbHead, act: Act, change: Partial<OrbRecord>): OrbRecord {
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
 * Appends a revision, in one atomic batch.
 * @param also further messages of the batch; they come before the revision
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

/**
 * Finds a revision's message by bisection over the stream, in which an orb's revisions are in order and without gaps.
 * @returns null if there is no such revision
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
  // Each later revision has a message, so this one is at least that many sequences before the newest.
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

/** The definition that entries follow while none is live. */
export interface EntryDefinition {
  revision: number;
  document: OrbDocument;
}

/**
 * Returns the revision whose document stored entries were last validated against. No request if that is the newest
 * one.
 */
export async function entryDefinitionOf(
  deps: Pick<Deps, "store">,
  orb: string,
  head: ExistingOrb,
): Promise<EntryDefinition> {
  const { revision, document } = (await findRevision(deps, orb, head, head.basis)) ?? head;
  return document === null ? head : { revision, document };
}

/**
 * Returns an orb's history as a log, to list parts of it.
 * @param view what to keep of a revision. A page holds many of them, so leave the document out
 */
export function historyLog<T>(
  deps: Pick<Deps, "store">,
  orb: string,
  head: OrbHead,
  view: (record: OrbHead) => T,
): NumberedLog<T> {
  return new NumberedLog(deps.store, {
    stream: streams.platform,
    subject: subjects.orbHistory(orb),
    last: { number: head.revision, seq: head.seq },
    parse: (message) => {
      const record = headOf(message);
      return { number: record.revision, value: view(record) };
    },
  });
}
