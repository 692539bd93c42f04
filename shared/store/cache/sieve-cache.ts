export interface Evictable {
  /** The visited bit of the SIEVE algorithm: set when the value is read, cleared when the eviction hand passes. */
  used: boolean;
  bytes: number;
  /**
   * Called instead of an eviction if the value was used recently. The value can free parts that it can compute again.
   */
  shrink?(): void;
  /** Called when the value is evicted, deleted or replaced. */
  removed?(): void;
}

/**
 * A map limited in bytes, with SIEVE eviction: a pointer, the hand, moves over the values in insertion order. It evicts
 * each value that was not read since the hand last passed it. Unlike with LRU, reading many values once does not evict
 * the values in frequent use.
 */
export class SieveCache<V extends Evictable> {
  readonly #values = new Map<string, V>();
  readonly #maxBytes: number;
  /**
   * The value at which the last eviction stopped. The next one continues there, because a search from the beginning
   * would pass all deleted values of the map again.
   */
  #hand: MapIterator<[string, V]> | undefined;
  #bytes = 0;

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

  /**
   * Evicts other values before it inserts the new one. Eviction removes values that have not been read recently, so it
   * could otherwise remove the new value, which has not been read yet.
   */
  set(key: string, value: V): void {
    this.delete(key);
    this.grow(value.bytes);
    this.#values.set(key, value);
  }

  /** Records that a cached value has grown by this many bytes. */
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
