import type { Msg } from "nats.ws";
import type { Delivery, StoredMessage } from "../types.ts";
import { ResponseHeaders } from "./headers.ts";

const decoder = new TextDecoder();
const encoder = new TextEncoder();
const EMPTY = new Uint8Array(0);

/** A stored message from the broker. Its headers contain subject, sequence and time. */
export class Message implements StoredMessage {
  readonly headers: ResponseHeaders;
  readonly data: Uint8Array;
  readonly seq: number;

  constructor(headers: ResponseHeaders, data: Uint8Array) {
    this.headers = headers;
    this.data = data;
    this.seq = Number(headers.last("Nats-Sequence"));
  }

  get subject(): string {
    return this.headers.last("Nats-Subject") ?? "";
  }
  get time(): number {
    return Date.parse(this.headers.last("Nats-Time-Stamp") ?? "");
  }
  get size(): number {
    return this.data.length;
  }
  header(name: string): string | undefined {
    return this.headers.first(name) || undefined;
  }
  text(): string {
    return decoder.decode(this.data);
  }
  json<T>(): T {
    return JSON.parse(this.text()) as T;
  }
}

/** The response format of `STREAM.MSG.GET`, with base64 parts. */
export interface LeaderAnswer {
  message?: { subject: string; seq: number; time: string; data?: string; hdrs?: string };
  error?: { code: number; err_code: number; description: string };
}

function fromBase64(text = ""): Uint8Array {
  const binary = atob(text);
  const out = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) out[i] = binary.charCodeAt(i);
  return out;
}

/** Converts a message of the leader to the form of a direct get. */
export function leaderMessage({
  subject,
  seq,
  time,
  data,
  hdrs,
}: NonNullable<LeaderAnswer["message"]>): Message {
  const own = hdrs === undefined ? "NATS/1.0\r\n" : decoder.decode(fromBase64(hdrs)).slice(0, -2);
  const headers = `${own}Nats-Subject: ${subject}\r\nNats-Sequence: ${seq}\r\nNats-Time-Stamp: ${time}\r\n\r\n`;
  return new Message(new ResponseHeaders(headers), fromBase64(data));
}

/** Freezes a value deeply, because all readers share cached values. */
function freezeAll<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    for (const inner of Object.values(value)) freezeAll(inner);
    Object.freeze(value);
  }
  return value;
}

/** A cached message. Its JSON is parsed once and shared by all readers, who must not change it. */
export class CachedMessage implements StoredMessage {
  readonly subject: string;
  readonly seq: number;
  readonly time: number;
  readonly #body: string;
  readonly #headers: ResponseHeaders | undefined;
  readonly #freeze: boolean;
  #json: unknown;

  /** @param body as text, which takes a fraction of the memory of a separate byte array */
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

  /** Copies a message without the frame that it arrived in, and without the broker's headers. */
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
  /** Frees the parsed JSON. Readers that hold it keep it. */
  forgetJson(): void {
    this.#json = undefined;
  }
}

/** A message of a subscription or a reply. If a header appears twice, the last one is the broker's and counts. */
export class ReceivedMessage implements Delivery {
  readonly #message: Msg;
  #headers: ResponseHeaders | undefined;

  constructor(message: Msg) {
    this.#message = message;
  }

  get subject(): string {
    return this.#message.subject;
  }
  get data(): Uint8Array {
    return this.#message.data;
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
