import { AppError, unavailable } from "../../kernel/errors.ts";
import { ApiCode, NO_RESPONDERS } from "../client/codes.ts";
import { AnswerHeaders } from "../client/headers.ts";
import { DirectMessage, type LeaderAnswer, LeaderMessage } from "../client/message.ts";
import type { Wire } from "../client/wire.ts";
import { type Page, type StoredMessage, type StreamInfo, StreamMissing, TooMuch } from "../types.ts";

const NOT_FOUND = 404;
const END_OF_BATCH = 204;
const TOO_MANY_SUBJECTS = 413;
/** Most subjects that one `multi_last` takes. */
export const MULTI_LAST_LIMIT = 1024;

const decoder = new TextDecoder();

/** Nobody listens. */
class Nobody extends Error {}

/** What the broker's API knows of a stream. @throws StreamMissing; AppError unavailable when it does not tell */
async function inspect(wire: Wire, stream: string): Promise<StreamInfo> {
  const reply = await wire.request(`$JS.API.STREAM.INFO.${stream}`, "");
  if (reply.status !== 0) throw unavailable("JetStream does not answer");
  const answer = JSON.parse(decoder.decode(reply.data)) as LeaderAnswer & StreamInfo;
  if (answer.error === undefined) return answer;
  throw answer.error.err_code === ApiCode.streamNotFound
    ? new StreamMissing(stream)
    : unavailable(answer.error.description);
}

/**
 * Where nobody listens for a stream's messages or reads there is no such stream, or the broker is stopping, or electing:
 * its API tells which. What is merely away must not be taken for nothing.
 */
export async function streamMissing(wire: Wire, stream: string): Promise<Error> {
  return inspect(wire, stream).then(
    () => unavailable("the stream does not answer"),
    (error: Error) => error,
  );
}

/** A read; where nobody answered it, why. */
async function heard<T>(wire: Wire, stream: string, read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (error) {
    throw error instanceof Nobody ? await streamMissing(wire, stream) : error;
  }
}

/** A direct get answered with a status and no message. */
function refused(status: number): Error {
  if (status === NO_RESPONDERS) return new Nobody();
  if (status === TOO_MANY_SUBJECTS) return new AppError("invalid", "too_broad", "Too many messages match.");
  return unavailable(`direct get answered ${status}`);
}

/** The last message on a subject, or of all that match one with wildcards; by any replica. */
export function directLast(wire: Wire, stream: string, subject: string): Promise<StoredMessage | null> {
  const wild = subject.includes("*") || subject.endsWith(">");
  return direct(
    wire,
    stream,
    wild ? `$JS.API.DIRECT.GET.${stream}` : `$JS.API.DIRECT.GET.${stream}.${subject}`,
    wild ? JSON.stringify({ last_by_subj: subject }) : "",
  );
}

/** The message at a sequence, by any replica. */
export function directSeq(wire: Wire, stream: string, seq: number): Promise<StoredMessage | null> {
  return direct(wire, stream, `$JS.API.DIRECT.GET.${stream}`, JSON.stringify({ seq }));
}

