/**
 * Indexes in memory, bounded in number and in messages: each is read once, page by page, and then kept up to date by the
 * feed. Changes that come while it is read are queued and applied behind it.
 */
import { indexBytes } from "../budget.ts";
import type { OpenStore } from "../store.ts";
import { CachedIndex, changeOf, type IndexChange, isPassing } from "./cached-index.ts";
import type { ChangeEvent, Feed } from "./feed.ts";
import { type Evictable, SieveCache } from "./sieve-cache.ts";

/**
 * Pages of an index that is read whole. What others ask for meanwhile waits behind one of them; but for each the broker
 * counts what is left of them all, so that many small ones keep it busy for seconds.
 */
const LOAD_PAGE = 2_000;
/** Milliseconds before an index is read again: reading it costs the broker more than many a page. */
const RELOAD_MS = 5_000;
/** The same for one that there was no room for: others may have made room. */
const REFUSED_MS = 600_000;
/** Indexes at once, the empty ones too: whoever asks for values that nobody has makes one with each of them. */
const MOST_INDEXES = 2_000;

/** An index while it is read, and once it is known. */
class Slot implements Evictable {
  readonly feed: Feed;
  readonly bytes = 1;
  used = false;
  readonly index: CachedIndex;
  state: "loading" | "known" | "refused" = "loading";
  /** Changes that came while it was read. */
  queued: IndexChange[] = [];
  readonly #onRemoved: (messages: number) => void;

  /** @param onRemoved called with the number of messages that go with it */
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
  /** By filter, which names the orb too. */
  readonly #known = new SieveCache<Slot>(MOST_INDEXES);
  /** When the reading of an index last began. */
  readonly #loads = new Map<string, number>();
  #size = 0;

  /** @param maxIndexMessages messages over all indexes; one that brings more is left to the broker */
  constructor(store: OpenStore, maxIndexMessages: number) {
    this.#store = store;
    this.#maxIndexMessages = maxIndexMessages;
  }

  /** How many indexes. */
  get count(): number {
    return this.#known.size;
  }

  /** Messages over all indexes. */
  get size(): number {
    return this.#size;
  }

  /** Adds to an index, or takes from it. False when there are too many messages then. */
  #modify({ index }: Slot, act: () => void): boolean {
    const before = index.size;
    act();
    this.#size += index.size - before;
    return this.#size <= this.#maxIndexMessages;
  }

  /** The index of a filter, or undefined when it is not (yet) in memory; reading it begins then. */
  get(feed: Feed, filter: string): CachedIndex | undefined {
    const known = this.#known.get(filter);
    if (known !== undefined) known.used = true;
    if (known?.state === "known") return known.index;
    if (known?.state === "loading") return undefined;
    const now = Date.now();
    const wait = known === undefined ? RELOAD_MS : REFUSED_MS;
    if (now - (this.#loads.get(filter) ?? 0) < wait) return undefined;
    if (this.#loads.size > 10_000) this.#loads.clear();
    this.#loads.set(filter, now);
    this.#load(feed, filter).catch(() => this.#known.delete(filter));
    return undefined;
  }

  /** Applies the next change of a feed. */
  apply(event: ChangeEvent): void {
    if (this.#known.size === 0) return;
    const { subject } = event;
    for (const filter of [subject, `${subject.slice(0, subject.lastIndexOf(".") + 1)}*`]) {
      const known = this.#known.get(filter);
      if (known?.state === "loading") known.queued.push(changeOf(event));
      else if (known?.state === "known") {
        const fits = this.#modify(known, () => known.index.apply(changeOf(event)));
        // Read anew when it is asked for, if there is room by then.
        if (!fits) this.#known.delete(filter);
      }
    }
  }

  /** Drops all indexes of a stream. */
  invalidate(feed: Feed): void {
    for (const [filter, known] of this.#known) if (known.feed === feed) this.#known.delete(filter);
  }

  async #load(feed: Feed, filter: string): Promise<void> {
    const known = new Slot(feed, filter, (messages) => {
      this.#size -= messages;
    });
    this.#known.set(filter, known);
    const end = Math.max(feed.position, feed.acknowledged);
    for (let fromSeq = 1; fromSeq <= end; ) {
      const page = await this.#store.scan(feed.stream, filter, {
        fromSeq,
        limit: LOAD_PAGE,
        maxBytes: indexBytes(LOAD_PAGE),
      });
      if (this.#known.get(filter) !== known) return;
      const fits = this.#modify(known, () => {
        for (const message of page.messages) {
          if (message.seq <= end && !isPassing(message)) known.index.add(message);
        }
      });
      if (!fits) return this.#refuse(feed, filter);
      const last = page.messages.at(-1);
      if (last === undefined || page.pending === 0) break;
      fromSeq = last.seq + 1;
    }
    this.#modify(known, () => {
      for (const change of known.queued) known.index.apply(change);
    });
    known.queued = [];
    known.state = "known";
  }

  /** Keeps the place of an index that there is no room for, so that it is not read again at once. */
  #refuse(feed: Feed, filter: string): void {
    const empty = new Slot(feed, filter, () => undefined);
    empty.state = "refused";
    this.#known.set(filter, empty);
  }
}
