import { AppError, unavailable } from "../../kernel/errors.ts";
import { PAIR_BYTES, READ_BYTES } from "../budget.ts";
import {
  ApiCode,
  Connection,
  type ConnectOptions,
  isDeletionMarker,
  KV_OPERATION,
  kvEntry,
  NO_RESPONDERS,
} from "../client/index.ts";
import { scanPages } from "../pages.ts";
import { kvSubject, streams } from "../subjects.ts";
import {
  type Append,
  type Bounded,
  Conflict,
  type KvEntry,
  type KvWrite,
  type Page,
  type ReadManyOptions,
  type ReadOptions,
  type Reply,
  type Store,
  type StoredMessage,
  type StreamConfig,
  type StreamInfo,
  SubjectsTaken,
  TooMuch,
} from "../types.ts";
import { directLast, directLatest, directMany, directSeq, isWild, leaderGet, leaderMany } from "./read.ts";
import { scan as scanPage } from "./scan.ts";
import { append, batch, count, failure, pipeline } from "./write.ts";

/** An answer of JetStream's API. */
interface ApiAnswer {
  error?: { code: number; err_code: number; description: string };
  [member: string]: unknown;
}

/** Subjects are missing if no subject matches. `total` is missing if all of them are in the answer. */
interface SubjectsAnswer {
  state: { bytes: number; subjects?: Record<string, number> };
  total?: number;
}

/** Returns the methods of the store that ask about streams instead of messages. @param api sends a request to JetStream */
function streamReads(
  api: (subject: string, body: unknown) => Promise<ApiAnswer>,
): Pick<Store, "streamInfo" | "subjects" | "streamNames"> {
  return {
    async streamInfo(stream) {
      const answer = await api(`STREAM.INFO.${stream}`, undefined);
      if (answer.error === undefined) return answer as unknown as StreamInfo;
      if (answer.error.err_code === ApiCode.streamNotFound) return null;
      throw failure(stream, answer.error);
    },
    async subjects(stream, filter) {
      const answer = await api(`STREAM.INFO.${stream}`, { subjects_filter: filter });
      if (answer.error !== undefined) throw failure(stream, answer.error);
      const { state, total } = answer as unknown as SubjectsAnswer;
      const subjects = Object.keys(state.subjects ?? {});
      if ((total ?? 0) > subjects.length) throw new TooMuch();
      return { subjects, bytes: state.bytes };
    },
    async streamNames(filter) {
      const answer = await api("STREAM.NAMES", { subject: filter });
      if (answer.error !== undefined) throw failure(filter, answer.error);
      return (answer.streams as string[] | null | undefined) ?? [];
    },
  };
}

const KEYS_PER_READ = 256;

/** Pads a timestamp from the broker to nine fractional digits, so that timestamps can be compared as strings. */
function toNanoseconds(time: string): string {
  return time.replace(/(?:\.(\d+))?Z$/, (_, digits = "") => `.${digits.padEnd(9, "0")}Z`);
}

/**
 * Lists the keys and values of a key-value bucket.
 * @param met called with every message, including those that mark a deleted key
 */
export async function listBucket(
  scan: Store["scan"],
  bucket: string,
  filter: string,
  { maxBytes }: Bounded,
  met: (message: StoredMessage) => void = () => undefined,
): Promise<KvEntry[]> {
  const entries: KvEntry[] = [];
  let left = maxBytes;
  const page = { limit: KEYS_PER_READ, maxBytes: READ_BYTES };
  const read = (fromSeq: number) => scan(streams.kv(bucket), kvSubject(bucket, filter), { fromSeq, ...page });
  for await (const messages of scanPages(read)) {
    for (const message of messages) {
      met(message);
      left -= message.size;
      if (!isDeletionMarker(message)) entries.push(kvEntry(bucket, message));
    }
    if (left < 0) throw new TooMuch();
  }
  return entries;
}

export interface OpenStore extends Store {
  open(): void;
  /** Reads the last message of each subject, and the last sequence number that the responding replica has. */
  latest(stream: string, subjects: readonly string[], maxBytes: number): Promise<Page>;
}

