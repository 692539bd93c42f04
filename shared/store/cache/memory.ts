import type { MemoryMessage } from "../message.ts";
import { Bounded, type Held } from "./bounded.ts";
import type { Ground } from "./trace.ts";

/** What holds while a feed is followed without a break. Another one begins when anything may have been missed. */
export interface Era {
  over: boolean;
}

/** Bytes that one remembered subject costs beside its text and body. */
const OVERHEAD = 350;
/** Parsed JSON takes about three times its text, which is kept beside it. */
const JSON_FACTOR = 3;

const parsed = (message: MemoryMessage | null) => (message === null ? 0 : message.size * JSON_FACTOR);

/** What is known of a subject: its last message, or (null) that there is none. */
class Slot implements Ground, Held {
  readonly subject: string;
  readonly seq: number;
  readonly era: Era;
  known: MemoryMessage | null;
  /** Then its parsed form is kept too. */
  used: boolean;
  bytes: number;
  /** Something else is known of the subject by now, or nothing. */
  #gone = false;

  constructor(subject: string, message: MemoryMessage | null, era: Era, used: boolean) {
    this.subject = subject;
    this.seq = message?.seq ?? 0;
    this.era = era;
    this.known = message;
    this.used = used;
    this.bytes = OVERHEAD + subject.length + (message?.size ?? 0) + (used ? parsed(message) : 0);
  }

  get holds(): boolean {
    return !this.#gone && !this.era.over;
  }
  get message(): this {
    return this;
  }
  ease(): void {
    this.known?.forgetJson();
    this.bytes -= parsed(this.known);
  }
  leave(): void {
    this.#gone = true;
    // Answers that were made of it hold on to the slot for as long as they are remembered themselves.
    this.known = null;
  }
}

/** Last messages of subjects, bounded in bytes. */
export class Memory {
  readonly #slots: Bounded<Slot>;
  readonly #maxBytes: number;

  /** @param maxBytes estimated bytes of heap that are never exceeded */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#slots = new Bounded(maxBytes);
  }

  get bytes(): number {
    return this.#slots.bytes;
  }

  get size(): number {
    return this.#slots.size;
  }

  /** The last message, null when it is known that there is none, undefined when nothing is known in this era. */
  get(subject: string, era: Era): MemoryMessage | null | undefined {
    const slot = this.#slots.get(subject);
    if (slot === undefined) return undefined;
    if (slot.era !== era) {
      this.#slots.delete(subject);
      return undefined;
    }
    const message = slot.known;
    if (!slot.used) {
      slot.used = true;
      const more = parsed(message);
      slot.bytes += more;
      // It may be what has to go.
      this.#slots.grow(more);
    }
    return message;
  }

  /** What is known of a subject, for answers that are made of it. */
  ground(subject: string, era: Era): Ground | undefined {
    const slot = this.#slots.get(subject);
    return slot?.era === era ? slot : undefined;
  }

  /** Sequence of what is known, 0 when it is that there is nothing; undefined when nothing is known. */
  seqOf(subject: string, era: Era): number | undefined {
    const slot = this.#slots.get(subject);
    return slot?.era === era ? slot.seq : undefined;
  }

  set(subject: string, message: MemoryMessage | null, era: Era): void {
    const slot = new Slot(subject, message, era, this.#slots.get(subject)?.used ?? false);
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
