/** The history of an application (an orb): one message per revision. The newest message determines its state. */
import type { Deps } from "../../deps.ts";
import { NumberedLog } from "../../store/numbered-log.ts";
import { type Home, type LiveRole, streams, subjects } from "../../store/subjects.ts";
import type { Append, Consistency, StoredMessage } from "../../store/types.ts";
import {
  homeKey,
  type OrbDocument,
  type Operation as PatchOperation,
  type Status,
} from "../document/index.ts";
import type { StoredNames } from "../names/index.ts";
import type { Retired } from "../retired.ts";

export type OrbOperation =
  | "create"
  | "update"
  | "publish"
  | "unpublish"
  | "archive"
  | "restore"
  /** Copies an older revision's document into a new draft. */
  | "revert"
  /** A change set with a definition is being published, or was not published after all. The document stays. */
  | "change"
  /** An import is writing entries. If it succeeds, `create` follows; if it fails, `deleting`. */
  | "importing"
  /** A deletion has begun. `deleted` completes it. */
  | "deleting"
  | "deleted";

export interface OrbRecord {
  v: 1;
  /** Number of the revision. If a deleted application is created again, the numbers continue. */
  revision: number;
  operation: OrbOperation;
  by: string;
  at: string;
  /** Null during an import and after a deletion has begun. */
  status: Status | null;
  publishedRevision: number | null;
  /** Null during an import and after a deletion has begun. */
  document: OrbDocument | null;
  changes: PatchOperation[];
  summary: string[];
  createdAt: string;
  createdBy: string;
  /** Revision of the document with which stored entries were last validated. */
  basis: number;
  retired?: Retired[] | undefined;
  /** Names in stored data, for the definition of the revision `basis`. */
  names?: StoredNames | undefined;
  /** Updates of stored entries that this publication requires, such as new index keys. Repeating them is safe. */
  work?: EntryWork | undefined;
  /**
   * Set while the publication of a change set may publish another document. The next revision says whether it has.
   * No process may append one before that is decided.
   */
  awaits?: { id: string; set: string } | undefined;
}

/** An ordered index, or the word index of a schema. */
export interface IndexPlace extends Home {
  field: string;
}

/** A schema whose entries need new index keys. */
export interface KeyWork extends Home {
  /** The keys of all entries are written as they were at this sequence number of the stream. */
  since?: number | undefined;
  /** For each new index, the sequence number of its first message. If it is gone, the index was erased meanwhile. */
  first?: Record<string, number> | undefined;
  /** For each new index that was built as a whole, the sequence number of its root. */
  roots?: Record<string, number> | undefined;
}

export interface EntryWork {
  /** Schemas whose entries need new index keys. */
  claims: KeyWork[];
  /**
   * Schemas whose published copies move to another group of readers, from `from` to `to`. Null: no published copies.
   */
  moves: (Home & { from: LiveRole | null; to: LiveRole | null })[];
  /**
   * New indexes. Their keys must be written even if stored entries already list these keys: an erased index may have
   * had the same name.
   */
  added?: IndexPlace[];
  /** Indexes to erase, unless the live definition contains them again. */
  removed?: IndexPlace[];
}

/** Returns the new indexes of a schema. */
export const addedTo = ({ added = [] }: EntryWork, home: Home): Set<string> =>
  new Set(added.filter((one) => homeKey(one) === homeKey(home)).map(({ field }) => field));

export interface OrbHead extends OrbRecord {
  /** Sequence number of the message. The next write expects it (optimistic concurrency). */
  seq: number;
}

export interface ExistingOrb extends OrbHead {
  status: Status;
  document: OrbDocument;
}

/** Returns the newest revision of an application, even of a deleted one. Null if the application never existed. */
export async function orbHead(
  deps: Pick<Deps, "store">,
  orb: string,
  consistency: Consistency = "leader",
): Promise<OrbHead | null> {
  const message = await deps.store.get(streams.platform, subjects.orbHistory(orb), { consistency });
  return message === null ? null : headOf(message);
}

export function headOf(message: StoredMessage): OrbHead {
  return { ...message.json<OrbRecord>(), seq: message.seq };
}

/** Returns whether the application is neither deleted nor being deleted or imported. */
export function exists(head: OrbHead | null): head is ExistingOrb {
  return head !== null && head.document !== null && head.status !== null;
}

export interface Act {
  operation: OrbOperation;
  by: string;
  now: number;
}

/** Creates the next revision of an application. Properties that are missing in `change` keep their value. */
export function nextRevision(head: OrbHead, act: Act, change: Partial<OrbRecord>): OrbRecord {
  const { seq: _seq, work: _work, awaits: _awaits, ...rest } = head;
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
 * Appends a revision to the history of an application.
 * @param also more messages for the same atomic batch
 * @throws Conflict if another process appended a revision first
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

/** Finds a revision in the history. The number of reads is logarithmic in the length of the history. */
export async function findRevision(
  deps: Pick<Deps, "store">,
  orb: string,
  head: OrbHead,
  revision: number,
): Promise<OrbHead | null> {
  if (revision === head.revision) return head;
  if (!Number.isSafeInteger(revision) || revision < 1 || revision > head.revision) return null;
  const found = await historyLog(deps, orb, head, (record) => record).find(revision);
  return found?.value ?? null;
}

export interface EntryDefinition {
  revision: number;
  document: OrbDocument;
  names: StoredNames | undefined;
}

export async function entryDefinitionOf(
  deps: Pick<Deps, "store">,
  orb: string,
  head: ExistingOrb,
): Promise<EntryDefinition> {
  const { revision, document } = (await findRevision(deps, orb, head, head.basis)) ?? head;
  const { names } = head;
  return document === null
    ? { revision: head.revision, document: head.document, names }
    : { revision, document, names };
}

/** @param view selects the properties to keep. Leave the document out, because a page has many revisions. */
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
