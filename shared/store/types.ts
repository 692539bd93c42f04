/** A stored message. */
export interface StoredMessage {
  readonly subject: string;
  /** Sequence in the stream. */
  readonly seq: number;
  /** When the broker stored it, in milliseconds since the epoch. */
  readonly time: number;
  readonly data: Uint8Array;
  /** Size of the body in bytes. Cheaper than `data.length` for a cached message. */
  readonly size: number;
  /** The value of a header; undefined if it is not set. */
  header(name: string): string | undefined;
  /** The body as text. */
  text(): string;
  /** The body as JSON, without validation: the caller must have stored it in this shape. */
  json<T>(): T;
}

/**
 * A condition on the last sequence of a subject. If it does not hold, the write throws {@link Conflict} and writes
 * nothing.
 */
export interface Expectation {
  /** Expected last sequence of the subject; 0 if it must have no message. */
  seq: number;
  /** The subject to check, if it is not the one that is written. */
  subject?: string;
}

/** Maximum messages of one atomic batch. */
export const BATCH_LIMIT = 1000;

/** A message to append. */
export interface Append {
  subject: string;
  /** Text or bytes; the caller serialises objects. */
  data: string | Uint8Array;
  expect?: Expectation;
  /** Expected last sequence of the whole stream. */
  expectStreamSeq?: number;
  /** Replaces all earlier messages of the subject. */
  rollup?: boolean;
  /** Seconds until the broker removes the message. */
  ttl?: number;
  headers?: Record<string, string>;
}

/**
 * Which copy answers a read. `leader` sees every acknowledged write. `stale` may lag by milliseconds on replicated
 * streams. `cached` is the leader's answer, or a value that a long-lived process caches and updates from the change feed:
 * it sees every acknowledged write of this process, and those of other processes as soon as their events arrive.
 */
export type Consistency = "leader" | "cached" | "stale";

export interface ReadOptions {
  /** Default `leader`. */
  consistency?: Consistency;
}

/**
 * Byte limit of a read of several messages. Every such read must have one: without it, one request could fill the
 * memory of an isolate, or make the broker close a connection that other requests share.
 */
export interface Bounded {
  maxBytes: number;
}

/** A page of messages in stream order. */
export interface Page {
  messages: StoredMessage[];
  /** Number of further matches after the page. */
  pending: number;
  /** The stream's last sequence when the page was read. */
  lastSeq: number;
}

/** The place of a message in a log of numbered ones: its number, and its sequence in the stream. */
export interface Place {
  number: number;
  seq: number;
}

/** The newest value of a key. Pass `revision` to {@link KvWrite.expect}. */
export interface KvEntry {
  key: string;
  revision: number;
  /** When it was written, in milliseconds since the epoch. */
  time: number;
  text(): string;
  json<T>(): T;
}

export interface KvWrite {
  /** Expected revision of the key; 0 if the key must not exist. Without it, the last write wins. */
  expect?: number;
  /** Expected last revision of the bucket, so that nothing else in it has changed. */
  expectBucket?: number;
  /** Seconds until the key expires. */
  ttl?: number;
}

/** A stream's configuration in the broker's own terms (durations in nanoseconds). */
export interface StreamConfig {
  name: string;
  subjects?: string[];
  [setting: string]: unknown;
}

/** Information about a stream from the broker. */
export interface StreamInfo {
  config: StreamConfig;
  /** RFC 3339. */
  created: string;
  state: {
    messages: number;
    bytes: number;
    first_seq: number;
    last_seq: number;
    last_ts: string;
    consumer_count: number;
    /** Number of removed messages between the first and the last; absent if there are none. */
    num_deleted?: number;
  };
}

/** The response to a request over the broker's request/reply messaging. */
export interface Reply {
  readonly data: Uint8Array;
  /** All headers as the broker sends them. */
  readonly headerText: string;
  header(name: string): string | undefined;
}

/** A message that a subscription delivers. */
export interface Delivery extends Reply {
  readonly subject: string;
  readonly reply: string | undefined;
}

/** An open subscription. */
export interface Subscription {
  unsubscribe(): void;
}

