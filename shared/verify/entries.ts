/** Compares the log of each entry of an application with itself, and with what the stream says elsewhere about the entry. */
import {
  isOrderedKey,
  keySubject,
  liveCopyOf,
  type RevisionState,
  type StoredSnapshot,
  snapshotOf,
  visible,
} from "../entry/model/index.ts";
import { READ_BYTES, SMALL_BYTES } from "../store/budget.ts";
import { type EntryAddress, lastToken, parsedHome, streams, subjects } from "../store/subjects.ts";
import { type Store, type StoredMessage, TooMuch } from "../store/types.ts";
import type { Damages } from "./damage.ts";
import { pagesOf, readWhole } from "./walk.ts";

/** Maximum number of entries that one walk remembers. A larger application is walked several times. */
const REMEMBERED = 400_000;
/** Maximum number of heads, and of index messages, that one request reads. */
const HEADS = 100;
const KEYS = 500;

/** What the walk remembers of an entry. */
interface Known {
  address: EntryAddress;
  /** Number of revisions that the walk has read. */
  count: number;
  revision: number;
  seq: number;
  /** Revision and sequence number of its newest live copy; 0 if there is none. */
  copy: number;
  copySeq: number;
}

const LIVE_ROLES = ["public", "user", "admin"];

/** Returns the entry and the role that a subject names; undefined if it is not about the revisions of an entry. */
function entryOf(subject: string): { address: EntryAddress; role: string } | undefined {
  const [orb, type, role, schema, id, more] = subject.split(".");
  if (orb === undefined || type === undefined || schema === undefined || id === undefined) return undefined;
  if (role === undefined || more !== undefined || type.startsWith("_")) return undefined;
  return { address: { orb, ...parsedHome(type, schema), id }, role };
}

function partOf(id: string, parts: number): number {
  let hash = 0;
  for (let at = 0; at < id.length; at++) hash = (Math.imul(hash, 31) + id.charCodeAt(at)) | 0;
  return Math.abs(hash) % parts;
}

const homeOf = ({ type, schema }: EntryAddress) => `${type}.${schema}`;

/** A schedule of the broker may be executed this many milliseconds too late, after a start for example. */
const LATE_MS = 60_000;

/**
 * Returns whether a visible entry must have a published copy of its live revision, and has none. A copy of a lost
 * revision is reported as such, and not as missing.
 */
function lacksCopy(head: RevisionState, known: Known, copied: ReadonlySet<string>): boolean {
  const { address, copy, revision } = known;
  if (!copied.has(homeOf(address)) || copy === head.publishedRevision || copy > revision) return false;
  const now = Date.now();
  return visible(head, now) && (head.liveFrom === null || Date.parse(head.liveFrom) < now - LATE_MS);
}

export interface EntriesOptions {
  /** Maximum number of entries that one walk remembers. Default: {@link REMEMBERED}. */
  remembered?: number | undefined;
  /** Whether an import wrote entries of this application. The log of such an entry begins with its live revision. */
  isImported: boolean;
}

class EntryWalk {
  readonly known = new Map<string, Known>();
  /** Schemas that have published copies. Others have no readers of copies. */
  readonly copied = new Set<string>();
  readonly #stream: string;
  readonly #damages: Damages;
  readonly #isImported: boolean;

  constructor(stream: string, damages: Damages, { isImported }: EntriesOptions) {
    this.#stream = stream;
    this.#damages = damages;
    this.#isImported = isImported;
  }

  take(message: StoredMessage): void {
    const found = entryOf(message.subject);
    if (found === undefined) return;
    const { address, role } = found;
    if (role === "owner") this.#revision(address, message);
    else if (LIVE_ROLES.includes(role)) this.#copy(address, message);
  }

  #of(address: EntryAddress): Known {
    const key = `${address.type}.${address.schema}.${address.id}`;
    const known = this.known.get(key) ?? { address, count: 0, revision: 0, seq: 0, copy: 0, copySeq: 0 };
    this.known.set(key, known);
    return known;
  }

  #revision(address: EntryAddress, message: StoredMessage): void {
    const { seq } = message;
    let snapshot: StoredSnapshot | null;
    try {
      snapshot = snapshotOf(message);
    } catch {
      this.#damages.add({
        stream: this.#stream,
        from: seq,
        says: `entry ${address.id} has a revision that is not JSON.`,
      });
      return;
    }
    // The message that a purge leaves for a moment.
    if (snapshot === null) return;
    const known = this.#of(address);
    const { revision, operation } = snapshot;
    const isFirst = known.count === 0;
    const mayFollow = isFirst
      ? revision === 1 || operation === "create" || this.#isImported
      : revision === known.revision + 1 ||
        (this.#isImported && known.count === 1 && revision > known.revision);
    if (!mayFollow) {
      const missing = isFirst ? `1 to ${revision - 1}` : `between ${known.revision} and ${revision}`;
      const says =
        revision > known.revision
          ? `entry ${address.id} lacks its revisions ${missing}.`
          : `entry ${address.id} has revision ${revision} after revision ${known.revision}.`;
      this.#damages.add({ stream: this.#stream, from: isFirst ? 1 : known.seq + 1, to: seq, says });
    }
    known.count++;
    known.revision = revision;
    known.seq = seq;
  }

  #copy(address: EntryAddress, message: StoredMessage): void {
    const copy = liveCopyOf(message);
    this.copied.add(homeOf(address));
    const known = this.#of(address);
    known.copy = copy?.revision ?? 0;
    known.copySeq = message.seq;
  }

  /** Reports published copies of revisions that the log does not have. */
  compareCopies(): void {
    for (const { address, revision, copy, copySeq, seq } of this.known.values()) {
      if (copy <= revision) continue;
      this.#damages.add({
        stream: this.#stream,
        from: seq + 1,
        to: copySeq,
        says: `entry ${address.id} was published with revision ${copy}, and its newest revision is ${revision === 0 ? "missing" : revision}.`,
      });
    }
  }
}

