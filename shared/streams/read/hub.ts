/**
 * Serves all clients of this process that read streams. They share one broker connection, and one subscription for
 * each filter.
 */
import { AppError, unavailable } from "../../kernel/errors.ts";
import { Histogram } from "../../kernel/metrics.ts";
import { orbOf } from "../../store/subjects.ts";
import type { Store } from "../../store/types.ts";
import { isServed } from "../mappings/served.ts";
import { FairSemaphore } from "./fair-semaphore.ts";
import { DEFAULT_LIMITS, DEFAULT_TIMES, type HubLimits, type HubTimes } from "./limits.ts";
import type { StreamState } from "./page.ts";
import { PageCache } from "./page-cache.ts";
import { Source } from "./source.ts";
import { type Listener, Tail } from "./tail.ts";

/** A listener that is called about once a second. */
export interface TimerListener {
  tick(now: number): void;
}

/** Upper bounds in a histogram of delays: milliseconds from storage at the broker to delivery. */
const LAG_BUCKETS = [1, 2, 5, 10, 25, 50, 100, 250, 1000] as const;

/** Counters since the host started. */
export interface Figures {
  messages: number;
  deliveries: number;
  slowReaders: number;
  refused: number;
  reconnects: number;
  failures: number;
  lag: Histogram;
}

export interface HubOptions {
  limits?: Partial<HubLimits>;
  times?: Partial<HubTimes>;
  now?: () => number;
  random?: () => number;
  onFailure?: (error: unknown) => void;
  /**
   * Limits the readers of an application across all hosts.
   * @throws AppError too_many
   */
  admitToOrb?: (orb: string) => Promise<void>;
}

const TICK_MS = 1000;
/** An unused subscription stays open for this many milliseconds, because another reader may need it. */
const LINGER_MS = 5000;
/** Milliseconds between two checks whether the applications whose streams are read are still published. */
const ORBS_MS = 2000;

