import type { LiveOrb } from "../../definition/live-orb.ts";
import { liveOrb } from "../../definition/stored/index.ts";
import { type StoredSnapshot, snapshotOf } from "../../entry/model/index.ts";
import { notFound } from "../../kernel/errors.ts";
import { pause } from "../../kernel/pause.ts";
import { PAIR_BYTES } from "../../store/budget.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Consistency, type Store, type StoredMessage, TooMuch } from "../../store/types.ts";
import { joinTexts, type Messages } from "../protocol/index.ts";
import { copyState, type HeadState, isCopy, type PublicCopy, project, publicMessage } from "./projection.ts";

export interface Projected {
  messages: Messages;
  /**
   * The time at which the first of these messages expires, in milliseconds since the epoch. Do not send the messages
   * after that time.
   */
  until: number | undefined;
  /** Sequence number of the first message that did not fit into the page; undefined if all did. */
  rest: number | undefined;
}

/** Waits until there is memory for this many bytes. Returns a function that releases it. */
export type TakeBytes = (bytes: number) => Promise<() => void>;

/**
 * Maximum entries per read, and maximum bytes per read of several entries. The bytes have a limit of their own, because
 * the newest revision may be a draft that is far larger than the published copy.
 */
const HEADS = 1024;
const HEAD_BYTES = 4_000_000;
/**
 * Milliseconds to wait before each further read of an entry's newest revision. The broker stores the messages of a
 * batch one by one, so a reader may see the published copy shortly before the revision.
 */
const LOOK_AGAIN = [0, 10, 50, 200, 500];
/**
 * After this many milliseconds, the broker has stored a batch completely. A revision that is still missing will not
 * arrive.
 */
const YOUNG_MS = 10_000;

/** Used in place of a deleted or damaged entry, so that clients receive none of its messages. */
const NO_HEAD: HeadState = {
  status: "DELETED",
  revision: Number.POSITIVE_INFINITY,
  publishedRevision: null,
  liveTo: null,
};

const encoder = new TextEncoder();

/**
 * Returns the parts of an application's messages that clients may read. Reads the definition after the messages: an
 * older definition might allow messages that a newer one forbids. The page ends early after `maxBytes` of entries
 * were read.
 */
export async function projectMessages(
  store: Store,
  orb: string,
  page: readonly StoredMessage[],
  now: () => number,
  take: TakeBytes,
  maxBytes: number,
): Promise<Projected> {
  const heads = new Heads(store, orb, take, maxBytes);
  const found = page.flatMap((message) => {
    const read = publicMessage(orb, message);
    return read === undefined ? [] : [{ read, log: subjects.entryLog(read.address) }];
  });
  const copies = found.flatMap(({ read, log }) => (isCopy(read) ? [{ read, log }] : []));
  const [known] = await Promise.all([definitionOf(store, orb), heads.settle(copies, now)]);
  // A change set may have published entries together with a definition that this process has not met yet.
  const definition = heads.definition > known.revision ? await definitionOf(store, orb, "leader") : known;
  const rest = copies.find(({ log }) => !heads.has(log))?.read.message.seq;
  const shown: { seq: number; text: Uint8Array }[] = [];
  let until: number | undefined;
  const at = now();
  for (const { read, log } of found) {
    if (rest !== undefined && read.message.seq >= rest) break;
    const one = project(read, definition.compiled, heads.get(log), at);
    if (one === undefined) continue;
    shown.push({ seq: read.message.seq, text: encoder.encode(JSON.stringify(one.event)) });
    if (one.until !== undefined) until = Math.min(until ?? one.until, one.until);
  }
  return { messages: joinTexts(shown), until, rest };
}

async function definitionOf(
  store: Store,
  orb: string,
  consistency: Consistency = "cached",
): Promise<LiveOrb> {
  const live = await liveOrb({ store }, orb, consistency);
  if (live === null) throw notFound("stream");
  return live;
}

interface Copy {
  read: PublicCopy;
  log: string;
}

/** Caches the newest revisions of entries, without their values. */
class Heads {
  readonly #store: Store;
  readonly #stream: string;
  readonly #take: TakeBytes;
  readonly #maxBytes: number;
  readonly #heads = new Map<string, HeadState>();
  readonly #requested = new Set<string>();
  #bytes = 0;
  /** The newest revision of the definition with which one of the entries was written. */
  definition = 0;

  constructor(store: Store, orb: string, take: TakeBytes, maxBytes: number) {
    this.#store = store;
    this.#stream = streams.orb(orb);
    this.#take = take;
    this.#maxBytes = maxBytes;
  }

  get(log: string): HeadState | undefined {
    return this.#heads.get(log);
  }

  /** Whether this cache has asked the broker for the entry. The broker's answer may have been that there is none. */
  has(log: string): boolean {
    return this.#requested.has(log);
  }

  /**
   * Reads the newest revisions of the entries of these copies. Reads again if the broker returns a revision that is
   * older than the entry's copy.
   */
  async settle(copies: readonly Copy[], now: () => number): Promise<void> {
    let open = copies;
    await this.#read(open, "stale");
    for (const ms of LOOK_AGAIN) {
      open = open.filter(({ read: { message, body }, log }) => {
        const young = now() - message.time < YOUNG_MS;
        return this.has(log) && (ms === 0 || young) && copyState(body, this.get(log)) === "unread";
      });
      if (open.length === 0) return;
      if (ms > 0) await pause(ms);
      await this.#read(open, "leader");
    }
  }

  async #read(copies: readonly Copy[], consistency: Consistency): Promise<void> {
    const logs = [...new Set(copies.map(({ log }) => log))];
    let most = HEADS;
    for (let at = 0; at < logs.length && this.#bytes < this.#maxBytes; ) {
      const part = logs.slice(at, at + most);
      // An entry can be as large as the broker allows. So a read of one entry has a higher limit.
      const maxBytes = part.length > 1 ? HEAD_BYTES : PAIR_BYTES;
      const done = await this.#take(HEAD_BYTES);
      try {
        const found = await this.#store.getMany(this.#stream, part, { consistency, maxBytes });
        for (const log of part) this.#requested.add(log);
        for (const [log, message] of found) this.#keep(log, message);
        at += part.length;
        most = Math.min(HEADS, most * 2);
      } catch (error) {
        if (!(error instanceof TooMuch)) throw error;
        most = Math.max(1, part.length >> 1);
      } finally {
        done();
      }
    }
  }

  #keep(log: string, message: StoredMessage): void {
    this.#bytes += message.size;
    const head = headIn(message);
    this.definition = Math.max(this.definition, head?.defRevision ?? 0);
    const { status, revision, publishedRevision, liveTo } = head ?? NO_HEAD;
    this.#heads.set(log, { status, revision, publishedRevision, liveTo });
  }
}

function headIn(message: StoredMessage): StoredSnapshot | null {
  try {
    return snapshotOf(message);
  } catch {
    return null;
  }
}
