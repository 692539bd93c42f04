/**
 * Encodes RPC messages of the link as plain values, which the runtime copies between isolates. A stored message travels
 * as the broker sent it and is decoded by the client. An error travels as its fields and is thrown again with the same
 * class.
 */
import { concatBytes } from "../../kernel/bytes.ts";
import { AppError, type ErrorKind, type Fault } from "../../kernel/errors.ts";
import { ResponseHeaders } from "../client/headers.ts";
import { DirectMessage, LeaderMessage, type LeaderShape } from "../client/message.ts";
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

/** The calls that the link allows. Each is one RPC, however many requests the server sends to the broker. */
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
  "streamNames",
  "purge",
  "request",
  "ping",
  "server",
] as const satisfies readonly (keyof Store)[];

export type Call = (typeof CALLS)[number];
/** The result of a call. */
export type Answer<C extends Call> = Awaited<ReturnType<Store[C]>>;

/** Stored messages: their origins, and the concatenated bodies of those from direct gets. */
interface Messages {
  heads: (string | LeaderShape)[];
  sizes: number[];
  bodies: Uint8Array | ReadableStream<Uint8Array>;
}

/** Larger messages travel as a stream, because the runtime copies at most 32 MiB as one value. */
const STREAMED_BYTES = 16 * 1024 * 1024;

interface PlainKv {
  key: string;
  revision: number;
  time: number;
  text: string;
}

/** A result or error by type. */
export type RpcMessage =
  | { is: "value"; value: unknown }
  | { is: "message" | "map"; messages: Messages }
  | { is: "page"; messages: Messages; pending: number; lastSeq: number }
  | { is: "kv"; entries: PlainKv[]; one: boolean }
  | { is: "reply"; data: Uint8Array; headers: Record<string, string> }
  | { is: "failure"; failure: Failure };

/** The fields of an error. The cause is text, for the log only. */
type Failure =
  | {
      name: "AppError";
      kind: ErrorKind;
      code: string;
      detail: string;
      errors: Fault[] | undefined;
      retryAfter: number | undefined;
      data: Record<string, unknown> | undefined;
      cause: string | undefined;
    }
  | { name: "StreamMissing"; stream: string }
  | { name: string; message: string };

/** Streams bytes without copying them. */
function streamed(parts: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  const left = parts.filter(({ length }) => length > 0);
  return new ReadableStream({
    type: "bytes",
    pull(controller) {
      const part = left.shift();
      if (part === undefined) controller.close();
      else controller.enqueue(part.slice());
    },
  });
}

function packMessages(messages: readonly StoredMessage[]): Messages {
  const heads: Messages["heads"] = [];
  const bodies: Uint8Array[] = [];
  for (const message of messages) {
    if (message instanceof LeaderMessage) {
      heads.push(message.shape);
    } else if (message instanceof DirectMessage) {
      heads.push(message.headers.text);
      bodies.push(message.data);
    } else throw new Error("unknown type of message");
  }
  const sizes = bodies.map(({ length }) => length);
  const large = sizes.reduce((sum, size) => sum + size, 0) > STREAMED_BYTES;
  return { heads, sizes, bodies: large ? streamed(bodies) : concatBytes(bodies) };
}

async function unpackMessages({ heads, sizes, bodies }: Messages): Promise<StoredMessage[]> {
  const whole =
    bodies instanceof Uint8Array ? bodies : new Uint8Array(await new Response(bodies).arrayBuffer());
  let next = 0;
  let end = 0;
  return heads.map((head) => {
    if (typeof head !== "string") return new LeaderMessage(head);
    const start = end;
    end += sizes[next++] ?? 0;
    return new DirectMessage(new ResponseHeaders(head), whole.subarray(start, end));
  });
}

function plainKv(entry: KvEntry): PlainKv {
  const { key, revision, time } = entry;
  return { key, revision, time, text: entry.text() };
}

