/** A value of a {@link SieveCache}. */
export interface Evictable {
  /** The mark of SIEVE: whoever gets the value sets it, the hand clears it. */
  used: boolean;
  /** Estimated. */
  bytes: number;
  /** Called when the hand spares it: lets go of what can be computed again, and lowers `bytes` by that. */
  shrink?(): void;
  /** Called once it is in the cache no longer: evicted, deleted or replaced. */
  removed?(): void;
}

/**
 * A map that is bounded in bytes, with SIEVE as its eviction policy: a hand walks over the values in the order of their
 * insertion, evicts those that were not used since it last came by, and spares the others where they are. So a scan over much
 * that is asked for once evicts nothing that is in use, and a hit costs one look-up, where LRU would have to move the value.
 */
export class SieveCache<V extends Evictable> {
  readonly #values = new Map<string, V>();
  readonly #maxBytes: number;
  /** Where the last eviction stopped: beginning anew would step over everything that was removed meanwhile. */
  #hand: MapIterator<[string, V]> | undefined;
  #bytes = 0;

  /** @param maxBytes never exceeded, as long as no single value is larger: whoever sets one sees to that */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#values.size;
  }

  [Symbol.iterator](): MapIterator<[string, V]> {
    return this.#values.entries();
  }

  get(key: string): V | undefined {
    return this.#values.get(key);
  }

  /** Takes the place of what was there. Room is made first: nobody has asked for it yet, and it would be the first to go. */
  set(key: string, value: V): void {
    this.delete(key);
    this.grow(value.bytes);
    this.#values.set(key, value);
  }

  /** A value that is held became larger by so many bytes. */
  grow(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) this.#evict();
  }

  delete(key: string): void {
    const value = this.#values.get(key);
    if (value === undefined) return;
    this.#values.delete(key);
    this.#bytes -= value.bytes;
    value.removed?.();
  }

  clear(): void {
    for (const value of this.#values.values()) value.removed?.();
    this.#values.clear();
    this.#hand = undefined;
    this.#bytes = 0;
  }

  #evict(): void {
    while (this.#bytes > this.#maxBytes && this.#values.size > 0) {
      this.#hand ??= this.#values.entries();
      const next = this.#hand.next();
      if (next.done === true) {
        this.#hand = undefined;
        continue;
      }
      const [key, value] = next.value;
      if (!value.used) {
        this.delete(key);
        continue;
      }
      const before = value.bytes;
      value.used = false;
      value.shrink?.();
      this.#bytes += value.bytes - before;
    }
  }
}
