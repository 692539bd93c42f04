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
/** The same for one that there was no room for: others may have made room. */
const REFUSED_MS = 600_000;
/** Indexes at once, the empty ones too: whoever asks for values that nobody has makes one with each of them. */
const MOST_ORDERS = 2_000;

/** The order of one list while it is read, and once it is known. */
class Ordered implements Held {
  readonly feed: Feed;
  readonly bytes = 1;
  used = false;
  readonly order: Order;
  state: "loading" | "known" | "refused" = "loading";
  told: Told[] = [];
  readonly #left: (messages: number) => void;

  /** @param left told how many messages go with it */
  constructor(feed: Feed, filter: string, left: (messages: number) => void) {
    this.feed = feed;
    this.order = new Order(filter);
    this.#left = left;
  }

  leave(): void {
    this.order.leave();
    this.#left(this.order.size);
  }
}

export class Orders {
  readonly #store: OpenStore;
  readonly #maxOrdered: number;
  /** By filter, which names the orb too. */
  readonly #known = new Bounded<Ordered>(MOST_ORDERS);
  /** When the reading of an index last began. */
  readonly #loads = new Map<string, number>();
  #size = 0;

  /** @param maxOrdered messages over all indexes; one that brings more is left to the broker */
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
    return this.#size;
  }

  /** Adds to an order, or takes from it. False when there are too many messages then. */
  #change({ order }: Ordered, act: () => void): boolean {
    const before = order.size;
    act();
    this.#size += order.size - before;
    return this.#size <= this.#maxOrdered;
  }

  /** The order of an index, or undefined when it is not (yet) in memory; reading it begins then. */
  get(feed: Feed, filter: string): Order | undefined {
    const known = this.#known.get(filter);
    if (known !== undefined) known.used = true;
    if (known?.state === "known") return known.order;
    if (known?.state === "loading") return undefined;
    const now = Date.now();
    const wait = known === undefined ? RELOAD_MS : REFUSED_MS;
    if (now - (this.#loads.get(filter) ?? 0) < wait) return undefined;
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
      else if (known?.state === "known") {
        const fits = this.#change(known, () => known.order.tell(toldBy(echo)));
        // Read anew when it is asked for, if there is room by then.
        if (!fits) this.#known.delete(filter);
      }
    }
  }

  /** Nothing that is known of a stream counts any more. */
  forget(feed: Feed): void {
    for (const [filter, known] of this.#known) if (known.feed === feed) this.#known.delete(filter);
  }

  async #load(feed: Feed, filter: string): Promise<void> {
    const known = new Ordered(feed, filter, (messages) => {
      this.#size -= messages;
    });
    this.#known.set(filter, known);
    const end = Math.max(feed.position, feed.acknowledged);
    for (let fromSeq = 1; fromSeq <= end; ) {
      const page = await this.#store.scan(feed.stream, filter, { fromSeq, limit: LOAD_PAGE });
      if (this.#known.get(filter) !== known) return;
      const fits = this.#change(known, () => {
        for (const message of page.messages) {
          if (message.seq <= end && !isPassing(message)) known.order.add(message);
        }
      });
      if (!fits) return this.#refuse(feed, filter);
      const last = page.messages.at(-1);
      if (last === undefined || page.pending === 0) break;
      fromSeq = last.seq + 1;
    }
    this.#change(known, () => {
      for (const told of known.told) known.order.tell(told);
    });
    known.told = [];
    known.state = "known";
  }

  /** Holds the place of an index, with nothing in it, so that it is not read again at once. */
  #refuse(feed: Feed, filter: string): void {
    const empty = new Ordered(feed, filter, () => undefined);
    empty.state = "refused";
    this.#known.set(filter, empty);
  }
}