/** Reads the last message of each subject. Splits requests whose response would be too large. */
async function lastOf(
  store: Store,
  stream: string,
  names: readonly string[],
): Promise<Map<string, StoredMessage>> {
  if (names.length === 0) return new Map();
  try {
    return await store.getMany(stream, names, { consistency: "leader", maxBytes: READ_BYTES });
  } catch (error) {
    if (!(error instanceof TooMuch) || names.length === 1) throw error;
    const half = Math.ceil(names.length / 2);
    return new Map([
      ...(await lastOf(store, stream, names.slice(0, half))),
      ...(await lastOf(store, stream, names.slice(half))),
    ]);
  }
}

/** Reports entries whose values are missing in the indexes of unique values, equal values and references. */
async function compareKeys(
  store: Store,
  stream: string,
  some: readonly Known[],
  copied: ReadonlySet<string>,
  damages: Damages,
): Promise<void> {
  const heads = await lastOf(
    store,
    stream,
    some.map(({ address }) => subjects.entryLog(address)),
  );
  const wanted = new Map<string, { known: Known; key: string }>();
  for (const known of some) {
    const message = heads.get(subjects.entryLog(known.address));
    const head = snapshotOf(message);
    // An entry that changed during the walk is compared by the next one.
    if (head === null || message?.seq !== known.seq) continue;
    if (lacksCopy(head, known, copied)) {
      const says = `entry ${known.address.id} lacks the published copy of its revision ${head.publishedRevision}.`;
      damages.add({ stream, from: known.seq, says });
    }
    for (const key of [...head.claims, ...(head.liveClaims ?? [])]) {
      if (!isOrderedKey(key)) wanted.set(keySubject(known.address, key), { known, key });
    }
    if (head.status !== "DELETED") wanted.set(subjects.entryIndex(known.address), { known, key: "_ix" });
  }
  const names = [...wanted.keys()];
  for (let at = 0; at < names.length; at += KEYS) {
    const found = await lastOf(store, stream, names.slice(at, at + KEYS));
    for (const name of names.slice(at, at + KEYS)) {
      const lost = wanted.get(name);
      if (lost === undefined || (found.get(name)?.size ?? 0) > 0) continue;
      const { known, key } = lost;
      const now = await store.get(stream, subjects.entryLog(known.address));
      if (now?.seq !== known.seq) continue;
      const what = key === "_ix" ? "the order of creation" : `the index of ${key.split(".")[1] ?? key}`;
      damages.add({ stream, from: known.seq, says: `entry ${known.address.id} is missing in ${what}.` });
    }
  }
}

/**
 * Checks the entries of an application: every message can be read, the revisions of each entry follow each other, the
 * published copies are not newer than the log, and the indexes name each entry.
 * @returns false if the application has no stream
 */
export async function verifyEntries(
  store: Store,
  orb: string,
  damages: Damages,
  options: EntriesOptions,
): Promise<boolean> {
  const stream = streams.orb(orb);
  const info = await store.streamInfo(stream);
  if (info === null) return false;
  const logs = await store.scan(stream, subjects.allLogs(orb), {
    fromSeq: 1,
    limit: 1,
    maxBytes: SMALL_BYTES,
  });
  const parts = Math.max(
    1,
    Math.ceil((logs.messages.length + logs.pending) / (options.remembered ?? REMEMBERED)),
  );
  for (let part = 0; part < parts; part++) {
    const walk = new EntryWalk(stream, damages, options);
    const take = (messages: readonly StoredMessage[]) => {
      for (const message of messages) {
        const id = lastToken(message.subject);
        if (partOf(id, parts) === part) walk.take(message);
      }
    };
    if (part === 0) {
      if (!(await readWhole(store, stream, damages, take))) return false;
    } else for await (const messages of pagesOf(store, stream, `${orb}.*.*.*.*`)) take(messages);
    walk.compareCopies();
    const entries = [...walk.known.values()].filter(({ count }) => count > 0);
    for (let at = 0; at < entries.length; at += HEADS) {
      await compareKeys(store, stream, entries.slice(at, at + HEADS), walk.copied, damages);
    }
  }
  return true;
}
