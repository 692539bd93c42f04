export interface CacheOptions {
  /** Replicas of the streams; with more than one, a reading counts only if its replica was far enough. */
  replicas: number;
  /** Bytes of heap that cached messages may take, roughly. Default 16 MiB. */
  maxBytes?: number;
  /** Index messages that are kept, over all indexes. Default 250,000 (about 100 bytes each). */
  maxIndexMessages?: number;
  /** Milliseconds between two checks that the broker is there and nothing was missed at the end. Default 1,000. */
  checkMs?: number;
  /** Milliseconds that an acknowledged write waits for its own event (its echo). Default 2,000. */
  patienceMs?: number;
  /** Freeze the JSON that is shared: tests find code that changes it. */
  freeze?: boolean;
  /** Called with the subject of each message that is stored in a stream that is followed. */
  onStored?: (subject: string) => void;
}

/** The current state of the cache, for metrics and tests. */
export interface CacheStats {
  hits: number;
  misses: number;
  subjects: number;
  bytes: number;
  /** Indexes in memory, and messages in them. */
  indexes: number;
  indexMessages: number;
  feeds: number;
  /** How often everything of a stream was invalidated. */
  resets: number;
}
