/**
 * Delivers new messages of a stream to all readers of one filter. A notification from the broker tells that there are
 * new messages. They are then read from the stream, so that none is lost, repeated or out of order. A slow poll finds
 * messages whose notification was lost.
 */
import { AppError } from "../../kernel/errors.ts";
import { type StoredMessage, StreamMissing } from "../../store/types.ts";
import type { Batch } from "../protocol/index.ts";
import type { StreamState } from "./page.ts";
import type { PageLimit, Source } from "./source.ts";

export type TailEnd = "broker_lost" | "stream_gone";

/** A step that readers get: the messages or changes between two positions of the stream. */
export interface Step {
  readonly from: number;
  readonly to: number;
  readonly upToDate: boolean;
  /** Number of messages that readers get. */
  readonly size: number;
}

export interface Listener<S extends Step = Batch> {
  deliver(step: S): void;
  end(reason: TailEnd): void;
}

/** A function that converts consecutive messages of a stream into what readers get. */
export type MakeStep<S extends Step> = (
  messages: readonly StoredMessage[],
  between: Pick<Step, "from" | "to" | "upToDate">,
) => Promise<S>;

export interface TailHooks<S extends Step> {
  now: () => number;
  make: MakeStep<S>;
  recentState: (stream: string) => Promise<StreamState>;
  /** @param ageMs age of the newest message in milliseconds */
  delivered: (messages: number, listeners: number, ageMs: number) => void;
  ended: () => void;
  failed: (error: unknown) => void;
}

const LIMIT: PageLimit = { messages: 1000, bytes: 1_000_000 };
/** The broker may announce a message shortly before it returns the message. Milliseconds to wait before each retry. */
const LOOK_AGAIN = [1, 3, 10, 30, 100, 300];
/** Milliseconds before the next attempt after a broker error. */
const RETRY_MS = 500;

