/** What is known of the streams that are followed, and what is asked of the broker to know it. */
import { type Answered, DirectMessage, kept, LeaderMessage, MemoryMessage, ownHeaders } from "../message.ts";
import type { OpenStore } from "../store.ts";
import { buckets, DEFINITIONS, definedStream, followedFilter, streams } from "../subjects.ts";
import type { Page, ReadOptions, StoredMessage } from "../types.ts";
import { type Echo, Feed, type FeedOptions, type Listener } from "./feed.ts";
import { type Era, Memory } from "./memory.ts";
import { isPassing, type Order } from "./order.ts";
import { Orders } from "./orders.ts";
import type { Trace } from "./trace.ts";

export interface CacheOptions {
  /** Replicas of the streams; with more than one, a reading counts only if its replica was far enough. */
  replicas: number;
  /** Bytes of heap that remembered messages may take, roughly. Default 16 MiB. */
  maxBytes?: number;
  /** Index messages that are kept, over all indexes. Default 250,000 (about 100 bytes each). */
  maxOrdered?: number;
  /** Milliseconds between two checks that the broker is there and nothing was missed at the end. Default 1,000. */
  checkMs?: number;
  /** Milliseconds that an acknowledged write waits for its echo. Default 2,000. */
  patienceMs?: number;
  /** Freeze the JSON that is shared: tests find whoever changes it. */
  freeze?: boolean;
  /** Told of each subject of the streams that are followed, when a message is stored on it. */
  onStored?: (subject: string) => void;
}

/** What the cache does at the moment, for metrics and tests. */
export interface CacheStats {
  hits: number;
  misses: number;
  subjects: number;
  bytes: number;
  /** Indexes whose order is in memory, and messages in them. */
  orders: number;
  ordered: number;
  feeds: number;
  /** How often everything of a stream was forgotten. */
  resets: number;
}

/** How many checks pass between two audits of each stream in use. */
const AUDIT_EVERY = 5;
/** Say themselves until when they hold, so that nobody needs to be told of their end. */
const SESSIONS = streams.kv(buckets.sessions);
/** Messages of one read, at most, that are remembered: a walk through everything must not push out what is asked for. */
const MOST_REMEMBERED = 256;
const IDLE_MS = 600_000;
const RETRY_MS = 500;

/** A read that is under way: what is told of its subject meanwhile. */
interface Expected {
  readers: number;
  told: MemoryMessage | undefined;
}

function isAnswered(message: StoredMessage | undefined): message is Answered {
  return message instanceof DirectMessage || message instanceof LeaderMessage;
}

export class Cache implements Listener {
  readonly #store: OpenStore;
  readonly #options: Required<CacheOptions> & FeedOptions;
  readonly #memory: Memory;
  readonly #feeds = new Map<string, Feed>();
  readonly #orders: Orders;
  readonly #expected = new Map<string, Expected>();
  /** Highest sequence of each stream that this process was acknowledged. */
  readonly #acknowledged = new Map<string, number>();
  /** Streams that cannot be followed for now, and until when. */
  readonly #refused = new Map<string, number>();
  readonly #timer: ReturnType<typeof setInterval>;
  #checks = 0;
  #checking = false;
  #hits = 0;
  #misses = 0;
  #resets = 0;

