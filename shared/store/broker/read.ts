import { AppError, unavailable } from "../../kernel/errors.ts";
import { Again, retry } from "../../kernel/retry.ts";
import {
  ApiCode,
  type Connection,
  type LeaderAnswer,
  leaderMessage,
  Message,
  NO_RESPONDERS,
  ResponseHeaders,
} from "../client/index.ts";
import {
  type Page,
  type ReadManyOptions,
  type StoredMessage,
  type StreamInfo,
  StreamMissing,
  TooMuch,
  type UpTo,
} from "../types.ts";

const NOT_FOUND = 404;
const END_OF_BATCH = 204;
const TOO_MANY_SUBJECTS = 413;
/** Maximum subjects in one `multi_last` request, which reads the last message of each subject. */
export const MULTI_LAST_LIMIT = 1024;

/** Thrown if no program is subscribed to the subject of the request (NATS status 503). */
export class NoResponders extends Error {}

export async function inspect(connection: Connection, stream: string): Promise<StreamInfo> {
  const reply = await connection.request(`$JS.API.STREAM.INFO.${stream}`, "");
  if (reply.status !== 0) throw unavailable("JetStream does not respond");
  const answer = JSON.parse(reply.text()) as LeaderAnswer & StreamInfo;
  if (answer.error === undefined) return answer;
  throw answer.error.err_code === ApiCode.streamNotFound
    ? new StreamMissing(stream)
    : unavailable(answer.error.description);
}

/** How often a request is sent again if the stream exists but did not receive it. */
const STARTING = {
  attempts: 4,
  pauseMs: (attempt: number) => 5 * 4 ** attempt,
  failed: () => unavailable("the stream does not respond"),
};

/**
 * Sends a request to a stream. If the broker reports that no subscriber received it, but the stream exists, the stream
 * may still be starting. Then sends the request again. This is safe even for a write, because the broker dropped the
 * first attempt.
 * @param ask sends the request once; throws {@link NoResponders} if no subscriber received it
 * @throws StreamMissing if the stream does not exist, AppError unavailable if the stream does not respond
 */
export function received<T>(connection: Connection, stream: string, ask: () => Promise<T>): Promise<T> {
  const after = async (error: unknown) => {
    if (!(error instanceof NoResponders)) return false;
    await inspect(connection, stream);
    return true;
  };
  return retry({ ...STARTING, after }, ask);
}

function refused(status: number): Error {
  if (status === NO_RESPONDERS) return new NoResponders();
  if (status === TOO_MANY_SUBJECTS)
    return new AppError("invalid", "too_broad", "Too many messages match. Use a narrower filter.");
  return unavailable(`direct get responded with status ${status}`);
}

export const isWild = (subject: string): boolean => subject.includes("*") || subject.endsWith(">");

export function directLast(
  connection: Connection,
  stream: string,
  subject: string,
): Promise<StoredMessage | null> {
  const wild = isWild(subject);
  return direct(
    connection,
    stream,
    wild ? `$JS.API.DIRECT.GET.${stream}` : `$JS.API.DIRECT.GET.${stream}.${subject}`,
    wild ? JSON.stringify({ last_by_subj: subject }) : "",
  );
}

export function directSeq(
  connection: Connection,
  stream: string,
  seq: number,
): Promise<StoredMessage | null> {
  return direct(connection, stream, `$JS.API.DIRECT.GET.${stream}`, JSON.stringify({ seq }));
}

/** Reads the first message at or after a sequence number that matches a filter. Any replica may respond. */
export function directNext(
  connection: Connection,
  stream: string,
  filter: string,
  seq: number,
): Promise<StoredMessage | null> {
  const body = JSON.stringify({ next_by_subj: filter, seq });
  return direct(connection, stream, `$JS.API.DIRECT.GET.${stream}`, body);
}

function direct(
  connection: Connection,
  stream: string,
  api: string,
  body: string,
): Promise<StoredMessage | null> {
  return received(connection, stream, () =>
    connection.ask<StoredMessage | null>(api, body, (message, resolve, reject) => {
      const headers = ResponseHeaders.of(message);
      const { status } = headers;
      if (status === 0) resolve(Message.of(headers, message));
      else if (status === NOT_FOUND) resolve(null);
      else reject(refused(status));
      return true;
    }),
  );
}

