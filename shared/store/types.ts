export interface StoredMessage {
  readonly subject: string;
  readonly seq: number;
  /** Milliseconds since the epoch. */
  readonly time: number;
  readonly data: Uint8Array;
  /** Size of the body in bytes. For a cached message, this is faster than `data.length`. */
  readonly size: number;
  header(name: string): string | undefined;
  text(): string;
  /** Parses the body as JSON. The type `T` is not validated. */
  json<T>(): T;
}

/**
 * A condition of a write (optimistic concurrency). The write fails if a subject's last message does not have the
 * expected sequence number.
 */
export interface Expectation {
  /** Sequence number of the subject's last message, or 0 if there must be none. */
  seq: number;
  /** The subject whose last message is checked. Default: the subject of the written message. */
  subject?: string;
}

/** Maximum messages of an atomic batch with the default settings of the broker. Most writes stay below this. */
export const BATCH_LIMIT = 1000;
/** Maximum messages of the atomic batch of a whole change set: the broker's setting `limits.batch.max_msgs`. */
export const LARGE_BATCH_LIMIT = 20_000;

export interface Append {
  subject: string;
  data: string | Uint8Array;
  expect?: Expectation;
  /** Expected last sequence number of the whole stream. */
  expectStreamSeq?: number;
  /** Whether the message replaces all earlier messages of its subject. */
  rollup?: boolean;
  /** Seconds until the broker removes the message. */
  ttl?: number;
  headers?: Record<string, string>;
}

/**
 * Where a read may get its data from.
 * - `leader` sees every acknowledged write.
 * - `stale` may come from a replica that lags by milliseconds.
 * - `cached` may come from this process's cache, which sees all writes of this process and, after a short delay, those
 *   of other processes.
 */
export type Consistency = "leader" | "cached" | "stale";

/** A read that may lag. */
export interface AtLeast {
  /**
   * The read must include all messages up to this sequence number. If a replica or a cache does not have them yet, it
   * waits, or the leader answers. The leader must have this number.
   */
  atLeast?: number;
}

export interface ReadOptions extends AtLeast {
  consistency?: Consistency;
}

/** Every read of several messages has a byte limit. Without one, it could exhaust the memory of a Worker. */
export interface Bounded {
  maxBytes: number;
}

export type UpTo = number | { time: number };

export interface ReadManyOptions extends ReadOptions, Bounded {
  /**
   * Reads the state as of an earlier sequence number: the last message of each subject up to that number. A replica
   * that does not have this number yet returns nothing. If a time is given too (milliseconds since the epoch), later
   * messages are ignored.
   */
  upTo?: UpTo;
}

/**
 * `atLeast` concerns the end of the scan: a page that ends before the end of the index may have messages that are no
 * longer there.
 */
export interface ScanOptions extends Bounded, AtLeast {
  fromSeq: number;
  limit: number;
  /**
   * Set if the caller does not need an exact `pending`. If the filter matched very many messages before, the result then
   * has an earlier number, and the broker need not count them again. `pending` is 0 only if nothing follows the page.
   */
  roughly?: boolean;
}

export interface Page {
  messages: StoredMessage[];
  /** Number of matching messages that follow the page. */
  pending: number;
  lastSeq: number;
}

export interface Place {
  number: number;
  seq: number;
}

export interface KvEntry {
  key: string;
  revision: number;
  /** Milliseconds since the epoch. */
  time: number;
  text(): string;
  json<T>(): T;
}

export interface KvWrite {
  /**
   * The write fails unless the key has this revision; use 0 for a key that must not exist. Without `expect`, the write
   * overwrites any value.
   */
  expect?: number;
  /** Expected last revision of the whole bucket. */
  expectBucket?: number;
  /** Seconds until the key expires. */
  ttl?: number;
}

/** A stream's configuration as the broker defines it. Durations are in nanoseconds. */
export interface StreamConfig {
  name: string;
  subjects?: string[];
  [setting: string]: unknown;
}

export interface StreamInfo {
  config: StreamConfig;
  /** Time when the stream was created, as RFC 3339 text. */
  created: string;
  state: {
    messages: number;
    bytes: number;
    first_seq: number;
    last_seq: number;
    last_ts: string;
    consumer_count: number;
    /** Number of deleted messages between the stream's first and last message. Absent if there are none. */
    num_deleted?: number;
  };
  /** The copies of a stream. Absent if the broker is not part of a cluster. */
  cluster?: {
    replicas?: readonly {
      name?: string;
      current?: boolean;
      offline?: boolean;
      lag?: number;
      active?: number;
    }[];
  };
}

/** The subjects of a stream that match a filter. */
export interface MatchingSubjects {
  /** In no particular order. */
  subjects: string[];
  /** Size of the whole stream. Undefined if the subjects come from a cache. */
  bytes: number | undefined;
}

export interface Reply {
  readonly data: Uint8Array;
  readonly headerText: string;
  header(name: string): string | undefined;
}

export interface Delivery extends Reply {
  readonly subject: string;
  readonly reply: string | undefined;
}

export interface Subscription {
  unsubscribe(): void;
}

