import { AppError, unavailable } from "../../kernel/errors.ts";
import { ApiCode, NO_RESPONDERS } from "../client/codes.ts";
import type { Connection } from "../client/connection.ts";
import { AnswerHeaders } from "../client/headers.ts";
import { DirectMessage, type LeaderAnswer, LeaderMessage } from "../client/message.ts";
import { type Page, type StoredMessage, type StreamInfo, StreamMissing, TooMuch } from "../types.ts";

const NOT_FOUND = 404;
const END_OF_BATCH = 204;
const TOO_MANY_SUBJECTS = 413;
/** Maximum number of subjects in one `multi_last` request. */
export const MULTI_LAST_LIMIT = 1024;

const decoder = new TextDecoder();

/** No subscriber received the request (status 503). */
class Nobody extends Error {}

/**
 * Reads the stream's information from the broker's API. @throws StreamMissing; AppError unavailable if the API does not
 * respond
 */
async function inspect(wire: Connection, stream: string): Promise<StreamInfo> {
  const reply = await wire.request(`$JS.API.STREAM.INFO.${stream}`, "");
  if (reply.status !== 0) throw unavailable("JetStream does not respond");
  const answer = JSON.parse(decoder.decode(reply.data)) as LeaderAnswer & StreamInfo;
  if (answer.error === undefined) return answer;
  throw answer.error.err_code === ApiCode.streamNotFound
    ? new StreamMissing(stream)
    : unavailable(answer.error.description);
}

/**
 * Finds out why a request had no responders: the stream does not exist, or the broker is stopping or electing a leader.
 * A stream that is only unavailable must not be treated as missing.
 */
export async function streamMissing(wire: Connection, stream: string): Promise<Error> {
  return inspect(wire, stream).then(
    () => unavailable("the stream does not respond"),
    (error: Error) => error,
  );
}

/** Awaits a read. If it had no responders, throws the reason. */
async function heard<T>(wire: Connection, stream: string, read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (error) {
    throw error instanceof Nobody ? await streamMissing(wire, stream) : error;
  }
}

/** Returns the error for a direct get response that has a status and no message. */
function refused(status: number): Error {
  if (status === NO_RESPONDERS) return new Nobody();
  if (status === TOO_MANY_SUBJECTS)
    return new AppError("invalid", "too_broad", "Too many messages match. Use a narrower filter.");
  return unavailable(`direct get responded with status ${status}`);
}

/** Reads the last message on a subject, which may contain wildcards, from any replica. */
export function directLast(wire: Connection, stream: string, subject: string): Promise<StoredMessage | null> {
  const wild = subject.includes("*") || subject.endsWith(">");
  return direct(
    wire,
    stream,
    wild ? `$JS.API.DIRECT.GET.${stream}` : `$JS.API.DIRECT.GET.${stream}.${subject}`,
    wild ? JSON.stringify({ last_by_subj: subject }) : "",
  );
}

/** Reads the message at a sequence from any replica. */
export function directSeq(wire: Connection, stream: string, seq: number): Promise<StoredMessage | null> {
  return direct(wire, stream, `$JS.API.DIRECT.GET.${stream}`, JSON.stringify({ seq }));
}

function direct(wire: Connection, stream: string, api: string, body: string): Promise<StoredMessage | null> {
  const read = wire.ask<StoredMessage | null>(api, body, (message, resolve, reject) => {
    const headers = AnswerHeaders.of(message);
    const { status } = headers;
    if (status === 0) resolve(new DirectMessage(headers, message.data));
    else if (status === NOT_FOUND) resolve(null);
    else reject(refused(status));
    return true;
  });
  return heard(wire, stream, read);
}

/** Reads one message from the stream leader, which has every acknowledged write. */
export async function leaderGet(
  wire: Connection,
  stream: string,
  which: { last_by_subj: string } | { seq: number } | { next_by_subj: string; seq: number },
): Promise<StoredMessage | null> {
  const reply = await wire.request(`$JS.API.STREAM.MSG.GET.${stream}`, JSON.stringify(which));
  if (reply.status === NO_RESPONDERS) throw unavailable("JetStream does not respond");
  const answer = JSON.parse(decoder.decode(reply.data)) as LeaderAnswer;
  if (answer.message !== undefined) return new LeaderMessage(answer.message);
  if (answer.error?.err_code === ApiCode.noMessage || answer.error?.code === NOT_FOUND) {
    if (answer.error.err_code === ApiCode.streamNotFound) throw new StreamMissing(stream);
    return null;
  }
  throw unavailable(answer.error?.description);
}

