import type { CachedMessage } from "../client/index.ts";
import type { Dependency, Epoch } from "./dependencies.ts";
import { type Evictable, SieveCache } from "./sieve-cache.ts";

/** Estimated bytes of memory per cached message, besides its subject and body. */
const OVERHEAD = 350;
/** Parsed JSON is estimated to take this many times the memory of its text. The cache keeps both. */
const JSON_FACTOR = 3;

const parsed = (message: CachedMessage | null) => (message === null ? 0 : message.size * JSON_FACTOR);

class CachedSubject implements Dependency, Evictable {
  readonly seq: number;
  readonly epoch: Epoch;
  last: CachedMessage | null;
  used: boolean;
  bytes: number;
  #gone = false;

  constructor(subject: string, message: CachedMessage | null, epoch: Epoch, used: boolean) {
    this.seq = message?.seq ?? 0;
    this.epoch = epoch;
    this.last = message;
    this.used = used;
    this.bytes = OVERHEAD + subject.length + (message?.size ?? 0) + (used ? parsed(message) : 0);
  }

  get valid(): boolean {
    return !this.#gone && !this.epoch.ended;
  }
  shrink(): void {
    this.last?.forgetJson();
    this.bytes -= parsed(this.last);
  }
  removed(): void {
    this.#gone = true;
    // Cached responses may still refer to this object. Set `last` to null, so that the message's memory is freed
    // anyway.
    this.last = null;
  }
}

/** Cache of the last message of each subject, limited in bytes. */
export class MessageCache {
  readonly #slots: SieveCache<CachedSubject>;
  readonly #maxBytes: number;

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

  /** Returns the cached message, null if the subject is known to be empty, or undefined if it is not cached. */
  get(subject: string, epoch: Epoch): CachedMessage | null | undefined {
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
      this.#slots.grow(more);
    }
    return message;
  }

  dependency(subject: string, epoch: Epoch): Dependency | undefined {
    const slot = this.#slots.get(subject);
    return slot?.epoch === epoch ? slot : undefined;
  }

  /** Returns the sequence number of the cached message; 0 if the subject is empty, undefined if it is not cached. */
  seqOf(subject: string, epoch: Epoch): number | undefined {
    const slot = this.#slots.get(subject);
    return slot?.epoch === epoch ? slot.seq : undefined;
  }

  set(subject: string, message: CachedMessage | null, epoch: Epoch): void {
    const slot = new CachedSubject(subject, message, epoch, this.#slots.get(subject)?.used ?? false);
    // A single large message must not evict all others.
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