function kvOf({ key, revision, time, text }: PlainKv): KvEntry {
  return { key, revision, time, text: () => text, json: <T>() => JSON.parse(text) as T };
}

/** Errors of the store that have only a name. */
const NAMED = { Conflict, SubjectFull, TooMuch, SubjectsTaken } as const;

/** Encodes an error that a call threw. */
export function encodeFailure(error: unknown): RpcMessage {
  if (error instanceof AppError) {
    const { kind, code, detail, errors, retryAfter, data } = error;
    const cause = error.cause === undefined ? undefined : String(error.cause);
    return {
      is: "failure",
      failure: { name: "AppError", kind, code, detail, errors, retryAfter, data, cause },
    };
  }
  if (error instanceof StreamMissing)
    return { is: "failure", failure: { name: "StreamMissing", stream: error.stream } };
  const { name, message } = error instanceof Error ? error : new Error(String(error));
  return { is: "failure", failure: { name, message } };
}

function thrown(failure: Failure): Error {
  if ("kind" in failure) {
    const { kind, code, detail, errors, retryAfter, data, cause } = failure;
    return new AppError(kind, code, detail, {
      ...(errors === undefined ? {} : { errors }),
      ...(retryAfter === undefined ? {} : { retryAfter }),
      ...(data === undefined ? {} : { data }),
      ...(cause === undefined ? {} : { cause }),
    });
  }
  if ("stream" in failure) return new StreamMissing(failure.stream);
  const { name, message } = failure;
  if (Object.hasOwn(NAMED, name)) return new NAMED[name as keyof typeof NAMED]();
  return new Error(`${name}: ${message}`);
}

/** Encodes the result of a call. */
export function encodeResult<C extends Call>(call: C, answer: Answer<C>): RpcMessage {
  switch (call) {
    case "get":
    case "getSeq":
    case "nextMessage": {
      const message = answer as StoredMessage | null;
      return { is: "message", messages: packMessages(message === null ? [] : [message]) };
    }
    case "getMany":
      return { is: "map", messages: packMessages([...(answer as Map<string, StoredMessage>).values()]) };
    case "scan": {
      const { messages, pending, lastSeq } = answer as Page;
      return { is: "page", messages: packMessages(messages), pending, lastSeq };
    }
    case "kvGet": {
      const entry = answer as KvEntry | null;
      return { is: "kv", entries: entry === null ? [] : [plainKv(entry)], one: true };
    }
    case "kvList":
      return { is: "kv", entries: (answer as KvEntry[]).map(plainKv), one: false };
    case "request": {
      const reply = answer as Reply;
      const headers = Object.fromEntries(reply.headerNames().map((name) => [name, reply.header(name) ?? ""]));
      return { is: "reply", data: concatBytes([reply.data]), headers };
    }
    default:
      return { is: "value", value: answer };
  }
}

/**
 * Decodes a result.
 * @throws the error that the call threw
 */
export async function decodeResult(parcel: RpcMessage): Promise<unknown> {
  switch (parcel.is) {
    case "value":
      return parcel.value;
    case "message":
      return (await unpackMessages(parcel.messages))[0] ?? null;
    case "map":
      return new Map((await unpackMessages(parcel.messages)).map((message) => [message.subject, message]));
    case "page":
      return {
        messages: await unpackMessages(parcel.messages),
        pending: parcel.pending,
        lastSeq: parcel.lastSeq,
      } satisfies Page;
    case "kv": {
      const entries = parcel.entries.map(kvOf);
      return parcel.one ? (entries[0] ?? null) : entries;
    }
    case "reply": {
      const { data, headers } = parcel;
      return {
        data,
        header: (name) => (Object.hasOwn(headers, name) ? headers[name] : undefined) || undefined,
        headerNames: () => Object.keys(headers),
      } satisfies Reply;
    }
    case "failure":
      throw thrown(parcel.failure);
  }
}
