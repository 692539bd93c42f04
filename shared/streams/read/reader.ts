/**
 * One client that reads a stream as server-sent events. It first gets the stored messages page by page, then new ones.
 */
import { AppError } from "../../kernel/errors.ts";
import {
  type Batch,
  controlEvent,
  currentCursor,
  eventsOf,
  type Form,
  KEEP_ALIVE,
} from "../protocol/index.ts";
import type { Hub, TimerListener } from "./hub.ts";
import type { PageLimit, PageStart } from "./source.ts";
import type { Listener, Tail, TailEnd } from "./tail.ts";

/** The response to a client. Each written piece contains whole events. */
export interface Sink {
  /** Writes bytes. They must not change afterwards, because other clients may get the same array. */
  write(piece: Uint8Array): void;
  /** Bytes written but not yet accepted by the client. */
  queued(): number;
  /** Resolves when almost all bytes were accepted by the client, or the response was closed. */
  drained(): Promise<void>;
  /** Ends the response after the queued bytes. */
  end(): void;
}

export type ReaderEnd =
  | TailEnd
  | "rotated"
  | "expired"
  | "slow"
  | "client_gone"
  | "shutdown"
  | "failed"
  /** Live lists (lists with changes) end for these reasons too. They send the reason to the client. */
  | "definition_changed"
  | "access_changed"
  | "history_lost";

/** A response that is open. */
export type OpenReader = Pick<Reader, "end" | "abandon">;

export interface ReaderOptions {
  hub: Hub;
  sink: Sink;
  form: Form;
  stream: string;
  filter: string;
  /** The client already has all messages up to this sequence number. */
  position: number;
  /**
   * Whether to start at the oldest stored message. The first read then succeeds even if older messages were removed
   * before.
   */
  fromBeginning: boolean;
  /**
   * Minimum cursor that the response may contain. It is higher than the request's cursor, so that shared caches do not
   * repeat old responses.
   */
  cursor: number;
  /** Time at which the client's token expires, in milliseconds since the epoch. */
  expiresAt: number;
  ended: (reason: ReaderEnd) => void;
}

/** Limits of one page. Pages are small, so that a client can process one while it receives the next. */
const PAGE_LIMIT: PageLimit = { messages: 2000, bytes: 500_000 };

export class Reader implements Listener, TimerListener {
  readonly #o: ReaderOptions;
  readonly #endAt: number;
  readonly #expires: boolean;
  #position: number;
  #tail: Tail | undefined;
  #attached = false;
  #ended = false;
  #quietSince: number;
  #stalledSince = 0;

  constructor(options: ReaderOptions) {
    this.#o = options;
    this.#position = options.position;
    const { hub } = options;
    const now = hub.now();
    this.#quietSince = now - hub.random() * hub.times.keepAliveMs * 0.2;
    const rotateAt = now + hub.times.rotateMs * (0.9 + hub.random() * 0.1);
    this.#endAt = Math.min(rotateAt, options.expiresAt);
    this.#expires = options.expiresAt <= rotateAt;
  }

  async run(): Promise<void> {
    const { hub, stream, filter } = this.#o;
    try {
      hub.watch(this);
      // Subscribe before the first page is read, so that no message after the page is missed.
      const tail = await hub.tail(stream, filter, this);
      this.#tail = tail;
      if (this.#ended) tail.release(this);
      let from: PageStart = this.#o.fromBeginning ? "beginning" : this.#position;
      while (!this.#ended) {
        const page = await hub.source.page(stream, filter, from, PAGE_LIMIT);
        if (this.#ended) return;
        this.#position = from = page.next;
        const cursor = this.#cursor();
        this.#write(eventsOf(this.#o.form, page.messages, page.next, cursor, page.upToDate));
        if (this.#o.sink.queued() > 0) await this.#drained();
        if (this.#ended) return;
        if (page.upToDate && tail.attach(this, this.#position)) {
          this.#attached = true;
          return;
        }
      }
    } catch (error) {
      // End the response without an error. The client reconnects with its last position, and then gets the error.
      this.end(error instanceof AppError && error.kind === "not_found" ? "stream_gone" : "failed");
    }
  }

  async #drained(): Promise<void> {
    this.#stalledSince = this.#o.hub.now();
    await this.#o.sink.drained();
    this.#stalledSince = 0;
  }

  #cursor(): number {
    return Math.max(this.#o.cursor, currentCursor(this.#o.hub.now()));
  }

  #write(piece: Uint8Array): void {
    this.#quietSince = this.#o.hub.now();
    this.#o.sink.write(piece);
  }

  deliver(batch: Batch): void {
    if (this.#ended || batch.to <= this.#position) return;
    const piece = batch.bytes(this.#o.form, this.#position, this.#o.cursor);
    this.#position = batch.to;
    this.#write(piece);
    if (this.#o.sink.queued() > this.#o.hub.limits.queueBytes) {
      this.#o.hub.figures.slowReaders++;
      this.end("slow");
    }
  }

  tick(now: number): void {
    if (this.#ended) return;
    if (now >= this.#endAt) {
      this.end(this.#expires ? "expired" : "rotated");
      return;
    }
    const { sink, hub } = this.#o;
    const { times } = hub;
    if (this.#stalledSince > 0) {
      if (now - this.#stalledSince > times.stallMs) {
        hub.figures.slowReaders++;
        this.end("slow");
      }
      return;
    }
    if (now - this.#quietSince >= times.keepAliveMs) {
      this.#quietSince = now;
      sink.write(KEEP_ALIVE);
    }
  }

  end(reason: ReaderEnd): void {
    if (this.#ended) return;
    const tail = this.#tail;
    // The filter skipped some messages. Move the client's position behind them, because an old position expires.
    if (
      this.#attached &&
      tail !== undefined &&
      !tail.closed &&
      tail.position > this.#position &&
      reason !== "slow"
    )
      this.#o.sink.write(controlEvent(tail.position, this.#cursor(), true));
    this.#finish(reason);
    this.#o.sink.end();
  }

  /** Stops because the client has disconnected. Writes nothing more. */
  abandon(): void {
    if (!this.#ended) this.#finish("client_gone");
  }

  #finish(reason: ReaderEnd): void {
    this.#ended = true;
    this.#tail?.release(this);
    this.#o.hub.unwatch(this);
    this.#o.ended(reason);
  }
}
