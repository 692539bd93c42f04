import { CachedMessage, type Message, ResponseHeaders } from "../client/index.ts";
import { TOGETHER } from "../subjects.ts";
import type { Page, StoredMessage } from "../types.ts";
import type { Dependency, Epoch } from "./dependencies.ts";

const MARKED = new ResponseHeaders(`\r\n${TOGETHER}: 1\r\n`);

/** Returns whether the message has a time to live (TTL), after which the broker deletes it. */
export function isExpiring(message: Pick<StoredMessage, "header">): boolean {
  return message.header("Nats-TTL") !== undefined;
}

/**
 * Tells whether a cached index is unchanged. When the index changes, its state becomes invalid, and with it all cached
 * responses that were made from the index.
 */
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

/**
 * An index in memory. Separate arrays for names, sequence numbers and bodies take less memory than one object for each
 * message: about 10 MB for 100,000 messages.
 */
export class CachedIndex {
  readonly #prefix: string;
  readonly #literal: boolean;
  readonly #seqs: number[] = [];
  readonly #times: number[] = [];
  readonly #names: string[] = [];
  readonly #bodies: string[] = [];
  /** The sequence numbers of the messages with the header {@link TOGETHER}. */
  readonly #together = new Set<number>();
  #state: State | undefined;

  constructor(filter: string) {
    this.#literal = !filter.endsWith("*");
    this.#prefix = this.#literal ? filter : filter.slice(0, -1);
  }

  get size(): number {
    return this.#seqs.length;
  }

  dependency(epoch: Epoch): Dependency {
    this.#state ??= new State(epoch);
    return this.#state;
  }

  removed(): void {
    this.#invalidate();
  }

  #invalidate(): void {
    this.#state?.replace();
    this.#state = undefined;
  }

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

  /** Appends a message. Ignores messages that the index already has, and messages with a TTL. */
  add(message: StoredMessage): void {
    if (message.seq <= (this.#seqs.at(-1) ?? 0) || isExpiring(message)) return;
    this.#invalidate();
    const last = this.#bodies.at(-1);
    const body = message.text();
    if (message.header(TOGETHER) !== undefined) this.#together.add(message.seq);
    this.#seqs.push(message.seq);
    this.#times.push(message.time);
    // A substring would keep the whole received frame in memory, so copy the string.
    if (!this.#literal)
      this.#names.push(JSON.parse(JSON.stringify(message.subject.slice(this.#prefix.length))) as string);
    // Nearly all bodies are equal, so store the previous string object again instead of a copy.
    this.#bodies.push(last === body ? last : body);
  }

  #remove(seq: number): void {
    const at = this.#at(seq);
    if (this.#seqs[at] !== seq) return;
    this.#invalidate();
    this.#together.delete(seq);
    this.#seqs.splice(at, 1);
    this.#times.splice(at, 1);
    if (!this.#literal) this.#names.splice(at, 1);
    this.#bodies.splice(at, 1);
  }

  /** Removes the messages before a sequence number. The log that this index caches no longer needs them. */
  trim(before: number): void {
    const count = this.#at(before);
    for (const seq of this.#together) if (seq < before) this.#together.delete(seq);
    for (const list of [this.#seqs, this.#times, this.#names, this.#bodies]) list.splice(0, count);
  }

  apply(message: Message): void {
    const replaced = Number(message.headers.last("Nats-Last-Sequence") ?? 0);
    if (message.header("Nats-Rollup") !== undefined && replaced > 0) this.#remove(replaced);
    this.add(message);
  }

  #message(at: number): StoredMessage {
    const subject = this.#prefix + (this.#names[at] ?? "");
    const seq = this.#seqs[at] ?? 0;
    const place = { subject, seq, time: this.#times[at] ?? 0 };
    return new CachedMessage(place, this.#bodies[at] ?? "", this.#together.has(seq) ? MARKED : undefined);
  }

  last(): StoredMessage | null {
    return this.#seqs.length === 0 ? null : this.#message(this.#seqs.length - 1);
  }

  page(fromSeq: number, limit: number, lastSeq: number): Page {
    const from = this.#at(fromSeq);
    const to = Math.min(from + limit, this.#seqs.length);
    const messages: StoredMessage[] = [];
    for (let i = from; i < to; i++) messages.push(this.#message(i));
    return { messages, pending: this.#seqs.length - to, lastSeq };
  }
}
