/**
 * Values that a host keeps from one request to the next. They must be plain data, because in workerd a request cannot
 * use another request's promises or connections.
 */
import type { Config } from "../deps.ts";
import { BoundedMap } from "../kernel/bounded-map.ts";

export class PerHost<T> {
  readonly #hosts = new WeakMap<Config, BoundedMap<string, T>>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get(config: Config, name: string): T | undefined {
    return this.#hosts.get(config)?.get(name);
  }

  set(config: Config, name: string, value: T): T {
    const values = this.#hosts.get(config) ?? new BoundedMap<string, T>(this.#most);
    this.#hosts.set(config, values);
    values.set(name, value);
    return value;
  }
}
