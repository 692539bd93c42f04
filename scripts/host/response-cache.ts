/**
 * Caches responses to anonymous reads until the data that they depend on changes. A response goes to memory when it is
 * requested a second time. The content of an uploaded file stays in the cache of chunks, so only the headers of its
 * response take memory here.
 */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Context } from "hono";
import { matchesTag } from "../../functions/http/etag.ts";
import { type AppEnv, type Host, logOf, recordFinished } from "../../functions/request/context.ts";
import { namesOf } from "../../functions/request/log.ts";
import type { KeptContent } from "../../shared/deps.ts";
import { BoundedMap } from "../../shared/kernel/bounded-map.ts";
import { DependencyTracker, type Evictable, SieveCache } from "../../shared/store/cache/index.ts";
import { AdmissionFilter } from "./admission-filter.ts";
import type { RecordedResponse, Recorder } from "./response.ts";

/** Maximum characters of a URL whose response is cached. */
const MOST_KEY = 1_000;
/** Headers that differ from request to request, or depend on the body. */
const PER_REQUEST: ReadonlySet<string> = new Set([
  "x-request-id",
  "traceparent",
  "date",
  "content-length",
  "content-type",
  "etag",
  "content-disposition",
]);

/**
 * Keys of a request in the cache: one that contains only the URL, and one that also contains the languages of the
 * request.
 */
interface Keys {
  plain: string;
  spoken: string;
}

/** A set of response headers, which many responses share. */
interface Head {
  /** All headers as one text, for comparison. */
  key: string;
  /** Alternating header names and values, without headers that depend on the request or the body. */
  headers: readonly string[];
  type: string;
  route: string;
  orb: string | undefined;
}

function headOf(all: OutgoingHttpHeaders, route: string, orb: string | undefined): Head {
  const headers: string[] = [];
  for (const name in all) if (!PER_REQUEST.has(name.toLowerCase())) headers.push(name, String(all[name]));
  const type = String(all["content-type"] ?? "application/json");
  return { key: [route, orb, type, ...headers].join("\n"), headers, type, route, orb };
}

/** Returns the cache keys of a request, or undefined if its response must not be cached. */
function keysOf({ method, url = "", headers }: IncomingMessage): Keys | undefined {
  if (method !== "GET" || headers.authorization !== undefined || headers.cookie !== undefined)
    return undefined;
  // The response has the shape of another definition, which the keys do not name.
  if (headers["orb-definition"] !== undefined) return undefined;
  // Do not cache a URL in an unusual spelling, because it would only take space.
  if (headers.range !== undefined || !url.startsWith("/") || url.includes("#")) return undefined;
  // An empty header is not the same as a missing one: for an empty origin, the response has a different `Vary`.
  const plain = `${url}\n${headers.origin ?? "\0"}`;
  const spoken = `${plain}\n${headers["accept-language"] ?? "\0"}`;
  return spoken.length > MOST_KEY ? undefined : { plain, spoken };
}

interface Answer {
  head: Head;
  etag: string | undefined;
  disposition: string | undefined;
  body: Uint8Array;
}

interface CachedAnswer extends Omit<Answer, "body">, Evictable {
  /** Returns the body, or undefined if it is no longer in memory. */
  read(): Uint8Array | undefined;
  dependencies: DependencyTracker;
}

/** Maximum number of URLs that the cache remembers because they were requested once. */
const ASKED = 16_384;
/** Estimated bytes of memory for each dependency and for each response, in addition to their text. */
const DEPENDENCY_BYTES = 72;
const ANSWER_BYTES = 500;
/** Maximum number of different sets of headers. An application needs about one for each language and origin. */
const MOST_HEADS = 1_000;
const CACHEABLE = "public, no-cache";

export class ResponseCache {
  readonly #host: () => Host;
  readonly #maxBytes: number;
  readonly #cached: SieveCache<CachedAnswer>;
  readonly #heads = new BoundedMap<string, Head>(MOST_HEADS);
  /** Responses that are being created and may be cached. Other requests for the same response wait for them. */
  readonly #inFlight = new Map<string, Promise<void>>();
  readonly #admission = new AdmissionFilter(ASKED);
  #hits = 0;

  constructor(host: () => Host, maxBytes: number) {
    this.#host = host;
    this.#maxBytes = maxBytes;
    this.#cached = new SieveCache(maxBytes);
  }

