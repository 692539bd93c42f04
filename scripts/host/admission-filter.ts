import { hashOf } from "./hash.ts";

/** Admits a key to a cache on its second request, so that keys that are requested once take no space. */
export class AdmissionFilter {
  readonly #places: Int32Array;

  /** @param places approximate number of remembered keys, a power of two; each takes four bytes */
  constructor(places: number) {
    this.#places = new Int32Array(places);
  }

  /** Returns whether the key was requested before. False positives are very rare. */
  admits(key: string): boolean {
    const hash = hashOf(key);
    const place = hash & (this.#places.length - 1);
    const before = this.#places[place] === hash;
    this.#places[place] = hash;
    return before;
  }
}
