/**
 * Forwards HTTP requests to services. Bodies that are too large for one message are sent in parts, one part at a time.
 */
import type { Deps } from "../deps.ts";
import { fromBase64, toBase64 } from "../kernel/base64.ts";
import { AppError } from "../kernel/errors.ts";
import { isObject } from "../kernel/json.ts";
import {
  HTTP_BODY_LIMIT,
  HTTP_EXCHANGE_MS,
  type HttpPartMessage,
  type HttpRequestMessage,
  NEXT,
  type RemoteHttpHandler,
} from "./contract/index.ts";
import { type AskOptions, ask, askFirst, nonsense, OF_CONNECTIONS } from "./remote.ts";

/** A part of a request body. */
export interface BodyPart {
  bytes: Uint8Array;
  /** Whether more parts follow. */
  more: boolean;
}

export interface HttpReply {
  status: number;
  /** Headers from the service, with names in lower case. */
  headers: ReadonlyMap<string, string>;
  body: Uint8Array<ArrayBuffer>;
  /** The rest of the body, if it arrives in parts. Reading fails if the body does not have the announced length. */
  rest: ResponseRest | undefined;
}

export interface ResponseRest {
  /** Bytes of the whole body, including the part that has already arrived. */
  length: number;
  parts: AsyncGenerator<Uint8Array<ArrayBuffer>>;
  /** Tells the service to discard the rest of the response. Call this if the parts are not read to the end. */
  end(): Promise<void>;
}

const EMPTY = new Uint8Array(0);
/** Milliseconds to wait for the reply to a cancellation. Its content does not matter. */
const CANCEL_MS = 1_000;
/** Matches header values: visible ASCII characters, spaces and tabs. A line break could add another header. */
const VALUE = /^[\t\x20-\x7e]*$/;
const MAX_HEADERS = 100;
const MAX_HEADER_BYTES = 16 * 1024;
/** Statuses of responses that must not have a body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

interface Reply {
  status: number | undefined;
  headers: ReadonlyMap<string, string>;
  body: Uint8Array<ArrayBuffer>;
  next: string | undefined;
  length: number;
}

/**
 * Sends a request to a service and returns the response.
 * @param head the first message without its body
 * @param parts the request body, as at least one part
 */
export async function askHttp(
  deps: Deps,
  handler: RemoteHttpHandler,
  head: Omit<HttpRequestMessage, "body" | "more">,
  parts: AsyncIterator<BodyPart, undefined>,
  options: AskOptions,
): Promise<HttpReply> {
  const exchange = new Exchange(deps, handler);
  const takePart = async (): Promise<BodyPart> => (await parts.next()).value ?? { bytes: EMPTY, more: false };
  try {
    let part = await takePart();
    const { body, more } = messageOf(part);
    const first: HttpRequestMessage = { ...head, body, ...(more ? { more } : {}) };
    let reply = exchange.take(await askFirst(deps, handler, first, options));
    while (reply.status === undefined) {
      if (!part.more) throw nonsense(handler, "The handler's response has no status.");
      part = await takePart();
      reply = exchange.take(await exchange.ask(messageOf(part)));
    }
    const { status, headers, length } = reply;
    if (!exchange.open) return { status, headers, body: reply.body, rest: undefined };
    const rest = exchange.rest(length);
    const end = async () => {
      await rest.return(undefined);
      // If no part of the body was read, `return` does not run the generator's `finally` block, so tell the service
      // here.
      await exchange.cancel();
    };
    return { status, headers, body: reply.body, rest: { length, parts: rest, end } };
  } catch (error) {
    await exchange.cancel();
    throw error;
  }
}

function messageOf({ bytes, more }: BodyPart): HttpPartMessage {
  return { body: bytes.length === 0 ? null : toBase64(bytes), more };
}

/** The messages about one HTTP request: the request, its response, and their parts. */
class Exchange {
  readonly #deps: Deps;
  readonly #handler: RemoteHttpHandler;
  readonly #ends: number;
  /** Last part of the subject for the next message; undefined after the last reply. */
  #next: string | undefined;
  #received = 0;

  constructor(deps: Deps, handler: RemoteHttpHandler) {
    this.#deps = deps;
    this.#handler = handler;
    this.#ends = deps.clock.now() + HTTP_EXCHANGE_MS;
  }

  /** Whether the service expects another message about this request. */
  get open(): boolean {
    return this.#next !== undefined;
  }

