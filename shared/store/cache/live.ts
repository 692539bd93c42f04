/** What is known of the streams that are followed, and what is asked of the broker to know it. */
import type { OpenStore } from "../store.ts";
import { DEFINITIONS, definedStream, followedFilter } from "../subjects.ts";
import { type Page, type StoredMessage, TooMuch } from "../types.ts";
import { type Echo, Feed, type FeedOptions, type Listener } from "./feed.ts";
import { Lasts, type LastsRead, SESSIONS, sizeOf } from "./lasts.ts";
import type { Era } from "./memory.ts";
import type { Order } from "./order.ts";
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
const IDLE_MS = 600_000;
const RETRY_MS = 500;

export class Cache implements Listener {
  readonly #store: OpenStore;
  readonly #options: Required<CacheOptions> & FeedOptions;
  readonly #lasts: Lasts;
  readonly #feeds = new Map<string, Feed>();
  readonly #orders: Orders;
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
    this.#lasts = new Lasts(store, this.#options);
    this.#orders = new Orders(store, this.#options.maxOrdered);
    this.#timer = setInterval(() => void this.#check(), this.#options.checkMs);
  }

  stats(): CacheStats {
    return {
      hits: this.#hits,
      misses: this.#misses,
      subjects: this.#lasts.size,
      bytes: this.#lasts.bytes,
      orders: this.#orders.count,
      ordered: this.#orders.size,
      feeds: this.#feeds.size,
      resets: this.#resets,
    };
  }

  /** The connection broke: nothing that is remembered may be told any more. */
  broken(): void {
    for (const feed of [...this.#feeds.values()]) this.drop(feed.stream);
    this.#lasts.clear();
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
    this.#lasts.gone(stream);
  }

  /** Forgets what is known of a stream's messages. */
  forget(stream: string): void {
    this.#feeds.get(stream)?.reset();
  }

  /** Resolves when an acknowledged write of ours is part of what is remembered. */
  async seen(stream: string, seq: number): Promise<void> {
    if (this.#options.replicas > 1 && followedFilter(stream) !== undefined)
      this.#lasts.acknowledge(stream, seq);
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
    feed.start().then((follows) => {
      if (follows) this.#lasts.reached(stream, feed.position);
      else refuse();
    }, refuse);
    return undefined;
  }

  stored(feed: Feed, echo: Echo): void {
    const { subject } = echo;
    this.#lasts.tell(feed, echo);
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
   * Last messages of subjects, from memory as far as they are known; undefined when the broker may just be asked.
   * @param trace notes what is remembered of them
   */
  read(
    stream: string,
    subjects: readonly string[],
    options: LastsRead | undefined,
    trace?: Trace,
  ): Promise<Map<string, StoredMessage>> | undefined {
    const feed = this.#live(stream);
    if (feed === undefined) {
      trace?.spoil();
      return this.#lasts.through(stream, subjects, options);
    }
    const { era } = feed;
    const found = new Map<string, StoredMessage>();
    const missing: string[] = [];
    trace?.touch(feed, this.#options.replicas);
    for (const subject of subjects) {
      const known = this.#lasts.known(subject, era);
      if (known === undefined) {
        missing.push(subject);
        continue;
      }
      if (known !== null) found.set(subject, known);
      // Before anything is waited for: later, something else may be known of it.
      trace?.note(stream, this.#lasts.ground(subject, era));
    }
    this.#hits += subjects.length - missing.length;
    this.#misses += missing.length;
    const most = options?.maxBytes;
    if (most !== undefined && subjects.length > 1 && sizeOf(found) > most)
      return Promise.reject(new TooMuch());
    if (missing.length === 0) return Promise.resolve(found);
    const filled = this.#lasts.fill(feed, missing, found, options);
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
      trace.note(stream, this.#lasts.ground(subject, era, found.get(subject)?.seq ?? 0));
    }
    return found;
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