function direct(wire: Wire, stream: string, api: string, body: string): Promise<StoredMessage | null> {
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

/** One message as the stream's leader has it: sees every acknowledged write. */
export async function leaderGet(
  wire: Wire,
  stream: string,
  which: { last_by_subj: string } | { seq: number } | { next_by_subj: string; seq: number },
): Promise<StoredMessage | null> {
  const reply = await wire.request(`$JS.API.STREAM.MSG.GET.${stream}`, JSON.stringify(which));
  if (reply.status === NO_RESPONDERS) throw unavailable("JetStream does not answer");
  const answer = JSON.parse(decoder.decode(reply.data)) as LeaderAnswer;
  if (answer.message !== undefined) return new LeaderMessage(answer.message);
  if (answer.error?.err_code === ApiCode.noMessage || answer.error?.code === NOT_FOUND) {
    if (answer.error.err_code === ApiCode.streamNotFound) throw new StreamMissing(stream);
    return null;
  }
  throw unavailable(answer.error?.description);
}

/** A batch of direct-get answers: messages, then one end-of-batch status. @throws Nobody */
function collect(wire: Wire, stream: string, body: string): Promise<Page> {
  const messages: StoredMessage[] = [];
  let held = 0;
  const page = wire.ask<Page>(`$JS.API.DIRECT.GET.${stream}`, body, (message, resolve, reject) => {
    const headers = AnswerHeaders.of(message);
    const { status } = headers;
    if (status === 0) {
      messages.push(new DirectMessage(headers, message.data));
      held += message.data.length;
      if (wire.hold(message.data.length, held)) return false;
      reject(unavailable("too much is being read at once"));
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

/** The broker ends an answer at its limit for pending bytes (64 MiB), whatever was allowed: one below this is not cut by that. */
const WHOLE_BYTES = 32 * 1024 * 1024;

/**
 * The last message of each of at most {@link MULTI_LAST_LIMIT} subjects, and how far the answering replica was. Where the
 * broker ended an answer by itself it tells how many are left. This asks again for them, or they would seem to be missing.
 * @throws TooMuch when they are larger than `maxBytes` together
 */
export async function directLatest(
  wire: Wire,
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

/** Messages by their subjects. @throws TooMuch when they are larger than `maxBytes` together */
class Found extends Map<string, StoredMessage> {
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
 * The last message of each subject, by any replica: in one request for each {@link MULTI_LAST_LIMIT}.
 * @throws TooMuch when they are larger than `maxBytes` together
 */
export async function directMany(
  wire: Wire,
  stream: string,
  subjects: readonly string[],
  maxBytes: number,
): Promise<Map<string, StoredMessage>> {
  const found = new Found(maxBytes, subjects.length);
  const pages = await Promise.all(
    partsOf(subjects, MULTI_LAST_LIMIT).map((part) => directLatest(wire, stream, part, maxBytes)),
  );
  for (const page of pages) for (const message of page.messages) found.add(message);
  return found;
}

/** Number of requests to the leader at once: a few at first, and more once messages turn out to be small. */
const FIRST_AT_ONCE = 16;
const MOST_AT_ONCE = 256;
/** Bytes that they may come to, if they are as large as those before. */
const AT_ONCE_BYTES = 4 * 1024 * 1024;

/**
 * The last message of each literal subject, by the leader, who is asked for each.
 * @throws TooMuch when they are larger than `maxBytes` together
 */
export async function leaderMany(
  wire: Wire,
  stream: string,
  subjects: readonly string[],
  maxBytes: number,
): Promise<Map<string, StoredMessage>> {
  const found = new Found(maxBytes, subjects.length);
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

/** What a page may hold, and where it begins. */
interface Scan {
  fromSeq: number;
  limit: number;
  maxBytes: number;
}

/**
 * A page of a filter in stream order, in one request. Streams of others may allow no direct gets, as client libraries make
 * them: of such a one the leader is asked.
 */
export async function scan(wire: Wire, stream: string, filter: string, options: Scan): Promise<Page> {
  const { fromSeq, limit: batch, maxBytes: max_bytes } = options;
  const body = JSON.stringify({ next_by_subj: filter, seq: Math.max(1, fromSeq), batch, max_bytes });
  try {
    return await collect(wire, stream, body);
  } catch (error) {
    if (!(error instanceof Nobody)) throw error;
  }
  const { config, state } = await inspect(wire, stream);
  if (config.allow_direct === true) throw unavailable("the stream does not answer");
  return leaderScan(wire, stream, filter, options, state.last_seq);
}

/** How often the leader is asked for one page, and for how many messages at once: it tells one at a time. */
const TURNS = 64;
const WIDEST = 16;

/**
 * A page from the leader, who tells the next message from a position on and nothing more. So it is asked from several
 * positions at once, for as many as lay side by side before; a page that takes too many turns ends early.
 */
async function leaderScan(
  wire: Wire,
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
      // Behind the first position that has nothing there is nothing.
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
