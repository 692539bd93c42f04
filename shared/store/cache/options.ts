export interface CacheOptions {
  /**
   * Number of copies of each stream in the broker's cluster. With more than one, responses of copies that lag behind
   * are discarded.
   */
  replicas: number;
  /** Maximum bytes of memory for cached messages, approximately. Default 16 MiB. */
  maxBytes?: number;
  /** Maximum messages in all cached indexes. Default 250,000, at about 100 bytes each. */
  maxIndexMessages?: number;
  /** Milliseconds between two health checks of the broker. Default 1,000. */
  checkMs?: number;
  /** Maximum milliseconds that a write waits until its message has arrived through the change feed. Default 2,000. */
  patienceMs?: number;
  /** Whether to freeze cached JSON objects, so that tests fail if code changes one. */
  freeze?: boolean;
  /** Called with the subject of each new message in a cached stream. */
  onStored?: (subject: string) => void;
}

export interface CacheStats {
  hits: number;
  misses: number;
  subjects: number;
  bytes: number;
  indexes: number;
  indexMessages: number;
  feeds: number;
  resets: number;
}
