/** The orders of lists that are in memory: each is read once, and then kept up by what the feeds tell. */
import type { OpenStore } from "../store.ts";
import { Bounded, type Held } from "./bounded.ts";
import type { Echo, Feed } from "./feed.ts";
import { isPassing, Order, type Told, toldBy } from "./order.ts";

/**
 * Pages of an index that is read whole. What others ask for meanwhile waits behind one of them; but for each the broker
 * counts what is left of them all, so that many small ones keep it busy for seconds.
 */
const LOAD_PAGE = 2_000;
/** Milliseconds before an index is read again: reading it costs the broker more than many a page. */
const RELOAD_MS = 5_000;
/** Indexes at once, the empty ones too: whoever asks for values that nobody has makes one with each of them. */
const MOST_ORDERS = 2_000;

/** The order of one list while it is read, and once it is known. */
class Ordered implements Held {
  readonly feed: Feed;
  readonly bytes = 1;
  used = false;
  order: Order;
  state: "loading" | "known" | "too_large" = "loading";
  told: Told[] = [];

  constructor(feed: Feed, filter: string) {
    this.feed = feed;
    this.order = new Order(filter);
  }

  leave(): void {
    this.order.leave();
  }
}

export class Orders {
  readonly #store: OpenStore;
  readonly #maxOrdered: number;
  /** By filter, which names the orb too. */
  readonly #known = new Bounded<Ordered>(MOST_ORDERS);
  /** When the reading of an index last began. */
  readonly #loads = new Map<string, number>();

  /** @param maxOrdered messages over all indexes; one that would bring more stays with the broker */
  constructor(store: OpenStore, maxOrdered: number) {
    this.#store = store;
    this.#maxOrdered = maxOrdered;
  }

  /** How many indexes. */
  get count(): number {
    return this.#known.size;
  }

  /** Messages over all indexes. */
  get size(): number {
    let size = 0;
    for (const [, { order }] of this.#known) size += order.size;
    return size;
  }

  /** The order of an index, or undefined when it is not (yet) in memory; reading it begins then. */
  get(feed: Feed, filter: string): Order | undefined {
    const known = this.#known.get(filter);
    if (known !== undefined) {
      known.used = true;
      return known.state === "known" ? known.order : undefined;
    }
    const now = Date.now();
    if (now - (this.#loads.get(filter) ?? 0) < RELOAD_MS) return undefined;
    if (this.#loads.size > 10_000) this.#loads.clear();
    this.#loads.set(filter, now);
    this.#load(feed, filter).catch(() => this.#known.delete(filter));
    return undefined;
  }

  /** Follows a feed by one message. */
  tell(echo: Echo): void {
    if (this.#known.size === 0) return;
    const { subject } = echo;
    for (const filter of [subject, `${subject.slice(0, subject.lastIndexOf(".") + 1)}*`]) {
      const known = this.#known.get(filter);
      if (known?.state === "loading") known.told.push(toldBy(echo));
      else if (known?.state === "known") known.order.tell(toldBy(echo));
    }
  }

  /** Nothing that is known of a stream counts any more. */
  forget(feed: Feed): void {
    for (const [filter, known] of this.#known) if (known.feed === feed) this.#known.delete(filter);
  }

  async #load(feed: Feed, filter: string): Promise<void> {
    const known = new Ordered(feed, filter);
    this.#known.set(filter, known);
    const end = Math.max(feed.position, feed.acknowledged);
    for (let fromSeq = 1; fromSeq <= end; ) {
      const page = await this.#store.scan(feed.stream, filter, { fromSeq, limit: LOAD_PAGE });
      if (this.#known.get(filter) !== known) return;
      for (const message of page.messages) {
        if (message.seq <= end && !isPassing(message)) known.order.add(message);
      }
      if (this.size > this.#maxOrdered) {
        known.order = new Order(filter);
        known.told = [];
        known.state = "too_large";
        return;
      }
      const last = page.messages.at(-1);
      if (last === undefined || page.pending === 0) break;
      fromSeq = last.seq + 1;
    }
    for (const told of known.told) known.order.tell(told);
    known.told = [];
    known.state = "known";
  }
}