/** Reads one message from the stream's leader, the broker that has every acknowledged write. */
export async function leaderGet(
  connection: Connection,
  stream: string,
  which: { last_by_subj: string } | { seq: number } | { next_by_subj: string; seq: number },
): Promise<StoredMessage | null> {
  const reply = await connection.request(`$JS.API.STREAM.MSG.GET.${stream}`, JSON.stringify(which));
  if (reply.status === NO_RESPONDERS) throw unavailable("JetStream does not respond");
  const answer = JSON.parse(reply.text()) as LeaderAnswer;
  if (answer.message !== undefined) return leaderMessage(answer.message);
  if (answer.error?.err_code === ApiCode.noMessage || answer.error?.code === NOT_FOUND) {
    if (answer.error.err_code === ApiCode.streamNotFound) throw new StreamMissing(stream);
    return null;
  }
  throw unavailable(answer.error?.description);
}

export function collect(connection: Connection, stream: string, body: string): Promise<Page> {
  const messages: StoredMessage[] = [];
  let held = 0;
  const page = connection.ask<Page>(`$JS.API.DIRECT.GET.${stream}`, body, (message, resolve, reject) => {
    const headers = ResponseHeaders.of(message);
    const { status } = headers;
    if (status === 0) {
      messages.push(Message.of(headers, message));
      held += message.data.length;
      if (connection.hold(message.data.length, held)) return false;
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
  return page.finally(() => connection.hold(-held, 0));
}

/** Maximum bytes of one response. The broker cuts off responses at 64 MiB. */
const WHOLE_BYTES = 32 * 1024 * 1024;

/**
 * Reads the last message of each subject from any replica, and the last sequence number that this replica has stored.
 * If a response exceeds its size limit, the broker cuts it short. This function then requests the missing subjects
 * again, because they would otherwise look empty.
 */
export async function directLatest(
  connection: Connection,
  stream: string,
  subjects: readonly string[],
  maxBytes: number,
  upTo?: UpTo,
): Promise<Page> {
  const ask = (wanted: readonly string[]) => {
    const bound =
      typeof upTo === "object" ? { up_to_time: new Date(upTo.time).toISOString() } : { up_to_seq: upTo };
    const body = { multi_last: wanted, batch: MULTI_LAST_LIMIT, max_bytes: maxBytes, ...bound };
    return received(connection, stream, () => collect(connection, stream, JSON.stringify(body)));
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

export async function directMany(
  connection: Connection,
  stream: string,
  subjects: readonly string[],
  { maxBytes, upTo, atLeast = 0 }: ReadManyOptions,
): Promise<Map<string, StoredMessage>> {
  const read = () =>
    Promise.all(
      partsOf(subjects, MULTI_LAST_LIMIT).map((part) =>
        directLatest(connection, stream, part, maxBytes, upTo),
      ),
    );
  // A response without messages does not say what the replica has.
  const isUnknown = ({ lastSeq }: Page) => lastSeq === 0;
  const pages = await caughtUp(read, async (found) =>
    found.every((page) => isUnknown(page) || page.lastSeq >= atLeast),
  );
  if (pages === undefined || (atLeast > 0 && pages.some(isUnknown)))
    return leaderMany(connection, stream, subjects, maxBytes);
  const found = new MessageMap(maxBytes, subjects.length);
  for (const page of pages) for (const message of page.messages) found.add(message);
  return found;
}

/** Milliseconds to wait before the next request to replicas that lag. Most lag by less than 4 ms. */
const LAG_MS = [1, 4, 15];

/**
 * Reads again while a replica lags. The next request may reach another replica.
 * @returns undefined if all responses came from replicas that lag
 */
export async function caughtUp<T>(
  read: () => Promise<T>,
  isCurrent: (found: T) => Promise<boolean>,
): Promise<T | undefined> {
  const policy = {
    attempts: LAG_MS.length + 1,
    pauseMs: (attempt: number) => LAG_MS[attempt] ?? 0,
  };
  try {
    return await retry(policy, async () => {
      const found = await read();
      if (!(await isCurrent(found))) throw new Again();
      return found;
    });
  } catch (error) {
    if (error instanceof Again) return undefined;
    throw error;
  }
}

const FIRST_AT_ONCE = 16;
const MOST_AT_ONCE = 256;
/**
 * Maximum total bytes of the responses to parallel requests. The size of the largest message so far determines how many
 * requests may run at the same time.
 */
const AT_ONCE_BYTES = 4 * 1024 * 1024;

/** Reads the last message of each subject from the leader, with one request per subject. */
export async function leaderMany(
  connection: Connection,
  stream: string,
  subjects: readonly string[],
  maxBytes: number,
): Promise<Map<string, StoredMessage>> {
  const found = new MessageMap(maxBytes, subjects.length);
  let largest = 1;
  for (let at = 0, width = FIRST_AT_ONCE; at < subjects.length; ) {
    const part = subjects.slice(at, at + width);
    const messages = await Promise.all(
      part.map((subject) => leaderGet(connection, stream, { last_by_subj: subject })),
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