  constructor(store: OpenStore, options: CacheOptions) {
    this.#store = store;
    this.#options = {
      replicas: options.replicas,
      maxBytes: options.maxBytes ?? 16 * 1024 * 1024,
      maxOrdered: options.maxOrdered ?? 250_000,
      checkMs: options.checkMs ?? 1000,
      patienceMs: options.patienceMs ?? 2000,
      freeze: options.freeze ?? false,
      onStored: options.onStored ?? (() => undefined),
    };
    this.#memory = new Memory(this.#options.maxBytes);
    this.#orders = new Orders(store, this.#options.maxOrdered);
    this.#timer = setInterval(() => void this.#check(), this.#options.checkMs);
  }

  stats(): CacheStats {
    return {
      hits: this.#hits,
      misses: this.#misses,
      subjects: this.#memory.size,
      bytes: this.#memory.bytes,
      orders: this.#orders.count,
      ordered: this.#orders.size,
      feeds: this.#feeds.size,
      resets: this.#resets,
    };
  }

  /** The connection broke: nothing that is remembered may be told any more. */
  broken(): void {
    for (const feed of [...this.#feeds.values()]) this.drop(feed.stream);
    this.#memory.clear();
  }

  close(): void {
    clearInterval(this.#timer);
    this.broken();
  }

  /** Forgets a stream and follows it no longer. */
  drop(stream: string): void {
    const feed = this.#feeds.get(stream);
    if (feed === undefined) return;
    this.#feeds.delete(stream);
    feed.stop();
  }

  /** The stream is no more; another one of its name counts from one again. */
  gone(stream: string): void {
    this.drop(stream);
    this.#acknowledged.delete(stream);
  }

  /** Forgets what is known of a stream's messages. */
  forget(stream: string): void {
    this.#feeds.get(stream)?.reset();
  }

  /** Resolves when an acknowledged write of ours is part of what is remembered. */
  async seen(stream: string, seq: number): Promise<void> {
    if (this.#options.replicas > 1 && followedFilter(stream) !== undefined)
      this.#acknowledged.set(stream, Math.max(seq, this.#acknowledged.get(stream) ?? 0));
    await this.#feeds.get(stream)?.seen(seq);
  }

  /** The feed of a stream that may be answered from memory now; otherwise following it begins. */
  #live(stream: string): Feed | undefined {
    const known = this.#feeds.get(stream);
    if (known !== undefined) {
      if (!known.live) return undefined;
      known.lastUse = Date.now();
      return known;
    }
    const filter = followedFilter(stream);
    if (filter === undefined) return undefined;
    // It tells when what is known of another stream is void.
    if (stream !== DEFINITIONS && this.#live(DEFINITIONS) === undefined) return undefined;
    const until = this.#refused.get(stream);
    if (until !== undefined && until > Date.now()) return undefined;
    this.#refused.delete(stream);
    const feed = new Feed(this.#store, stream, filter, this, this.#options);
    this.#feeds.set(stream, feed);
    const refuse = () => {
      if (this.#feeds.get(stream) === feed) this.drop(stream);
      if (this.#refused.size > 10_000) this.#refused.clear();
      this.#refused.set(stream, Date.now() + RETRY_MS);
    };
    feed.start().then((follows) => (follows ? undefined : refuse()), refuse);
    return undefined;
  }

  stored(feed: Feed, echo: Echo): void {
    const { subject, delivery } = echo;
    const expected = this.#expected.get(subject);
    const seq = this.#memory.seqOf(subject, feed.era);
    // What was read may be ahead of what is told.
    if (expected !== undefined || (seq !== undefined && seq < echo.seq)) {
      const { message } = echo;
      const headers = ownHeaders(delivery.headerNames(), (name) => delivery.header(name));
      const copy = new MemoryMessage(message, message.text(), headers, this.#options.freeze);
      if (expected !== undefined) expected.told = copy;
      if ((seq ?? 0) < message.seq) this.#remember(subject, copy, feed, isPassing(delivery));
    }
    this.#options.onStored(subject);
    this.#orders.tell(echo);
    // Nobody is told that a stream is no more, nor at once that there is another one of its name.
    const defined = definedStream(subject);
    if (defined !== undefined) this.drop(defined);
  }

  reset(feed: Feed): void {
    this.#resets++;
    this.#orders.forget(feed);
    if (feed.stream !== DEFINITIONS) return;
    for (const { stream } of [...this.#feeds.values()]) if (stream !== DEFINITIONS) this.drop(stream);
  }

  /**
   * What the broker will remove by itself (`passing`) is never answered from memory, as nobody tells of its end.
   */
  #remember(subject: string, message: MemoryMessage | null, feed: Feed, passing: boolean): void {
    if (passing && feed.stream !== SESSIONS) this.#memory.delete(subject);
    else this.#memory.set(subject, message, feed.era);
  }

  /**
   * Last messages of subjects, from memory as far as they are known; undefined when the broker may just be asked.
   * @param trace notes what is remembered of them
   */
  read(
    stream: string,
    subjects: readonly string[],
    options: ReadOptions | undefined,
    trace?: Trace,
  ): Promise<Map<string, StoredMessage>> | undefined {
    const feed = this.#live(stream);
    if (feed === undefined) {
      trace?.spoil();
      const least = options?.consistency === "any" ? this.#acknowledged.get(stream) : undefined;
      return least === undefined ? undefined : this.#through(stream, subjects, least);
    }
    const { era } = feed;
    const found = new Map<string, StoredMessage>();
    const missing: string[] = [];
    trace?.touch(feed, this.#options.replicas);
    for (const subject of subjects) {
      const known = this.#memory.get(subject, era);
      if (known === undefined) {
        missing.push(subject);
        continue;
      }
      if (known !== null) found.set(subject, known);
      // Before anything is waited for: later, something else may be known of it.
      trace?.note(stream, this.#memory.ground(subject, era));
    }
    this.#hits += subjects.length - missing.length;
    this.#misses += missing.length;
    if (missing.length === 0) return Promise.resolve(found);
    const filled = this.#fill(feed, missing, found, options);
    return trace === undefined ? filled : this.#noteRead(filled, stream, missing, era, trace);
  }

  /** Notes what was read, as far as that is what is known by now. */
  async #noteRead(
    filled: Promise<Map<string, StoredMessage>>,
    stream: string,
    subjects: readonly string[],
    era: Era,
    trace: Trace,
  ): Promise<Map<string, StoredMessage>> {
    const found = await filled;
    for (const subject of subjects) {
      const same = this.#memory.seqOf(subject, era) === (found.get(subject)?.seq ?? 0);
      trace.note(stream, same ? this.#memory.ground(subject, era) : undefined);
    }
    return found;
  }

  /** Without memory, but never from before a write of ours: a replica that is not yet there is not believed. */
  async #through(
    stream: string,
    subjects: readonly string[],
    least: number,
  ): Promise<Map<string, StoredMessage>> {
    const page = await this.#store.latest(stream, subjects);
    if (page.lastSeq < least) return this.#store.getMany(stream, subjects, { consistency: "leader" });
    return new Map(page.messages.map((message) => [message.subject, message]));
  }

  async #fill(
    feed: Feed,
    subjects: readonly string[],
    found: Map<string, StoredMessage>,
    options: ReadOptions | undefined,
  ): Promise<Map<string, StoredMessage>> {
    const { era, position } = feed;
    const least = Math.max(position, feed.acknowledged, this.#acknowledged.get(feed.stream) ?? 0);
    const expectations = subjects.map((subject) => this.#expect(subject));
    try {
      const page = await this.#read(feed.stream, subjects, options);
      // A replica that lags behind what was told already: nothing of it is remembered, nor is it an answer.
      if (this.#options.replicas > 1 && page.lastSeq < least) {
        const sure = await this.#store.getMany(feed.stream, subjects, { consistency: "leader" });
        for (const [subject, message] of sure) found.set(subject, message);
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
    options: ReadOptions | undefined,
  ): Promise<Pick<Page, "messages" | "lastSeq">> {
    const [only] = subjects;
    const replicated = this.#options.replicas > 1;
    if (replicated && options?.consistency !== "any") {
      const sure = await this.#store.getMany(stream, subjects, { consistency: "leader" });
      return { messages: [...sure.values()], lastSeq: Number.POSITIVE_INFINITY };
    }
    if (replicated || subjects.length > 1 || only === undefined) return this.#store.latest(stream, subjects);
    const message = await this.#store.get(stream, only);
    return { messages: message === null ? [] : [message], lastSeq: 0 };
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

  /** The order of an index, or undefined when it is not (yet) in memory; reading it begins then. */
  #ordered(stream: string, filter: string): { order: Order; feed: Feed } | undefined {
    // Pages of a lagging replica carry no sign of it, so they are no ground to stand on.
    if (this.#options.replicas > 1) return undefined;
    const feed = this.#live(stream);
    if (feed === undefined) return undefined;
    const order = this.#orders.get(feed, filter);
    if (order === undefined) this.#misses++;
    else this.#hits++;
    return order === undefined ? undefined : { order, feed };
  }

  /** The stream is read beside what is remembered of it. */
  asked(stream: string, trace: Trace | undefined): void {
    if (trace === undefined) return;
    const feed = this.#live(stream);
    if (feed !== undefined) trace.touch(feed, this.#options.replicas);
    trace.note(stream, undefined);
  }

  #noteOrder(known: { order: Order; feed: Feed } | undefined, trace: Trace | undefined): void {
    if (known === undefined || trace === undefined) return;
    const { feed, order } = known;
    trace.touch(feed, this.#options.replicas);
    trace.note(feed.stream, order.ground(feed.era));
  }

  /** A page of an index. */
  page(stream: string, filter: string, fromSeq: number, limit: number, trace?: Trace): Page | undefined {
    const known = this.#ordered(stream, filter);
    this.#noteOrder(known, trace);
    return known?.order.page(fromSeq, limit, known.feed.position);
  }

  /** The last message of an index. */
  last(stream: string, filter: string, trace?: Trace): StoredMessage | null | undefined {
    const known = this.#ordered(stream, filter);
    this.#noteOrder(known, trace);
    return known?.order.last();
  }

  /** A silent broker is a broken connection, and nothing tells of a last message that was lost: so ask. */
  async #check(): Promise<void> {
    if (this.#checking || this.#feeds.size === 0) return;
    this.#checking = true;
    const late = setTimeout(() => this.broken(), this.#options.checkMs * 2);
    try {
      await this.#store.ping();
      clearTimeout(late);
      if (++this.#checks % AUDIT_EVERY === 0) await this.#audit();
    } catch {
      this.broken();
    } finally {
      clearTimeout(late);
      this.#checking = false;
    }
  }

  async #audit(): Promise<void> {
    // Whoever erases some by hand tells nobody: a session is taken on trust for no longer than this.
    this.forget(SESSIONS);
    const now = Date.now();
    for (const feed of [...this.#feeds.values()]) {
      const idle = now - feed.lastUse;
      if (idle > IDLE_MS) this.drop(feed.stream);
      else if (idle < this.#options.checkMs * AUDIT_EVERY) {
        await feed.audit();
        if (!feed.live) this.drop(feed.stream);
      }
    }
  }
}
