import type { Msg } from "nats.ws";
import type { Delivery, Reply, StoredMessage } from "../types.ts";
import { ResponseHeaders } from "./headers.ts";

const decoder = new TextDecoder();

/** A stored message in a direct get response, whose headers contain subject and sequence. */
export class DirectMessage implements StoredMessage {
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
  get names(): readonly string[] {
    return this.headers.names;
  }
  text(): string {
    return decoder.decode(this.data);
  }
  json<T>(): T {
    return JSON.parse(this.text()) as T;
  }
}

/** A message of a subscription. If a header appears twice, the last one is the broker's and counts. */
export class DeliveredMessage implements Delivery {
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
  get #text(): ResponseHeaders {
    this.#headers ??= ResponseHeaders.of(this.#message);
    return this.#headers;
  }
  header(name: string): string | undefined {
    return this.#text.last(name) || undefined;
  }
  headerNames(): readonly string[] {
    return this.#text.names;
  }
}

/** Freezes a value deeply, because all readers share cached values. */
function freezeAll<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    for (const inner of Object.values(value)) freezeAll(inner);
    Object.freeze(value);
  }
  return value;
}

const encoder = new TextEncoder();
const EMPTY = new Uint8Array(0);

/**
 * The headers of a message that describe its body, which nearly no message has. Caching the broker's headers and the
 * expectations would take many times the space.
 */
export function ownHeaders(
  names: readonly string[],
  header: (name: string) => string | undefined,
): ((name: string) => string | undefined) | undefined {
  const own = names.filter((name) => !name.startsWith("Nats-") || name === "Nats-Marker-Reason");
  if (own.length === 0) return undefined;
  const values = new Map(own.map((name) => [name, header(name)]));
  return (name) => values.get(name);
}

/** A message from the broker that can be copied. */
export type ReceivedMessage = DirectMessage | LeaderMessage;

/** A copy that does not keep the whole received frame in memory. */
export function copyOf(message: ReceivedMessage, freeze: boolean): MemoryMessage {
  const own = ownHeaders(message.names, (name) => message.header(name));
  return new MemoryMessage(message, message.text(), own, freeze);
}

/** A cached message. Its JSON is parsed once and shared by all readers, who must not change it. */
export class MemoryMessage implements StoredMessage {
  readonly subject: string;
  readonly seq: number;
  readonly time: number;
  readonly #body: string | Uint8Array;
  readonly #header: ((name: string) => string | undefined) | undefined;
  readonly #freeze: boolean;
  #json: unknown;

  /** @param body as text, which takes a fraction of the memory of a separate byte array */
  constructor(
    place: { subject: string; seq: number; time: number },
    body: string | Uint8Array,
    header: ((name: string) => string | undefined) | undefined,
    freeze = false,
  ) {
    this.subject = place.subject;
    this.seq = place.seq;
    this.time = place.time;
    this.#body = body;
    this.#header = header;
    this.#freeze = freeze;
  }

  get size(): number {
    return this.#body.length;
  }
  get data(): Uint8Array {
    if (typeof this.#body !== "string") return this.#body;
    return this.#body === "" ? EMPTY : encoder.encode(this.#body);
  }
  header(name: string): string | undefined {
    return this.#header?.(name);
  }
  text(): string {
    return typeof this.#body === "string" ? this.#body : decoder.decode(this.#body);
  }
  json<T>(): T {
    if (this.#json === undefined) {
      const value: unknown = JSON.parse(this.text());
      this.#json = this.#freeze ? freezeAll(value) : value;
    }
    return this.#json as T;
  }
  /** The same message with its own parsed JSON, so that reading it once does not enlarge the cache. */
  apart(): MemoryMessage {
    return new MemoryMessage(this, this.#body, this.#header, this.#freeze);
  }
  /** Frees the parsed JSON. Readers that hold it keep it. */
  forgetJson(): void {
    this.#json = undefined;
  }
}

/** A message in the format of the stream leader's response, with base64 parts. */
export interface LeaderShape {
  subject: string;
  seq: number;
  time: string;
  data?: string;
  hdrs?: string;
}

/** The response format of `STREAM.MSG.GET`. */
export interface LeaderAnswer {
  message?: LeaderShape;
  error?: { code: number; err_code: number; description: string };
}

function fromBase64(text: string): Uint8Array {
  const binary = atob(text);
  const out = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) out[i] = binary.charCodeAt(i);
  return out;
}

/** A stored message in the leader's response. */
export class LeaderMessage implements StoredMessage {
  readonly shape: LeaderShape;
  readonly time: number;
  #data: Uint8Array | undefined;
  #headers: Map<string, string> | undefined;

  constructor(shape: LeaderShape) {
    this.shape = shape;
    this.time = Date.parse(shape.time);
  }

  get subject(): string {
    return this.shape.subject;
  }
  get seq(): number {
    return this.shape.seq;
  }
  get data(): Uint8Array {
    this.#data ??= this.shape.data === undefined ? EMPTY : fromBase64(this.shape.data);
    return this.#data;
  }
  get size(): number {
    return this.data.length;
  }
  #all(): Map<string, string> {
    if (this.#headers === undefined) {
      this.#headers = new Map();
      const { hdrs } = this.shape;
      const text = hdrs === undefined ? "" : decoder.decode(fromBase64(hdrs));
      for (const line of text.split("\r\n").slice(1)) {
        const colon = line.indexOf(":");
        if (colon > 0) this.#headers.set(line.slice(0, colon), line.slice(colon + 1).trim());
      }
    }
    return this.#headers;
  }
  get names(): readonly string[] {
    return [...this.#all().keys()];
  }
  header(name: string): string | undefined {
    return this.#all().get(name);
  }
  text(): string {
    return decoder.decode(this.data);
  }
  json<T>(): T {
    return JSON.parse(this.text()) as T;
  }
}

/** Returns the answer to a request, with the broker's status. */
export function replyOf({ data, headers }: Msg): Reply & { status: number } {
  return {
    data,
    header: (name) => headers?.get(name) || undefined,
    headerNames: () => headers?.keys() ?? [],
    status: headers?.code ?? 0,
  };
}
