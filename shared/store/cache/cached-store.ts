/**
 * A store for long-lived processes, with a cache in front of it. The cache answers `get`, `getMany` and `kvGet` with
 * consistency `"cached"` or `"stale"` for entry heads, live copies, live definitions and sessions, and pages of indexes
 * (creation order, equality). Everything else, and every read with `"leader"`, goes to the broker.
 *
 * How the cache stays consistent:
 *
 * - **Change feed** (`cache/feed.ts`). The `republish` setting of each stream in use delivers every stored message in
 *   sequence order. Each event replaces the cached value of its subject. Nothing expires by time.
 * - **Epochs.** An epoch is a period without gaps in a stream's feed, and each cached value belongs to one. A gap in
 *   the sequences, a broken connection, an event that does not arrive in time, or a purge ends the epoch. This
 *   invalidates every cached value of the stream at once. Reads go to the broker until the stream is followed again. A
 *   changed definition ends the epoch of its orb.
 * - **Filling** (`cache/last-messages.ts`, `cache/index-cache.ts`). A read is cached only in the epoch in which it
 *   began. Events that arrive during the read are kept, and the higher sequence wins.
 * - **Read your writes.** A write resolves only after its own event has arrived and been applied. So no later read
 *   returns a state from before an acknowledged write of this process. Writes of other processes are visible when their
 *   events arrive.
 * - **Audits** (`cache/stream-cache.ts`). The feed alone does not show that the last event was lost, or that the broker
 *   is silent. So the cache pings the broker every second. Every five seconds it requests the last sequence and the
 *   identity of each stream in use.
 * - **Replicas.** With several replicas, a response from one that lags behind the feed or this process's writes is
 *   neither returned nor cached.
 * - **Dependencies** (`cache/dependencies.ts`). A response cache records the cached values that a response was made
 *   from. It may reuse the response while all of them are valid.
 * - **Eviction** (`cache/sieve-cache.ts`). Limited in bytes, with SIEVE.
 */
import { withGroupCommit } from "../broker/group-commit.ts";
import { MULTI_LAST_LIMIT } from "../broker/read.ts";
import { isMarker, kvEntry, type OpenStore, openStore } from "../broker/store.ts";
import type { ConnectOptions } from "../client/connection.ts";
import { FOLLOWED, isIndexFilter, isStateSubject, kvSubject, streams } from "../subjects.ts";
import type { ReadOptions, Store } from "../types.ts";
import type { DependencyTracker } from "./dependencies.ts";
import type { CacheOptions, CacheStats } from "./options.ts";
import { StreamCache } from "./stream-cache.ts";

export { DependencyTracker, type EntryDependencies } from "./dependencies.ts";
export type { CacheOptions, CacheStats } from "./options.ts";
export { type Evictable, SieveCache } from "./sieve-cache.ts";

export interface CachedStore extends Store {
  stats(): CacheStats;
  /** Returns the same store for one request, which adds the dependencies of its response to the tracker. */
  tracked(tracker: DependencyTracker): Store;
}

/**
 * Puts a cache in front of a store with a long-lived connection.
 * @returns the store, and a function to call when its connection breaks
 */
