/**
 * Last messages of subjects: what is cached of them, how a change of the feed replaces it, and how what is missing is read.
 *
 * A read races with the feed: the broker may answer before a write whose event comes before the answer does. So each read
 * that is in flight is registered by subject, and the newest event that comes meanwhile is noted there; the larger sequence
 * wins. A message is cached only in the epoch in which its read began, and on replicas only if the one that answered
 * was as far as the feed and our own acknowledged writes.
 */

import { PAIR_BYTES } from "../budget.ts";
import { type Answered, DirectMessage, kept, LeaderMessage, MemoryMessage, ownHeaders } from "../message.ts";
import type { OpenStore } from "../store.ts";
import { buckets, streams } from "../subjects.ts";
import { type Page, type ReadOptions, type StoredMessage, TooMuch } from "../types.ts";
import { isPassing } from "./cached-index.ts";
import type { Dependency, Epoch } from "./dependencies.ts";
import type { ChangeEvent, Feed } from "./feed.ts";
import { MessageCache } from "./message-cache.ts";

/** Sessions say themselves when they expire, so they may be cached although no event tells of that. */
export const SESSIONS = streams.kv(buckets.sessions);
/** Messages of one read, at most, that are cached: a walk through everything must not push out what is asked for. */
const MOST_CACHED = 256;

export interface LastMessagesOptions {
  /** With more than one, a reading counts only if its replica was far enough. */
  replicas: number;
  maxBytes: number;
  /** Freeze the JSON that is shared. */
  freeze: boolean;
}

/** How last messages are read; `maxBytes` of all of them, beyond which they are no answer. */
export type LastMessagesRead = ReadOptions & { maxBytes?: number };

/** Reads of one subject that are in flight. */
interface InFlightRead {
  readers: number;
  /** The newest message that the feed brought meanwhile. */
  newest: MemoryMessage | undefined;
}

function isAnswered(message: StoredMessage | undefined): message is Answered {
  return message instanceof DirectMessage || message instanceof LeaderMessage;
}

export class LastMessages {
  readonly #store: OpenStore;
  readonly #options: LastMessagesOptions;
  readonly #cache: MessageCache;
  readonly #inFlight = new Map<string, InFlightRead>();
  /** Highest sequence of each stream on replicas that this process was acknowledged. */
  readonly #acknowledged = new Map<string, number>();

  constructor(store: OpenStore, options: LastMessagesOptions) {
    this.#store = store;
    this.#options = options;
    this.#cache = new MessageCache(options.maxBytes);
  }

  /** How many subjects are cached. */
  get size(): number {
    return this.#cache.size;
  }

  /** Bytes that they take, roughly. */
  get bytes(): number {
    return this.#cache.bytes;
  }

  /** The last message, null when it is known that there is none, undefined when nothing is known in this epoch. */
  get(subject: string, epoch: Epoch): MemoryMessage | null | undefined {
    return this.#cache.get(subject, epoch);
  }

  /**
   * What is known of a subject, as a dependency of answers that are made of it.
   * @param seq of what the answer was made of, 0 for nothing: only if that is still what is known
   */
  dependency(subject: string, epoch: Epoch, seq?: number): Dependency | undefined {
    const same = seq === undefined || this.#cache.seqOf(subject, epoch) === seq;
    return same ? this.#cache.dependency(subject, epoch) : undefined;
  }

  clear(): void {
    this.#cache.clear();
  }

  /** A write of ours was acknowledged. */
  acknowledge(stream: string, seq: number): void {
    this.#acknowledged.set(stream, Math.max(seq, this.#acknowledged.get(stream) ?? 0));
  }

  /** The stream is no more; another one of its name counts from one again. */
  streamDeleted(stream: string): void {
    this.#acknowledged.delete(stream);
  }

