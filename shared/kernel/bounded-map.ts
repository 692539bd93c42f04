/** A map with a maximum size. When the map is full, a new key replaces the key that was set least recently. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #most: number;

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

/**
 * Values that a host keeps from one request to the next. They must be plain data, because in workerd a request cannot
 * use another request's promises or connections. A host is known by its settings, because a process may run several.
 */
export class PerHost<T> {
  readonly #hosts = new WeakMap<object, BoundedMap<string, T>>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get(config: object, name: string): T | undefined {
    return this.#hosts.get(config)?.get(name);
  }

  set(config: object, name: string, value: T): T {
    const values = this.#hosts.get(config) ?? new BoundedMap<string, T>(this.#most);
    this.#hosts.set(config, values);
    values.set(name, value);
    return value;
  }
}
