/**
 * A store for long-lived processes, with a cache in front of it. It answers `get`, `getMany` and `kvGet` with `consistency:
 * "cached"` or `"stale"` of entries' heads, live copies, live definitions and sessions, and pages of indexes (the order of
 * creation, equality). Everything else, and every read with `"leader"`, goes to the broker.
 *
 * How the cache stays consistent:
 *
 * - **Change feed** (`cache/feed.ts`). Each stream that is read from is followed through its `republish`, which brings every
 *   stored message in the order of the sequences. Each event replaces what is cached of its subject: nothing expires by time.
 * - **Epochs.** The time in which a stream is followed without a gap is an epoch, and what is cached belongs to one. A gap in
 *   the sequences, a broken connection, an event that does not come in time or a purge ends it: that invalidates everything of
 *   the stream at once, and until it is followed again reads go to the broker. A changed definition ends its orb's.
 * - **Filling** (`cache/last-messages.ts`, `cache/index-cache.ts`). A read is cached only in the epoch in which it began. Events
 *   that come while it is in flight are kept, and the larger sequence wins.
 * - **Read your writes.** A write resolves once its own event has come back and was applied: nobody is answered from before a
 *   write that this process was acknowledged. Writes of other processes are seen when their events come.
 * - **Audits** (`cache/stream-cache.ts`). Nothing shows that the last event was lost, or that the broker has fallen silent: so the
 *   broker is pinged every second, and asked every five for the last sequence of each stream in use, and whether it is still
 *   the same stream.
 * - **Replicas.** With several, a reading of one that is behind the feed or our own writes is neither answered nor cached.
 * - **Dependencies** (`cache/dependencies.ts`). Whoever caches whole answers notes of which cached values one was made; it may
 *   be given again as long as all of them are valid.
 * - **Eviction** (`cache/sieve-cache.ts`). Bounded in bytes, by SIEVE.
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
  /** The same store for one request; the dependencies of its answer are added to the tracker. */
  tracked(tracker: DependencyTracker): Store;
}

/**
 * Puts a cache in front of a store whose connection stays.
 * @returns the store, and what to call when its connection breaks
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
          // Messages of an index are small, and these are in memory anyway.
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
    // The connection is everybody's: who asks for one request does not close it.
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

/** Calls whose dependencies are tracked. Any other makes the answer uncacheable. */
const TRACKED: ReadonlySet<PropertyKey> = new Set(["get", "getMany", "scan", "kvGet", "remembers"]);

function marking(store: Store, tracker: DependencyTracker): Store {
  return new Proxy(store, {
    get(target, name, receiver) {
      if (!TRACKED.has(name)) tracker.markUncacheable();
      return Reflect.get(target, name, receiver);
    },
  });
}

/**
 * Opens a store for a long-lived process: one connection that comes back by itself, with a cache in front of it, and what
 * is written at the same time written together.
 */
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
