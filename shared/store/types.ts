/** One message as it is stored. */
export interface StoredMessage {
  readonly subject: string;
  /** Position in the stream. */
  readonly seq: number;
  /** When the broker stored it, milliseconds since the epoch. */
  readonly time: number;
  readonly data: Uint8Array;
  /** How large the body is; 0 when it is empty. Cheaper than `data.length` of a message in memory. */
  readonly size: number;
  /** A header's value; undefined when it is not set. */
  header(name: string): string | undefined;
  /** The body as text. */
  text(): string;
  /** The body as JSON; the caller vouches for the shape that it stored itself. */
  json<T>(): T;
}

/** What must still hold at the moment of the write; otherwise it throws {@link Conflict} and nothing is written. */
export interface Expectation {
  /** The last sequence on the subject; 0 when there must be none. */
  seq: number;
  /** Judge another subject than the one that is written. */
  subject?: string;
}

/** Most messages of one atomic batch. */
export const BATCH_LIMIT = 1000;

/** One message to be appended. */
export interface Append {
  subject: string;
  /** Text or bytes; objects are the caller's to serialise. */
  data: string | Uint8Array;
  expect?: Expectation;
  /** The whole stream's last sequence must be this one. */
  expectStreamSeq?: number;
  /** Replaces all earlier messages of the subject. */
  rollup?: boolean;
  /** Seconds after which the broker removes the message. */
  ttl?: number;
  headers?: Record<string, string>;
}

/**
 * Which message answers a read: `leader` sees every acknowledged write, `any` may lag milliseconds on replicas. `told`
 * is the leader's, or what a long-lived process remembers because the broker tells it of every change: that sees every
 * acknowledged write of this process, and those of others as soon as they are told.
 */
export type Consistency = "leader" | "told" | "any";

export interface ReadOptions {
  /** Default `leader`. */
  consistency?: Consistency;
}

/**
 * How many bytes a read of several messages may bring. Every such read must say so: without a bound, one request could fill
 * the memory of an isolate, or make the broker cut a connection that others share.
 */
export interface Bounded {
  maxBytes: number;
}

/** A page of messages in stream order. */
export interface Page {
  messages: StoredMessage[];
  /** How many more match behind the page. */
  pending: number;
  /** The stream's last sequence at the time of the read. */
  lastSeq: number;
}

/** A key's newest value. `revision` is what {@link KvWrite.expect} takes. */
export interface KvEntry {
  key: string;
  revision: number;
  /** When it was written, milliseconds since the epoch. */
  time: number;
  text(): string;
  json<T>(): T;
}

export interface KvWrite {
  /** Revision that must be the newest; 0: the key must not exist. Without it, the last writer wins. */
  expect?: number;
  /** The bucket's last revision must be this one: nothing else in the bucket changed. */
  expectBucket?: number;
  /** Seconds after which the key vanishes. */
  ttl?: number;
}

/** A stream's configuration in the broker's own terms (durations in nanoseconds). */
export interface StreamConfig {
  name: string;
  subjects?: string[];
  [setting: string]: unknown;
}

/** What the broker tells of a stream. */
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
    /** How many between the first and the last were removed; missing for none. */
    num_deleted?: number;
  };
}

/** An answer to a request over the broker's request/reply messaging. */
export interface Reply {
  data: Uint8Array;
  header(name: string): string | undefined;
  headerNames(): readonly string[];
}

/** A message that a subscription delivers. */
export interface Delivery {
  subject: string;
  data: Uint8Array;
  reply: string | undefined;
  header(name: string): string | undefined;
  headerNames(): readonly string[];
}

/** A running subscription. */
export interface Subscription {
  unsubscribe(): void;
}

