/** The last messages of subjects, bounded in bytes. What changes and invalidates them is `last-messages.ts`' business. */
import type { MemoryMessage } from "../message.ts";
import type { Dependency, Epoch } from "./dependencies.ts";
import { type Evictable, SieveCache } from "./sieve-cache.ts";

/** Bytes that one cached subject costs beside its text and body. */
const OVERHEAD = 350;
/** Parsed JSON takes about three times its text, which is kept beside it. */
const JSON_FACTOR = 3;

const parsed = (message: MemoryMessage | null) => (message === null ? 0 : message.size * JSON_FACTOR);

/** What is known of a subject: its last message, or (null) that there is none. Answers that were made of it depend on it. */
class CachedSubject implements Dependency, Evictable {
  readonly subject: string;
  readonly seq: number;
  readonly epoch: Epoch;
  last: MemoryMessage | null;
  /** Since then its parsed form is kept too. */
  used: boolean;
  bytes: number;
  /** It was invalidated or evicted. */
  #gone = false;

  constructor(subject: string, message: MemoryMessage | null, epoch: Epoch, used: boolean) {
    this.subject = subject;
    this.seq = message?.seq ?? 0;
    this.epoch = epoch;
    this.last = message;
    this.used = used;
    this.bytes = OVERHEAD + subject.length + (message?.size ?? 0) + (used ? parsed(message) : 0);
  }

  get valid(): boolean {
    return !this.#gone && !this.epoch.ended;
  }
  get message(): this {
    return this;
  }
  shrink(): void {
    this.last?.forgetJson();
    this.bytes -= parsed(this.last);
  }
  removed(): void {
    this.#gone = true;
    // Answers that were made of it hold on to the slot for as long as they are cached themselves.
    this.last = null;
  }
}

/** Last messages by subject; those of an epoch that has ended count as missing. */
export class MessageCache {
  readonly #slots: SieveCache<CachedSubject>;
  readonly #maxBytes: number;

  /** @param maxBytes estimated bytes of heap that are never exceeded */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#slots = new SieveCache(maxBytes);
  }

  get bytes(): number {
    return this.#slots.bytes;
  }

  get size(): number {
    return this.#slots.size;
  }

  /** The last message, null when it is known that there is none, undefined when nothing is known in this epoch. */
  get(subject: string, epoch: Epoch): MemoryMessage | null | undefined {
    const slot = this.#slots.get(subject);
    if (slot === undefined) return undefined;
    if (slot.epoch !== epoch) {
      this.#slots.delete(subject);
      return undefined;
    }
    const message = slot.last;
    if (!slot.used) {
      slot.used = true;
      const more = parsed(message);
      slot.bytes += more;
      // It may be what has to go.
      this.#slots.grow(more);
    }
    return message;
  }

  /** What is known of a subject, as a dependency of answers that are made of it. */
  dependency(subject: string, epoch: Epoch): Dependency | undefined {
    const slot = this.#slots.get(subject);
    return slot?.epoch === epoch ? slot : undefined;
  }

  /** Sequence of what is known, 0 when it is that there is nothing; undefined when nothing is known. */
  seqOf(subject: string, epoch: Epoch): number | undefined {
    const slot = this.#slots.get(subject);
    return slot?.epoch === epoch ? slot.seq : undefined;
  }

  set(subject: string, message: MemoryMessage | null, epoch: Epoch): void {
    const slot = new CachedSubject(subject, message, epoch, this.#slots.get(subject)?.used ?? false);
    // One message must not push out all others.
    if (slot.bytes + parsed(message) > this.#maxBytes / 8) this.#slots.delete(subject);
    else this.#slots.set(subject, slot);
  }

  delete(subject: string): void {
    this.#slots.delete(subject);
  }

  clear(): void {
    this.#slots.clear();
  }
}
