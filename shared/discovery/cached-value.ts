import type { Deps } from "../deps.ts";
import type { HandlerDeps } from "../handlers/contract/index.ts";
import { listBucket } from "../store/broker/index.ts";
import { buckets, kvSubject, streams } from "../store/subjects.ts";
import type { Store, StreamInfo } from "../store/types.ts";

/** Key-value buckets from which descriptions are computed, besides the definitions. */
export const DESCRIBED: readonly string[] = [buckets.handlers];
/** Key-value buckets from which the overview is computed, besides the definitions. */
export const LISTED: readonly string[] = [...DESCRIBED, buckets.streamMappings];

function recordingStore(store: Store, met: Map<string, number>): Store {
  return {
    ...store,
    kvList: (bucket, filter, bounds) =>
      listBucket(store.scan, bucket, filter, bounds, ({ seq }) => met.set(bucket, seq)),
  };
}

/**
 * A value computed from key-value buckets. Requests share the value, but not a running computation: it uses the broker
 * connection of the request that began it.
 */
export class CachedValue<T> {
  readonly #buckets: readonly string[];
  readonly #make: (deps: HandlerDeps) => Promise<T>;
  #known: { state: string; value: T } | undefined;

  constructor(buckets: readonly string[], make: (deps: HandlerDeps) => Promise<T>) {
    this.#buckets = buckets;
    this.#make = make;
  }

  async get(deps: HandlerDeps): Promise<T> {
    // Read the state of the buckets before the computation. A change during the computation then shows, and the next
    // request computes the value again.
    const infos = await Promise.all(this.#buckets.map((bucket) => deps.store.streamInfo(streams.kv(bucket))));
    const state = this.#state(deps, infos);
    if (this.#known?.state === state) return this.#known.value;
    const met = new Map<string, number>();
    const value = await this.#make({ ...deps, store: recordingStore(deps.store, met) });
    // A replica with old data may have answered. Do not cache a value that was computed from old data.
    const fresh = await Promise.all(
      this.#buckets.map((bucket, i) =>
        reached(deps, bucket, infos[i]?.state.last_seq ?? 0, met.get(bucket) ?? 0),
      ),
    );
    if (!fresh.includes(false)) this.#known = { state, value };
    return value;
  }

  #state(deps: Deps, infos: readonly (StreamInfo | null)[]): string {
    const facts = infos.map((info) => [info?.state.last_seq, info?.state.messages, info?.state.bytes]);
    return JSON.stringify([deps.config.publicUrl, facts]);
  }
}

/** Returns whether the computation has read all messages of the bucket. */
async function reached(deps: Deps, bucket: string, last: number, met: number): Promise<boolean> {
  if (met >= last) return true;
  // The last message of the bucket may be a deletion marker that has expired. Then no message has the last sequence
  // number.
  const newest = await deps.store.get(streams.kv(bucket), kvSubject(bucket, ">"));
  return met >= (newest?.seq ?? 0);
}
