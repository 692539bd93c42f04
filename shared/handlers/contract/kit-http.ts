/**
 * The part of the service kit that handles HTTP requests. It joins request bodies that arrive in parts, and splits
 * large response bodies.
 */
import { fromBase64, toBase64 } from "../../kernel/base64.ts";
import { concatBytes } from "../../kernel/ids.ts";
import type { HttpMethod, HttpPaths } from "./http-entry.ts";
import { HTTP_PART_BYTES } from "./http-limits.ts";
import type { HttpPartMessage, HttpReplyMessage, HttpRequestMessage } from "./http-messages.ts";
import { callApi } from "./kit-api.ts";
import { type KitCall, type KitDescription, ServiceError } from "./kit-types.ts";

export interface KitHttpRequest extends Omit<KitCall, "idempotencyKey"> {
  method: Uppercase<HttpMethod> | (string & {});
  /**
   * The rest of the URL path, after the handler's own path. Either empty or starts with a slash. Split it into segments
   * before you decode them, because a segment may contain an encoded slash.
   */
  path: string;
  query: URLSearchParams;
  headers: Headers;
  body: Uint8Array;
}

export interface KitHttpResponse {
  /** HTTP status. Default: 200. */
  status?: number;
  headers?: Record<string, string>;
  /** An iterable is read only as fast as the client receives the response. */
  body?: string | Uint8Array | AsyncIterable<Uint8Array> | null;
  /** Total bytes of the body. Required if the body is an iterable. */
  length?: number;
}

export interface KitHttpHandler extends KitDescription {
  /** OpenAPI path items, with paths relative to the handler's own route. `/` is that route itself. */
  paths?: HttpPaths;
  /** Request headers that the handler needs in addition to the default ones. */
  headers?: string[];
  maxBodyBytes?: number;
  respond(request: KitHttpRequest): KitHttpResponse | Promise<KitHttpResponse>;
}

/**
 * An HTTP request and its response take several messages. If none arrives for this many milliseconds, the rest is
 * discarded: the platform may have been restarted.
 */
const IDLE_MS = 60_000;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

interface Exchange {
  head: HttpRequestMessage;
  requestId: string | undefined;
  traceparent: string | undefined;
  received: Uint8Array[];
  size: number;
  /** The parts of the response that were not sent yet. Undefined until the whole request has arrived. */
  parts: AsyncIterator<Uint8Array> | undefined;
  /** Number of response bytes that have not been sent yet. */
  left: number;
  timer: ReturnType<typeof setTimeout>;
}

export class HttpResponder {
  /**
   * Last part of a subject that only this instance of the service receives. The platform sends the first message of an
   * HTTP request to any instance, and the following ones to this subject.
   */
  readonly instance = crypto.randomUUID();
  readonly #name: string;
  readonly #handler: KitHttpHandler;
  readonly #open = new Map<string, Exchange>();
  readonly #waiting: (() => void)[] = [];

  constructor(name: string, handler: KitHttpHandler) {
    this.#name = name;
    this.#handler = handler;
  }

