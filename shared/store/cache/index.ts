export {
  type CachedStore,
  type CacheStats,
  DependencyTracker,
  type Evictable,
  openCachedStore,
  SieveCache,
} from "./cached-store.ts";