/** Returns a store that opens its connection when the first request is made. */
export function openStore(options: ConnectOptions & { replicas?: number }): OpenStore {
  const connection = new Connection(options);
  const replicated = (options.replicas ?? 1) > 1;
  const inTurn = <T>(maxBytes: number, read: () => Promise<T>): Promise<T> =>
    options.room === undefined ? read() : options.room.enter(maxBytes, read, connection);
  const askLeader = (read?: ReadOptions) => replicated && read?.consistency !== "stale";

  async function api(subject: string, body: unknown): Promise<ApiAnswer> {
    const reply = await connection.request(
      `$JS.API.${subject}`,
      body === undefined ? "" : JSON.stringify(body),
    );
    if (reply.status !== 0) throw unavailable(`JetStream responded with status ${reply.status}`);
    return JSON.parse(reply.text()) as ApiAnswer;
  }

  async function get(stream: string, subject: string, read?: ReadOptions): Promise<StoredMessage | null> {
    const leading = () => leaderGet(connection, stream, { last_by_subj: subject });
    if (askLeader(read)) return leading();
    const { atLeast = 0 } = read ?? {};
    if (!replicated || atLeast === 0) return directLast(connection, stream, subject);
    if (isWild(subject)) return leading();
    // Unlike a single message, this response says what the replica has stored.
    const found = await directMany(connection, stream, [subject], { maxBytes: PAIR_BYTES, atLeast });
    return found.get(subject) ?? null;
  }

  async function getMany(
    stream: string,
    subjects: readonly string[],
    read: ReadManyOptions,
  ): Promise<Map<string, StoredMessage>> {
    if (subjects.length === 0) return new Map();
    const literal = !subjects.some(isWild);
    const { maxBytes, upTo, atLeast = 0 } = read;
    return inTurn(maxBytes, () => {
      if (askLeader(read) && literal && upTo === undefined)
        return leaderMany(connection, stream, subjects, maxBytes);
      const least = replicated && literal ? atLeast : 0;
      return directMany(connection, stream, subjects, { ...read, atLeast: least });
    });
  }

  const scan: Store["scan"] = (stream, filter, { atLeast = 0, ...page }) =>
    inTurn(page.maxBytes, () =>
      scanPage(connection, stream, filter, { ...page, atLeast: replicated ? atLeast : 0 }),
    );

  async function kvPut(bucket: string, key: string, value: string, write: KvWrite = {}): Promise<number> {
    const stream = streams.kv(bucket);
    const subject = kvSubject(bucket, key);
    const message = (seq: number | undefined): Append => ({
      subject,
      data: value,
      ...(seq === undefined ? {} : { expect: { seq } }),
      ...(write.expectBucket === undefined ? {} : { expectStreamSeq: write.expectBucket }),
      ...(write.ttl === undefined ? {} : { ttl: write.ttl }),
    });
    try {
      return await append(connection, stream, message(write.expect));
    } catch (error) {
      // The caller expects that the key does not exist. The write fails not only if the key has a value, but also if an
      // earlier value was deleted, because the deletion left a marker. In that case, overwrite the marker.
      if (!(error instanceof Conflict) || write.expect !== 0) throw error;
      const last = await get(stream, subject);
      if (last === null || !isDeletionMarker(last)) throw error;
      return append(connection, stream, message(last.seq));
    }
  }

  async function erase(stream: string, before: number): Promise<void> {
    const answer = await api(`STREAM.PURGE.${stream}`, { seq: before });
    if (answer.error !== undefined) throw failure(stream, answer.error);
  }

  return {
    open: () => connection.open(),
    latest: (stream, subjects, maxBytes) =>
      inTurn(maxBytes, () => directLatest(connection, stream, subjects, maxBytes)),
    get,
    getSeq: (stream, seq, read) =>
      askLeader(read) ? leaderGet(connection, stream, { seq }) : directSeq(connection, stream, seq),
    getMany,
    scan,
    nextMessage: (stream, filter, fromSeq) =>
      leaderGet(connection, stream, { next_by_subj: filter, seq: fromSeq }),
    append: (stream, message) => append(connection, stream, message),
    batch: (stream, messages) => batch(connection, stream, messages),
    pipeline: (stream, messages) => pipeline(connection, stream, messages),
    count: (stream, subject, by) => count(connection, stream, subject, by),

    async kvGet(bucket, key, read) {
      const message = await get(streams.kv(bucket), kvSubject(bucket, key), read);
      return message === null || isDeletionMarker(message) ? null : kvEntry(bucket, message);
    },
    kvList: (bucket, filter, bounds) => listBucket(scan, bucket, filter, bounds),
    async kvLast(bucket) {
      const answer = await api(`STREAM.INFO.${streams.kv(bucket)}`, undefined);
      if (answer.error !== undefined) throw failure(streams.kv(bucket), answer.error);
      return (answer as unknown as StreamInfo).state.last_seq;
    },
    kvPut,
    kvDelete: (bucket, key, write = {}) =>
      append(connection, streams.kv(bucket), {
        subject: kvSubject(bucket, key),
        data: "",
        headers: { [KV_OPERATION]: "DEL" },
        ...(write.expect === undefined ? {} : { expect: { seq: write.expect } }),
        ...(write.expectBucket === undefined ? {} : { expectStreamSeq: write.expectBucket }),
        ...(write.ttl === undefined ? {} : { ttl: write.ttl }),
      }),

    async createStream(config) {
      // The broker returns "created" even if the stream already exists, so first check whether the stream exists.
      const before = await api(`STREAM.INFO.${config.name}`, undefined);
      if (before.error === undefined) return;
      const answer = await api(`STREAM.CREATE.${config.name}`, config);
      if (answer.error === undefined) {
        const { state, created } = answer as unknown as StreamInfo;
        // The broker deletes a stream's files asynchronously. So a new stream may contain messages of a deleted stream
        // with the same name. Erase all messages that are older than the stream.
        const older = state.messages > 0 && toNanoseconds(state.last_ts) < toNanoseconds(created);
        if (older) await erase(config.name, state.last_seq + 1);
        return;
      }
      if (answer.error.err_code === ApiCode.subjectOverlap) throw new SubjectsTaken();
      if (answer.error.err_code === ApiCode.nameInUse) return;
      throw unavailable(`${answer.error.err_code} ${answer.error.description}`);
    },
    async updateStream(config) {
      const answer = await api(`STREAM.UPDATE.${config.name}`, config);
      if (answer.error !== undefined) throw failure(config.name, answer.error);
    },
    async deleteStream(stream) {
      const answer = await api(`STREAM.DELETE.${stream}`, undefined);
      if (answer.error === undefined) return true;
      if (answer.error.err_code === ApiCode.streamNotFound) return false;
      throw failure(stream, answer.error);
    },
    ...streamReads(api),
    async purge(stream, filter, purge = {}) {
      const answer = await api(`STREAM.PURGE.${stream}`, {
        filter,
        ...(purge.beforeSeq === undefined ? {} : { seq: purge.beforeSeq }),
      });
      if (answer.error !== undefined) throw failure(stream, answer.error);
      return Number(answer.purged ?? 0);
    },

    async request(subject, data, asked): Promise<Reply> {
      const reply = await connection.request(subject, data, {
        timeoutMs: asked.timeoutMs,
        headers: asked.headers,
      });
      if (reply.status === NO_RESPONDERS && reply.data.length === 0) {
        throw new AppError(
          "unavailable",
          "no_responders",
          "No service is listening at the moment. Try again in a moment.",
          {
            retryAfter: 1,
          },
        );
      }
      return reply;
    },
    subscribe: (subject, deliver, lost) => connection.subscribe(subject, deliver, lost),
    publish: (subject, data, headers, reply) => connection.send(subject, data, headers, reply),
    ping: () => connection.ping(),
    server: () => connection.server(),
    close() {
      options.room?.leave(connection);
      return connection.close();
    },
  };
}

export function baseConfig(name: string, subjects: string[], replicas: number): StreamConfig {
  return { name, subjects, storage: "file", num_replicas: replicas, allow_direct: true };
}
