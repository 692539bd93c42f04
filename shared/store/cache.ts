/**
 * A store for long-lived processes that answers reads of live state from memory: `get`, `getMany` and `kvGet` with
 * `consistency: "told"` or `"any"` of entries' heads, live copies, live definitions and sessions, and pages of indexes (the
 * order of creation, equality).
 *
 * What keeps it true: each stream that is read from is followed through its `republish` (`cache/feed.ts`). A reading that
 * is remembered began while the stream was followed, and what was told meanwhile wins by its sequence. A write of this
 * process resolves once its own echo has been told, so nobody is answered from before an acknowledged write. When
 * anything may have been missed (a gap, a break, a purge) everything known of the stream is forgotten at once.
 */
import { Cache, type CacheOptions, type CacheStats } from "./cache/live.ts";
import type { Trace } from "./cache/trace.ts";
import { grouped } from "./group.ts";
import { MULTI_LAST_LIMIT } from "./read.ts";
import { isMarker, kvEntry, type OpenStore, openStore } from "./store.ts";
import { FOLLOWED, isIndexFilter, isStateSubject, kvSubject, streams } from "./subjects.ts";
import type { ReadOptions, Store } from "./types.ts";
import type { ConnectOptions } from "./wire.ts";

export { Bounded, type Held } from "./cache/bounded.ts";
export type { CacheOptions, CacheStats } from "./cache/live.ts";
export { type Ground, type Pair, Trace } from "./cache/trace.ts";

export interface CachedStore extends Store {
  stats(): CacheStats;
  /** The same store for one request, which notes what the answer is made of. */
  traced(trace: Trace): Store;
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
  const may = (read?: ReadOptions) => (read?.consistency ?? "leader") !== "leader";

  /** The reads that memory may answer. */
  function reads(trace?: Trace): Pick<Store, "get" | "getMany" | "scan" | "kvGet"> {
    const get: Store["get"] = async (stream, subject, read) => {
      if (may(read) && isIndexFilter(subject)) {
        const last = cache.last(stream, subject, trace);
        if (last !== undefined) return last;
      } else if (may(read) && isStateSubject(subject)) {
        const known = cache.read(stream, [subject], read, trace);
        if (known !== undefined) return (await known).get(subject) ?? null;
      }
      cache.asked(stream, trace);
      return store.get(stream, subject, read);
    };
    return {
      get,
      getMany(stream, subjects, read) {
        const states = subjects.length <= MULTI_LAST_LIMIT && subjects.every(isStateSubject);
        const known = may(read) && states ? cache.read(stream, subjects, read, trace) : undefined;
        if (known !== undefined) return known;
        cache.asked(stream, trace);
        return store.getMany(stream, subjects, read);
      },
      scan(stream, filter, page) {
        const known =
          page.maxBytes === undefined && isIndexFilter(filter)
            ? cache.page(stream, filter, page.fromSeq, page.limit, trace)
            : undefined;
        if (known !== undefined) return Promise.resolve(known);
        cache.asked(stream, trace);
        return store.scan(stream, filter, page);
      },
      async kvGet(bucket, key, read) {
        if (FOLLOWED.includes(bucket) && may(read)) {
          const message = await get(streams.kv(bucket), kvSubject(bucket, key), read);
          return message === null || isMarker(message) ? null : kvEntry(bucket, message);
        }
        trace?.spoil();
        return store.kvGet(bucket, key, read);
      },
    };
  }

  const cached: CachedStore = {
    ...store,
    ...reads(),
    remembers: true,
    stats: () => cache.stats(),
    // The connection is everybody's: who asks for one request does not close it.
    traced: (trace) => spoiling({ ...cached, ...reads(trace), close: async () => undefined }, trace),
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
    async kvPut(bucket, key, value, write) {
      const seq = await store.kvPut(bucket, key, value, write);
      await cache.seen(streams.kv(bucket), seq);
      return seq;
    },
    async kvDelete(bucket, key, write) {
      const seq = await store.kvDelete(bucket, key, write);
      await cache.seen(streams.kv(bucket), seq);
      return seq;
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

/** What an answer that is given again may be made of. Any other call makes the answer uncacheable. */
const TRACED: ReadonlySet<PropertyKey> = new Set(["get", "getMany", "scan", "kvGet", "remembers"]);

function spoiling(store: Store, trace: Trace): Store {
  return new Proxy(store, {
    get(target, name, receiver) {
      if (!TRACED.has(name)) trace.spoil();
      return Reflect.get(target, name, receiver);
    },
  });
}

/**
 * Opens a store for a long-lived process: one connection that comes back by itself, with memory in front of it, and what
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
  const { store, broken } = cachedStore(grouped(inner), { ...options, replicas: connect.replicas });
  return store;
}
