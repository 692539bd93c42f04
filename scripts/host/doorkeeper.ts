import { hashOf } from "./hash.ts";

/**
 * The doorkeeper of a cache: lets in what is asked for a second time, so that what is asked for once takes no room. It knows
 * what was asked for lately in a fixed number of bytes, without keeping what it was. Each key has one place, which the next
 * one that falls there takes over: so the longer ago, the less likely it is known.
 */
export class Doorkeeper {
  readonly #places: Int32Array;

  /** @param places a power of two: about how many keys are told apart; four bytes each */
  constructor(places: number) {
    this.#places = new Int32Array(places);
  }

  /** Notes that a key is asked for. @returns whether it was before; very rarely so of one that was not */
  admits(key: string): boolean {
    const hash = hashOf(key);
    const place = hash & (this.#places.length - 1);
    const before = this.#places[place] === hash;
    this.#places[place] = hash;
    return before;
  }
}
