/**
 * Remembers whole answers to anonymous reads that everybody may see, for as long as all that they were made of is
 * unchanged (`shared/store/cache/trace.ts` says what that is). An answer is remembered when it is asked for again soon;
 * giving it once more costs a look at its parts and one write to the socket.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Context } from "hono";
import { type AppEnv, finished, type Host, logOf, namesOf } from "../../functions/context.ts";
import { matchesTag } from "../../functions/etag.ts";
import { Bounded, type Held, Trace } from "../../shared/store/cache.ts";
import { Lately } from "./lately.ts";

interface Remembered extends Held {
  trace: Trace;
  /** Names and values in turn, without those of one request and one body: nearly all answers share a few lists. */
  headers: readonly string[];
  type: string;
  body: Buffer;
  etag: string | undefined;
  route: string;
  orb: string | undefined;
}

/** An answer in the making that shall be remembered. */
interface Recording {
  key: string;
  trace: Trace;
  context: Context<AppEnv> | undefined;
  /** Lets those who wait for it go on. */
  over: () => void;
}

/** Longer addresses are not worth remembering. */
const MOST_KEY = 1_000;
/** Addresses that were asked for once and may be asked for again. */
const ASKED = 16_384;
/** What one part of an answer, which may be forgotten by all but the answer, and the answer itself take beside text. */
const PART_BYTES = 72;
const ANSWER_BYTES = 500;
/** Different lists of headers. */
const MOST_LISTS = 200;
/** Headers of one request, and those of one body. */
const OWN: ReadonlySet<string> = new Set([
  "x-request-id",
  "traceparent",
  "date",
  "content-length",
  "content-type",
  "etag",
]);
const OPEN = "public, no-cache";

export class AnswerMemory {
  readonly #host: () => Host;
  readonly #maxBytes: number;
  readonly #known: Bounded<Remembered>;
  readonly #lists = new Map<string, readonly string[]>();
  readonly #recordings = new WeakMap<IncomingMessage, Recording>();
  /** What is being made to be remembered. */
  readonly #making = new Map<string, Promise<void>>();
  readonly #asked = new Lately(ASKED);
  #given = 0;

  /** @param maxBytes of all answers together, never exceeded */
  constructor(host: () => Host, maxBytes: number) {
    this.#host = host;
    this.#maxBytes = maxBytes;
    this.#known = new Bounded(maxBytes);
  }

  /** How many are remembered and what they take, and how often one was given. */
  get stats(): { answers: number; bytes: number; given: number } {
    return { answers: this.#known.size, bytes: this.#known.bytes, given: this.#given };
  }

  /**
   * Gives an answer out of memory, or lets it be made. While one is made to be remembered, others who ask for it wait
   * for it; it is theirs if all that it was made of still holds then.
   */
  give(request: IncomingMessage, response: ServerResponse, make: () => void): void {
    const key = keyOf(request);
    if (key === undefined) {
      make();
      return;
    }
    const started = Date.now();
    const known = this.#known.get(key);
    if (this.#send(known, request, response, started)) return;
    this.#known.delete(key);
    const making = this.#making.get(key);
    if (making !== undefined) {
      void making.then(() => {
        if (!this.#send(this.#known.get(key), request, response, started)) make();
      });
      return;
    }
    if (known !== undefined || this.#asked.ask(key)) this.#record(key, request, response);
    make();
  }

  #send(
    known: Remembered | undefined,
    request: IncomingMessage,
    response: ServerResponse,
    started: number,
  ): boolean {
    if (known?.trace.holds(Date.now()) !== true) return false;
    const { headers } = request;
    known.used = true;
    this.#given++;
    const { requestId, traceparent } = namesOf(text(headers["x-request-id"]), text(headers.traceparent));
    const own = ["x-request-id", requestId, "traceparent", traceparent];
    if (known.etag !== undefined) own.push("etag", known.etag);
    const same = known.etag !== undefined && matchesTag(text(headers["if-none-match"]), known.etag);
    const status = same ? 304 : 200;
    if (same) {
      response.writeHead(304, [...known.headers, ...own]);
      response.end();
    } else {
      const of = ["content-type", known.type, "content-length", String(known.body.length)];
      response.writeHead(200, [...known.headers, ...own, ...of]);
      response.end(known.body);
    }
    const host = this.#host();
    const { route, orb } = known;
    finished(host, logOf(host, requestId, traceparent), {
      method: "GET",
      route,
      status,
      started,
      orb,
      caller: undefined,
    });
    return true;
  }

  #record(key: string, request: IncomingMessage, response: ServerResponse): void {
    const { promise, resolve } = Promise.withResolvers<void>();
    const over = () => {
      if (this.#making.get(key) === promise) this.#making.delete(key);
      resolve();
    };
    this.#recordings.set(request, { key, trace: new Trace(), context: undefined, over });
    this.#making.set(key, promise);
    // However it ends.
    response.once("close", over);
  }

  /** The recording of a request, where its answer shall be remembered. */
  begin(request: IncomingMessage, context: Context<AppEnv>): Trace | undefined {
    const recording = this.#recordings.get(request);
    if (recording === undefined) return undefined;
    recording.context = context;
    return recording.trace;
  }

  /** Takes a look at an answer on its way out, and remembers it where that is allowed. */
  keep(request: IncomingMessage, answer: Response | Promise<Response>): Response | Promise<Response> {
    const recording = this.#recordings.get(request);
    return recording === undefined ? answer : this.#look(recording, answer).finally(recording.over);
  }

  async #look(recording: Recording, answer: Response | Promise<Response>): Promise<Response> {
    const made = await answer;
    const { key, trace, context } = recording;
    const open = made.status === 200 && made.headers.get("cache-control") === OPEN;
    if (!open || context === undefined || made.headers.has("set-cookie") || trace.size === 0) return made;
    const body = Buffer.from(await made.arrayBuffer());
    this.#remember(key, {
      trace,
      headers: this.#listOf(made.headers),
      type: made.headers.get("content-type") ?? "application/json",
      body,
      etag: made.headers.get("etag") ?? undefined,
      route: context.get("route") ?? "",
      orb: context.req.param("orbId"),
      bytes: ANSWER_BYTES + key.length * 2 + body.length + trace.size * PART_BYTES,
      used: false,
    });
    return new Response(body, { status: made.status, headers: made.headers });
  }

  #listOf(headers: Headers): readonly string[] {
    const list = [...headers].filter(([name]) => !OWN.has(name)).flat();
    const text = list.join("\n");
    const known = this.#lists.get(text);
    if (known !== undefined) return known;
    if (this.#lists.size >= MOST_LISTS) this.#lists.clear();
    this.#lists.set(text, list);
    return list;
  }

  #remember(key: string, answer: Remembered): void {
    this.#known.delete(key);
    // One answer must not push out all others; and what changed while it was made is known to be wrong already.
    if (answer.bytes > this.#maxBytes / 8 || !answer.trace.holds(Date.now())) return;
    this.#known.set(key, answer);
  }
}

/** What an answer is known by; undefined where none is given from memory. */
function keyOf({ method, url = "", headers }: IncomingMessage): string | undefined {
  if (method !== "GET" || headers.authorization !== undefined || headers.cookie !== undefined)
    return undefined;
  if (headers.range !== undefined) return undefined;
  // No header is empty and none at once: an empty origin is answered with a `Vary` of its own.
  const key = `${url}\n${headers["accept-language"] ?? "\0"}\n${headers.origin ?? "\0"}`;
  return key.length > MOST_KEY ? undefined : key;
}

/** A header that may come once. */
function text(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