  /** Parses a reply and stores where to send the next message. */
  take(answer: unknown): Reply {
    this.#next = undefined;
    const reply = replyOf(this.#handler, answer);
    this.#next = reply.next;
    this.#received += reply.body.length;
    return reply;
  }

  async ask(message: HttpPartMessage): Promise<unknown> {
    const { name, subject } = this.#handler;
    if (this.#next === undefined)
      throw nonsense(this.#handler, "The handler ended the exchange before a body was complete.");
    if (this.#deps.clock.now() > this.#ends) {
      const words = "The request took too long. Send or read less at once.";
      throw new AppError("timeout", "handler_timeout", words, { cause: `${name}: ${HTTP_EXCHANGE_MS} ms` });
    }
    return ask(this.#deps, this.#handler, `${subject}.${this.#next}`, message).catch((error: unknown) => {
      if (!(error instanceof AppError) || error.code !== "handler_unavailable") throw error;
      const words = "The handler stopped before it had answered. Try again later.";
      throw new AppError("bad_gateway", "handler_failed", words, {
        cause: `${name}: no subscriber for a part`,
      });
    });
  }

  async *rest(length: number): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    try {
      while (this.#received < length) {
        const { status, body } = this.take(await this.ask({ body: null, more: false }));
        if (status !== undefined || body.length === 0 || this.#received > length)
          throw nonsense(this.#handler, "A part of the handler's response is not the one that must follow.");
        yield body;
      }
    } finally {
      await this.cancel();
    }
  }

  /**
   * Tells the service that no further messages about this request follow, so that it can free the memory. Does nothing
   * after the last reply.
   */
  async cancel(): Promise<void> {
    if (this.#next === undefined) return;
    const subject = `${this.#handler.subject}.${this.#next}`;
    this.#next = undefined;
    const message = JSON.stringify({ body: null, more: false, cancel: true } satisfies HttpPartMessage);
    await this.#deps.store.request(subject, message, { timeoutMs: CANCEL_MS }).catch(() => undefined);
  }
}

function replyOf(handler: RemoteHttpHandler, answer: unknown): Reply {
  if (!isObject(answer)) throw nonsense(handler, "The handler's response is not an object.");
  const { status, headers = {}, body = null, next, length } = answer;
  if (next !== undefined && (typeof next !== "string" || !NEXT.test(next)))
    throw nonsense(handler, "The member next of the handler's response is not valid.");
  if (status === undefined)
    return { status, headers: new Map(), body: bytesOf(handler, body), next, length: 0 };
  if (
    !Number.isInteger(status) ||
    Number(status) < 200 ||
    Number(status) > 599 ||
    OF_CONNECTIONS.has(Number(status))
  )
    throw nonsense(handler, "The status of the handler's response is not one that a handler can give.");
  const bytes = bytesOf(handler, body);
  if (BODILESS.has(Number(status)) && (bytes.length > 0 || next !== undefined))
    throw nonsense(handler, "The status of the handler's response allows no body.");
  if (next !== undefined && !(Number.isInteger(length) && Number(length) <= HTTP_BODY_LIMIT))
    throw nonsense(
      handler,
      `A response in parts must have a length of at most ${HTTP_BODY_LIMIT / 1024 / 1024} MiB.`,
    );
  const whole = next === undefined ? bytes.length : Number(length);
  if (whole < bytes.length) throw nonsense(handler, "The handler's response is longer than its length.");
  return { status: Number(status), headers: headersOf(handler, headers), body: bytes, next, length: whole };
}

function bytesOf(handler: RemoteHttpHandler, body: unknown): Uint8Array<ArrayBuffer> {
  if (body === null || body === "") return EMPTY;
  try {
    if (typeof body === "string") return fromBase64(body);
  } catch {
    // Not base64: the error below reports it.
  }
  throw nonsense(handler, "The body of the handler's response is not base64.");
}

function headersOf(handler: RemoteHttpHandler, headers: unknown): Map<string, string> {
  const all = new Map<string, string>();
  let size = 0;
  if (!isObject(headers)) throw nonsense(handler, "The headers of the handler's response are not an object.");
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value !== "string" || !VALUE.test(value))
      throw nonsense(handler, "A header of the handler's response is not a line of ASCII text.");
    size += name.length + value.length;
    all.set(name.toLowerCase(), value);
  }
  if (all.size > MAX_HEADERS || size > MAX_HEADER_BYTES)
    throw nonsense(handler, `The headers of the handler's response exceed ${MAX_HEADER_BYTES / 1024} KiB.`);
  // The platform compresses responses itself, because a service cannot know which encodings the client accepts.
  if (!/^(identity)?$/i.test(all.get("content-encoding") ?? ""))
    throw nonsense(handler, "The handler's response is compressed.");
  return all;
}
