export interface CacheOptions {
  /** Number of replicas of the streams. With more than one, a read counts only if its replica had caught up. */
  replicas: number;
  /** Approximate bytes of heap for cached messages. Default 16 MiB. */
  maxBytes?: number;
  /** Maximum index messages over all indexes. Default 250,000 (about 100 bytes each). */
  maxIndexMessages?: number;
  /** Milliseconds between two checks that the broker responds and no last event was missed. Default 1,000. */
  checkMs?: number;
  /** Milliseconds that an acknowledged write waits for its own event. Default 2,000. */
  patienceMs?: number;
  /** Freezes the shared JSON, so that tests find code that changes it. */
  freeze?: boolean;
  /** Called with the subject of each message that is stored in a followed stream. */
  onStored?: (subject: string) => void;
}

/** The current state of the cache, for metrics and tests. */
export interface CacheStats {
  hits: number;
  misses: number;
  subjects: number;
  bytes: number;
  /** Number of indexes in memory, and of messages in them. */
  indexes: number;
  indexMessages: number;
  feeds: number;
  /** Number of times that a stream was invalidated. */
  resets: number;
}
