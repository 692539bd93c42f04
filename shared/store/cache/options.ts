/**
 * How far apart the messages of an index may be for a host to keep it in memory, as numbers of messages of the stream.
 * To read an index, the broker loads a file for about each 16,000 messages of the stream, which takes it about 10 ms.
 */
export interface Reach {
  /** An index is always kept if all of it is within this many messages. */
  near: number;
  /** An index is never kept if it reaches over more messages than this. */
  far: number;
  /** Between these limits, an index is kept if its messages are at most this far apart on average. */
  gap: number;
}

export const REACH: Reach = { near: 250_000, far: 1_000_000, gap: 200 };

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
  /** Which indexes are kept in memory. Default {@link REACH}. */
  reach?: Reach;
  /** Milliseconds between two health checks of the broker. Default 1,000. */
  checkMs?: number;
  /** Maximum milliseconds that a write waits until its message has arrived through the change feed. Default 2,000. */
  patienceMs?: number;
  /** Whether to freeze cached JSON objects, so that tests fail if code changes one. */
  freeze?: boolean;
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
