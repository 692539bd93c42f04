import type { Msg } from "nats.ws";
import { fromBase64 } from "../../kernel/base64.ts";
import { kvSubject } from "../subjects.ts";
import type { Delivery, KvEntry, StoredMessage } from "../types.ts";
import { keptBody } from "./frames.ts";

export const VERSION = "NATS/1.0";
const decoder = new TextDecoder();
const encoder = new TextEncoder();
const EMPTY = new Uint8Array(0);

/** Returns a message's headers as text, because the client library's header parser is slow. */
function headersOf(message: Msg & { size?: () => number }): string {
  const { data } = message;
  const length =
    (message.size?.() ?? 0) - message.subject.length - (message.reply?.length ?? 0) - data.length;
  if (length > VERSION.length && length <= data.byteOffset) {
    const text = decoder.decode(new Uint8Array(data.buffer, data.byteOffset - length, length));
    if (text.startsWith(VERSION) && text.endsWith("\r\n\r\n")) return text;
  }
  const { headers } = message;
  const code = headers?.code ?? 0;
  const lines = headers
    ?.keys()
    .flatMap((name) => headers.values(name).map((value) => `${name}: ${value}\r\n`));
  return `${VERSION}${code === 0 ? "" : ` ${code}`}\r\n${lines?.join("") ?? ""}\r\n`;
}

export class ResponseHeaders {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  static of(message: Msg): ResponseHeaders {
    return new ResponseHeaders(headersOf(message));
  }

  /** Status code of the broker, such as 404; 0 for an ordinary message. */
  get status(): number {
    const { text } = this;
    return text[VERSION.length] === " " ? Number(text.slice(VERSION.length + 1, VERSION.length + 4)) : 0;
  }

  own(): ResponseHeaders | undefined {
    const lines = this.text.split("\r\n").slice(1, -2);
    const own = lines.filter((line) => !line.startsWith("Nats-") || line.startsWith("Nats-Marker-Reason:"));
    return own.length === 0 ? undefined : new ResponseHeaders(["", ...own, ""].join("\r\n"));
  }

  first(name: string): string | undefined {
    return this.#at(this.text.indexOf(`\r\n${name}:`), name);
  }

  /** Returns the last value of a header, because the broker appends its headers after the sender's headers. */
  last(name: string): string | undefined {
    return this.#at(this.text.lastIndexOf(`\r\n${name}:`), name);
  }

  #at(at: number, name: string): string | undefined {
    if (at < 0) return undefined;
    const from = at + name.length + 3;
    return this.text.slice(from, this.text.indexOf("\r\n", from)).trim();
  }
}

export class Message implements StoredMessage {
  readonly headers: ResponseHeaders;
  /**
   * The body, usually as bytes of the received WebSocket frame. The client frees a frame of 64 KiB or more after
   * parsing. The body is then a copy: text if possible, otherwise bytes.
   */
  readonly body: string | Uint8Array;
  readonly size: number;
  readonly seq: number;
  /** Cached, because the change feed asks several times for the subject of every message. */
  #subject: string | undefined;

  constructor(headers: ResponseHeaders, body: string | Uint8Array, size = body.length) {
    this.headers = headers;
    this.body = body;
    this.size = size;
    this.seq = Number(headers.last("Nats-Sequence"));
  }

  static of(headers: ResponseHeaders, { data }: Msg): Message {
    return new Message(headers, keptBody(data), data.length);
  }

  get data(): Uint8Array {
    return typeof this.body === "string" ? encoder.encode(this.body) : this.body;
  }

  get subject(): string {
    this.#subject ??= this.headers.last("Nats-Subject") ?? "";
    return this.#subject;
  }
  get time(): number {
    return Date.parse(this.headers.last("Nats-Time-Stamp") ?? "");
  }
  header(name: string): string | undefined {
    return this.headers.first(name) || undefined;
  }
  text(): string {
    return typeof this.body === "string" ? this.body : decoder.decode(this.body);
  }
  json<T>(): T {
    return JSON.parse(this.text()) as T;
  }
}

/** Header with which a message of a key-value bucket marks its key as deleted. */
export const KV_OPERATION = "KV-Operation";