  /** Returns the number and bytes of the cached responses, and the number of requests that were answered with them. */
  get stats(): { answers: number; bytes: number; given: number } {
    return { answers: this.#cached.size, bytes: this.#cached.bytes, given: this.#hits };
  }

  /**
   * Responds from the cache. If the response is not in the cache, calls `make`, and concurrent requests for the same
   * response wait for it.
   */
  serve(request: IncomingMessage, response: RecordedResponse, make: () => void): void {
    const keys = keysOf(request);
    if (keys === undefined) {
      make();
      return;
    }
    const started = Date.now();
    if (this.#send(this.#find(keys), request, response, started)) return;
    const inFlight = this.#inFlight.get(keys.spoken);
    if (inFlight !== undefined) {
      void inFlight.then(() => {
        if (!this.#send(this.#find(keys), request, response, started)) make();
      });
      return;
    }
    if (this.#admission.admits(keys.spoken)) this.#record(keys, response);
    make();
  }

  #find({ plain, spoken }: Keys): Answer | undefined {
    const now = Date.now();
    for (const key of [plain, spoken]) {
      const known = this.#cached.get(key);
      const body = known?.dependencies.valid(now) === true ? known.read() : undefined;
      if (known !== undefined && body !== undefined) {
        known.used = true;
        return { head: known.head, etag: known.etag, disposition: known.disposition, body };
      }
      this.#cached.delete(key);
    }
    return undefined;
  }

  #send(
    answer: Answer | undefined,
    request: IncomingMessage,
    response: ServerResponse,
    started: number,
  ): boolean {
    if (answer === undefined) return false;
    const { headers } = request;
    const { head, etag, disposition, body } = answer;
    this.#hits++;
    const { requestId, traceparent } = namesOf(text(headers["x-request-id"]), text(headers.traceparent));
    const own = ["x-request-id", requestId, "traceparent", traceparent];
    if (etag !== undefined) own.push("etag", etag);
    if (disposition !== undefined) own.push("content-disposition", disposition);
    const same = etag !== undefined && matchesTag(text(headers["if-none-match"]), etag);
    const status = same ? 304 : 200;
    if (same) {
      response.writeHead(304, [...head.headers, ...own]);
      response.end();
    } else {
      const of = ["content-type", head.type, "content-length", String(body.length)];
      response.writeHead(200, [...head.headers, ...own, ...of]);
      response.end(body);
    }
    const host = this.#host();
    const { route, orb } = head;
    recordFinished(host, logOf(host, requestId, traceparent), {
      requestId,
      method: "GET",
      route,
      status,
      started,
      orb,
      actor: undefined,
    });
    return true;
  }

  #record(keys: Keys, response: RecordedResponse): void {
    const { spoken } = keys;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#inFlight.set(spoken, promise);
    const over = () => {
      if (this.#inFlight.get(spoken) === promise) this.#inFlight.delete(spoken);
      resolve();
    };
    const recorder: Recorder = {
      tracker: new DependencyTracker(),
      context: undefined,
      wants: (headers) =>
        headers["set-cookie"] === undefined &&
        // Files have ranges. Only small ones are cached, and their content is in memory already.
        (headers["accept-ranges"] === undefined
          ? headers["cache-control"] === CACHEABLE
          : recorder.context?.get("keptContent") !== undefined),
      written: (headers, body) => {
        this.#keep(keys, recorder, headers, body);
        over();
      },
      nothing: over,
    };
    response.recorder = recorder;
    // The event "close" follows every response, even a failed one.
    response.once("close", over);
  }

  /** Records the data that a response depends on, if the response may be cached. */
  begin(response: RecordedResponse, context: Context<AppEnv>): DependencyTracker | undefined {
    if (response.recorder === undefined) return undefined;
    response.recorder.context = context;
    return response.recorder.tracker;
  }

  #keep(
    { plain, spoken }: Keys,
    { tracker, context }: Recorder,
    headers: OutgoingHttpHeaders,
    body: string | Buffer | KeptContent,
  ): void {
    // Do not cache the response if data that it depends on has changed during the request.
    if (context === undefined || tracker.size === 0 || !tracker.valid(Date.now())) return;
    const key = /accept-language/i.test(String(headers.vary)) ? spoken : plain;
    const etag = text(headers.etag);
    const disposition = text(headers["content-disposition"]);
    const head = this.#sameHead(headOf(headers, context.get("route") ?? "", context.req.param("orbId")));
    const held = typeof body === "string" ? Buffer.from(body) : body;
    const read = typeof held === "function" ? held : () => held;
    const own = typeof held === "function" ? (disposition?.length ?? 0) : held.length;
    const bytes = ANSWER_BYTES + key.length * 2 + own + tracker.size * DEPENDENCY_BYTES;
    // Do not cache a large response, because it would displace many others.
    if (bytes > this.#maxBytes / 8) return;
    this.#cached.set(key, { head, etag, disposition, read, dependencies: tracker, bytes, used: false });
  }

  /** Returns the same object for equal headers, to save memory. */
  #sameHead(head: Head): Head {
    const same = this.#heads.get(head.key);
    if (same !== undefined) return same;
    this.#heads.set(head.key, head);
    return head;
  }
}

function text(header: OutgoingHttpHeaders[string]): string | undefined {
  return Array.isArray(header) ? header[0] : header?.toString();
}
