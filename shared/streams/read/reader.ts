/** One reader of server-sent events: catches up by pages, then hears what is new, until it is time to ask again. */
import { AppError } from "../../kernel/errors.ts";
import type { Batch } from "../protocol/batch.ts";
import { controlEvent, eventsOf, type Form, KEEP_ALIVE } from "../protocol/events.ts";
import { currentCursor } from "../protocol/offset.ts";
import type { Hub, Ticking } from "./hub.ts";
import type { From, PageLimit } from "./source.ts";
import type { Listener, Tail, TailEnd } from "./tail.ts";

/** Where a host puts bytes. Pieces are whole: a response may end behind each. */
export interface Sink {
  /** The same array may be written to many sinks and is not changed afterwards. */
  write(piece: Uint8Array): void;
  /** Bytes that were written and not yet taken. */
  queued(): number;
  /** Resolves when little is queued any more, or the sink is closed. */
  drained(): Promise<void>;
  /** Ends the answer cleanly behind what is queued. */
  end(): void;
}

export type ReaderEnd = TailEnd | "rotated" | "expired" | "slow" | "client_gone" | "shutdown" | "failed";

export interface ReaderOptions {
  hub: Hub;
  sink: Sink;
  form: Form;
  stream: string;
  filter: string;
  /** Everything up to here is known to the reader. */
  position: number;
  /** It asked for the oldest message that there is, whatever is removed until it gets that. */
  fromBeginning: boolean;
  /** The least cursor that it may see. */
  cursor: number;
  /** When its token expires; milliseconds since the epoch. */
  expiresAt: number;
  /** Called once. */
  ended: (reason: ReaderEnd) => void;
}

/** Smaller than a whole page, so that a reader begins to work while the rest is on its way. */
const PAGE: PageLimit = { messages: 2000, bytes: 500_000 };

export class Reader implements Listener, Ticking {
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

  /** Runs until the reader is attached to the live end, or has ended. */
  async run(): Promise<void> {
    const { hub, stream, filter } = this.#o;
    try {
      hub.watch(this);
      // The live end listens before the pages are read, so that nothing falls in between.
      const tail = await hub.tail(stream, filter, this);
      this.#tail = tail;
      if (this.#ended) tail.release(this);
      let from: From = this.#o.fromBeginning ? "beginning" : this.#position;
      while (!this.#ended) {
        const page = await hub.source.page(stream, filter, from, PAGE);
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
      // The last control event says how far the reader got; its next request is told what is wrong.
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

  /** Ends the answer behind a whole event and the control event that belongs to it. */
  end(reason: ReaderEnd): void {
    if (this.#ended) return;
    const tail = this.#tail;
    // What the filter passed over meanwhile counts as read.
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

  /** The client has gone: nothing can be written any more. */
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
