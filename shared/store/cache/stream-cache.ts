/**
 * Decides which streams to watch through a change feed, and when cached values become invalid. `cached-store.ts`
 * explains how.
 */

import { BoundedMap } from "../../kernel/bounded-map.ts";
import type { OpenStore } from "../broker/index.ts";
import type { Message } from "../client/index.ts";
import { DEFINITIONS, definedStream, FOLLOWED, followedFilter, isIndexFilter, streams } from "../subjects.ts";
import { type MatchingSubjects, type Page, type StoredMessage, TooMuch } from "../types.ts";
import type { CachedIndex } from "./cached-index.ts";
import type { DependencyTracker, Epoch } from "./dependencies.ts";
import { Feed, type FeedOptions, type Listener } from "./feed.ts";
import { IndexCache } from "./index-cache.ts";
import { LastMessages, type LastMessagesRead, sizeOf } from "./last-messages.ts";
import { type CacheOptions, type CacheStats, REACH } from "./options.ts";

const AUDIT_EVERY = 5;
const IDLE_MS = 600_000;
const RETRY_MS = 500;

export class StreamCache implements Listener {
  readonly #store: OpenStore;
  readonly #options: Required<CacheOptions> & FeedOptions;
  readonly #lastMessages: LastMessages;
  readonly #feeds = new Map<string, Feed>();
  readonly #indexes: IndexCache;
  readonly #refused = new BoundedMap<string, number>(10_000);
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
      maxIndexMessages: options.maxIndexMessages ?? 250_000,
      reach: options.reach ?? REACH,
      checkMs: options.checkMs ?? 1000,
      patienceMs: options.patienceMs ?? 2000,
      freeze: options.freeze ?? false,
    };
    this.#lastMessages = new LastMessages(store, this.#options);
    this.#indexes = new IndexCache(store, this.#options);
    this.#timer = setInterval(() => void this.#check(), this.#options.checkMs);
  }

  stats(): CacheStats {
    return {
      hits: this.#hits,
      misses: this.#misses,
      subjects: this.#lastMessages.size,
      bytes: this.#lastMessages.bytes,
      indexes: this.#indexes.count,
      indexMessages: this.#indexes.size,
      feeds: this.#feeds.size,
      resets: this.#resets,
    };
  }

  broken(): void {
    for (const feed of [...this.#feeds.values()]) this.unfollow(feed.stream);
    this.#lastMessages.clear();
  }

  close(): void {
    clearInterval(this.#timer);
    this.broken();
  }

  unfollow(stream: string): void {
    const feed = this.#feeds.get(stream);
    if (feed === undefined) return;
    this.#feeds.delete(stream);
    feed.stop();
  }

  /**
   * Forgets all cached values of a deleted stream. The sequence numbers of a new stream with the same name start at 1.
   */
  streamDeleted(stream: string): void {
    this.unfollow(stream);
    this.#lastMessages.streamDeleted(stream);
  }

  invalidate(stream: string): void {
    this.#feeds.get(stream)?.reset();
  }

  /**
   * Waits until the cache has received the message that this process wrote. Later reads of this process then see the
   * write.
   */
  async caughtUp(stream: string, seq: number): Promise<void> {
    if (this.#options.replicas > 1 && followedFilter(stream) !== undefined)
      this.#lastMessages.acknowledge(stream, seq);
    await this.#feeds.get(stream)?.caughtUp(seq);
  }

  /**
   * Waits until memory has a message that another read has returned. Returns false if memory cannot be used, because it
   * does not get the message in time.
   */
  async reached(stream: string, seq: number): Promise<boolean> {
    const feed = this.#feeds.get(stream);
    // Without a live feed, reads do not come from memory.
    return feed?.live !== true || feed.reached(seq);
  }

  /** Returns the change feed of a stream. If the feed is not running yet, starts it and returns undefined. */
  #followed(stream: string): Feed | undefined {
    const known = this.#feeds.get(stream);
    if (known !== undefined) {
      if (!known.live) return undefined;
      known.lastUse = Date.now();
      return known;
    }
    const filter = followedFilter(stream);
    if (filter === undefined) return undefined;
    // Messages in the stream of definitions show that another stream was deleted. So follow that stream before any
    // other.
    if (stream !== DEFINITIONS && this.#followed(DEFINITIONS) === undefined) return undefined;
    const until = this.#refused.get(stream);
    if (until !== undefined && until > Date.now()) return undefined;
    this.#refused.delete(stream);
    const feed = new Feed(this.#store, stream, filter, this, this.#options);
    this.#feeds.set(stream, feed);
    const refuse = () => {
      if (this.#feeds.get(stream) === feed) this.unfollow(stream);
      this.#refused.set(stream, Date.now() + RETRY_MS);
    };
    feed.start().then((follows) => {
      if (follows) this.#lastMessages.reconcile(stream, feed.position);
      else refuse();
    }, refuse);
    return undefined;
  }

  stored(feed: Feed, message: Message): void {
    const { subject } = message;
    this.#lastMessages.apply(feed, message);
    this.#indexes.apply(message);
    // The change feed of an application's stream does not show that the stream was deleted and created again. A changed
    // definition of the application may mean this, so stop using the cached values.
    const defined = definedStream(subject);
    if (defined !== undefined) this.unfollow(defined);
  }

  reset(feed: Feed): void {
    this.#resets++;
    this.#indexes.invalidate(feed);
    if (feed.stream !== DEFINITIONS) return;
    for (const { stream } of [...this.#feeds.values()]) if (stream !== DEFINITIONS) this.unfollow(stream);
  }

  /** Reads the last message of each subject, from the cache if possible. */
  read(
    stream: string,
    subjects: readonly string[],
    options: LastMessagesRead | undefined,
    tracker?: DependencyTracker,
  ): Promise<Map<string, StoredMessage>> | undefined {
    const feed = this.#followed(stream);
    if (feed === undefined) {
      tracker?.markUncacheable();
      return this.#lastMessages.readUncached(stream, subjects, options);
    }
    const { epoch } = feed;
    const found = new Map<string, StoredMessage>();
    const missing: string[] = [];
    tracker?.begin(feed, this.#options.replicas);
    for (const subject of subjects) {
      const known = this.#lastMessages.get(subject, epoch);
      if (known === undefined) {
        missing.push(subject);
        continue;
      }
      if (known !== null) found.set(subject, known);
      // The cached value may change during the `await` that follows, so record the dependency first.
      tracker?.add(stream, this.#lastMessages.dependency(subject, epoch));
    }
    this.#hits += subjects.length - missing.length;
    this.#misses += missing.length;
    const most = options?.maxBytes;
    const bytes = sizeOf(found);
    if (most !== undefined && subjects.length > 1 && bytes > most)
      return Promise.reject(new TooMuch(most / bytes));
    if (missing.length === 0) return Promise.resolve(found);
    const filled = this.#lastMessages.fill(feed, missing, found, options);
    return tracker === undefined ? filled : this.#trackRead(filled, stream, missing, epoch, tracker);
  }

  async #trackRead(
    filled: Promise<Map<string, StoredMessage>>,
    stream: string,
    subjects: readonly string[],
    epoch: Epoch,
    tracker: DependencyTracker,
  ): Promise<Map<string, StoredMessage>> {
    const found = await filled;
    for (const subject of subjects) {
      tracker.add(stream, this.#lastMessages.dependency(subject, epoch, found.get(subject)?.seq ?? 0));
    }
    return found;
  }

  #index(stream: string, filter: string): { index: CachedIndex; feed: Feed } | undefined {
    // With several replicas, do not cache indexes. A replica that lags behind may send a page of an index, and the page
    // does not show how old it is.
    if (this.#options.replicas > 1) return undefined;
    const feed = this.#followed(stream);
    if (feed === undefined) return undefined;
    const index = this.#indexes.get(feed, filter);
    if (index === undefined) this.#misses++;
    else this.#hits++;
    return index === undefined ? undefined : { index, feed };
  }

  uncached(stream: string, tracker: DependencyTracker | undefined): void {
    if (tracker === undefined) return;
    const feed = this.#followed(stream);
    if (feed !== undefined) tracker.begin(feed, this.#options.replicas);
    tracker.add(stream, undefined);
  }

  #trackIndex(
    known: { index: CachedIndex; feed: Feed } | undefined,
    tracker: DependencyTracker | undefined,
  ): void {
    if (known === undefined || tracker === undefined) return;
    const { feed, index } = known;
    tracker.begin(feed, this.#options.replicas);
    tracker.add(feed.stream, index.dependency(feed.epoch));
  }

  page(
    stream: string,
    filter: string,
    fromSeq: number,
    limit: number,
    tracker?: DependencyTracker,
  ): Page | undefined {
    const known = this.#index(stream, filter);
    this.#trackIndex(known, tracker);
    return known?.index.page(fromSeq, limit, known.feed.position);
  }

  /** Lists the subjects of an index, from memory if possible. */
  subjects(stream: string, filter: string, tracker?: DependencyTracker): Promise<MatchingSubjects> {
    const known = isIndexFilter(filter)
      ? this.page(stream, filter, 0, Number.POSITIVE_INFINITY, tracker)
      : undefined;
    if (known !== undefined)
      return Promise.resolve({ subjects: known.messages.map(({ subject }) => subject), bytes: undefined });
    this.uncached(stream, tracker);
    return this.#store.subjects(stream, filter);
  }

  last(stream: string, filter: string, tracker?: DependencyTracker): StoredMessage | null | undefined {
    const known = this.#index(stream, filter);
    this.#trackIndex(known, tracker);
    return known?.index.last();
  }

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
    // Regularly clear cached sessions, tokens and accounts. The change feed does not report if an operator deletes one
    // of them directly in the broker.
    for (const bucket of FOLLOWED)
      if (streams.kv(bucket) !== DEFINITIONS) this.invalidate(streams.kv(bucket));
    const now = Date.now();
    for (const feed of [...this.#feeds.values()]) {
      const idle = now - feed.lastUse;
      if (idle > IDLE_MS) this.unfollow(feed.stream);
      else if (idle < this.#options.checkMs * AUDIT_EVERY) {
        await feed.audit();
        if (!feed.live) this.unfollow(feed.stream);
      }
    }
  }
}
