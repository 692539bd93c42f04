import type { MemoryMessage } from "../message.ts";
import type { Ground } from "./trace.ts";

/** What holds while a feed is followed without a break. Another one begins when anything may have been missed. */
export interface Era {
  over: boolean;
}

/** What is known of a subject: its last message, or (null) that there is none. */
class Slot implements Ground {
  readonly message: MemoryMessage | null;
  readonly era: Era;
  /** Asked for since the hand last passed: its parsed form is kept too. */
  used: boolean;
  bytes: number;
  /** Something else is known of the subject by now, or nothing. */
  gone = false;

  constructor(message: MemoryMessage | null, era: Era, used: boolean, bytes: number) {
    this.message = message;
    this.era = era;
    this.used = used;
    this.bytes = bytes;
  }

  get holds(): boolean {
    return !this.gone && !this.era.over;
  }
}

/** Bytes that one remembered subject costs beside its text and body. */
const OVERHEAD = 350;
/** Parsed JSON takes about three times its text, which is kept beside it. */
const JSON_FACTOR = 3;

const parsed = (message: MemoryMessage | null) => (message === null ? 0 : message.size * JSON_FACTOR);

function cost(subject: string, message: MemoryMessage | null, used: boolean): number {
  return OVERHEAD + subject.length + (message?.size ?? 0) + (used ? parsed(message) : 0);
}

/**
 * Last messages of subjects, bounded in bytes. Who was not asked for since the hand's last turn goes first
 * (second chance): nearly as good as least recently used, and a hit costs one look-up.
 */
export class Memory {
  readonly #slots = new Map<string, Slot>();
  readonly #maxBytes: number;
  #bytes = 0;

  /** @param maxBytes estimated bytes of heap that are never exceeded */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#slots.size;
  }

  /** The last message, null when it is known that there is none, undefined when nothing is known in this era. */
  get(subject: string, era: Era): MemoryMessage | null | undefined {
    const slot = this.#slots.get(subject);
    if (slot === undefined) return undefined;
    if (slot.era !== era) {
      this.#remove(subject, slot);
      return undefined;
    }
    if (!slot.used) {
      slot.used = true;
      const more = parsed(slot.message);
      slot.bytes += more;
      this.#bytes += more;
      if (this.#bytes > this.#maxBytes) this.#evict();
    }
    return slot.message;
  }

  /** What is known of a subject, for answers that are made of it. */
  ground(subject: string, era: Era): Ground | undefined {
    const slot = this.#slots.get(subject);
    return slot?.era === era ? slot : undefined;
  }

  /** Sequence of what is known, 0 when it is that there is nothing; undefined when nothing is known. */
  seqOf(subject: string, era: Era): number | undefined {
    const slot = this.#slots.get(subject);
    return slot?.era === era ? (slot.message?.seq ?? 0) : undefined;
  }

  set(subject: string, message: MemoryMessage | null, era: Era): void {
    const before = this.#slots.get(subject);
    if (before !== undefined) this.#remove(subject, before);
    const used = before?.used ?? false;
    const bytes = cost(subject, message, used);
    // One message must not push out all others.
    if (bytes + parsed(message) > this.#maxBytes / 8) return;
    this.#slots.set(subject, new Slot(message, era, used, bytes));
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) this.#evict();
  }

  delete(subject: string): void {
    const slot = this.#slots.get(subject);
    if (slot !== undefined) this.#remove(subject, slot);
  }

  clear(): void {
    for (const slot of this.#slots.values()) slot.gone = true;
    this.#slots.clear();
    this.#bytes = 0;
  }

  #remove(subject: string, slot: Slot): void {
    slot.gone = true;
    this.#slots.delete(subject);
    this.#bytes -= slot.bytes;
  }

  /** Goes round from the oldest: who was used loses his parsed form and gets another turn. */
  #evict(): void {
    for (const [subject, slot] of this.#slots) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#remove(subject, slot);
      if (!slot.used) continue;
      slot.gone = false;
      slot.used = false;
      slot.message?.forgetJson();
      slot.bytes -= parsed(slot.message);
      this.#slots.set(subject, slot);
      this.#bytes += slot.bytes;
    }
  }
}
