import { AppError, unavailable } from "../../kernel/errors.ts";
import { pause } from "../../kernel/pause.ts";
import { ApiCode, type Connection, mostBytes, NO_RESPONDERS } from "../client/index.ts";
import { batchTooLarge, RejectedWrite } from "../errors.ts";
import { type Append, Conflict, LARGE_BATCH_LIMIT, StreamMissing, SubjectFull } from "../types.ts";
import { NoResponders, received } from "./read.ts";

const decoder = new TextDecoder();

interface Ack {
  seq?: number;
  val?: string;
  error?: { code: number; err_code: number; description: string };
}

const BAD_MESSAGE = 400;
/**
 * Bytes of a batch after which the sender waits until the broker has taken them. The broker drops messages if more than
 * 128 MB wait for one stream.
 */
const WINDOW_BYTES = 8 * 1024 * 1024;
/** For each of these bytes, a batch has a millisecond more until the broker must have acknowledged it. */
const BYTES_PER_MS = 10_000;

export function failure(stream: string, error: NonNullable<Ack["error"]>): Error {
  switch (error.err_code) {
    case ApiCode.wrongLastSequence:
    case ApiCode.batchInProcess:
      return new Conflict();
    case ApiCode.streamNotFound:
    case ApiCode.expectedStreamMismatch:
      return new StreamMissing(stream);
    case ApiCode.maxPerSubject:
      return new SubjectFull();
    case ApiCode.batchTooLarge:
      return new AppError(
        "too_large",
        "batch_too_large",
        `The broker takes fewer messages in one atomic write. Raise its setting limits.batch.max_msgs to ${LARGE_BATCH_LIMIT}, or send less.`,
        { cause: `${error.err_code} ${error.description}` },
      );
    default: {
      const cause = `${error.err_code} ${error.description}`;
      return error.code === BAD_MESSAGE ? new RejectedWrite(cause) : unavailable(cause);
    }
  }
}

function headersOf(stream: string, message: Append): Record<string, string> {
  const headers: Record<string, string> = { "Nats-Expected-Stream": stream, ...message.headers };
  if (message.expect !== undefined) {
    headers["Nats-Expected-Last-Subject-Sequence"] = String(message.expect.seq);
    if (message.expect.subject !== undefined && message.expect.subject !== message.subject) {
      headers["Nats-Expected-Last-Subject-Sequence-Subject"] = message.expect.subject;
    }
  }
  if (message.expectStreamSeq !== undefined)
    headers["Nats-Expected-Last-Sequence"] = String(message.expectStreamSeq);
  if (message.rollup === true) headers["Nats-Rollup"] = "sub";
  if (message.ttl !== undefined) headers["Nats-TTL"] = `${Math.max(1, Math.ceil(message.ttl))}s`;
  return headers;
}

/** @throws NoResponders if no stream stores messages with this subject */
function publish(
  connection: Connection,
  message: Append,
  headers: Record<string, string>,
  timeoutMs = connection.requestTimeoutMs,
): Promise<Ack> {
  return connection.ask<Ack>(
    message.subject,
    message.data,
    ({ data, headers: status }, resolve, reject) => {
      if (status?.code === NO_RESPONDERS) reject(new NoResponders());
      // The broker confirms a message in the middle of a batch without a body.
      else resolve(data.length === 0 ? {} : (JSON.parse(decoder.decode(data)) as Ack));
      return true;
    },
    { headers, timeoutMs },
  );
}

export async function append(connection: Connection, stream: string, message: Append): Promise<number> {
  const headers = headersOf(stream, message);
  const ack = await received(connection, stream, () => publish(connection, message, headers));
  if (ack.error !== undefined) throw failure(stream, ack.error);
  return ack.seq ?? 0;
}

/**
 * Adds to a counter and returns the new sum. Does not check the last sequence number (`expect`), because the broker
 * does not support such checks for counters.
 */
export async function count(
  connection: Connection,
  stream: string,
  subject: string,
  by: number,
): Promise<number> {
  const headers = { "Nats-Incr": by < 0 ? String(by) : `+${by}` };
  const ack = await received(connection, stream, () => publish(connection, { subject, data: "" }, headers));
  if (ack.error !== undefined) throw failure(stream, ack.error);
  const sum = Number(ack.val ?? "none");
  if (!Number.isFinite(sum)) throw unavailable(`${stream} holds no counters`);
  return sum;
}

/** Appends messages in order. Sends all of them before it waits for the first acknowledgement. */
export async function pipeline(
  connection: Connection,
  stream: string,
  messages: readonly Append[],
): Promise<number[]> {
  const results = await Promise.allSettled(messages.map((message) => append(connection, stream, message)));
  const failed = results.find((result) => result.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  return results.map((result) => (result.status === "fulfilled" ? result.value : 0));
}

/** Appends messages in one atomic batch. While the broker is busy, retries after 10 to 500 ms with jitter. */
export async function batch(
  connection: Connection,
  stream: string,
  messages: readonly Append[],
): Promise<number> {
  if (messages.length > LARGE_BATCH_LIMIT) throw batchTooLarge(LARGE_BATCH_LIMIT);
  const only = messages[0];
  if (only !== undefined && messages.length === 1) return append(connection, stream, only);
  let waited = 0;
  for (let delay = 10; ; delay = Math.min(500, delay * 2)) {
    const ack = await received(connection, stream, () => sendBatch(connection, stream, messages));
    if (ack.error === undefined) return ack.seq ?? 0;
    const code = ack.error.err_code;
    if (code !== ApiCode.batchIncomplete && code !== ApiCode.batchTooMany) throw failure(stream, ack.error);
    if (waited > connection.requestTimeoutMs) throw unavailable(`${code} ${ack.error.description}`);
    const wait = delay * (0.5 + Math.random());
    waited += wait;
    await pause(wait);
  }
}

async function sendBatch(connection: Connection, stream: string, messages: readonly Append[]): Promise<Ack> {
  const id = crypto.randomUUID();
  await connection.ready(Math.max(...messages.map(({ data }) => mostBytes(data))));
  const bytes = messages.reduce((sum, { data }) => sum + data.length, 0);
  const timeoutMs = connection.requestTimeoutMs + Math.floor(bytes / BYTES_PER_MS);
  const last = messages.length - 1;
  for (let i = 0, waiting = 0; i < last; i++) {
    const message = messages[i];
    if (message === undefined) continue;
    const headers = headersOf(stream, message);
    headers["Nats-Batch-Id"] = id;
    headers["Nats-Batch-Sequence"] = String(i + 1);
    waiting += message.data.length;
    if (waiting < WINDOW_BYTES) {
      connection.send(message.subject, message.data, headers);
      continue;
    }
    const ack = await publish(connection, message, headers, timeoutMs);
    if (ack.error !== undefined) return ack;
    waiting = 0;
  }
  const final = messages[last];
  if (final === undefined) return { seq: 0 };
  const headers = headersOf(stream, final);
  headers["Nats-Batch-Id"] = id;
  headers["Nats-Batch-Sequence"] = String(last + 1);
  headers["Nats-Batch-Commit"] = "1";
  return publish(connection, final, headers, timeoutMs);
}