/** The one door to the broker. Every method throws AppError `unavailable` when it does not answer. */
export interface Store {
  /** Whether reads of what is live are answered from memory: then nothing is gained by asking early on suspicion. */
  readonly remembers?: boolean;
  /** The last message on a subject (which may hold wildcards), or null. One request. */
  get(stream: string, subject: string, options?: ReadOptions): Promise<StoredMessage | null>;
  /** The message at a sequence, or null. */
  getSeq(stream: string, seq: number, options?: ReadOptions): Promise<StoredMessage | null>;
  /**
   * The last message of each of some subjects (at most 1,024 a request); those without one are missing from the map. One
   * request with `any`.
   * @throws TooMuch when they are larger than `maxBytes` together
   */
  getMany(
    stream: string,
    subjects: readonly string[],
    options: ReadOptions & Bounded,
  ): Promise<Map<string, StoredMessage>>;
  /** Messages that match a filter from a sequence on: at most `limit`, and about `maxBytes`, but at least one. One request. */
  scan(stream: string, filter: string, options: { fromSeq: number; limit: number } & Bounded): Promise<Page>;
  /** The first message that matches a filter from a sequence on, as the leader has it; or null. One request. */
  nextMessage(stream: string, filter: string, fromSeq: number): Promise<StoredMessage | null>;
  /** Appends one message. Returns its sequence. */
  append(stream: string, message: Append): Promise<number>;
  /** Appends several as one atomic act: all or nothing, every expectation judged at the commit. Returns the last sequence. */
  batch(stream: string, messages: readonly Append[]): Promise<number>;
  /**
   * Appends several without atomicity, pipelined in order. For writes whose earlier messages are only hints that
   * readers verify. Returns the sequences; throws the first failure after all were answered.
   */
  pipeline(stream: string, messages: readonly Append[]): Promise<number[]>;
  /**
   * Adds to a counter, which begins at 0. One request.
   * @param by may be negative
   * @returns the new sum
   */
  count(stream: string, subject: string, by: number): Promise<number>;

  kvGet(bucket: string, key: string, options?: ReadOptions): Promise<KvEntry | null>;
  /**
   * All keys that match a filter of tokens and wildcards, with their values.
   * @throws TooMuch when they are larger than `maxBytes` together
   */
  kvList(bucket: string, filter: string, options: Bounded): Promise<KvEntry[]>;
  /** The bucket's last revision. */
  kvLast(bucket: string): Promise<number>;
  /** @returns the new revision @throws Conflict */
  kvPut(bucket: string, key: string, value: string, write?: KvWrite): Promise<number>;
  /** Leaves nothing readable of the key. @returns the revision of what marks that @throws Conflict */
  kvDelete(bucket: string, key: string, write?: KvWrite): Promise<number>;

  createStream(config: StreamConfig): Promise<void>;
  updateStream(config: StreamConfig): Promise<void>;
  /** False when there was none. */
  deleteStream(stream: string): Promise<boolean>;
  streamInfo(stream: string): Promise<StreamInfo | null>;
  /** Names of the streams whose subjects overlap a filter. */
  streamNames(filter: string): Promise<string[]>;
  /**
   * Erases the messages of a subject filter for good. Returns how many.
   * @param options.beforeSeq erases messages with a lower sequence; all when left out
   */
  purge(stream: string, filter: string, options?: { beforeSeq?: number }): Promise<number>;

  /** Asks a service. @throws AppError unavailable `no_responders`, timeout */
  request(
    subject: string,
    data: string | Uint8Array,
    options: { timeoutMs: number; headers?: Record<string, string> },
  ): Promise<Reply>;
  /**
   * Delivers what is published from now on. For the streams service and caches of long-lived hosts.
   * @param lost called when nothing more will be delivered, as the connection is gone for good or was never made
   */
  subscribe(subject: string, deliver: (message: Delivery) => void, lost?: () => void): Subscription;
  /** Publishes without a stream or an acknowledgement. */
  publish(subject: string, data: string | Uint8Array, headers?: Record<string, string>, reply?: string): void;
  /** Resolves when everything sent before has been processed by the broker's connection. Milliseconds of the round trip. */
  ping(): Promise<number>;
  /** The broker's own description of itself; connects when needed. */
  server(): Promise<{ version: string; name: string; maxPayload: number }>;
  close(): Promise<void>;
}

/** An expectation did not hold: somebody else wrote first, and nothing of this write happened. */
export class Conflict extends Error {
  constructor() {
    super("somebody else wrote first");
    this.name = "Conflict";
  }
}

/** The stream does not exist (yet, or any more). */
export class StreamMissing extends Error {
  readonly stream: string;
  constructor(stream: string) {
    super(`no stream ${stream}`);
    this.name = "StreamMissing";
    this.stream = stream;
  }
}

/** A stream that admits only so many messages per subject refused one (rate limits). */
export class SubjectFull extends Error {
  constructor() {
    super("the subject is full");
    this.name = "SubjectFull";
  }
}

/** What was asked for is larger than the reader can take at once. */
export class TooMuch extends Error {
  /** The part of it, from 0 to 1, that could have been taken: roughly, as messages differ in size. */
  readonly fitting: number;
  constructor(fitting = 0) {
    super("the answer is larger than what was allowed");
    this.name = "TooMuch";
    this.fitting = fitting;
  }
}

/** The wanted subjects are already another stream's. */
export class SubjectsTaken extends Error {
  constructor() {
    super("subjects overlap with an existing stream");
    this.name = "SubjectsTaken";
  }
}
