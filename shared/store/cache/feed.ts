/**
 * Follows what one stream stores, through its `republish`. The stream republishes every message in the order of its
 * sequences, so a gap tells that something was missed: a new era begins then, and nothing remembered counts any more.
 */
import { MemoryMessage } from "../message.ts";
import { feedSubject, toldOf } from "../provision.ts";
import type { OpenStore } from "../store.ts";
import type { Delivery } from "../types.ts";
import type { Subscription } from "../wire.ts";
import type { Era } from "./memory.ts";
import type { Ground } from "./trace.ts";

/** Whom a feed tells. */
export interface Listener {
  /** A message was stored. Only called while the feed is live, in stream order. */
  stored(feed: Feed, echo: Echo): void;
  /** Nothing known of the stream counts any more. */
  reset(feed: Feed): void;
}

/** A stored message as it is told. Nearly all are of no interest: what they say is only read when it is asked for. */
export class Echo {
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
  /** Milliseconds that an acknowledged write waits for its own echo before the feed is distrusted. */
  patienceMs: number;
  /** Freeze remembered JSON: tests find whoever changes it. */
  freeze: boolean;
}

export class Feed {
  readonly stream: string;
  /** Everything the stream's subjects begin with, as a filter. */
  readonly filter: string;
  era: Era = { over: false };
  /** Sequence of the last message that was told. */
  position = 0;
  /** Highest sequence that this process was acknowledged. */
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

  /** The whole stream as it is now, for answers that are made of more than is remembered. */
  ground(): Ground {
    const { era, position } = this;
    const unchanged = () => !era.over && this.position === position;
    return {
      get holds() {
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
    if (info === null || toldOf(info.config) !== this.filter || this.#stopped()) {
      this.stop();
      return false;
    }
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
    this.#listener.stored(this, new Echo(delivery, seq, this.#options.freeze));
    if (this.#waiting.length > 0) this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = waiting.filter(({ seq }) => seq > this.position);
    for (const { seq, done } of waiting) if (seq <= this.position) done();
  }

  /** Begins a new era: what was known is forgotten, and what is being read will not be remembered. */
  reset(): void {
    this.era.over = true;
    this.era = { over: false };
    this.#listener.reset(this);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { done } of waiting) done();
  }

  /**
   * Resolves when everything up to an acknowledged sequence of our own was told, so that nobody is answered from
   * before it. An echo that does not come in time ends the era.
   */
  async seen(seq: number): Promise<void> {
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

  /** Asks the stream how far it is: an echo that was lost at the very end leaves no gap to be noticed. */
  async audit(): Promise<void> {
    if (this.#state !== "live") return;
    const { era, position } = this;
    const info = await this.#store.streamInfo(this.stream);
    const last = info?.state.last_seq ?? 0;
    // Its echo may still be under way: one more round trip, and it has been told or is lost.
    if (last > this.position) await this.#store.ping();
    if (!this.live || this.era !== era) return;
    if (info === null) this.stop();
    else if (last > this.position || last < position || last < this.acknowledged) {
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