/** Collects a batch of direct get responses: messages, then an end-of-batch status. @throws Nobody */
function collect(wire: Connection, stream: string, body: string): Promise<Page> {
  const messages: StoredMessage[] = [];
  let held = 0;
  const page = wire.ask<Page>(`$JS.API.DIRECT.GET.${stream}`, body, (message, resolve, reject) => {
    const headers = AnswerHeaders.of(message);
    const { status } = headers;
    if (status === 0) {
      messages.push(new DirectMessage(headers, message.data));
      held += message.data.length;
      if (wire.hold(message.data.length, held)) return false;
      reject(unavailable("too many bytes are being read at the same time"));
      return true;
    }
    if (status === END_OF_BATCH) {
      const pending = Number(headers.last("Nats-Num-Pending") ?? 0);
      const last = Number(headers.last("Nats-UpTo-Sequence") || headers.last("Nats-Last-Sequence") || 0);
      resolve({ messages, pending, lastSeq: last });
    } else if (status === NOT_FOUND) resolve({ messages, pending: 0, lastSeq: 0 });
    else reject(refused(status));
    return true;
  });
  return page.finally(() => wire.hold(-held, 0));
}

/**
 * The broker ends a response at its own limit of 64 MiB of pending bytes, whatever the request allows. A response below
 * this size was not cut by that limit.
 */
const WHOLE_BYTES = 32 * 1024 * 1024;

/**
 * Reads the last message of each of at most {@link MULTI_LAST_LIMIT} subjects, and the last sequence of the replica
 * that responded. If the broker cuts the response it reports how many messages are left. This function then requests
 * the rest, which would otherwise appear to be missing.
 * @throws TooMuch if the messages together exceed `maxBytes`
 */
export async function directLatest(
  wire: Connection,
  stream: string,
  subjects: readonly string[],
  maxBytes: number,
): Promise<Page> {
  const ask = (wanted: readonly string[]) => {
    const body = { multi_last: wanted, batch: MULTI_LAST_LIMIT, max_bytes: maxBytes };
    return heard(wire, stream, collect(wire, stream, JSON.stringify(body)));
  };
  const first = await ask(subjects);
  let bytes = bytesOf(first.messages);
  for (let page = first; page.pending > 0 && page.messages.length > 0; ) {
    const fitting = first.messages.length / (first.messages.length + page.pending);
    if (maxBytes <= WHOLE_BYTES || bytes > maxBytes) throw new TooMuch(fitting);
    const known = new Set(first.messages.map(({ subject }) => subject));
    page = await ask(subjects.filter((subject) => !known.has(subject)));
    bytes += bytesOf(page.messages);
    first.messages.push(...page.messages);
  }
  return { ...first, pending: 0 };
}

function bytesOf(messages: readonly StoredMessage[]): number {
  return messages.reduce((bytes, { size }) => bytes + size, 0);
}

/** Messages by subject. @throws TooMuch if they together exceed `maxBytes` */
class MessageMap extends Map<string, StoredMessage> {
  readonly #wanted: number;
  #left: number;

  constructor(maxBytes: number, wanted: number) {
    super();
    this.#wanted = wanted;
    this.#left = maxBytes;
  }