export class Hub {
  readonly source: Source;
  readonly limits: HubLimits;
  readonly times: HubTimes;
  readonly now: () => number;
  readonly random: () => number;
  readonly figures: Figures = {
    messages: 0,
    deliveries: 0,
    slowReaders: 0,
    refused: 0,
    reconnects: 0,
    failures: 0,
    lag: new Histogram(LAG_BUCKETS),
  };
  readonly #onFailure: (error: unknown) => void;
  readonly #tails = new Map<string, Tail>();
  readonly #states = new Map<string, { at: number; state: Promise<StreamState> }>();
  readonly #readers = new Map<string, number>();
  readonly #orbReaders = new Map<string, number>();
  readonly #admitToOrb: HubOptions["admitToOrb"];
  readonly #pages: FairSemaphore;
  readonly #ticking = new Set<TimerListener>();
  #orbsAt = 0;
  #total = 0;
  #connected = true;
  #lost = false;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(store: Store, options: HubOptions = {}) {
    this.limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.times = { ...DEFAULT_TIMES, ...options.times };
    this.now = options.now ?? Date.now;
    this.random = options.random ?? Math.random;
    this.#onFailure = options.onFailure ?? (() => undefined);
    this.#admitToOrb = options.admitToOrb;
    this.#pages = new FairSemaphore(this.limits.pages, this.limits.pagesPerUser);
    this.source = new Source(
      store,
      this.limits.cacheBytes > 0 ? new PageCache(this.limits.cacheBytes) : undefined,
      this.now,
    );
  }

  get readers(): number {
    return this.#total;
  }

  get tails(): number {
    return this.#tails.size;
  }

  get connected(): boolean {
    return this.#connected;
  }

  /** Notes that the broker connection is up or down. After a reconnect, looks for messages that arrived in between. */
  connection(status: "up" | "down"): void {
    const back = status === "up" && this.#lost;
    if (this.#connected && status === "down") this.#lost = true;
    this.#connected = status === "up";
    if (!back) return;
    this.#lost = false;
    this.figures.reconnects++;
    for (const tail of this.#tails.values()) {
      tail.wake();
      tail.pollAt = this.now() + TICK_MS;
    }
  }

  /** Throws 503 if the broker is disconnected. */
  requireConnection(): void {
    if (!this.#connected) throw unavailable("not connected");
  }

  /**
   * Counts a new reader of a stream.
   * @returns a function that removes the reader; repeated calls have no effect
   * @throws AppError too_many if the user or the application has too many readers; unavailable if the server has
   */
  async admit(user: string, admin: boolean, stream: string): Promise<() => void> {
    const mine = this.#readers.get(user) ?? 0;
    if (mine >= this.#most(admin))
      this.#refuse(`You already read ${mine} streams, which is the limit. Close one and try again.`);
    const orb = orbOf(stream);
    if (orb !== undefined && (this.#orbReaders.get(orb) ?? 0) >= this.limits.perOrb)
      this.#refuse(`The orb has ${this.limits.perOrb} live readers, which is the limit. Try again later.`);
    if (this.#total >= this.limits.total) {
      this.figures.refused++;
      const detail = "This server is at its limit of stream readers. Try again in a few seconds.";
      throw new AppError("unavailable", "streams_full", detail, { retryAfter: 5 });
    }
    // Without this call, nothing between the checks and the counting is asynchronous, so no other reader comes in
    // between.
    if (orb !== undefined && this.#admitToOrb !== undefined) await this.#admitToOrb(orb);
    add(this.#readers, user, 1);
    if (orb !== undefined) add(this.#orbReaders, orb, 1);
    this.#total++;
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#total--;
      add(this.#readers, user, -1);
      if (orb !== undefined) add(this.#orbReaders, orb, -1);
    };
  }

  /**
   * Waits until the user may load another page: pages take memory until they are sent.
   * @returns a function that ends the use of that memory; repeated calls have no effect
   */
  pageTurn(user: string, admin: boolean): Promise<() => void> {
    const waiting = this.#pages.waitingOf(user);
    if (waiting >= this.#most(admin))
      this.#refuse(
        `You already have ${waiting} stream requests waiting, which is the limit. Wait for their responses and try again.`,
      );
    return this.#pages.take(user);
  }

  #most(admin: boolean): number {
    return admin ? this.limits.perAdmin : this.limits.perUser;
  }

  #refuse(detail: string): never {
    this.figures.refused++;
    throw new AppError("too_many", "too_many_streams", detail, { retryAfter: 10 });
  }

  /** Returns the object that delivers new messages of a filter. The reader must release it. */
  async tail(stream: string, filter: string, holder: Listener): Promise<Tail> {
    const key = `${stream} ${filter}`;
    let tail = this.#tails.get(key);
    if (tail === undefined) {
      tail = new Tail(this.source, stream, filter, {
        now: this.now,
        recentState: (name) => this.#recentState(name),
        delivered: (messages, listeners, ageMs) => this.#delivered(messages, listeners, ageMs),
        ended: (ended) => this.#forget(key, ended),
        failed: (error) => this.#failed(error),
      });
      // Choose a random time for the next poll. Otherwise thousands of subscriptions might poll in the same second.
      tail.pollAt = this.now() + this.times.pollMs * (0.5 + this.random() / 2);
      this.#tails.set(key, tail);
      this.#run();
    }
    tail.hold(holder);
    try {
      await tail.ready;
    } catch (error) {
      tail.close();
      this.#forget(key, tail);
      throw error;
    }
    return tail;
  }

  watch(reader: TimerListener): void {
    this.#ticking.add(reader);
    this.#run();
  }

  unwatch(reader: TimerListener): void {
    this.#ticking.delete(reader);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    for (const tail of this.#tails.values()) tail.close();
    this.#tails.clear();
  }

  #forget(key: string, tail: Tail): void {
    if (this.#tails.get(key) === tail) this.#tails.delete(key);
  }

  #failed(error: unknown): void {
    this.figures.failures++;
    this.#onFailure(error);
  }

  #delivered(messages: number, listeners: number, ageMs: number): void {
    const { figures } = this;
    figures.messages += messages;
    figures.deliveries += messages * listeners;
    if (messages > 0) figures.lag.observe(ageMs);
  }

  #recentState(stream: string): Promise<StreamState> {
    const now = this.now();
    const known = this.#states.get(stream);
    if (known !== undefined && now - known.at < TICK_MS) return known.state;
    const state = this.source.state(stream);
    this.#states.set(stream, { at: now, state });
    return state;
  }

  #lookAtOrbs(now: number): void {
    this.#orbsAt = now;
    const tails = [...this.#tails.values()].filter(({ stream }) => orbOf(stream) !== undefined);
    for (const [stream, its] of Map.groupBy(tails, (tail) => tail.stream)) {
      isServed(this.source.store, stream).then(
        (served) => {
          if (!served) for (const tail of its) tail.end("stream_gone");
        },
        () => undefined, // checked again after ORBS_MS
      );
    }
  }

  #run(): void {
    this.#timer ??= setInterval(() => this.#tick(), TICK_MS);
  }

  #tick(): void {
    const now = this.now();
    for (const reader of this.#ticking) reader.tick(now);
    for (const [key, tail] of this.#tails) {
      if (tail.idleSince !== undefined && now - tail.idleSince > LINGER_MS) {
        tail.close();
        this.#forget(key, tail);
      } else if (now >= tail.pollAt && this.#connected) {
        tail.pollAt = now + this.times.pollMs;
        void tail.poll();
      }
    }
    if (now - this.#orbsAt >= ORBS_MS && this.#connected) this.#lookAtOrbs(now);
    for (const [stream, { at }] of this.#states) if (now - at > TICK_MS) this.#states.delete(stream);
    if (this.#ticking.size === 0 && this.#tails.size === 0) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
  }
}

function add(counts: Map<string, number>, key: string, change: 1 | -1): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count <= 0) counts.delete(key);
  else counts.set(key, count);
}
