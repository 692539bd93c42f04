/** What takes room, and was asked for or not since it was last looked at. */
export interface Held {
  used: boolean;
  /** Estimated. */
  bytes: number;
  /** Lets go of what can be made again, and says so in `bytes`. */
  ease?(): void;
  /** Told that it is no longer here. */
  leave?(): void;
}

/**
 * A map that is bounded in bytes. Who was not used since the hand's last turn goes first, and who was stays where he is
 * (SIEVE): what is asked for once, one after the other, pushes out nothing, and a hit costs one look-up.
 */
export class Bounded<V extends Held> {
  readonly #held = new Map<string, V>();
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
    return this.#held.size;
  }

  [Symbol.iterator](): MapIterator<[string, V]> {
    return this.#held.entries();
  }

  get(key: string): V | undefined {
    return this.#held.get(key);
  }

  /** Takes the place of what was there. Room is made first: nobody has asked for it yet, and it would be the first to go. */
  set(key: string, value: V): void {
    this.delete(key);
    this.grow(value.bytes);
    this.#held.set(key, value);
  }

  /** Something that is held became larger by so many bytes. */
  grow(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#maxBytes) this.#evict();
  }

  delete(key: string): void {
    const value = this.#held.get(key);
    if (value === undefined) return;
    this.#held.delete(key);
    this.#bytes -= value.bytes;
    value.leave?.();
  }

  clear(): void {
    for (const value of this.#held.values()) value.leave?.();
    this.#held.clear();
    this.#hand = undefined;
    this.#bytes = 0;
  }

  #evict(): void {
    while (this.#bytes > this.#maxBytes && this.#held.size > 0) {
      this.#hand ??= this.#held.entries();
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
      value.ease?.();
      this.#bytes += value.bytes - before;
    }
  }
}
