/** What a host remembers between requests. Numbers only: in workerd, requests must not share anything that waits. */
import type { Config } from "../deps.ts";

/** Values by name for each host, of which there may be several in one process; the oldest is forgotten first. */
export class PerHost<T> {
  readonly #hosts = new WeakMap<Config, Map<string, T>>();
  readonly #most: number;

  constructor(most: number) {
    this.#most = most;
  }

  get(config: Config, name: string): T | undefined {
    return this.#hosts.get(config)?.get(name);
  }

  set(config: Config, name: string, value: T): T {
    const values = this.#hosts.get(config) ?? new Map<string, T>();
    this.#hosts.set(config, values);
    values.delete(name);
    const [oldest] = values.keys();
    if (values.size >= this.#most && oldest !== undefined) values.delete(oldest);
    values.set(name, value);
    return value;
  }
}
