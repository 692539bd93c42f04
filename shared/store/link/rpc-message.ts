/** Encodes results and errors as plain values, which Cloudflare's RPC copies between isolates. */
import { AppError } from "../../kernel/errors.ts";
import { concatBytes } from "../../kernel/ids.ts";
import { Message, ResponseHeaders } from "../client/index.ts";
import {
  Conflict,
  type KvEntry,
  type Page,
  type Reply,
  type Store,
  type StoredMessage,
  StreamMissing,
  SubjectFull,
  SubjectsTaken,
  TooMuch,
} from "../types.ts";

/** The methods of the store that can be called over RPC. */
export const CALLS = [
  "get",
  "getSeq",
  "getMany",
  "scan",
  "nextMessage",
  "append",
  "batch",
  "pipeline",
  "count",
  "kvGet",
  "kvList",
  "kvLast",
  "kvPut",
  "kvDelete",
  "createStream",
  "updateStream",
  "deleteStream",
  "streamInfo",
  "subjects",
  "streamNames",
  "purge",
  "request",
  "ping",
  "server",
] as const satisfies readonly (keyof Store)[];

export type Call = (typeof CALLS)[number];
export type Answer<C extends Call> = Awaited<ReturnType<Store[C]>>;

/**
 * All binary bodies share one byte array, because Cloudflare's RPC copies many small arrays several times more slowly.
 * The RPC system copies at most 32 MiB per value. Reads return at most 8 MiB, so this suffices.
 */
interface Messages {
  headers: string[];
  sizes: number[];
  texts: (string | undefined)[];
  bodies: Uint8Array;
}

type PlainKv = Pick<KvEntry, "key" | "revision" | "time"> & { body: string };

export type RpcMessage =
  | { is: "value"; value: unknown }
  | { is: "message" | "map"; messages: Messages }
  | { is: "page"; messages: Messages; pending: number; lastSeq: number }
  | { is: "kv"; entry: PlainKv | null }
  | { is: "kvs"; entries: PlainKv[] }
  | { is: "reply"; data: Uint8Array; headers: string }
  | { is: "failure"; failure: Failure };

type Failure =
  | (Pick<AppError, "kind" | "code" | "detail" | "errors" | "retryAfter" | "data"> & { cause?: string })
  | { name: string; message: string; stream?: string };

function packMessages(messages: Iterable<StoredMessage>): Messages {
  const packed: Messages = { headers: [], sizes: [], texts: [], bodies: new Uint8Array() };
  const bodies: Uint8Array[] = [];
  for (const message of messages) {
    if (!(message instanceof Message)) throw new Error("the store returned a cached message");
    packed.headers.push(message.headers.text);
    packed.sizes.push(message.size);
    const { body } = message;
    packed.texts.push(typeof body === "string" ? body : undefined);
    if (typeof body !== "string") bodies.push(body);
  }
  packed.bodies = concatBytes(bodies);
  return packed;
}

function unpackMessages({ headers, sizes, texts, bodies }: Messages): Message[] {
  let end = 0;
  return headers.map((head, i) => {
    const size = sizes[i] ?? 0;
    const text = texts[i];
    const start = end;
    if (text === undefined) end += size;
    return new Message(new ResponseHeaders(head), text ?? bodies.subarray(start, end), size);
  });
}

function plainKv(entry: KvEntry): PlainKv {
  const { key, revision, time } = entry;
  return { key, revision, time, body: entry.text() };
}

function kvOf({ body, ...place }: PlainKv): KvEntry {
  return { ...place, text: () => body, json: <T>() => JSON.parse(body) as T };
}

const NAMED = { Conflict, SubjectFull, TooMuch, SubjectsTaken } as const;

export function encodeFailure(thrown: unknown): RpcMessage {
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  const { name, message, cause } = error;
  if (!(error instanceof AppError))
    return {
      is: "failure",
      failure: { name, message, ...(error instanceof StreamMissing && { stream: error.stream }) },
    };
  return { is: "failure", failure: { ...error, ...(cause === undefined ? {} : { cause: String(cause) }) } };
}

function decodeFailure(failure: Failure): Error {
  if ("kind" in failure) return new AppError(failure.kind, failure.code, failure.detail, failure);
  const { name, message, stream } = failure;
  if (stream !== undefined) return new StreamMissing(stream);
  if (Object.hasOwn(NAMED, name)) return new NAMED[name as keyof typeof NAMED]();
  return new Error(`${name}: ${message}`);
}

export function encodeResult<C extends Call>(call: C, answer: Answer<C>): RpcMessage {
  switch (call) {
    case "get":
    case "getSeq":
    case "nextMessage":
      return { is: "message", messages: packMessages(answer === null ? [] : [answer as StoredMessage]) };
    case "getMany":
      return { is: "map", messages: packMessages((answer as Map<string, StoredMessage>).values()) };
    case "scan": {
      const page = answer as Page;
      return { is: "page", ...page, messages: packMessages(page.messages) };
    }
    case "kvGet":
      return { is: "kv", entry: answer && plainKv(answer as KvEntry) };
    case "kvList":
      return { is: "kvs", entries: (answer as KvEntry[]).map(plainKv) };
    case "request": {
      const { data, headerText } = answer as Reply;
      return { is: "reply", data: concatBytes([data]), headers: headerText };
    }
    default:
      return { is: "value", value: answer };
  }
}

export function decodeResult(result: RpcMessage): unknown {
  switch (result.is) {
    case "value":
      return result.value;
    case "message":
      return unpackMessages(result.messages)[0] ?? null;
    case "map":
      return new Map(unpackMessages(result.messages).map((message) => [message.subject, message]));
    case "page": {
      const { messages, pending, lastSeq } = result;
      return { messages: unpackMessages(messages), pending, lastSeq } satisfies Page;
    }
    case "kv":
      return result.entry && kvOf(result.entry);
    case "kvs":
      return result.entries.map(kvOf);
    case "reply": {
      const headers = new ResponseHeaders(result.headers);
      const header = (name: string) => headers.last(name) || undefined;
      return { data: result.data, headerText: headers.text, header } satisfies Reply;
    }
    case "failure":
      throw decodeFailure(result.failure);
  }
}