  add(message: StoredMessage): void {
    this.#left -= message.size;
    if (this.#left < 0) throw new TooMuch(this.size / this.#wanted);
    this.set(message.subject, message);
  }
}

function partsOf(subjects: readonly string[], size: number): string[][] {
  const parts: string[][] = [];
  for (let i = 0; i < subjects.length; i += size) parts.push(subjects.slice(i, i + size));
  return parts;
}

/**
 * Reads the last message of each subject from any replica, with one request per {@link MULTI_LAST_LIMIT} subjects.
 * @throws TooMuch if the messages together exceed `maxBytes`
 */
export async function directMany(
  wire: Connection,
  stream: string,
  subjects: readonly string[],
  maxBytes: number,
): Promise<Map<string, StoredMessage>> {
  const found = new MessageMap(maxBytes, subjects.length);
  const pages = await Promise.all(
    partsOf(subjects, MULTI_LAST_LIMIT).map((part) => directLatest(wire, stream, part, maxBytes)),
  );
  for (const page of pages) for (const message of page.messages) found.add(message);
  return found;
}

/** Initial number of concurrent requests to the leader. It grows if messages turn out to be small. */
const FIRST_AT_ONCE = 16;
const MOST_AT_ONCE = 256;
/** Maximum bytes in flight, estimated from the size of earlier messages. */
const AT_ONCE_BYTES = 4 * 1024 * 1024;

/**
 * Reads the last message of each literal subject from the leader, with one request per subject.
 * @throws TooMuch if the messages together exceed `maxBytes`
 */
export async function leaderMany(
  wire: Connection,
  stream: string,
  subjects: readonly string[],
  maxBytes: number,
): Promise<Map<string, StoredMessage>> {
  const found = new MessageMap(maxBytes, subjects.length);
  let largest = 1;
  for (let at = 0, width = FIRST_AT_ONCE; at < subjects.length; ) {
    const part = subjects.slice(at, at + width);
    const messages = await Promise.all(
      part.map((subject) => leaderGet(wire, stream, { last_by_subj: subject })),
    );
    for (const message of messages) {
      if (message === null) continue;
      found.add(message);
      largest = Math.max(largest, message.size);
    }
    at += part.length;
    width = Math.max(FIRST_AT_ONCE, Math.min(MOST_AT_ONCE, Math.floor(AT_ONCE_BYTES / largest)));
  }
  return found;
}

/** Start and maximum size of a page. */
interface Scan {
  fromSeq: number;
  limit: number;
  maxBytes: number;
}

/**
 * Reads a page of matching messages in stream order, with one request. Client libraries create streams without direct
 * get; pages of such a stream come from the leader.
 */
export async function scan(wire: Connection, stream: string, filter: string, options: Scan): Promise<Page> {
  const { fromSeq, limit: batch, maxBytes: max_bytes } = options;
  const body = JSON.stringify({ next_by_subj: filter, seq: Math.max(1, fromSeq), batch, max_bytes });
  try {
    return await collect(wire, stream, body);
  } catch (error) {
    if (!(error instanceof Nobody)) throw error;
  }
  const { config, state } = await inspect(wire, stream);
  if (config.allow_direct === true) throw unavailable("the stream does not respond");
  return leaderScan(wire, stream, filter, options, state.last_seq);
}

/**
 * Maximum number of rounds for one page from the leader, and of concurrent requests in a round. Each request returns
 * one message.
 */
const TURNS = 64;
const WIDEST = 16;

/**
 * Reads a page from the leader, whose API returns only the next message from a sequence on. So several positions are
 * requested in parallel: as many as there were consecutive messages before. A page that needs too many rounds ends
 * early.
 */
async function leaderScan(
  wire: Connection,
  stream: string,
  filter: string,
  { fromSeq, limit, maxBytes }: Scan,
  lastSeq: number,
): Promise<Page> {
  const messages: StoredMessage[] = [];
  let seq = Math.max(1, fromSeq);
  let width = 1;
  let bytes = 0;
  for (let turn = 0; turn < TURNS; turn++) {
    const asked = Array.from({ length: width }, (_, ahead) =>
      leaderGet(wire, stream, { next_by_subj: filter, seq: seq + ahead }),
    );
    const before = messages.length;
    for (const message of await Promise.all(asked)) {
      // No message follows the first position without one.
      if (message === null) return { messages, pending: 0, lastSeq };
      if (message.seq < seq) continue;
      if (messages.length === limit || bytes >= maxBytes) return { messages, pending: 1, lastSeq };
      messages.push(message);
      bytes += message.size;
      seq = message.seq + 1;
    }
    const found = messages.length - before;
    width = found === width ? Math.min(WIDEST, 2 * width) : Math.max(1, found);
  }
  return { messages, pending: 1, lastSeq };
}