/** The only access to the broker. Every method throws AppError `unavailable` if the broker does not respond. */
export interface Store {
  /** Whether reads of live data are answered from memory, so that speculative reads save no time. */
  readonly isCached?: boolean;
  /** Reads the last message on a subject, which may contain wildcards, or null. One request. */
  get(stream: string, subject: string, options?: ReadOptions): Promise<StoredMessage | null>;
  /** Reads the message at a sequence, or null. */
  getSeq(stream: string, seq: number, options?: ReadOptions): Promise<StoredMessage | null>;
  /**
   * Reads the last message of each subject, at most 1,024 per request. Subjects without a message are missing from the
   * map. One request with `stale`.
   * @throws TooMuch if the messages together exceed `maxBytes`
   */
  getMany(
    stream: string,
    subjects: readonly string[],
    options: ReadOptions & Bounded,
  ): Promise<Map<string, StoredMessage>>;
  /**
   * Reads messages that match a filter from a sequence on: at most `limit`, about `maxBytes`, but at least one. One
   * request.
   */
  scan(stream: string, filter: string, options: { fromSeq: number; limit: number } & Bounded): Promise<Page>;
  /** Reads the first message that matches a filter from a sequence on, from the leader; or null. One request. */
  nextMessage(stream: string, filter: string, fromSeq: number): Promise<StoredMessage | null>;
  /** Appends one message. Returns its sequence. */
  append(stream: string, message: Append): Promise<number>;
  /**
   * Appends messages in one atomic batch: all or nothing, with every expectation checked at the commit. Returns the
   * last sequence.
   */
  batch(stream: string, messages: readonly Append[]): Promise<number>;
  /**
   * Appends messages in order without atomicity, pipelined. Use it only if readers verify the earlier messages. Returns
   * the sequences. Throws the first failure after all responses have arrived.
   */
  pipeline(stream: string, messages: readonly Append[]): Promise<number[]>;
  /**
   * Adds to a counter, which starts at 0. One request.
   * @param by may be negative
   * @returns the new sum
   */
  count(stream: string, subject: string, by: number): Promise<number>;

  kvGet(bucket: string, key: string, options?: ReadOptions): Promise<KvEntry | null>;
  /**
   * Reads all keys that match a filter of tokens and wildcards, with their values.
   * @throws TooMuch if they together exceed `maxBytes`
   */
  kvList(bucket: string, filter: string, options: Bounded): Promise<KvEntry[]>;
  /** Reads the bucket's last revision. */
  kvLast(bucket: string): Promise<number>;
  /** Writes a key. @returns the new revision @throws Conflict */
  kvPut(bucket: string, key: string, value: string, write?: KvWrite): Promise<number>;
  /** Deletes a key and its history. @returns the revision of the tombstone @throws Conflict */
  kvDelete(bucket: string, key: string, write?: KvWrite): Promise<number>;

  createStream(config: StreamConfig): Promise<void>;
  updateStream(config: StreamConfig): Promise<void>;
  /** Deletes a stream. Returns false if it did not exist. */
  deleteStream(stream: string): Promise<boolean>;
  streamInfo(stream: string): Promise<StreamInfo | null>;
  /** Returns the names of the streams whose subjects overlap a filter. */
  streamNames(filter: string): Promise<string[]>;
  /**
   * Permanently removes the messages that match a subject filter. Returns how many.
   * @param options.beforeSeq removes only messages with a lower sequence
   */
  purge(stream: string, filter: string, options?: { beforeSeq?: number }): Promise<number>;

  /** Sends a request to a service. @throws AppError unavailable `no_responders`, timeout */
  request(
    subject: string,
    data: string | Uint8Array,
    options: { timeoutMs: number; headers?: Record<string, string> },
  ): Promise<Reply>;
  /**
   * Delivers messages published from now on. For the streams process and caches of long-lived hosts.
   * @param lost called when the subscription ends because the connection is lost for good or could not be opened
   */
  subscribe(subject: string, deliver: (message: Delivery) => void, lost?: () => void): Subscription;
  /** Publishes without a stream or an acknowledgement. */
  publish(subject: string, data: string | Uint8Array, headers?: Record<string, string>, reply?: string): void;
  /** Resolves when the broker has processed everything sent before. Returns the milliseconds of the round trip. */
  ping(): Promise<number>;
  /** Returns the broker's description of itself. Connects if necessary. */
  server(): Promise<{ version: string; name: string; maxPayload: number }>;
  close(): Promise<void>;
}

/** An expectation did not hold because another process wrote first. Nothing was written. */
export class Conflict extends Error {
  constructor() {
    super("another process wrote first");
    this.name = "Conflict";
  }
}

/** The stream does not exist, or no longer exists. */
export class StreamMissing extends Error {
  readonly stream: string;
  constructor(stream: string) {
    super(`the stream ${stream} does not exist`);
    this.name = "StreamMissing";
    this.stream = stream;
  }
}

/** The stream limits the messages per subject and rejected one (rate limits). */
export class SubjectFull extends Error {
  constructor() {
    super("the subject is full");
    this.name = "SubjectFull";
  }
}

/** The response to a read exceeds `maxBytes`. */
export class TooMuch extends Error {
  /** Approximate share of the response that would fit, from 0 to 1. */
  readonly fitting: number;
  constructor(fitting = 0) {
    super("the response exceeds the byte limit");
    this.name = "TooMuch";
    this.fitting = fitting;
  }
}

/** Another stream already has one of these subjects. */
export class SubjectsTaken extends Error {
  constructor() {
    super("subjects overlap with an existing stream");
    this.name = "SubjectsTaken";
  }
}
