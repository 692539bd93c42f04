/**
 * A change feed: follows what one stream stores, through its `republish`. The stream republishes every message in the order
 * of its sequences, so a gap shows that an event was missed: then the epoch ends and all that was cached in it is invalid.
 */
import { MemoryMessage } from "../message.ts";
import { feedSubject, republishedFilter } from "../provision.ts";
import type { OpenStore } from "../store.ts";
import type { Delivery, Subscription } from "../types.ts";
import type { Dependency, Epoch } from "./dependencies.ts";

/** Whom a feed notifies. */
export interface Listener {
  /** A message was stored. Only called while the feed is live, in stream order. */
  stored(feed: Feed, event: ChangeEvent): void;
  /** The epoch has ended: all that was cached of the stream is invalid. */
  reset(feed: Feed): void;
}

/** A message that was stored. Nearly all are of no interest: what it says is only decoded when it is asked for. */
export class ChangeEvent {
  readonly subject: string;
  readonly seq: number;
  readonly delivery: Delivery;
  readonly #freeze: boolean;
  #message: MemoryMessage | undefined;

  constructor(delivery: Delivery, seq: number, freeze: boolean) {
    this.subject = delivery.header("Nats-Subject") ?? "";
    this.seq = seq;
    this.delivery = delivery;
    this.#freeze = freeze;
  }

  /** Its body is cut out of a larger frame; whoever keeps the message copies it. */
  get message(): MemoryMessage {
    this.#message ??= this.#read();
    return this.#message;
  }

  #read(): MemoryMessage {
    const { subject, seq, delivery } = this;
    const time = Date.parse(delivery.header("Nats-Time-Stamp") ?? "");
    const header = (name: string) => delivery.header(name);
    return new MemoryMessage({ subject, seq, time }, delivery.data, header, this.#freeze);
  }
}

export interface FeedOptions {
  /** Milliseconds that an acknowledged write waits for its own event (its echo) before the epoch ends. */
  patienceMs: number;
  /** Freeze cached JSON: tests find whoever changes it. */
  freeze: boolean;
}

export class Feed {
  readonly stream: string;
  /** Everything the stream's subjects begin with, as a filter. */
  readonly filter: string;
  epoch: Epoch = { ended: false };
  /** Sequence of the last event. */
  position = 0;
  /** Highest sequence of a write of this process that was acknowledged. */
  acknowledged = 0;
  /** When it was last asked for anything. */
  lastUse = Date.now();
  readonly #store: OpenStore;
  readonly #listener: Listener;
  readonly #options: FeedOptions;
  #subscription: Subscription | undefined;
  #state: "starting" | "live" | "off" = "starting";
  /** Up to here, messages may have been on their way when following began. */
  #baseline = 0;
  /** When the stream was made: one that a backup brings back has the name of another, and tells nothing of itself. */
  #created = "";
  #waiting: { seq: number; done: () => void }[] = [];

  constructor(store: OpenStore, stream: string, filter: string, listener: Listener, options: FeedOptions) {
    this.#store = store;
    this.stream = stream;
    this.filter = filter;
    this.#listener = listener;
    this.#options = options;
  }

  get live(): boolean {
    return this.#state === "live";
  }

  /** The whole stream as it is now, for answers that are made of more than is cached. */
  dependency(): Dependency {
    const { epoch, position } = this;
    const unchanged = () => !epoch.ended && this.position === position;
    return {
      get valid() {
        return unchanged();
      },
    };
  }

  #stopped(): boolean {
    return this.#state === "off";
  }

  /** Begins to follow. False when the stream cannot be followed: it republishes nothing, or we may not listen. */
  async start(): Promise<boolean> {
    await this.#store.ping();
    if (this.#state === "off") return false;
    this.#subscription = this.#store.subscribe(
      feedSubject(this.filter),
      (delivery) => this.#deliver(delivery),
      () => this.stop(),
    );
    // Once the broker has answered this, it knows that we listen; what it stores from now on reaches us.
    await this.#store.ping();
    const info = await this.#store.streamInfo(this.stream);
    if (info === null || republishedFilter(info.config) !== this.filter || this.#stopped()) {
      this.stop();
      return false;
    }
    this.#created = info.created;
    this.#baseline = info.state.last_seq;
    this.position = Math.max(this.position, this.#baseline);
    this.#state = "live";
    return true;
  }

  #deliver(delivery: Delivery): void {
    const seq = Number(delivery.header("Nats-Sequence") ?? 0);
    if (this.#state !== "live") {
      this.position = Math.max(this.position, seq);
      return;
    }
    if (seq !== this.position + 1) {
      // Still on its way when following began; a first message is rather one of a stream that was made anew.
      if (seq <= this.#baseline && seq > 1) return;
      this.#baseline = 0;
      this.acknowledged = Math.min(this.acknowledged, seq);
      this.position = seq;
      this.reset();
      return;
    }
    this.position = seq;
    this.#listener.stored(this, new ChangeEvent(delivery, seq, this.#options.freeze));
    if (this.#waiting.length > 0) this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = waiting.filter(({ seq }) => seq > this.position);
    for (const { seq, done } of waiting) if (seq <= this.position) done();
  }

  /** Begins a new epoch: what is cached is invalid, and what is being read will not be cached. */
  reset(): void {
    this.epoch.ended = true;
    this.epoch = { ended: false };
    this.#listener.reset(this);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { done } of waiting) done();
  }

  /**
   * Resolves when everything up to an acknowledged sequence of our own was applied, so that no read of this process is
   * answered from before it. An echo that does not come in time ends the epoch.
   */
  async caughtUp(seq: number): Promise<void> {
    this.acknowledged = Math.max(this.acknowledged, seq);
    if (this.#state !== "live" || seq <= this.position) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      if (this.#state === "live" && this.position < seq) {
        this.#baseline = this.position = seq;
        this.reset();
      }
      resolve();
    }, this.#options.patienceMs);
    this.#waiting.push({ seq, done: resolve });
    await promise;
    clearTimeout(timer);
  }

  /**
   * Asks the stream how far it is, and whether it is still the same: an event that was lost at the very end leaves no gap to
   * be noticed, and neither does another stream in its place.
   */
  async audit(): Promise<void> {
    if (this.#state !== "live") return;
    const { epoch, position } = this;
    const info = await this.#store.streamInfo(this.stream);
    const last = info?.state.last_seq ?? 0;
    // Its event may still be under way: one more round trip, and it has come or is lost.
    if (last > this.position) await this.#store.ping();
    if (!this.live || this.epoch !== epoch) return;
    if (info === null) this.stop();
    else if (
      last > this.position ||
      last < position ||
      last < this.acknowledged ||
      info.created !== this.#created
    ) {
      this.#created = info.created;
      this.#baseline = this.position = last;
      this.acknowledged = Math.min(this.acknowledged, last);
      this.reset();
    }
  }

  /** Follows no longer. */
  stop(): void {
    this.#state = "off";
    this.#subscription?.unsubscribe();
    this.reset();
  }
}
