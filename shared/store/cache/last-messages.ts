/**
 * Caches the last message of each subject. If a read and the change feed return different messages, the cache keeps the
 * message with the higher sequence number.
 */

import type { OpenStore } from "../broker/index.ts";
import { PAIR_BYTES } from "../budget.ts";
import { CachedMessage, Message } from "../client/index.ts";
import { SELF_EXPIRING } from "../subjects.ts";
import { type Page, type ReadOptions, type StoredMessage, TooMuch } from "../types.ts";
import { isExpiring } from "./cached-index.ts";
import type { Dependency, Epoch } from "./dependencies.ts";
import type { Feed } from "./feed.ts";
import { MessageCache } from "./message-cache.ts";

/** Maximum messages that one read adds to the cache. Otherwise, a large read would evict everything else. */
const MOST_CACHED = 256;

export interface LastMessagesOptions {
  /**
   * Number of copies of each stream in the broker's cluster. With more than one, responses of copies that lag behind
   * are discarded.
   */
  replicas: number;
  maxBytes: number;
  freeze: boolean;
}

export type LastMessagesRead = ReadOptions & { maxBytes?: number };

interface InFlightRead {
  readers: number;
  newest: Message | undefined;
}

export class LastMessages {
  readonly #store: OpenStore;
  readonly #options: LastMessagesOptions;
  readonly #cache: MessageCache;
  readonly #inFlight = new Map<string, InFlightRead>();
  readonly #acknowledged = new Map<string, number>();

  constructor(store: OpenStore, options: LastMessagesOptions) {
    this.#store = store;
    this.#options = options;
    this.#cache = new MessageCache(options.maxBytes);
  }

  get size(): number {
    return this.#cache.size;
  }

  get bytes(): number {
    return this.#cache.bytes;
  }

  /** Returns the cached message, null if the subject is known to be empty, or undefined if it is not cached. */
  get(subject: string, epoch: Epoch): CachedMessage | null | undefined {
    return this.#cache.get(subject, epoch);
  }

  /**
   * Returns an object that tells whether the cached message is still the newest of its subject. Responses that were
   * made from the message are valid as long as this holds.
   * @param seq sequence number of the message that the response was made from; 0 if the subject was empty
   */
  dependency(subject: string, epoch: Epoch, seq?: number): Dependency | undefined {
    const same = seq === undefined || this.#cache.seqOf(subject, epoch) === seq;
    return same ? this.#cache.dependency(subject, epoch) : undefined;
  }

  clear(): void {
    this.#cache.clear();
  }

  acknowledge(stream: string, seq: number): void {
    this.#acknowledged.set(stream, Math.max(seq, this.#acknowledged.get(stream) ?? 0));
  }

  /**
   * Forgets the highest sequence number that was seen in a deleted stream. A new stream with the same name starts at 1.
   */
  streamDeleted(stream: string): void {
    this.#acknowledged.delete(stream);
  }

  /**
   * If the stream's last sequence number is lower than one seen earlier, the stream was deleted and created again. Then
   * forgets the earlier number.
   */
  reconcile(stream: string, seq: number): void {
    if (seq < (this.#acknowledged.get(stream) ?? 0)) this.streamDeleted(stream);
  }

  apply(feed: Feed, message: Message): void {
    const { subject } = message;
    const inFlight = this.#inFlight.get(subject);
    const seq = this.#cache.seqOf(subject, feed.epoch);
    if (inFlight !== undefined) inFlight.newest = message;
    else if (seq === undefined) return;
    if ((seq ?? 0) < message.seq) this.#put(subject, message, feed);
  }

  /**
   * Caches a message. Does not cache messages with a TTL, because the change feed does not report their expiry. The
   * exception is messages that contain their own expiry time.
   */
  #put(subject: string, message: Message | null, feed: Feed): void {
    if (message !== null && isExpiring(message) && !SELF_EXPIRING.includes(feed.stream))
      this.#cache.delete(subject);
    else this.#cache.set(subject, message && CachedMessage.of(message, this.#options.freeze), feed.epoch);
  }

  /**
   * Reads the last messages from a stream that the cache does not follow. The result includes all writes of this
   * process.
   */
  readUncached(
    stream: string,
    subjects: readonly string[],
    options: LastMessagesRead | undefined,
  ): Promise<Map<string, StoredMessage>> | undefined {
    const isStale = options?.consistency === "stale";
    const known = isStale ? this.#acknowledged.get(stream) : undefined;
    const minSeq = known === undefined ? undefined : Math.max(known, options?.atLeast ?? 0);
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
      if (this.#options.replicas > 1 && page.lastSeq < minSeq) {
        const { messages } = await this.#leader(feed.stream, subjects, options, sizeOf(found));
        for (const message of messages) found.set(message.subject, message);
        return found;
      }
      const read = new Map(page.messages.map((message) => [message.subject, message]));
      for (const [i, subject] of subjects.entries()) {
        const message = read.get(subject);
        const newest = inFlight[i]?.newest;
        if (newest !== undefined && newest.seq > position && newest.seq >= (message?.seq ?? 0)) {
          found.set(subject, newest);
          continue;
        }
        if (message !== undefined) found.set(subject, message);
        if (subjects.length > MOST_CACHED || feed.epoch !== epoch) continue;
        // Another read of the subject may have cached a newer message in the meantime.
        if ((this.#cache.seqOf(subject, epoch) ?? -1) < (message?.seq ?? 0))
          this.#put(subject, message instanceof Message ? message : null, feed);
      }
      return found;
    } finally {
      for (const subject of subjects) this.#endRead(subject);
    }
  }

  async #read(
    stream: string,
    subjects: readonly string[],
    options: LastMessagesRead | undefined,
    foundBytes: number,
  ): Promise<Pick<Page, "messages" | "lastSeq">> {
    const [only] = subjects;
    const replicated = this.#options.replicas > 1;
    if (replicated && options?.consistency !== "stale")
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

function remaining(options: LastMessagesRead | undefined, foundBytes: number): number {
  const most = options?.maxBytes ?? PAIR_BYTES;
  if (foundBytes >= most) throw new TooMuch(most / foundBytes);
  return most - foundBytes;
}

export function sizeOf(messages: ReadonlyMap<string, StoredMessage>): number {
  let bytes = 0;
  for (const { size } of messages.values()) bytes += size;
  return bytes;
}
