import { randomInt } from "node:crypto";

/** Random start value of the hash. Clients that do not know it cannot choose keys that collide. */
const BEGIN = randomInt(2 ** 32);

/** Returns a 32-bit hash of a string (FNV-1a). Two strings may have the same hash. */
function hashOf(text: string): number {
  let hash = BEGIN;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash ^ (hash >>> 15);
}

/**
 * Tells a cache which keys to store: those that are requested a second time. Keys that are requested only once then
 * take no space.
 */
export class AdmissionFilter {
  readonly #places: Int32Array;

  /** @param places approximate number of keys that the filter remembers, a power of two; each takes four bytes */
  constructor(places: number) {
    this.#places = new Int32Array(places);
  }

  /**
   * Remembers the key, and returns whether it was requested before. Very rarely returns true for a key that was not.
   */
  admits(key: string): boolean {
    const hash = hashOf(key);
    const place = hash & (this.#places.length - 1);
    const before = this.#places[place] === hash;
    this.#places[place] = hash;
    return before;
  }
}
