/** Last messages of subjects: what is remembered of them, and how the others are read to be remembered. */
import { type Answered, DirectMessage, kept, LeaderMessage, MemoryMessage, ownHeaders } from "../message.ts";
import type { OpenStore } from "../store.ts";
import { buckets, streams } from "../subjects.ts";
import { type Page, type ReadOptions, type StoredMessage, TooMuch } from "../types.ts";
import type { Echo, Feed } from "./feed.ts";
import { type Era, Memory } from "./memory.ts";
import { isPassing } from "./order.ts";
import type { Ground } from "./trace.ts";

/** Say themselves until when they hold, so that nobody needs to be told of their end. */
export const SESSIONS = streams.kv(buckets.sessions);
/** Messages of one read, at most, that are remembered: a walk through everything must not push out what is asked for. */
const MOST_REMEMBERED = 256;

export interface LastsOptions {
  /** With more than one, a reading counts only if its replica was far enough. */
  replicas: number;
  maxBytes: number;
  /** Freeze the JSON that is shared. */
  freeze: boolean;
}

/** How last messages are read; `maxBytes` of all of them, beyond which they are no answer. */
export type LastsRead = ReadOptions & { maxBytes?: number };

/** A read that is under way: what is told of its subject meanwhile. */
interface Expected {
  readers: number;
  told: MemoryMessage | undefined;
}

function isAnswered(message: StoredMessage | undefined): message is Answered {
  return message instanceof DirectMessage || message instanceof LeaderMessage;
}

export class Lasts {
  readonly #store: OpenStore;
  readonly #options: LastsOptions;
  readonly #memory: Memory;
  readonly #expected = new Map<string, Expected>();
  /** Highest sequence of each stream on replicas that this process was acknowledged. */
  readonly #acknowledged = new Map<string, number>();

  constructor(store: OpenStore, options: LastsOptions) {
    this.#store = store;
    this.#options = options;
    this.#memory = new Memory(options.maxBytes);
  }

  /** How many subjects are remembered. */
  get size(): number {
    return this.#memory.size;
  }

  /** What they take, roughly. */
  get bytes(): number {
    return this.#memory.bytes;
  }

  /** The last message, null when it is known that there is none, undefined when nothing is known in this era. */
  known(subject: string, era: Era): MemoryMessage | null | undefined {
    return this.#memory.get(subject, era);
  }

  /**
   * What is known of a subject, for answers that are made of it.
   * @param seq of what the answer was made of, 0 for nothing: only if that is still what is known
   */
  ground(subject: string, era: Era, seq?: number): Ground | undefined {
    const same = seq === undefined || this.#memory.seqOf(subject, era) === seq;
    return same ? this.#memory.ground(subject, era) : undefined;
  }

  clear(): void {
    this.#memory.clear();
  }

  /** A write of ours was acknowledged. */
  acknowledge(stream: string, seq: number): void {
    this.#acknowledged.set(stream, Math.max(seq, this.#acknowledged.get(stream) ?? 0));
  }

  /** The stream is no more; another one of its name counts from one again. */
  gone(stream: string): void {
    this.#acknowledged.delete(stream);
  }