/** The message broker (NATS). Every method throws AppError `unavailable` if the broker does not respond. */
export interface Store {
  /** Whether this store keeps entries and definitions in memory. */
  readonly isCached?: boolean;
  /** Waits until reads from memory show what the broker had stored at a sequence number. Only if {@link isCached}. */
  reached?(stream: string, seq: number): Promise<void>;
  /** Reads the last message that matches a subject, or null. Wildcards are allowed. */
  get(stream: string, subject: string, options?: ReadOptions): Promise<StoredMessage | null>;
  getSeq(stream: string, seq: number, options?: ReadOptions): Promise<StoredMessage | null>;
  /**
   * Reads the last message of each subject. The map omits subjects without a message.
   * @throws TooMuch if the messages together exceed `maxBytes`
   */
  getMany(
    stream: string,
    subjects: readonly string[],
    options: ReadManyOptions,
  ): Promise<Map<string, StoredMessage>>;
  /** Reads messages that match a filter. Returns the first one even if it alone exceeds `maxBytes`. */
  scan(stream: string, filter: string, options: ScanOptions): Promise<Page>;
  /** Reads the first message at or after `fromSeq` that matches a filter. Always asks the leader. */
  nextMessage(stream: string, filter: string, fromSeq: number): Promise<StoredMessage | null>;
  /** Appends one message and returns its sequence number. */
  append(stream: string, message: Append): Promise<number>;
  /** Appends messages in one atomic batch and returns the sequence number of the last one. */
  batch(stream: string, messages: readonly Append[]): Promise<number>;
  /** Appends messages in order, but not atomically: after a failure, some may be stored. */
  pipeline(stream: string, messages: readonly Append[]): Promise<number[]>;
  /** Adds to a counter, which starts at 0, and returns the new sum. */
  count(stream: string, subject: string, by: number): Promise<number>;

  kvGet(bucket: string, key: string, options?: ReadOptions): Promise<KvEntry | null>;
  kvList(bucket: string, filter: string, options: Bounded): Promise<KvEntry[]>;
  kvLast(bucket: string): Promise<number>;
  /** Writes a key and returns its new revision. */
  kvPut(bucket: string, key: string, value: string, write?: KvWrite): Promise<number>;
  /** Deletes a key and its history. Returns the revision of its deletion marker. */
  kvDelete(bucket: string, key: string, write?: KvWrite): Promise<number>;

  createStream(config: StreamConfig): Promise<void>;
  updateStream(config: StreamConfig): Promise<void>;
  /** Deletes a stream. Returns false if it did not exist. */
  deleteStream(stream: string): Promise<boolean>;
  streamInfo(stream: string): Promise<StreamInfo | null>;
  /**
   * Lists the subjects that match a filter. The leader answers from memory, without reading messages, so the time does
   * not depend on how far apart they are stored.
   * @throws TooMuch if more than 100,000 subjects match
   */
  subjects(stream: string, filter: string): Promise<MatchingSubjects>;
  /** Returns the names of the streams whose subjects overlap a filter. */
  streamNames(filter: string): Promise<string[]>;
  /** Permanently deletes the messages that match a filter. Returns their number. */
  purge(stream: string, filter: string, options?: { beforeSeq?: number }): Promise<number>;

  /** Sends a request to a service. Throws `no_responders` if no program is subscribed. */
  request(
    subject: string,
    data: string | Uint8Array,
    options: { timeoutMs: number; headers?: Record<string, string> },
  ): Promise<Reply>;
  /**
   * Delivers messages that are published from now on.
   * @param lost called when the subscription has ended and will not be restored
   */
  subscribe(subject: string, deliver: (message: Delivery) => void, lost?: () => void): Subscription;
  /** Publishes a message without waiting for an acknowledgement. */
  publish(subject: string, data: string | Uint8Array, headers?: Record<string, string>, reply?: string): void;
  /** Waits until the broker has processed all earlier messages. Returns the round-trip time in milliseconds. */
  ping(): Promise<number>;
  server(): Promise<{ version: string; name: string; maxPayload: number }>;
  close(): Promise<void>;
}

/**
 * Thrown if a subject's last message is not the one that a write expected, because another process wrote first. Nothing
 * was written.
 */
export class Conflict extends Error {
  constructor() {
    super("another process wrote first");
    this.name = "Conflict";
  }
}

export class StreamMissing extends Error {
  readonly stream: string;
  constructor(stream: string) {
    super(`the stream ${stream} does not exist`);
    this.name = "StreamMissing";
    this.stream = stream;
  }
}

/** Thrown if the subject already has its maximum number of messages. Rate limits use this. */
export class SubjectFull extends Error {
  constructor() {
    super("the subject is full");
    this.name = "SubjectFull";
  }
}

/** Thrown if the response to a read exceeds `maxBytes`. */
export class TooMuch extends Error {
  /** Estimated share of the requested data that fits into `maxBytes`, from 0 to 1. */
  readonly fitting: number;
  constructor(fitting = 0) {
    super("the response exceeds the byte limit");
    this.name = "TooMuch";
    this.fitting = fitting;
  }
}

/** Thrown if a new stream would store subjects that another stream already stores. */
export class SubjectsTaken extends Error {
  constructor() {
    super("subjects overlap with an existing stream");
    this.name = "SubjectsTaken";
  }
}
