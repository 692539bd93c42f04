/**
 * A store for long-lived processes that answers reads of live state from memory: `get`, `getMany` and `kvGet` with
 * `consistency: "any"` of entries' heads, live copies and live definitions, and pages of indexes (the order of creation,
 * equality).
 *
 * What keeps it true: each stream that is read from is followed through its `republish` (`cache/feed.ts`). A reading that
 * is remembered began while the stream was followed, and what was told meanwhile wins by its sequence. A write of this
 * process resolves once its own echo has been told, so nobody is answered from before an acknowledged write. When
 * anything may have been missed (a gap, a break, a purge) everything known of the stream is forgotten at once.
 */
import { Cache, type CacheOptions, type CacheStats } from "./cache/live.ts";
import { MULTI_LAST_LIMIT } from "./read.ts";
import { isMarker, kvEntry, type OpenStore, openStore } from "./store.ts";
import { buckets, isIndexFilter, isStateSubject, kvSubject, streams } from "./subjects.ts";
import type { ReadOptions, Store } from "./types.ts";
import type { ConnectOptions } from "./wire.ts";

export type { CacheOptions, CacheStats } from "./cache/live.ts";

export interface CachedStore extends Store {
  stats(): CacheStats;
}

/**
 * Puts memory in front of a store whose connection stays.
 * @returns the store, and what must be told of its connection
 */
export function cachedStore(
  store: OpenStore,
  options: CacheOptions,
): { store: CachedStore; broken: () => void } {
  const cache = new Cache(store, options);
  const any = (read?: ReadOptions) => read?.consistency === "any";

  const get: Store["get"] = async (stream, subject, read) => {
    if (!any(read)) return store.get(stream, subject, read);
    if (isIndexFilter(subject)) {
      const last = cache.last(stream, subject);
      return last === undefined ? store.get(stream, subject, read) : last;
    }
    const known = isStateSubject(subject) ? cache.read(stream, [subject]) : undefined;
    return known === undefined ? store.get(stream, subject, read) : ((await known).get(subject) ?? null);
  };

  const cached: CachedStore = {
    ...store,
    remembers: true,
    stats: () => cache.stats(),
    get,
    getMany(stream, subjects, read) {
      const may =
        any(read) &&
        read?.upToTime === undefined &&
        subjects.length <= MULTI_LAST_LIMIT &&
        subjects.every(isStateSubject);
      return (may ? cache.read(stream, subjects) : undefined) ?? store.getMany(stream, subjects, read);
    },
    scan(stream, filter, page) {
      const known =
        page.maxBytes === undefined && isIndexFilter(filter)
          ? cache.page(stream, filter, page.fromSeq, page.limit)
          : undefined;
      return known === undefined ? store.scan(stream, filter, page) : Promise.resolve(known);
    },
    async append(stream, message) {
      const seq = await store.append(stream, message);
      await cache.seen(stream, seq);
      return seq;
    },
    async batch(stream, messages) {
      const seq = await store.batch(stream, messages);
      await cache.seen(stream, seq);
      return seq;
    },
    async pipeline(stream, messages) {
      const seqs = await store.pipeline(stream, messages);
      await cache.seen(stream, Math.max(0, ...seqs));
      return seqs;
    },
    async kvGet(bucket, key, read) {
      if (bucket !== buckets.orbs || !any(read)) return store.kvGet(bucket, key, read);
      const message = await get(streams.kv(bucket), kvSubject(bucket, key), read);
      return message === null || isMarker(message) ? null : kvEntry(bucket, message);
    },
    async kvPut(bucket, key, value, write) {
      const seq = await store.kvPut(bucket, key, value, write);
      await cache.seen(streams.kv(bucket), seq);
      return seq;
    },
    async kvDelete(bucket, key, write) {
      await store.kvDelete(bucket, key, write);
      cache.forget(streams.kv(bucket));
    },
    async deleteStream(stream) {
      try {
        return await store.deleteStream(stream);
      } finally {
        cache.gone(stream);
      }
    },
    async purge(stream, filter, purge) {
      try {
        return await store.purge(stream, filter, purge);
      } finally {
        cache.forget(stream);
      }
    },
    async close() {
      cache.close();
      await store.close();
    },
  };
  return { store: cached, broken: () => cache.broken() };
}

/** Opens a store for a long-lived process: one connection that comes back by itself, with memory in front of it. */
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
  const { store, broken } = cachedStore(inner, { ...options, replicas: connect.replicas });
  return store;
}
