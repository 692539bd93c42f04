/**
 * Serves all clients of this process that read streams. They share one broker connection, and one subscription for
 * each filter.
 */
import { unavailable } from "../../kernel/errors.ts";
import { Histogram } from "../../kernel/metrics.ts";
import { orbOf } from "../../store/subjects.ts";
import type { Store } from "../../store/types.ts";
import { isServed } from "../mappings/index.ts";
import { Batch, currentCursor } from "../protocol/index.ts";
import { Admission } from "./admission.ts";
import { DEFAULT_LIMITS, DEFAULT_TIMES, type HubLimits, type HubTimes } from "./limits.ts";
import type { StreamState } from "./page.ts";
import { PageCache } from "./page-cache.ts";
import { Source } from "./source.ts";
import { type Listener, type MakeStep, type Step, Tail } from "./tail.ts";

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

/** The members of all kinds of tails. A tail delivers the new messages of a stream to its readers. */
type AnyTail = Pick<Tail, "stream" | "pollAt" | "idleSince" | "wake" | "poll" | "end" | "close">;

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
/**
 * Clients may read an application's stream only while the application is published. The hub checks this at intervals
 * of this many milliseconds.
 */
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
  readonly #tails = new Map<string, AnyTail>();
  readonly #states = new Map<string, { at: number; state: Promise<StreamState> }>();
  readonly #admission: Admission;
  readonly #ticking = new Set<TimerListener>();
  #orbsAt = 0;
  #connected = true;
  #lost = false;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(store: Store, options: HubOptions = {}) {
    this.limits = { ...DEFAULT_LIMITS, ...options.limits };
    this.times = { ...DEFAULT_TIMES, ...options.times };
    this.now = options.now ?? Date.now;
    this.random = options.random ?? Math.random;
    this.#onFailure = options.onFailure ?? (() => undefined);
    this.#admission = new Admission({
      limits: this.limits,
      admitToOrb: options.admitToOrb,
      refused: () => {
        this.figures.refused++;
      },
    });
    this.source = new Source(
      store,
      this.limits.cacheBytes > 0 ? new PageCache(this.limits.cacheBytes) : undefined,
      this.now,
    );
  }

  get readers(): number {
    return this.#admission.readers;
  }

  get tails(): number {
    return this.#tails.size;
  }

  get connected(): boolean {
    return this.#connected;
  }

  /**
   * Tells the hub that the broker connection was lost or restored. After a reconnect, the hub reads the messages that
   * the broker stored in the meantime.
   */
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

  /** Counts a new reader of a stream. See {@link Admission.admit}. */
  admit(user: string, admin: boolean, stream: string): Promise<() => void> {
    return this.#admission.admit(user, admin, stream);
  }

  /** Waits until the user may load another page. See {@link Admission.pageTurn}. */
  pageTurn(user: string, admin: boolean): Promise<() => void> {
    return this.#admission.pageTurn(user, admin);
  }

  /** Returns the tail of a filter: the object that delivers new messages. The reader must release it in the end. */
  tail(stream: string, filter: string, holder: Listener): Promise<Tail> {
    return this.tailOf("messages", stream, filter, holder, async (stored, { from, to, upToDate }) => {
      const { messages } = await this.source.present(stream, stored);
      return new Batch(from, to, messages, upToDate, currentCursor(this.now()));
    });
  }

  /**
   * Returns a tail: an object that passes new messages that match a filter to `make`, and delivers the results to
   * readers. The reader must release it in the end.
   * @param kind distinguishes tails of the same filter that deliver different results
   */
  async tailOf<S extends Step>(
    kind: string,
    stream: string,
    filter: string,
    holder: Listener<S>,
    make: MakeStep<S>,
  ): Promise<Tail<S>> {
    const key = `${kind} ${stream} ${filter}`;
    const known = this.#tails.get(key) as Tail<S> | undefined;
    const tail =
      known ??
      new Tail<S>(this.source, stream, filter, {
        now: this.now,
        make,
        recentState: (name) => this.#recentState(name),
        delivered: (messages, listeners, ageMs) => this.#delivered(messages, listeners, ageMs),
        ended: () => this.#forget(key, tail),
        failed: (error) => this.#failed(error),
      });
    if (known === undefined) {
      // Poll at random times. Otherwise thousands of subscriptions might poll in the same second.
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

  #forget(key: string, tail: AnyTail): void {
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
