/**
 * Change feed: receives every message that the broker stores in a stream, in sequence order. A gap in the sequence
 * numbers means that a message was lost. Then all values cached from the stream become invalid. The messages of an atomic
 * batch take effect together, so memory never has a part of a batch.
 */
import { feedSubject, type OpenStore, republishedFilter } from "../broker/index.ts";
import { Message, ResponseHeaders } from "../client/index.ts";
import { RESTORED } from "../subjects.ts";
import type { Delivery, Subscription } from "../types.ts";
import type { Dependency, Epoch } from "./dependencies.ts";

/** A read waits up to this many milliseconds for a message that another read has returned. */
const REACH_MS = 500;
/** Headers of the messages of an atomic batch, which the broker stores and republishes. The last one has both. */
const BATCH_ID = "Nats-Batch-Id";
const BATCH_COMMIT = "Nats-Batch-Commit";

export interface Listener {
  stored(feed: Feed, message: Message): void;
  /** Called when a message was missed. All values cached from the stream are then invalid. */
  reset(feed: Feed): void;
}

export interface FeedOptions {
  /** A write waits up to this many milliseconds until the feed has delivered its message. */
  patienceMs: number;
}

export class Feed {
  readonly stream: string;
  readonly filter: string;
  epoch: Epoch = { ended: false };
  position = 0;
  acknowledged = 0;
  lastUse = Date.now();
  readonly #store: OpenStore;
  readonly #listener: Listener;
  readonly #options: FeedOptions;
  #subscription: Subscription | undefined;
  #state: "starting" | "live" | "off" = "starting";
  #baseline = 0;
  /** Creation time of the stream. A different time shows that the stream was deleted and restored from a backup. */
  #created = "";
  #waiting: { seq: number; done: () => void }[] = [];
  /** The messages of a batch whose last message has not arrived yet. */
  #batch: Message[] = [];

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

  /** Sequence number of the last message that has arrived, also if its batch is not complete yet. */
  get #arrived(): number {
    return this.position + this.#batch.length;
  }

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

  /**
   * Subscribes to the stream. Returns false if the broker does not republish the stream's messages, or if this NATS
   * user may not subscribe.
   */
  async start(): Promise<boolean> {
    await this.#store.ping();
    if (this.#state === "off") return false;
    this.#subscription = this.#store.subscribe(
      feedSubject(this.filter),
      (delivery) => this.#deliver(delivery),
      () => this.stop(),
    );
    // The broker handles commands in order. So its reply to this ping proves that it has registered the subscription.
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
    const message = new Message(new ResponseHeaders(delivery.headerText), delivery.data);
    const { seq } = message;
    if (this.#state !== "live") {
      this.position = Math.max(this.position, seq);
      return;
    }
    if (message.header(RESTORED) !== undefined) {
      this.#restartAt(seq);
      return;
    }
    if (seq !== this.#arrived + 1) {
      // The subscription starts after the messages up to `#baseline` were stored, so ignore them. Sequence 1 is an
      // exception: it means that the stream was deleted and created again.
      if (seq <= this.#baseline && seq > 1) return;
      this.#restartAt(seq);
      return;
    }
    this.#batch.push(message);
    if (message.header(BATCH_ID) !== undefined && message.header(BATCH_COMMIT) === undefined) return;
    const whole = this.#batch;
    this.#batch = [];
    for (const one of whole) {
      this.position = one.seq;
      this.#listener.stored(this, one);
    }
    if (this.#waiting.length > 0) this.#wake();
  }

  /** Continues after a message that is not the next one: all cached values may be outdated. */
  #restartAt(seq: number): void {
    this.#baseline = 0;
    this.acknowledged = Math.min(this.acknowledged, seq);
    this.position = seq;
    this.reset();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = waiting.filter(({ seq }) => seq > this.position);
    for (const { seq, done } of waiting) if (seq <= this.position) done();
  }

  /**
   * Invalidates all values cached from the stream. Reads that are still running do not put their results into the
   * cache.
   */
  reset(): void {
    this.#batch = [];
    this.epoch.ended = true;
    this.epoch = { ended: false };
    this.#listener.reset(this);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { done } of waiting) done();
  }

  /**
   * Waits until the change feed has delivered the message that this process wrote. Later reads from the cache then see
   * the write.
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

  /** Waits until the feed has delivered a message. Returns false if it does not arrive in time. */
  async reached(seq: number): Promise<boolean> {
    if (!this.live || seq <= this.position) return this.live;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, REACH_MS);
    const waiter = { seq, done: resolve };
    this.#waiting.push(waiter);
    await promise;
    clearTimeout(timer);
    this.#waiting = this.#waiting.filter((one) => one !== waiter);
    return this.live && seq <= this.position;
  }

  /**
   * Asks the broker for the stream's last sequence number and creation time, and compares them with the feed. This
   * detects the loss of the very last message, which leaves no gap in the sequence numbers.
   */
  async audit(): Promise<void> {
    if (this.#state !== "live") return;
    const { epoch, position } = this;
    const info = await this.#store.streamInfo(this.stream);
    const last = info?.state.last_seq ?? 0;
    // The missing message may still be on its way. If it has not arrived after one more round trip, it is lost.
    if (last > this.#arrived) await this.#store.ping();
    if (!this.live || this.epoch !== epoch) return;
    if (info === null) this.stop();
    else if (
      last > this.#arrived ||
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

  stop(): void {
    this.#state = "off";
    this.#subscription?.unsubscribe();
    this.reset();
  }
}
