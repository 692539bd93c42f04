import type { Msg } from "nats.ws";
import type { StoredMessage } from "./types.ts";

const decoder = new TextDecoder();

const VERSION = "NATS/1.0";

/**
 * A message's headers as text. The client decodes each of them, which costs more than all else of a read; here they
 * are looked up in the bytes, which lie before the body's.
 */
function headersOf(message: Msg & { size?: () => number }): string | undefined {
  const { data } = message;
  if (message.size === undefined) return undefined;
  const length = message.size() - message.subject.length - (message.reply?.length ?? 0) - data.length;
  if (length <= VERSION.length || length > data.byteOffset) return undefined;
  const text = decoder.decode(new Uint8Array(data.buffer, data.byteOffset - length, length));
  return text.startsWith(VERSION) && text.endsWith("\r\n\r\n") ? text : undefined;
}

/** An answer's headers, of which those count that the broker added: a publisher's own ones stand before them. */
export class AnswerHeaders {
  readonly #message: Msg;
  readonly #text: string | undefined;

  constructor(message: Msg) {
    this.#message = message;
    this.#text = headersOf(message);
  }

  /** 0 for a message. */
  get status(): number {
    const text = this.#text;
    if (text === undefined) return this.#message.headers?.code ?? 0;
    return text[VERSION.length] === " " ? Number(text.slice(VERSION.length + 1, VERSION.length + 4)) : 0;
  }

  /** The last value of a header. */
  last(name: string): string | undefined {
    const text = this.#text;
    if (text === undefined) return this.#message.headers?.values(name).at(-1);
    const at = text.lastIndexOf(`\r\n${name}: `);
    if (at < 0) return undefined;
    const from = at + name.length + 4;
    return text.slice(from, text.indexOf("\r\n", from));
  }
}

/** A stored message as a direct get answers it: its place is told by headers. */
export class DirectMessage implements StoredMessage {
  readonly #message: Msg;
  readonly #headers: AnswerHeaders;
  readonly seq: number;

  constructor(message: Msg, headers = new AnswerHeaders(message)) {
    this.#message = message;
    this.#headers = headers;
    this.seq = Number(headers.last("Nats-Sequence"));
  }

  get subject(): string {
    return this.#headers.last("Nats-Subject") ?? "";
  }
  get time(): number {
    return Date.parse(this.#headers.last("Nats-Time-Stamp") ?? "");
  }
  get data(): Uint8Array {
    return this.#message.data;
  }
  get size(): number {
    return this.#message.data.length;
  }
  header(name: string): string | undefined {
    const value = this.#message.headers?.get(name);
    return value === undefined || value === "" ? undefined : value;
  }
  /** A copy that does not hold on to the frame in which the message came. */
  kept(freeze: boolean): MemoryMessage {
    const names = this.#message.headers?.keys() ?? [];
    return new MemoryMessage(
      this,
      this.text(),
      ownHeaders(names, (name) => this.header(name)),
      freeze,
    );
  }
  text(): string {
    return decoder.decode(this.#message.data);
  }
  json<T>(): T {
    return JSON.parse(this.text()) as T;
  }
}

/** Everything in a value, frozen: what is remembered is shared by all who read it. */
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
 * The headers of a message that say something about its body, for keeping: nearly always none. What the broker adds
 * and what a writer expected are many times larger than that.
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

/** A message that is kept in memory. Its JSON is parsed once and shared by all who read it: nobody may change it. */
export class MemoryMessage implements StoredMessage {
  readonly subject: string;
  readonly seq: number;
  readonly time: number;
  readonly #body: string | Uint8Array;
  readonly #header: ((name: string) => string | undefined) | undefined;
  readonly #freeze: boolean;
  #json: unknown;

  /** @param body text takes a fraction of the memory that bytes of their own take */
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
  /** Lets go of the parsed form; who still uses it keeps it. */
  forgetJson(): void {
    this.#json = undefined;
  }
}

/** The shape in which the stream's leader answers `STREAM.MSG.GET`. */
export interface LeaderAnswer {
  message?: { subject: string; seq: number; time: string; data?: string; hdrs?: string };
  error?: { code: number; err_code: number; description: string };
}

function fromBase64(text: string): Uint8Array {
  const binary = atob(text);
  const out = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) out[i] = binary.charCodeAt(i);
  return out;
}

/** A stored message as the leader answers it: JSON with the parts in base64. */
export class LeaderMessage implements StoredMessage {
  readonly subject: string;
  readonly seq: number;
  readonly time: number;
  readonly data: Uint8Array;
  readonly #raw: string;
  #headers: Map<string, string> | undefined;

  constructor(message: NonNullable<LeaderAnswer["message"]>) {
    this.subject = message.subject;
    this.seq = message.seq;
    this.time = Date.parse(message.time);
    this.data = message.data === undefined ? new Uint8Array(0) : fromBase64(message.data);
    this.#raw = message.hdrs ?? "";
  }

  get size(): number {
    return this.data.length;
  }
  header(name: string): string | undefined {
    if (this.#headers === undefined) {
      this.#headers = new Map();
      const text = this.#raw === "" ? "" : decoder.decode(fromBase64(this.#raw));
      for (const line of text.split("\r\n").slice(1)) {
        const colon = line.indexOf(":");
        if (colon > 0) this.#headers.set(line.slice(0, colon), line.slice(colon + 1).trim());
      }
    }
    return this.#headers.get(name);
  }
  text(): string {
    return decoder.decode(this.data);
  }
  json<T>(): T {
    return JSON.parse(this.text()) as T;
  }
}