/** Returns whether a message of a key-value bucket says that its key was deleted, purged or expired. */
export function isDeletionMarker(message: StoredMessage): boolean {
  return message.header(KV_OPERATION) !== undefined || message.header("Nats-Marker-Reason") !== undefined;
}

/** Converts a message of a key-value bucket to the key-value entry that it stores. */
export function kvEntry(bucket: string, message: StoredMessage): KvEntry {
  return {
    key: message.subject.slice(kvSubject(bucket, "").length),
    revision: message.seq,
    time: message.time,
    text: () => message.text(),
    json: <T>() => message.json<T>(),
  };
}

/** The JSON response of `STREAM.MSG.GET`, with data and headers in base64. */
export interface LeaderAnswer {
  message?: { subject: string; seq: number; time: string; data?: string; hdrs?: string };
  error?: { code: number; err_code: number; description: string };
}

export function leaderMessage({
  subject,
  seq,
  time,
  data,
  hdrs,
}: NonNullable<LeaderAnswer["message"]>): Message {
  const own = hdrs === undefined ? "NATS/1.0\r\n" : decoder.decode(fromBase64(hdrs)).slice(0, -2);
  const headers = `${own}Nats-Subject: ${subject}\r\nNats-Sequence: ${seq}\r\nNats-Time-Stamp: ${time}\r\n\r\n`;
  return new Message(new ResponseHeaders(headers), fromBase64(data ?? ""));
}

function freezeAll<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    for (const inner of Object.values(value)) freezeAll(inner);
    Object.freeze(value);
  }
  return value;
}

/** A cached message. All readers share its parsed JSON and must not change it. */
export class CachedMessage implements StoredMessage {
  readonly subject: string;
  readonly seq: number;
  readonly time: number;
  readonly #body: string;
  readonly #headers: ResponseHeaders | undefined;
  readonly #freeze: boolean;
  #json: unknown;

  constructor(
    place: { subject: string; seq: number; time: number },
    body: string,
    headers?: ResponseHeaders,
    freeze = false,
  ) {
    this.subject = place.subject;
    this.seq = place.seq;
    this.time = place.time;
    this.#body = body;
    this.#headers = headers;
    this.#freeze = freeze;
  }

  /** Copies a message, so that the cache does not keep the whole received frame in memory. */
  static of(message: Message, freeze: boolean): CachedMessage {
    return new CachedMessage(message, message.text(), message.headers.own(), freeze);
  }

  get size(): number {
    return this.#body.length;
  }
  get data(): Uint8Array {
    return this.#body === "" ? EMPTY : encoder.encode(this.#body);
  }
  header(name: string): string | undefined {
    return this.#headers?.first(name) || undefined;
  }
  text(): string {
    return this.#body;
  }
  json<T>(): T {
    if (this.#json === undefined) {
      const value: unknown = JSON.parse(this.#body);
      this.#json = this.#freeze ? freezeAll(value) : value;
    }
    return this.#json as T;
  }
  forgetJson(): void {
    this.#json = undefined;
  }
}

export class ReceivedMessage implements Delivery {
  readonly #message: Msg;
  readonly #body: string | Uint8Array;
  #headers: ResponseHeaders | undefined;

  constructor(message: Msg) {
    this.#message = message;
    const { data } = message;
    this.#body = keptBody(data);
    if (this.#body === data) return;
    void [message.subject, message.reply];
    this.#headers = ResponseHeaders.of(message);
  }

  get subject(): string {
    return this.#message.subject;
  }
  get data(): Uint8Array {
    return typeof this.#body === "string" ? encoder.encode(this.#body) : this.#body;
  }
  text(): string {
    return typeof this.#body === "string" ? this.#body : decoder.decode(this.#body);
  }
  get reply(): string | undefined {
    return this.#message.reply === "" ? undefined : this.#message.reply;
  }
  get #all(): ResponseHeaders {
    this.#headers ??= ResponseHeaders.of(this.#message);
    return this.#headers;
  }
  get status(): number {
    return this.#all.status;
  }
  get headerText(): string {
    return this.#all.text;
  }
  header(name: string): string | undefined {
    return this.#all.last(name) || undefined;
  }
}
