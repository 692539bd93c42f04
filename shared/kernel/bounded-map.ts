/** A map of limited size. It drops the value that was set first, so set a value again to keep it. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #most: number;

  /** @param most maximum number of values */
  constructor(most: number) {
    super();
    this.#most = most;
  }

  override set(key: K, value: V): this {
    this.delete(key);
    for (const oldest of this.keys()) {
      if (this.size < this.#most) break;
      this.delete(oldest);
    }
    return super.set(key, value);
  }
}
