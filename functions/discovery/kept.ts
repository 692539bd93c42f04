/** What is made from everything that is published, made once for each state of it. */
import type { Deps } from "../../shared/deps.ts";
import { streams } from "../../shared/store/subjects.ts";

/**
 * A value that depends on nothing but buckets, kept until one of them changes. It is a pure value, so that requests may
 * share it; what makes it is never shared.
 */
export class Kept<T> {
  readonly #buckets: readonly string[];
  readonly #make: (deps: Deps) => Promise<T>;
  #known: { state: string; value: T } | undefined;

  constructor(buckets: readonly string[], make: (deps: Deps) => Promise<T>) {
    this.#buckets = buckets;
    this.#make = make;
  }

  /** One small request for each bucket, all at once; more only when something has changed. */
  async get(deps: Deps): Promise<T> {
    // The state is read first: what changes in between is met by the next request.
    const state = await this.#state(deps);
    if (this.#known?.state === state) return this.#known.value;
    const value = await this.#make(deps);
    this.#known = { state, value };
    return value;
  }

  async #state(deps: Deps): Promise<string> {
    const infos = await Promise.all(this.#buckets.map((bucket) => deps.store.streamInfo(streams.kv(bucket))));
    const facts = infos.map((info) => [info?.state.last_seq, info?.state.messages, info?.state.bytes]);
    return JSON.stringify([deps.config.publicUrl, facts]);
  }
}