  /** How far the stream is by its leader's word: one that is behind what we were acknowledged is another one. */
  reached(stream: string, seq: number): void {
    if (seq < (this.#acknowledged.get(stream) ?? 0)) this.gone(stream);
  }

  /** A message was stored. */
  tell(feed: Feed, echo: Echo): void {
    const { subject, delivery } = echo;
    const expected = this.#expected.get(subject);
    const seq = this.#memory.seqOf(subject, feed.era);
    // What was read may be ahead of what is told.
    if (expected === undefined && (seq === undefined || seq >= echo.seq)) return;
    const { message } = echo;
    const headers = ownHeaders(delivery.headerNames(), (name) => delivery.header(name));
    const copy = new MemoryMessage(message, message.text(), headers, this.#options.freeze);
    if (expected !== undefined) expected.told = copy;
    if ((seq ?? 0) < message.seq) this.#remember(subject, copy, feed, isPassing(delivery));
  }

  /**
   * What the broker will remove by itself (`passing`) is never answered from memory, as nobody tells of its end.
   */
  #remember(subject: string, message: MemoryMessage | null, feed: Feed, passing: boolean): void {
    if (passing && feed.stream !== SESSIONS) this.#memory.delete(subject);
    else this.#memory.set(subject, message, feed.era);
  }

  /**
   * Reads beside memory where a stream is not followed, but never from before a write of ours: a replica that is not yet
   * there is not believed. Undefined when the broker may just be asked.
   */
  through(
    stream: string,
    subjects: readonly string[],
    options: LastsRead | undefined,
  ): Promise<Map<string, StoredMessage>> | undefined {
    const least = options?.consistency === "any" ? this.#acknowledged.get(stream) : undefined;
    return least === undefined ? undefined : this.#notBefore(stream, subjects, least, options);
  }

  async #notBefore(
    stream: string,
    subjects: readonly string[],
    least: number,
    options: LastsRead | undefined,
  ): Promise<Map<string, StoredMessage>> {
    const page = await this.#store.latest(stream, subjects, rest(options, 0));
    const { messages } = page.lastSeq < least ? await this.#leader(stream, subjects, options, 0) : page;
    return new Map(messages.map((message) => [message.subject, message]));
  }

  /** Reads what is not known, adds it to what was found, and remembers it. */
  async fill(
    feed: Feed,
    subjects: readonly string[],
    found: Map<string, StoredMessage>,
    options: LastsRead | undefined,
  ): Promise<Map<string, StoredMessage>> {
    const { era, position } = feed;
    const least = Math.max(position, feed.acknowledged, this.#acknowledged.get(feed.stream) ?? 0);
    const expectations = subjects.map((subject) => this.#expect(subject));
    try {
      const page = await this.#read(feed.stream, subjects, options, sizeOf(found));
      // A replica that lags behind what was told already: nothing of it is remembered, nor is it an answer.
      if (this.#options.replicas > 1 && page.lastSeq < least) {
        const { messages } = await this.#leader(feed.stream, subjects, options, sizeOf(found));
        for (const message of messages) found.set(message.subject, message);
        return found;
      }
      const read = new Map(page.messages.map((message) => [message.subject, message]));
      for (const [i, subject] of subjects.entries()) {
        const message = read.get(subject);
        const told = expectations[i]?.told;
        // What was told before this read began may be gone by now.
        if (told !== undefined && told.seq > position && told.seq >= (message?.seq ?? 0)) {
          found.set(subject, told.apart());
          continue;
        }
        if (subjects.length > MOST_REMEMBERED) {
          if (message !== undefined) found.set(subject, message);
          continue;
        }
        const copy = isAnswered(message) ? kept(message, this.#options.freeze) : undefined;
        // Another read may have been quicker and later.
        if (feed.era === era && (this.#memory.seqOf(subject, era) ?? -1) < (copy?.seq ?? 0))
          this.#remember(subject, copy ?? null, feed, message !== undefined && isPassing(message));
        if (copy !== undefined) found.set(subject, copy.apart());
      }
      return found;
    } finally {
      for (const subject of subjects) this.#unexpect(subject);
    }
  }

  /** One message where the only replica answers is asked for in the cheapest way; the leader lags behind nobody. */
  async #read(
    stream: string,
    subjects: readonly string[],
    options: LastsRead | undefined,
    known: number,
  ): Promise<Pick<Page, "messages" | "lastSeq">> {
    const [only] = subjects;
    const replicated = this.#options.replicas > 1;
    if (replicated && options?.consistency !== "any") return this.#leader(stream, subjects, options, known);
    if (replicated || subjects.length > 1 || only === undefined) {
      return this.#store.latest(stream, subjects, rest(options, known));
    }
    const message = await this.#store.get(stream, only);
    return { messages: message === null ? [] : [message], lastSeq: 0 };
  }

  async #leader(
    stream: string,
    subjects: readonly string[],
    options: LastsRead | undefined,
    known: number,
  ): Promise<Pick<Page, "messages" | "lastSeq">> {
    const maxBytes = rest(options, known);
    const bound = maxBytes === undefined ? {} : { maxBytes };
    const sure = await this.#store.getMany(stream, subjects, { consistency: "leader", ...bound });
    return { messages: [...sure.values()], lastSeq: Number.POSITIVE_INFINITY };
  }

  #expect(subject: string): Expected {
    const expected = this.#expected.get(subject) ?? { readers: 0, told: undefined };
    expected.readers++;
    this.#expected.set(subject, expected);
    return expected;
  }

  #unexpect(subject: string): void {
    const expected = this.#expected.get(subject);
    if (expected !== undefined && --expected.readers === 0) this.#expected.delete(subject);
  }
}

/** How much may still be read. @throws TooMuch when what is known is too large already */
function rest(options: LastsRead | undefined, known: number): number | undefined {
  const most = options?.maxBytes;
  if (most !== undefined && known >= most) throw new TooMuch();
  return most === undefined ? undefined : most - known;
}

/** Bytes of the bodies of messages. */
export function sizeOf(messages: ReadonlyMap<string, StoredMessage>): number {
  let bytes = 0;
  for (const { size } of messages.values()) bytes += size;
  return bytes;
}
