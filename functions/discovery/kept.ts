/** What is made from everything that is published, made once for each state of it. */
import type { Deps } from "../../shared/deps.ts";
import { listBucket } from "../../shared/store/store.ts";
import { kvSubject, streams } from "../../shared/store/subjects.ts";
import type { Store, StreamInfo } from "../../shared/store/types.ts";

/** A store that notes how far the replicas were that answered its lists: the last sequence of each bucket that was met. */
function noting(store: Store, met: Map<string, number>): Store {
  return {
    ...store,
    kvList: (bucket, filter, bounds) =>
      listBucket(store.scan, bucket, filter, bounds, ({ seq }) => met.set(bucket, seq)),
  };
}

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
    const infos = await Promise.all(this.#buckets.map((bucket) => deps.store.streamInfo(streams.kv(bucket))));
    const state = this.#state(deps, infos);
    if (this.#known?.state === state) return this.#known.value;
    const met = new Map<string, number>();
    const value = await this.#make({ ...deps, store: noting(deps.store, met) });
    // The leader told the state, and any replica the lists: what one that lags made of them is answered once.
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

/** Whether lists that met so much held all there was. One request where what came last has vanished since. */
async function reached(deps: Deps, bucket: string, last: number, met: number): Promise<boolean> {
  if (met >= last) return true;
  // A deleted key's marker goes by itself, and leaves no message of the last sequence.
  const newest = await deps.store.get(streams.kv(bucket), kvSubject(bucket, ">"));
  return met >= (newest?.seq ?? 0);
}
