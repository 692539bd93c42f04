export interface CacheOptions {
  /** With several replicas, responses of those that lag behind are discarded. */
  replicas: number;
  /** Approximate bytes of heap for cached messages. Default 16 MiB. */
  maxBytes?: number;
  /** Maximum messages in all cached indexes. Default 250,000, at about 100 bytes each. */
  maxIndexMessages?: number;
  /** Milliseconds between two health checks of the broker. Default 1,000. */
  checkMs?: number;
  /** Milliseconds that a write waits until the change feed has delivered it. Default 2,000. */
  patienceMs?: number;
  /** Whether to freeze cached JSON, so that tests find code that changes it. */
  freeze?: boolean;
  /** Called with the subject of each message that is stored in a followed stream. */
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
