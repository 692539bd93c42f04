/**
 * Keeps whole indexes in memory. The first query of an index starts to read it from the broker, page by page. After
 * that, the change feed (every message that the broker stores) keeps the index up to date.
 */

import { BoundedMap } from "../../kernel/bounded-map.ts";
import { pause } from "../../kernel/pause.ts";
import type { OpenStore } from "../broker/index.ts";
import { indexBytes } from "../budget.ts";
import type { Message } from "../client/index.ts";
import { LOG_START, logOfRoot } from "../subjects.ts";
import { CachedIndex } from "./cached-index.ts";
import type { Feed } from "./feed.ts";
import type { CacheOptions, Reach } from "./options.ts";
import { type Evictable, SieveCache } from "./sieve-cache.ts";

/**
 * Messages per page when a whole index is read. The page grows while the broker answers within `QUICK_MS`: in a large
 * stream it may load a file for each message, and other requests of this connection wait meanwhile.
 */
const LOAD_PAGE = { first: 10, most: 2_000 };
const QUICK_MS = 20;
/** An index is read if two queries need it within this many milliseconds. */
const AGAIN_MS = 60_000;
/** Minimum milliseconds between two reads of an index, because reading all of it is expensive. */
const RELOAD_MS = 5_000;
const REFUSED_MS = 600_000;
/** Maximum number of indexes in memory. Clients can add indexes by querying for values that no entry has. */
const MOST_INDEXES = 2_000;

class Slot implements Evictable {
  readonly feed: Feed;
  readonly bytes = 1;
  used = false;
  readonly index: CachedIndex;
  state: "loading" | "known" | "refused" = "loading";
  queued: Message[] = [];
  readonly #onRemoved: (messages: number) => void;

  constructor(feed: Feed, filter: string, onRemoved: (messages: number) => void) {
    this.feed = feed;
    this.index = new CachedIndex(filter);
    this.#onRemoved = onRemoved;
  }

  removed(): void {
    this.index.removed();
    this.#onRemoved(this.index.size);
  }
}

export class IndexCache {
  readonly #store: OpenStore;
  readonly #maxIndexMessages: number;
  readonly #reach: Reach;
  readonly #known = new SieveCache<Slot>(MOST_INDEXES);
  readonly #loads = new BoundedMap<string, number>(10_000);
  readonly #asked = new BoundedMap<string, number>(10_000);
  #size = 0;

  constructor(
    store: OpenStore,
    { maxIndexMessages, reach }: Required<Pick<CacheOptions, "maxIndexMessages" | "reach">>,
  ) {
    this.#store = store;
    this.#maxIndexMessages = maxIndexMessages;
    this.#reach = reach;
  }

  get count(): number {
    return this.#known.size;
  }

  get size(): number {
    return this.#size;
  }

  #modify({ index }: Slot, act: () => void): boolean {
    const before = index.size;
    act();
    this.#size += index.size - before;
    return this.#size <= this.#maxIndexMessages;
  }

  /**
   * Returns an index from memory. If it is not there, returns undefined, and at the second request starts to read it
   * from the broker.
   */
  get(feed: Feed, filter: string): CachedIndex | undefined {
    const known = this.#known.get(filter);
    if (known !== undefined) known.used = true;
    if (known?.state === "known") return known.index;
    if (known?.state === "loading") return undefined;
    const now = Date.now();
    const wait = known === undefined ? RELOAD_MS : REFUSED_MS;
    if (now - (this.#loads.get(filter) ?? 0) < wait) return undefined;
    const asked = this.#asked.get(filter) ?? 0;
    this.#asked.set(filter, now);
    if (now - asked > AGAIN_MS) return undefined;
    this.#loads.set(filter, now);
    this.#load(feed, filter).catch(() => this.#known.delete(filter));
    return undefined;
  }

  apply(message: Message): void {
    if (this.#known.size === 0) return;
    const { subject } = message;
    this.#trim(message);
    for (const filter of [subject, `${subject.slice(0, subject.lastIndexOf(".") + 1)}*`]) {
      const known = this.#known.get(filter);
      if (known?.state === "loading") known.queued.push(message);
      else if (known?.state === "known") {
        const fits = this.#modify(known, () => known.index.apply(message));
        if (!fits) this.#known.delete(filter);
      }
    }
  }

  /**
   * Removes the messages of an ordered index's log that its new root (the list of its sorted pages) already includes.
   */
  #trim(message: Message): void {
    const log = logOfRoot(message.subject);
    const known = log === undefined ? undefined : this.#known.get(log);
    if (known?.state !== "known") return;
    this.#modify(known, () => known.index.trim(Number(message.header(LOG_START) ?? 0)));
  }

  invalidate(feed: Feed): void {
    for (const [filter, known] of this.#known) if (known.feed === feed) this.#known.delete(filter);
  }

  async #load(feed: Feed, filter: string): Promise<void> {
    const known = new Slot(feed, filter, (messages) => {
      this.#size -= messages;
    });
    this.#known.set(filter, known);
    const end = Math.max(feed.position, feed.acknowledged);
    let limit = LOAD_PAGE.first;
    const read = { first: 0, count: 0 };
    for (let fromSeq = 1; fromSeq <= end; ) {
      const begun = performance.now();
      const page = await this.#store.scan(feed.stream, filter, {
        fromSeq,
        limit,
        maxBytes: indexBytes(LOAD_PAGE.most),
      });
      const tookMs = performance.now() - begun;
      if (tookMs < QUICK_MS) limit = Math.min(LOAD_PAGE.most, limit * 4);
      if (this.#known.get(filter) !== known) return;
      if (this.#size + page.pending > this.#maxIndexMessages) return this.#refuse(feed, filter);
      const fits = this.#modify(known, () => {
        for (const message of page.messages) if (message.seq <= end) known.index.add(message);
      });
      if (!fits) return this.#refuse(feed, filter);
      const last = page.messages.at(-1);
      if (last === undefined || page.pending === 0) break;
      read.first ||= page.messages[0]?.seq ?? 0;
      read.count += page.messages.length;
      const gap = (last.seq - read.first) / read.count;
      if (this.#isCostly(gap, Math.min(end - last.seq, page.pending * gap)))
        return this.#refuse(feed, filter);
      fromSeq = last.seq + 1;
      // The broker answers other requests for half of the time.
      await pause(tookMs);
    }
    this.#modify(known, () => {
      for (const message of known.queued) known.index.apply(message);
    });
    known.queued = [];
    known.state = "known";
  }

  /**
   * Returns whether the rest of an index costs more to load than its queries cost without it.
   * @param gap how far apart the messages were that have been read
   * @param ahead number of messages of the stream over which the rest probably reaches
   */
  #isCostly(gap: number, ahead: number): boolean {
    const { near, far, gap: most } = this.#reach;
    return ahead > far || (ahead > near && gap > most);
  }

  #refuse(feed: Feed, filter: string): void {
    const empty = new Slot(feed, filter, () => undefined);
    empty.state = "refused";
    this.#known.set(filter, empty);
  }
}