export function cachedStore(
  store: OpenStore,
  options: CacheOptions,
): { store: CachedStore; broken: () => void } {
  const cache = new StreamCache(store, options);
  const may = (read?: ReadOptions) => (read?.consistency ?? "leader") !== "leader";

  /** The reads that the cache may answer. */
  function reads(tracker?: DependencyTracker): Pick<Store, "get" | "getMany" | "scan" | "kvGet"> {
    const get: Store["get"] = async (stream, subject, read) => {
      if (may(read) && isIndexFilter(subject)) {
        const last = cache.last(stream, subject, tracker);
        if (last !== undefined) return last;
      } else if (may(read) && isStateSubject(subject)) {
        const known = cache.read(stream, [subject], read, tracker);
        if (known !== undefined) return (await known).get(subject) ?? null;
      }
      cache.uncached(stream, tracker);
      return store.get(stream, subject, read);
    };
    return {
      get,
      getMany(stream, subjects, read) {
        const states = subjects.length <= MULTI_LAST_LIMIT && subjects.every(isStateSubject);
        const known = may(read) && states ? cache.read(stream, subjects, read, tracker) : undefined;
        if (known !== undefined) return known;
        cache.uncached(stream, tracker);
        return store.getMany(stream, subjects, read);
      },
      scan(stream, filter, page) {
        const known =
          // Messages of an index are small and already in memory, so `maxBytes` is not checked.
          isIndexFilter(filter) ? cache.page(stream, filter, page.fromSeq, page.limit, tracker) : undefined;
        if (known !== undefined) return Promise.resolve(known);
        cache.uncached(stream, tracker);
        return store.scan(stream, filter, page);
      },
      async kvGet(bucket, key, read) {
        if (FOLLOWED.includes(bucket) && may(read)) {
          const message = await get(streams.kv(bucket), kvSubject(bucket, key), read);
          return message === null || isMarker(message) ? null : kvEntry(bucket, message);
        }
        tracker?.markUncacheable();
        return store.kvGet(bucket, key, read);
      },
    };
  }

  const cached: CachedStore = {
    ...store,
    ...reads(),
    isCached: true,
    stats: () => cache.stats(),
    // All requests share the connection, so one request must not close it.
    tracked: (tracker) => marking({ ...cached, ...reads(tracker), close: async () => undefined }, tracker),
    async append(stream, message) {
      const seq = await store.append(stream, message);
      await cache.caughtUp(stream, seq);
      return seq;
    },
    async batch(stream, messages) {
      const seq = await store.batch(stream, messages);
      await cache.caughtUp(stream, seq);
      return seq;
    },
    async pipeline(stream, messages) {
      const seqs = await store.pipeline(stream, messages);
      await cache.caughtUp(stream, Math.max(0, ...seqs));
      return seqs;
    },
    async kvPut(bucket, key, value, write) {
      const seq = await store.kvPut(bucket, key, value, write);
      await cache.caughtUp(streams.kv(bucket), seq);
      return seq;
    },
    async kvDelete(bucket, key, write) {
      const seq = await store.kvDelete(bucket, key, write);
      await cache.caughtUp(streams.kv(bucket), seq);
      return seq;
    },
    async deleteStream(stream) {
      try {
        return await store.deleteStream(stream);
      } finally {
        cache.streamDeleted(stream);
      }
    },
    async purge(stream, filter, purge) {
      try {
        return await store.purge(stream, filter, purge);
      } finally {
        cache.invalidate(stream);
      }
    },
    async close() {
      cache.close();
      await store.close();
    },
  };
  return { store: cached, broken: () => cache.broken() };
}

/** Calls whose dependencies are tracked. Any other call makes the response uncacheable. */
const TRACKED: ReadonlySet<PropertyKey> = new Set(["get", "getMany", "scan", "kvGet", "isCached"]);

function marking(store: Store, tracker: DependencyTracker): Store {
  return new Proxy(store, {
    get(target, name, receiver) {
      if (!TRACKED.has(name)) tracker.markUncacheable();
      return Reflect.get(target, name, receiver);
    },
  });
}

/** Opens a store for a long-lived process: one connection that reconnects, a cache, and group commit. */
export function openCachedStore(
  connect: ConnectOptions & { replicas: number },
  options: Omit<CacheOptions, "replicas"> = {},
): CachedStore {
  const inner = openStore({
    ...connect,
    reconnect: true,
    onStatus(status) {
      if (status === "disconnected" || status === "closed") broken();
      connect.onStatus?.(status);
    },
  });
  const { store, broken } = cachedStore(withGroupCommit(inner), { ...options, replicas: connect.replicas });
  return store;
}