  /** The stream's last sequence by its leader's word: one that is behind what we were acknowledged is another stream. */
  reconcile(stream: string, seq: number): void {
    if (seq < (this.#acknowledged.get(stream) ?? 0)) this.streamDeleted(stream);
  }

  /** Applies the next change of a feed: what is cached of its subject is replaced. */
  apply(feed: Feed, event: ChangeEvent): void {
    const { subject, delivery } = event;
    const inFlight = this.#inFlight.get(subject);
    const seq = this.#cache.seqOf(subject, feed.epoch);
    // What was read may be ahead of the feed.
    if (inFlight === undefined && (seq === undefined || seq >= event.seq)) return;
    const { message } = event;
    const headers = ownHeaders(delivery.headerNames(), (name) => delivery.header(name));
    const copy = new MemoryMessage(message, message.text(), headers, this.#options.freeze);
    if (inFlight !== undefined) inFlight.newest = copy;
    if ((seq ?? 0) < message.seq) this.#put(subject, copy, feed, isPassing(delivery));
  }

  /**
   * What the broker will remove by itself (`passing`) is never cached, as no event tells of its end.
   */
  #put(subject: string, message: MemoryMessage | null, feed: Feed, passing: boolean): void {
    if (passing && feed.stream !== SESSIONS) this.#cache.delete(subject);
    else this.#cache.set(subject, message, feed.epoch);
  }

  /**
   * Reads a stream that is not followed: nothing is cached, but no answer is from before a write of ours, whichever replica
   * gives it. Undefined when the broker may just be asked.
   */
  readUncached(
    stream: string,
    subjects: readonly string[],
    options: LastMessagesRead | undefined,
  ): Promise<Map<string, StoredMessage>> | undefined {
    const minSeq = options?.consistency === "any" ? this.#acknowledged.get(stream) : undefined;
    return minSeq === undefined ? undefined : this.#notBefore(stream, subjects, minSeq, options);
  }

  async #notBefore(
    stream: string,
    subjects: readonly string[],
    minSeq: number,
    options: LastMessagesRead | undefined,
  ): Promise<Map<string, StoredMessage>> {
    const page = await this.#store.latest(stream, subjects, remaining(options, 0));
    const { messages } = page.lastSeq < minSeq ? await this.#leader(stream, subjects, options, 0) : page;
    return new Map(messages.map((message) => [message.subject, message]));
  }

  /** Reads what is missing, adds it to what was found, and caches it. */
  async fill(
    feed: Feed,
    subjects: readonly string[],
    found: Map<string, StoredMessage>,
    options: LastMessagesRead | undefined,
  ): Promise<Map<string, StoredMessage>> {
    const { epoch, position } = feed;
    const minSeq = Math.max(position, feed.acknowledged, this.#acknowledged.get(feed.stream) ?? 0);
    const inFlight = subjects.map((subject) => this.#beginRead(subject));
    try {
      const page = await this.#read(feed.stream, subjects, options, sizeOf(found));
      // A replica that lags behind the feed: nothing of it is cached, nor is it an answer.
      if (this.#options.replicas > 1 && page.lastSeq < minSeq) {
        const { messages } = await this.#leader(feed.stream, subjects, options, sizeOf(found));
        for (const message of messages) found.set(message.subject, message);
        return found;
      }
      const read = new Map(page.messages.map((message) => [message.subject, message]));
      for (const [i, subject] of subjects.entries()) {
        const message = read.get(subject);
        const newest = inFlight[i]?.newest;
        // What came before this read began may be gone by now.
        if (newest !== undefined && newest.seq > position && newest.seq >= (message?.seq ?? 0)) {
          found.set(subject, newest.apart());
          continue;
        }
        if (subjects.length > MOST_CACHED) {
          if (message !== undefined) found.set(subject, message);
          continue;
        }
        const copy = isAnswered(message) ? kept(message, this.#options.freeze) : undefined;
        // Another read may have been quicker and later.
        if (feed.epoch === epoch && (this.#cache.seqOf(subject, epoch) ?? -1) < (copy?.seq ?? 0))
          this.#put(subject, copy ?? null, feed, message !== undefined && isPassing(message));
        if (copy !== undefined) found.set(subject, copy.apart());
      }
      return found;
    } finally {
      for (const subject of subjects) this.#endRead(subject);
    }
  }

  /** One message where the only replica answers is asked for in the cheapest way; the leader lags behind nobody. */
  async #read(
    stream: string,
    subjects: readonly string[],
    options: LastMessagesRead | undefined,
    foundBytes: number,
  ): Promise<Pick<Page, "messages" | "lastSeq">> {
    const [only] = subjects;
    const replicated = this.#options.replicas > 1;
    if (replicated && options?.consistency !== "any")
      return this.#leader(stream, subjects, options, foundBytes);
    if (replicated || subjects.length > 1 || only === undefined) {
      return this.#store.latest(stream, subjects, remaining(options, foundBytes));
    }
    const message = await this.#store.get(stream, only);
    return { messages: message === null ? [] : [message], lastSeq: 0 };
  }

  async #leader(
    stream: string,
    subjects: readonly string[],
    options: LastMessagesRead | undefined,
    foundBytes: number,
  ): Promise<Pick<Page, "messages" | "lastSeq">> {
    const maxBytes = remaining(options, foundBytes);
    const sure = await this.#store.getMany(stream, subjects, { consistency: "leader", maxBytes });
    return { messages: [...sure.values()], lastSeq: Number.POSITIVE_INFINITY };
  }

  #beginRead(subject: string): InFlightRead {
    const read = this.#inFlight.get(subject) ?? { readers: 0, newest: undefined };
    read.readers++;
    this.#inFlight.set(subject, read);
    return read;
  }

  #endRead(subject: string): void {
    const read = this.#inFlight.get(subject);
    if (read !== undefined && --read.readers === 0) this.#inFlight.delete(subject);
  }
}

/** Bytes that may still be read. @throws TooMuch when what was found is too large already */
function remaining(options: LastMessagesRead | undefined, foundBytes: number): number {
  // A read without a bound asks for one message.
  const most = options?.maxBytes ?? PAIR_BYTES;
  if (foundBytes >= most) throw new TooMuch(most / foundBytes);
  return most - foundBytes;
}

/** Bytes of the bodies of messages. */
export function sizeOf(messages: ReadonlyMap<string, StoredMessage>): number {
  let bytes = 0;
  for (const { size } of messages.values()) bytes += size;
  return bytes;
}
