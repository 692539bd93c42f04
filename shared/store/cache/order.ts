/** The messages under one index filter in stream order, kept in memory: what pages of a list are cut from. */
import { MemoryMessage } from "../message.ts";
import type { Delivery, Page, StoredMessage } from "../types.ts";

/** What the feed told while the order was being read. */
export interface Told {
  /** Sequence of the subject's message before this one; 0 when there was none. */
  previous: number;
  message: StoredMessage;
  /** Whether the earlier message is gone (`Nats-Rollup: sub`). */
  replaces: boolean;
  /** The broker will remove it by itself: readers would skip it, so it is left out. */
  passing: boolean;
}

/** What a delivery of a feed says about the order. */
export function toldBy(delivery: Delivery, message: StoredMessage): Told {
  return {
    previous: Number(delivery.header("Nats-Last-Sequence") ?? 0),
    message,
    replaces: delivery.header("Nats-Rollup") !== undefined,
    passing: isPassing(delivery),
  };
}

/** Whether the broker removes a message by itself. */
export function isPassing(message: Pick<StoredMessage, "header">): boolean {
  return message.header("Nats-TTL") !== undefined;
}

const same = (a: Uint8Array, b: Uint8Array) => a.length === b.length && a.every((byte, i) => byte === b[i]);

/** Columns rather than objects: a hundred thousand messages cost about 10 MB. */
export class Order {
  readonly #prefix: string;
  readonly #seqs: number[] = [];
  readonly #times: number[] = [];
  readonly #names: string[] = [];
  readonly #bodies: Uint8Array[] = [];

  /** @param prefix what all subjects begin with */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  get size(): number {
    return this.#seqs.length;
  }

  /** First position whose sequence is at least `seq`. */
  #at(seq: number): number {
    let low = 0;
    let high = this.#seqs.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#seqs[middle] ?? 0) < seq) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Adds a message behind all others; one that is not newer is known already. */
  add(message: StoredMessage): void {
    if (message.seq <= (this.#seqs.at(-1) ?? 0)) return;
    const last = this.#bodies.at(-1);
    this.#seqs.push(message.seq);
    this.#times.push(message.time);
    // A string cut from a longer one would hold on to it.
    this.#names.push(JSON.parse(JSON.stringify(message.subject.slice(this.#prefix.length))) as string);
    this.#bodies.push(last !== undefined && same(last, message.data) ? last : message.data.slice());
  }

  #remove(seq: number): void {
    const at = this.#at(seq);
    if (this.#seqs[at] !== seq) return;
    this.#seqs.splice(at, 1);
    this.#times.splice(at, 1);
    this.#names.splice(at, 1);
    this.#bodies.splice(at, 1);
  }

  /** Follows the feed by one message. */
  tell(told: Told): void {
    if (told.replaces && told.previous > 0) this.#remove(told.previous);
    if (!told.passing) this.add(told.message);
  }

  #message(at: number): StoredMessage {
    const subject = this.#prefix + (this.#names[at] ?? "");
    const place = { subject, seq: this.#seqs[at] ?? 0, time: this.#times[at] ?? 0 };
    return new MemoryMessage(place, this.#bodies[at] ?? new Uint8Array(0), undefined);
  }

  /** The last message, or null. */
  last(): StoredMessage | null {
    return this.#seqs.length === 0 ? null : this.#message(this.#seqs.length - 1);
  }

  /** A page as the broker would answer it. */
  page(fromSeq: number, limit: number, lastSeq: number): Page {
    const from = this.#at(fromSeq);
    const to = Math.min(from + limit, this.#seqs.length);
    const messages: StoredMessage[] = [];
    for (let i = from; i < to; i++) messages.push(this.#message(i));
    return { messages, pending: this.#seqs.length - to, lastSeq };
  }
}
