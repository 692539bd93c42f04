/** One index in memory: the messages under a filter in stream order, which pages of a list are cut from. */
import { MemoryMessage } from "../message.ts";
import type { Page, StoredMessage } from "../types.ts";
import type { Dependency, Epoch } from "./dependencies.ts";
import type { ChangeEvent } from "./feed.ts";

/** What a stored message changes in an index. */
export interface IndexChange {
  /** Sequence of the subject's message before this one; 0 when there was none. */
  previous: number;
  message: StoredMessage;
  /** Whether the earlier message is gone (`Nats-Rollup: sub`). */
  replaces: boolean;
  /** The broker will remove it by itself: readers would skip it, so it is left out. */
  passing: boolean;
}

/** What an event of the feed changes in the index of its subject. */
export function changeOf({ delivery, message }: ChangeEvent): IndexChange {
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

/** One state of an index. It does not hold on to the index, which may be evicted long before an answer that depends on it. */
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

/** Columns rather than objects: a hundred thousand messages cost about 10 MB. */
export class CachedIndex {
  /** Of a wildcard what all subjects begin with, otherwise the subject. */
  readonly #prefix: string;
  readonly #literal: boolean;
  readonly #seqs: number[] = [];
  readonly #times: number[] = [];
  readonly #names: string[] = [];
  readonly #bodies: string[] = [];
  /** As it is now, once any answer depends on it. */
  #state: State | undefined;

  /** @param filter a subject, or one that ends with a wildcard */
  constructor(filter: string) {
    this.#literal = !filter.endsWith("*");
    this.#prefix = this.#literal ? filter : filter.slice(0, -1);
  }

  get size(): number {
    return this.#seqs.length;
  }

  /** The index as it is now, as a dependency of answers that are made of it. @param epoch the one in which it was read */
  dependency(epoch: Epoch): Dependency {
    this.#state ??= new State(epoch);
    return this.#state;
  }

  /** Called once it is kept up to date no longer: what was made of it is invalid. */
  removed(): void {
    this.#invalidate();
  }

  #invalidate(): void {
    this.#state?.replace();
    this.#state = undefined;
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
    this.#invalidate();
    const last = this.#bodies.at(-1);
    const body = message.text();
    this.#seqs.push(message.seq);
    this.#times.push(message.time);
    // A string cut from a longer one would hold on to it.
    if (!this.#literal)
      this.#names.push(JSON.parse(JSON.stringify(message.subject.slice(this.#prefix.length))) as string);
    // Nearly all are the same, and then kept once.
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

  /** Applies the next change of the feed. */
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

  /** A page as the broker would answer it. */
  page(fromSeq: number, limit: number, lastSeq: number): Page {
    const from = this.#at(fromSeq);
    const to = Math.min(from + limit, this.#seqs.length);
    const messages: StoredMessage[] = [];
    for (let i = from; i < to; i++) messages.push(this.#message(i));
    return { messages, pending: this.#seqs.length - to, lastSeq };
  }
}
