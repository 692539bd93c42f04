/** Reads part of an application's stream, and returns how the entries of one schema changed. */
import { pause } from "../../kernel/pause.ts";
import { PAIR_BYTES, READ_BYTES } from "../../store/budget.ts";
import { type Home, streams, subjects } from "../../store/subjects.ts";
import { type Store, type StoredMessage, TooMuch } from "../../store/types.ts";
import {
  type RevisionState,
  type StoredCopy,
  type StoredSnapshot,
  snapshotOf,
  type Tombstone,
} from "../model/index.ts";

/** An entry was purged while its earlier revisions were being read, so its earlier state is unknown. */
export class HistoryErased extends Error {}

/** The state of an entry right before or after a message of the stream. */
export interface EntryState {
  head: StoredSnapshot;
  /**
   * Reads the published revision. Returns null if there is none.
   * @throws HistoryErased if the revision no longer exists
   */
  published: () => Promise<StoredSnapshot | null>;
}

/**
 * The change that one message made.
 * - `write`: a new revision of the entry was written.
 * - `open`, `close`: the broker's scheduler showed or hid the published revision, without a new revision.
 * - `lost`: the entry was purged. Its history was erased, so its earlier state is unknown.
 */
export interface Change {
  seq: number;
  id: string;
  kind: "write" | "open" | "close" | "lost";
  /** State of the entry before the message. Undefined if the entry did not exist. */
  before: EntryState | undefined;
  after: EntryState | undefined;
  /** Time of the message, in milliseconds since the epoch. */
  time: number;
}

export interface ChangesOptions {
  orb: string;
  home: Home;
  /** Sequence number right before the first message to convert. */
  from: number;
  /** Whether reads may miss messages up to `from`. */
  lags: boolean;
}

/** Returns subjects that match the logs of a schema's entries and all their published copies. */
export function changesFilter(orb: string, home: Home): string {
  return subjects.schemaLogs({ orb, ...home }).replace(".owner.", ".*.");
}

/** A read may miss an earlier revision. Wait this many milliseconds before each retry. */
const LOOK_AGAIN = [5, 20, 100, 400];
/** Maximum entries whose earlier revision is read with one request. */
const AT_ONCE = 200;

interface Read {
  message: StoredMessage;
  id: string;
  role: string;
}

function readOf(message: StoredMessage): Read {
  const [, , role = "", , id = ""] = message.subject.split(".");
  return { message, id, role };
}

/** Converts consecutive messages about a schema's entries into changes, in the order of the stream. */
export async function changesIn(
  store: Store,
  messages: readonly StoredMessage[],
  options: ChangesOptions,
): Promise<Change[]> {
  const read = messages.map(readOf);
  const { heads, missing } = await headsBefore(store, read, options);
  const stored = new Map(messages.map((message) => [message.seq, message]));
  const stateOf = (head: StoredSnapshot) => entryState(store, options.orb, head, stored);
  const states = new Map([...heads].map(([id, head]) => [id, stateOf(head)]));
  const changes: Change[] = [];
  for (const { message, id, role } of read) {
    const before = states.get(id);
    const at = { seq: message.seq, id, time: message.time, before };
    if (role === "owner") {
      const head = snapshotOf(message);
      const after = head === null ? undefined : stateOf(head);
      if (after === undefined) states.delete(id);
      else states.set(id, after);
      // A purge deletes an entry and then erases its older revisions. If they were erased before they could be read
      // here, the change is `lost`.
      const lost = head?.status === "DELETED" && missing.has(id);
      changes.push({ ...at, kind: lost ? "lost" : "write", after });
    } else {
      const kind = kindOf(message, before?.head);
      if (kind !== undefined) changes.push({ ...at, kind, after: before });
    }
  }
  return changes;
}

/**
 * Returns how a message about a published copy changed the entry. Returns undefined if a new revision in the entry's
 * log reports the same change, so that it is not reported twice.
 */
function kindOf(message: StoredMessage, head: RevisionState | undefined): Change["kind"] | undefined {
  if (message.size === 0) return undefined;
  const body = message.json<StoredCopy | Tombstone>();
  if ("tombstone" in body) {
    if (head === undefined) return "lost";
    return head.liveTo === null ? undefined : "close";
  }
  return head?.liveFrom != null && head.publishedRevision === body.revision ? "open" : undefined;
}

/**
 * For each entry that existed before the given messages, returns the newest revision at that time in `heads`. If that
 * revision was not found, the entry's id is in `missing`: the entry was imported or purged.
 */
async function headsBefore(
  store: Store,
  read: readonly Read[],
  { orb, home, from, lags }: ChangesOptions,
): Promise<{ heads: Map<string, StoredSnapshot>; missing: Set<string> }> {
  // The revision number of each entry's first revision in `read`. Undefined if `read` contains only published copies or
  // the deletion of the entry.
  const first = new Map<string, number | undefined>();
  for (const { id, role, message } of read) {
    if (first.get(id) === undefined)
      first.set(id, role === "owner" ? snapshotOf(message)?.revision : undefined);
  }
  const heads = new Map<string, StoredSnapshot>();
  const older = [...first].filter(([, revision]) => revision !== 1).map(([id]) => id);
  const result = () => ({ heads, missing: new Set(older.filter((id) => !heads.has(id))) });
  if (from === 0) return result();
  const logOf = (id: string) => subjects.entryLog({ orb, ...home, id });
  const fetch = async (ids: readonly string[]) => {
    const found = await getAt(store, streams.orb(orb), ids.map(logOf), from);
    for (const id of ids) {
      const head = snapshotOf(found.get(logOf(id)));
      if (head !== null) heads.set(id, head);
    }
  };
  for (let at = 0; at < older.length; at += AT_ONCE) await fetch(older.slice(at, at + AT_ONCE));
  if (!lags) return result();
  for (const ms of LOOK_AGAIN) {
    const late = older.filter((id) => (heads.get(id)?.revision ?? 0) < (first.get(id) ?? 1) - 1);
    if (late.length === 0) break;
    await pause(ms);
    for (let at = 0; at < late.length; at += AT_ONCE) await fetch(late.slice(at, at + AT_ONCE));
  }
  return result();
}

async function getAt(
  store: Store,
  stream: string,
  logs: readonly string[],
  upTo: number,
): Promise<Map<string, StoredMessage>> {
  const maxBytes = logs.length === 1 ? PAIR_BYTES : READ_BYTES;
  try {
    return await store.getMany(stream, logs, { consistency: "stale", maxBytes, upTo });
  } catch (error) {
    if (!(error instanceof TooMuch) || logs.length === 1) throw error;
    const half = logs.length >> 1;
    const first = await getAt(store, stream, logs.slice(0, half), upTo);
    return new Map([...first, ...(await getAt(store, stream, logs.slice(half), upTo))]);
  }
}

function entryState(
  store: Store,
  orb: string,
  head: StoredSnapshot,
  stored: ReadonlyMap<number, StoredMessage>,
): EntryState {
  let published: Promise<StoredSnapshot | null> | undefined;
  const read = async () => {
    if (head.publishedRevision === null || head.revision === head.publishedRevision)
      return head.publishedRevision === null ? null : head;
    if (head.publishedSeq === null) return null;
    const message =
      stored.get(head.publishedSeq) ??
      (await store.getSeq(streams.orb(orb), head.publishedSeq, { consistency: "leader" }));
    if (message === null) throw new HistoryErased();
    return snapshotOf(message);
  };
  return {
    head,
    published() {
      published ??= read();
      return published;
    },
  };
}