  /** Returns the reply to the first message of an HTTP request, which may arrive in several messages. */
  async begin(
    data: Uint8Array,
    requestId: string | undefined,
    traceparent: string | undefined,
  ): Promise<HttpReplyMessage> {
    const head = JSON.parse(decoder.decode(data)) as HttpRequestMessage;
    // The platform has checked access to the handler that the message names. A different name here means that two
    // services use the same subject.
    if (head.handler !== this.#name) throw new ServiceError(404, "No such handler listens on this subject.");
    const id = crypto.randomUUID();
    const timer = setTimeout(() => this.#end(id), IDLE_MS);
    const exchange: Exchange = {
      head,
      requestId,
      traceparent,
      received: [],
      size: 0,
      parts: undefined,
      left: 0,
      timer,
    };
    this.#open.set(id, exchange);
    return this.#step(id, () => this.#receive(id, exchange, { body: head.body, more: head.more === true }));
  }

  /** Handles a later message of an HTTP request, and returns the reply. */
  async go(id: string, data: Uint8Array): Promise<HttpReplyMessage> {
    const message = JSON.parse(decoder.decode(data)) as HttpPartMessage;
    const exchange = this.#open.get(id);
    if (exchange === undefined) throw new Error("this exchange is over");
    exchange.timer = this.#again(id, exchange.timer);
    if (message.cancel === true) {
      this.#end(id);
      return {};
    }
    const { parts } = exchange;
    return this.#step(id, () =>
      parts === undefined ? this.#receive(id, exchange, message) : this.#part(id, exchange, parts),
    );
  }

  /** Resolves when all HTTP requests in progress have ended. */
  finished(): Promise<void> {
    if (this.#open.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #again(id: string, timer: Exchange["timer"]): Exchange["timer"] {
    clearTimeout(timer);
    return setTimeout(() => this.#end(id), IDLE_MS);
  }

  async #step(id: string, work: () => Promise<HttpReplyMessage>): Promise<HttpReplyMessage> {
    try {
      const reply = await work();
      if (reply.next === undefined) this.#end(id);
      return reply;
    } catch (error) {
      this.#end(id);
      throw error;
    }
  }

  #end(id: string): void {
    const exchange = this.#open.get(id);
    if (exchange === undefined) return;
    clearTimeout(exchange.timer);
    this.#open.delete(id);
    void exchange.parts?.return?.()?.catch(() => undefined);
    if (this.#open.size === 0) for (const done of this.#waiting.splice(0)) done();
  }

  #nextOf(id: string): string {
    return `${this.instance}.${id}`;
  }

  async #receive(
    id: string,
    exchange: Exchange,
    { body, more }: Pick<HttpPartMessage, "body" | "more">,
  ): Promise<HttpReplyMessage> {
    const bytes = body === null ? new Uint8Array(0) : fromBase64(body);
    exchange.received.push(bytes);
    exchange.size += bytes.length;
    if (exchange.size > (this.#handler.maxBodyBytes ?? HTTP_PART_BYTES)) return { status: 413 };
    if (more) return { next: this.#nextOf(id) };
    const { head, requestId, traceparent, received } = exchange;
    exchange.received = [];
    const { orbId, handler, method, path, query, headers, caller, credential } = head;
    const response = await this.#handler.respond({
      orbId,
      handler,
      method,
      path,
      query: new URLSearchParams(query),
      headers: new Headers(headers),
      body: concatBytes(received),
      caller,
      requestId,
      traceparent,
      credential,
      api: (way, address, sent) => callApi({ credential, requestId, traceparent }, way, address, sent),
    });
    const { status = 200, headers: own = {}, body: answer = null } = response;
    const whole = typeof answer === "string" ? encoder.encode(answer) : answer;
    if (whole === null || (whole instanceof Uint8Array && whole.length <= HTTP_PART_BYTES)) {
      return { status, headers: own, body: whole === null ? null : toBase64(whole) };
    }
    const length = whole instanceof Uint8Array ? whole.length : response.length;
    if (length === undefined) throw new Error("a body that is an iterable needs a length");
    const parts = partsOf(whole);
    exchange.parts = parts;
    exchange.left = length;
    return { status, headers: own, length, ...(await this.#part(id, exchange, parts)) };
  }

  async #part(id: string, exchange: Exchange, parts: AsyncIterator<Uint8Array>): Promise<HttpReplyMessage> {
    const part = await parts.next();
    const bytes = part.done === true ? new Uint8Array(0) : part.value;
    exchange.left -= bytes.length;
    const body = toBase64(bytes);
    return exchange.left <= 0 || part.done === true ? { body } : { body, next: this.#nextOf(id) };
  }
}

/** Splits a body into parts that each fit into one message. */
async function* partsOf(body: Uint8Array | AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const chunks = body instanceof Uint8Array ? [body] : body;
  for await (const chunk of chunks) {
    for (let from = 0; from < chunk.length; from += HTTP_PART_BYTES)
      yield chunk.subarray(from, from + HTTP_PART_BYTES);
  }
}
