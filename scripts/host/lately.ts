import { hashOf } from "./hash.ts";

/**
 * Whether something was asked for lately, in a fixed number of bytes and without keeping what it was. Each name has one
 * place, which the next one that falls there takes over: so the longer ago, the less likely it is known.
 */
export class Lately {
  readonly #places: Int32Array;

  /** @param places a power of two: about how many names are told apart; four bytes each */
  constructor(places: number) {
    this.#places = new Int32Array(places);
  }

  /** Notes that a name is asked for. @returns whether it was before; very rarely so of one that was not */
  ask(name: string): boolean {
    const hash = hashOf(name);
    const place = hash & (this.#places.length - 1);
    const before = this.#places[place] === hash;
    this.#places[place] = hash;
    return before;
  }
}
