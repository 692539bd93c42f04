/** One index in memory: the messages that match a filter, in stream order. Serves list pages. */
import { MemoryMessage } from "../client/message.ts";
import type { Page, StoredMessage } from "../types.ts";
import type { Dependency, Epoch } from "./dependencies.ts";
import type { ChangeEvent } from "./feed.ts";

/** The change that a stored message makes to an index. */
export interface IndexChange {
  /** Sequence of the subject's previous message; 0 if there was none. */
  previous: number;
  message: StoredMessage;
  /** Whether the message replaces the previous one (`Nats-Rollup: sub`). */
  replaces: boolean;
  /** Whether the broker will remove the message by itself. Readers skip such messages, so the index leaves them out. */
  passing: boolean;
}

/** The change that a feed event makes to the index of its subject. */
export function changeOf({ delivery, message }: ChangeEvent): IndexChange {
  return {
    previous: Number(delivery.header("Nats-Last-Sequence") ?? 0),
    message,
    replaces: delivery.header("Nats-Rollup") !== undefined,
    passing: isExpiring(delivery),
  };
}

/** Whether the broker removes a message by itself. */
export function isExpiring(message: Pick<StoredMessage, "header">): boolean {
  return message.header("Nats-TTL") !== undefined;
}

/** One state of an index. Holds no reference to the index, which may be evicted before a response that depends on it. */
class State implements Dependency {
  readonly #epoch: Epoch;
  #replaced = false;

  constructor(epoch: Epoch) {
    this.#epoch = epoch;
  }

  get valid(): boolean {
    return !this.#replaced && !this.#epoch.ended;
  }
  replace(): void {
    this.#replaced = true;
  }
}

/** Stores columns instead of objects: a hundred thousand messages take about 10 MB. */
export class CachedIndex {
  /** For a wildcard filter the common prefix of all subjects, otherwise the subject. */
  readonly #prefix: string;
  readonly #literal: boolean;
  readonly #seqs: number[] = [];
  readonly #times: number[] = [];
  readonly #names: string[] = [];
  readonly #bodies: string[] = [];
  /** The current state, once a response depends on it. */
  #state: State | undefined;

  /** @param filter a subject, or a filter that ends with a wildcard */
  constructor(filter: string) {
    this.#literal = !filter.endsWith("*");
    this.#prefix = this.#literal ? filter : filter.slice(0, -1);
  }

  get size(): number {
    return this.#seqs.length;
  }

  /** The current state as a dependency of responses. @param epoch the epoch in which the index was read */
  dependency(epoch: Epoch): Dependency {
    this.#state ??= new State(epoch);
    return this.#state;
  }

  /** Call this when the index is no longer updated: invalidates everything that depends on it. */
  removed(): void {
    this.#invalidate();
  }

  #invalidate(): void {
    this.#state?.replace();
    this.#state = undefined;
  }

  /** First position with a sequence of at least `seq`. */
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

  /** Appends a message. Ignores a message that is not newer than the last one. */
  add(message: StoredMessage): void {
    if (message.seq <= (this.#seqs.at(-1) ?? 0)) return;
    this.#invalidate();
    const last = this.#bodies.at(-1);
    const body = message.text();
    this.#seqs.push(message.seq);
    this.#times.push(message.time);
    // Copy the string: a substring would keep the whole frame in memory.
    if (!this.#literal)
      this.#names.push(JSON.parse(JSON.stringify(message.subject.slice(this.#prefix.length))) as string);
    // Nearly all values are equal, so share one string.
    this.#bodies.push(last === body ? last : body);
  }

  #remove(seq: number): void {
    const at = this.#at(seq);
    if (this.#seqs[at] !== seq) return;
    this.#invalidate();
    this.#seqs.splice(at, 1);
    this.#times.splice(at, 1);
    if (!this.#literal) this.#names.splice(at, 1);
    this.#bodies.splice(at, 1);
  }

  /** Applies the next change from the feed. */
  apply({ replaces, previous, passing, message }: IndexChange): void {
    if (replaces && previous > 0) this.#remove(previous);
    if (!passing) this.add(message);
  }

  #message(at: number): StoredMessage {
    const subject = this.#prefix + (this.#names[at] ?? "");
    const place = { subject, seq: this.#seqs[at] ?? 0, time: this.#times[at] ?? 0 };
    return new MemoryMessage(place, this.#bodies[at] ?? "", undefined);
  }

  /** The last message, or null. */
  last(): StoredMessage | null {
    return this.#seqs.length === 0 ? null : this.#message(this.#seqs.length - 1);
  }

  /** A page, equal to the broker's response. */
  page(fromSeq: number, limit: number, lastSeq: number): Page {
    const from = this.#at(fromSeq);
    const to = Math.min(from + limit, this.#seqs.length);
    const messages: StoredMessage[] = [];
    for (let i = from; i < to; i++) messages.push(this.#message(i));
    return { messages, pending: this.#seqs.length - to, lastSeq };
  }
}
