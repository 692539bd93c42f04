/**
 * A store for long-lived processes, with a cache in memory. The cache answers reads of entries, published copies,
 * definitions, sessions and indexes with consistency `cached` or `stale`. All other reads go to the broker.
 *
 * How the cache stays consistent:
 *
 * - **Change feed** (`cache/feed.ts`). The broker sends every stored message of a stream, in sequence order. Each
 *   message replaces the cached value of its subject. Values do not expire by time.
 * - **Epochs.** An epoch is a period in which this process received every message of a stream. Each cached value
 *   belongs to one epoch. A gap in the sequences, a lost connection, a late message or a purge ends the epoch, which
 *   invalidates all values of the stream. Reads go to the broker until the feed works again. A changed definition
 *   ends the epoch of its application.
 * - **Filling** (`cache/last-messages.ts`, `cache/index-cache.ts`). A value is cached only in the epoch in which its
 *   read began. If a feed message arrives during the read, the higher sequence wins.
 * - **Read your writes.** A write resolves after its own message has arrived through the feed. So later reads of this
 *   process see it. Writes of other processes are visible when their messages arrive.
 * - **Audits** (`cache/stream-cache.ts`). The feed itself cannot show that its very last message was lost, or that
 *   the broker is silent. So the cache pings the broker every second. Every five seconds, it compares the last
 *   sequence and the identity of each stream.
 * - **Replicas.** A replica's response is discarded if it is older than the feed or than a write of this process.
 * - **Dependencies** (`cache/dependencies.ts`). A response cache records which values a response was made from. It
 *   may repeat the response while all of them are valid.
 * - **Eviction** (`cache/sieve-cache.ts`). The cache is limited in bytes and evicts values with the SIEVE algorithm.
 */
import { MULTI_LAST_LIMIT, type OpenStore, openStore, withGroupCommit } from "../broker/index.ts";
import { type ConnectOptions, isDeletionMarker, kvEntry } from "../client/index.ts";
import { FOLLOWED, isIndexFilter, isOrderedLog, isStateSubject, kvSubject, streams } from "../subjects.ts";
import type { AtLeast, ReadOptions, Store } from "../types.ts";
import type { DependencyTracker } from "./dependencies.ts";
import type { CacheOptions, CacheStats } from "./options.ts";
import { StreamCache } from "./stream-cache.ts";

export { DependencyTracker } from "./dependencies.ts";
export type { CacheOptions, CacheStats } from "./options.ts";
export { type Evictable, SieveCache } from "./sieve-cache.ts";

export interface CachedStore extends Store {
  stats(): CacheStats;
  /**
   * Returns this store for one request. `tracker` records which cached values the request reads, so that its response
   * can be cached until one of them changes.
   */
  tracked(tracker: DependencyTracker): Store;
}

/**
 * Puts a cache in front of a store.
 * @returns the store, and a function to call when its connection is lost
 */
export function cachedStore(
  store: OpenStore,
  options: CacheOptions,
): { store: CachedStore; broken: () => void } {
  const cache = new StreamCache(store, options);
  const may = (read?: ReadOptions) => (read?.consistency ?? "leader") !== "leader";
  /** Returns whether memory lags behind a message that the caller has read. Waits a moment for it. */
  const lags = async (stream: string, read: AtLeast = {}) =>
    read.atLeast !== undefined && !(await cache.reached(stream, read.atLeast));

  function reads(
    tracker?: DependencyTracker,
  ): Pick<Store, "get" | "getMany" | "scan" | "subjects" | "kvGet"> {
    const get: Store["get"] = async (stream, subject, read) => {
      const inMemory = may(read) && !(await lags(stream, read));
      if (inMemory && isIndexFilter(subject)) {
        const last = cache.last(stream, subject, tracker);
        if (last !== undefined) return last;
      } else if (inMemory && isStateSubject(subject)) {
        const known = cache.read(stream, [subject], read, tracker);
        if (known !== undefined) return (await known).get(subject) ?? null;
      }
      cache.uncached(stream, tracker);
      return store.get(stream, subject, read);
    };
    return {
      get,
      async getMany(stream, subjects, read) {
        const states = subjects.length <= MULTI_LAST_LIMIT && subjects.every(isStateSubject);
        const present = may(read) && read.upTo === undefined && !(await lags(stream, read));
        const known = present && states ? cache.read(stream, subjects, read, tracker) : undefined;
        if (known !== undefined) return known;
        cache.uncached(stream, tracker);
        return store.getMany(stream, subjects, read);
      },
      async scan(stream, filter, page) {
        const inMemory = isIndexFilter(filter) && !(await lags(stream, page));
        const known =
          // The limit `maxBytes` does not apply here, because this index is already in memory.
          inMemory ? cache.page(stream, filter, page.fromSeq, page.limit, tracker) : undefined;
        if (known !== undefined) return known;
        cache.uncached(stream, tracker);
        return store.scan(stream, filter, page);
      },
      subjects: (stream, filter) => cache.subjects(stream, filter, tracker),
      async kvGet(bucket, key, read) {
        if (FOLLOWED.includes(bucket) && may(read)) {
          const message = await get(streams.kv(bucket), kvSubject(bucket, key), read);
          return message === null || isDeletionMarker(message) ? null : kvEntry(bucket, message);
        }
        tracker?.markUncacheable();
        return store.kvGet(bucket, key, read);
      },
    };
  }

  /** Waits until this cache has received a message that this process wrote. */
  const seen = async (stream: string, seq: number) => {
    await cache.caughtUp(stream, seq);
    return seq;
  };
  const cached: CachedStore = {
    ...store,
    ...reads(),
    isCached: true,
    reached: (stream, seq) => cache.caughtUp(stream, seq),
    stats: () => cache.stats(),
    // All requests share one connection to the broker. A single request must not close it, so its `close` does nothing.
    tracked: (tracker) => marking({ ...cached, ...reads(tracker), close: async () => undefined }, tracker),
    append: async (stream, message) => seen(stream, await store.append(stream, message)),
    batch: async (stream, messages) => seen(stream, await store.batch(stream, messages)),
    async pipeline(stream, messages) {
      const seqs = await store.pipeline(stream, messages);
      await cache.caughtUp(stream, Math.max(0, ...seqs));
      return seqs;
    },
    kvPut: async (bucket, key, value, write) =>
      seen(streams.kv(bucket), await store.kvPut(bucket, key, value, write)),
    kvDelete: async (bucket, key, write) =>
      seen(streams.kv(bucket), await store.kvDelete(bucket, key, write)),
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
        // Purging an ordered index's log removes only messages that readers no longer need. So cached values stay
        // valid.
        if (!isOrderedLog(filter)) cache.invalidate(stream);
      }
    },
    async close() {
      cache.close();
      await store.close();
    },
  };
  return { store: cached, broken: () => cache.broken() };
}

/** Store methods whose results can be cached. If a request calls any other method, its response is not cached. */
const TRACKED: ReadonlySet<PropertyKey> = new Set([
  "get",
  "getMany",
  "scan",
  "subjects",
  "kvGet",
  "isCached",
]);

function marking(store: Store, tracker: DependencyTracker): Store {
  return new Proxy(store, {
    get(target, name, receiver) {
      if (!TRACKED.has(name)) tracker.markUncacheable();
      return Reflect.get(target, name, receiver);
    },
  });
}

/**
 * Opens a store for a long-lived process. It reconnects to the broker, caches reads in memory and combines concurrent
 * writes.
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
