/** Reads the definition and the heads that an orb's messages are projected by. */
import type { LiveOrb } from "../../definition/live-orb.ts";
import { liveOrb } from "../../definition/stored/live.ts";
import { snapshotOf } from "../../entry/model/snapshot.ts";
import { notFound } from "../../kernel/errors.ts";
import { pause } from "../../kernel/pause.ts";
import { PAIR_BYTES } from "../../store/budget.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Consistency, type Store, type StoredMessage, TooMuch } from "../../store/types.ts";
import { joinTexts, type Messages } from "../protocol/messages.ts";
import { copyState, type HeadState, isCopy, type PublicCopy, project, publicMessage } from "./projection.ts";

/** Messages in the form that readers get. */
export interface Projected {
  messages: Messages;
  /** When the first validity window among them closes, in milliseconds since the epoch. */
  until: number | undefined;
}

/** Waits until this many bytes may be read. Returns a function that releases them. */
export type TakeBytes = (bytes: number) => Promise<() => void>;

/** Maximum heads and bytes per request. A draft may be far larger than the live copy of its entry. */
const HEADS = 1024;
const HEAD_BYTES = 4_000_000;
/**
 * Milliseconds before each further read of a head that is older than its copy. The broker stores the messages of a
 * batch one by one.
 */
const LOOK_AGAIN = [0, 10, 50, 200, 500];
/** A copy older than this many milliseconds without a head will never have one. */
const YOUNG_MS = 10_000;

/** Stands for a head that is purged or damaged: its entry is withheld, and the others are delivered. */
const NO_HEAD: HeadState = {
  status: "DELETED",
  revision: Number.POSITIVE_INFINITY,
  publishedRevision: null,
  liveTo: null,
};

const encoder = new TextEncoder();

/**
 * Projects a page of an orb's stream. It reads the definition after the page, so that no message is delivered through a
 * definition that was replaced before the message was stored.
 * @throws AppError not_found when the orb is not published
 */
export async function projectMessages(
  store: Store,
  orb: string,
  page: readonly StoredMessage[],
  now: () => number,
  take: TakeBytes,
): Promise<Projected> {
  const heads = new Heads(store, orb, take);
  const found = page.flatMap((message) => {
    const read = publicMessage(orb, message);
    return read === undefined ? [] : [{ read, log: subjects.entryLog(read.address) }];
  });
  const copies = found.flatMap(({ read, log }) => (isCopy(read) ? [{ read, log }] : []));
  const [definition] = await Promise.all([definitionOf(store, orb), heads.settle(copies, now)]);
  const shown: { seq: number; text: Uint8Array }[] = [];
  let until: number | undefined;
  const at = now();
  for (const { read, log } of found) {
    const one = project(read, definition.compiled, heads.get(log), at);
    if (one === undefined) continue;
    shown.push({ seq: read.message.seq, text: encoder.encode(JSON.stringify(one.event)) });
    if (one.until !== undefined) until = Math.min(until ?? one.until, one.until);
  }
  return { messages: joinTexts(shown), until };
}

async function definitionOf(store: Store, orb: string): Promise<LiveOrb> {
  const live = await liveOrb({ store }, orb, "cached");
  if (live === null) throw notFound("stream");
  return live;
}

/** A live copy and the subject of its entry's log. */
interface Copy {
  read: PublicCopy;
  log: string;
}

/** Heads of entries, reduced to the members that decide about delivery. */
class Heads {
  readonly #store: Store;
  readonly #stream: string;
  readonly #take: TakeBytes;
  readonly #heads = new Map<string, HeadState>();

  constructor(store: Store, orb: string, take: TakeBytes) {
    this.#store = store;
    this.#stream = streams.orb(orb);
    this.#take = take;
  }

  get(log: string): HeadState | undefined {
    return this.#heads.get(log);
  }

  /**
   * Reads the heads of copies. Repeats reads of heads that a replica, or the broker itself, may not have stored yet.
   */
  async settle(copies: readonly Copy[], now: () => number): Promise<void> {
    let open = copies;
    await this.#read(open, "stale");
    for (const ms of LOOK_AGAIN) {
      open = open.filter(({ read: { message, body }, log }) => {
        const young = now() - message.time < YOUNG_MS;
        return (ms === 0 || young) && copyState(body, this.get(log)) === "unread";
      });
      if (open.length === 0) return;
      if (ms > 0) await pause(ms);
      await this.#read(open, "leader");
    }
  }

  async #read(copies: readonly Copy[], consistency: Consistency): Promise<void> {
    const logs = [...new Set(copies.map(({ log }) => log))];
    let most = HEADS;
    for (let at = 0; at < logs.length; ) {
      const part = logs.slice(at, at + most);
      // A single head may be as large as the largest message.
      const maxBytes = part.length > 1 ? HEAD_BYTES : PAIR_BYTES;
      const done = await this.#take(HEAD_BYTES);
      try {
        const found = await this.#store.getMany(this.#stream, part, { consistency, maxBytes });
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
    const { status, revision, publishedRevision, liveTo } = headIn(message) ?? NO_HEAD;
    this.#heads.set(log, { status, revision, publishedRevision, liveTo });
  }
}

function headIn(message: StoredMessage): HeadState | null {
  try {
    return snapshotOf(message);
  } catch {
    return null;
  }
}