export class Tail<S extends Step = Batch> {
  readonly stream: string;
  readonly filter: string;
  /** Time of the next poll, in milliseconds since the epoch. */
  pollAt = 0;
  /** Time at which the last reader left, in milliseconds since the epoch. Undefined while there are readers. */
  idleSince: number | undefined;
  readonly ready: Promise<void>;
  readonly #source: Source;
  readonly #hooks: TailHooks<S>;
  readonly #holders = new Set<Listener<S>>();
  /** Readers that have all stored messages and wait for new ones. */
  readonly #listeners = new Set<Listener<S>>();
  #subscriptions: { unsubscribe(): void }[] = [];
  #position = 0;
  #closed = false;
  #pumping = false;
  #again = false;
  /** Highest sequence number that the broker has announced. */
  #wanted = 0;
  /** Number of announced messages whose sequence number is unknown, and that have not been read yet. */
  #owed = 0;
  #kick: (() => void) | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(source: Source, stream: string, filter: string, hooks: TailHooks<S>) {
    this.#source = source;
    this.stream = stream;
    this.filter = filter;
    this.#hooks = hooks;
    this.idleSince = hooks.now();
    this.ready = this.#start();
  }

  /** Sequence number up to which all messages were delivered. */
  get position(): number {
    return this.#position;
  }

  get closed(): boolean {
    return this.#closed;
  }

  async #start(): Promise<void> {
    const { store } = this.#source;
    const { wakeUps, numbered } = await this.#source.state(this.stream);
    for (const subject of wakeUps(this.filter)) {
      const subscription = store.subscribe(
        subject,
        // Use this header only if the broker sets it. Otherwise a publisher may have copied it from another message.
        (notice) =>
          this.#noticed(Number((numbered ? notice.header("Nats-Sequence") : undefined) ?? Number.NaN)),
        () => this.end("broker_lost"),
      );
      this.#subscriptions.push(subscription);
    }
    // The broker handles commands in order. Its reply to this ping shows that the subscription is active.
    await store.ping();
    this.#position = (await this.#source.state(this.stream)).last;
    if (this.#closed) this.close();
  }

  /** Keeps the subscription open while a reader is still reading stored messages. */
  hold(holder: Listener<S>): void {
    this.#holders.add(holder);
    this.idleSince = undefined;
  }

  /**
   * Starts to deliver new messages to a reader. Returns false if the reader must first read another page of stored
   * messages.
   */
  attach(holder: Listener<S>, position: number): boolean {
    if (this.#closed || position < this.#position) return false;
    this.#listeners.add(holder);
    return true;
  }

  release(holder: Listener<S>): void {
    this.#listeners.delete(holder);
    if (this.#holders.delete(holder) && this.#holders.size === 0) this.idleSince = this.#hooks.now();
  }

  #noticed(position: number): void {
    if (Number.isNaN(position)) this.#owed++;
    else if (position <= this.#position) return;
    else this.#wanted = Math.max(this.#wanted, position);
    this.wake();
  }

  wake(): void {
    this.#again = true;
    this.#kick?.();
    if (!this.#pumping) void this.#pump();
  }

  async #pump(): Promise<void> {
    this.#pumping = true;
    try {
      await this.ready;
      let look = 0;
      while (!this.#closed) {
        this.#again = false;
        const page = await this.#source.scan(this.stream, this.filter, this.#position, LIMIT);
        if (this.#closed) return;
        const last = page.messages.at(-1);
        if (last !== undefined) {
          const between = { from: this.#position, to: last.seq, upToDate: page.pending === 0 };
          const step = await this.#hooks.make(page.messages, between);
          if (this.#closed) return;
          look = 0;
          this.#owed = Math.max(0, this.#owed - page.messages.length);
          this.#advance(step, last.time);
        }
        if (this.#again || page.pending > 0) continue;
        const missing = this.#wanted > this.#position || this.#owed > 0;
        const pause = missing ? LOOK_AGAIN[look++] : undefined;
        if (pause === undefined) break;
        await this.#pause(pause);
      }
      // A message was announced but is not in the stream: it was deleted immediately, or the stream rejected it.
      this.#owed = 0;
      this.#wanted = 0;
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#pumping = false;
    }
    if (this.#again && this.#retry === undefined && !this.#closed) void this.#pump();
  }

  /** Waits for `ms` milliseconds, or until a new notification arrives. */
  #pause(ms: number): Promise<void> {
    return new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#kick = () => {
        clearTimeout(timer);
        resolve();
      };
    }).then(() => {
      this.#kick = undefined;
    });
  }

  #advance(step: S, time: number): void {
    this.#position = step.to;
    this.#hooks.delivered(step.size, this.#listeners.size, Math.max(0, this.#hooks.now() - time));
    for (const listener of this.#listeners) listener.deliver(step);
  }

  /**
   * Finds messages whose notification was lost. Also moves the position behind messages that do not match the filter,
   * because old positions expire.
   */
  async poll(): Promise<void> {
    try {
      await this.ready;
      const state = await this.#hooks.recentState(this.stream);
      if (this.#closed || this.#pumping || state.last === this.#position) return;
      // The stream ends before the last delivered message, so it was deleted and created again.
      if (state.last < this.#position) return this.#endIfBehind();
      this.#pumping = true;
      try {
        const page = await this.#source.scan(this.stream, this.filter, this.#position, LIMIT);
        if (page.messages.length > 0) this.#again = true;
        else if (
          page.pending === 0 &&
          (await this.#source.nothingLeft(this.stream, this.filter, this.#position, state)) &&
          state.last > this.#position
        ) {
          const between = { from: this.#position, to: state.last, upToDate: true };
          this.#advance(await this.#hooks.make([], between), this.#hooks.now());
        }
      } finally {
        this.#pumping = false;
      }
      if (this.#again && !this.#closed) void this.#pump();
    } catch (error) {
      this.#failed(error);
    }
  }

  async #endIfBehind(): Promise<void> {
    const state = await this.#source.state(this.stream);
    if (state.last < this.#position) this.end("stream_gone");
  }

  #failed(error: unknown): void {
    if (this.#closed) return;
    const gone = error instanceof AppError && error.kind === "not_found";
    if (gone) {
      this.end("stream_gone");
      return;
    }
    this.#hooks.failed(error);
    // A failed read does not prove that the stream is gone. Only the stream's state does.
    const missing = error instanceof StreamMissing;
    if (this.#retry !== undefined) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      if (missing)
        this.#source.state(this.stream).then(
          () => this.wake(),
          (e: unknown) => this.#failed(e),
        );
      else this.wake();
    }, RETRY_MS);
  }

  end(reason: TailEnd): void {
    if (this.#closed) return;
    this.close();
    for (const holder of [...this.#holders]) holder.end(reason);
    this.#holders.clear();
    this.#listeners.clear();
    this.#hooks.ended();
  }

  close(): void {
    this.#closed = true;
    this.#kick?.();
    clearTimeout(this.#retry);
    for (const subscription of this.#subscriptions.splice(0)) subscription.unsubscribe();
  }
}
