/**
 * What an answer was made of. Whoever remembers answers may give one again for as long as everything that it was made
 * of is still what this process remembers, and not a moment longer.
 */

/** A part of what is remembered, as it was when an answer was made of it. */
export interface Ground {
  /** Whether it is still so: neither replaced, nor forgotten, nor doubtful because something may have been missed. */
  readonly holds: boolean;
}

/** Most parts of one answer: looking whether they hold must stay cheaper than making it again. */
const MOST = 512;

/** Collects what one request reads. */
export class Trace {
  readonly #grounds: Ground[] = [];
  #until = Number.POSITIVE_INFINITY;
  #spoiled = false;

  /** Something that the answer is made of; undefined: something that is not remembered. */
  note(ground: Ground | undefined): void {
    if (ground === undefined || this.#grounds.length >= MOST) this.spoil();
    else this.#grounds.push(ground);
  }

  /** The answer is made of something that may change without this process hearing of it. */
  spoil(): void {
    this.#spoiled = true;
    this.#grounds.length = 0;
  }

  /** What was read means something else from then on. @param time milliseconds since 1970 */
  expires(time: number): void {
    this.#until = Math.min(this.#until, time);
  }

  /** How many parts there are. */
  get size(): number {
    return this.#grounds.length;
  }

  /** Whether the answer may be given at a moment. */
  holds(now: number): boolean {
    if (this.#spoiled || now >= this.#until) return false;
    for (const ground of this.#grounds) if (!ground.holds) return false;
    return true;
  }
}
