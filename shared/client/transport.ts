/** Sends requests, and retries those that are safe to repeat. */
import { Problem } from "./problem.ts";

export interface ClientOptions {
  /** URL of the platform, such as `https://shop.example`. In a browser, the default is the origin of the page. */
  url?: string;
  /**
   * Session token or API token, or a function that returns one. If it is missing, a browser sends its session cookie.
   */
  token?: string | (() => string | undefined | Promise<string | undefined>);
  /**
   * Which requests of a page carry the session cookie. `include` is for pages of another origin, which the platform
   * must allow with ALLOWED_ORIGINS. Default: `same-origin`.
   */
  credentials?: "same-origin" | "include" | "omit";
  /** Language of all reads and writes. If it is missing, translatable values are maps of all languages. */
  locale?: string;
  market?: string;
  /**
   * For orbs by their ids, the revision of the definition whose shape the entries of requests and responses have.
   * Default: the current one.
   */
  definition?: Readonly<Record<string, number>>;
  fetch?: typeof fetch;
  /** Maximum number of retries for a failed request. Default: 4. */
  retries?: number;
}

/** Options that every call accepts. */
export interface CallOptions {
  signal?: AbortSignal;
}

export interface Request {
  method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: URLSearchParams;
  body?: unknown;
  /**
   * A body that is not JSON; replaces `body`. A request with a stream is never retried, because a stream can be read
   * only once.
   */
  upload?: { body: ReadableStream<Uint8Array> | Blob; type: string };
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal | undefined;
  /**
   * Which failed requests the client retries. `safe`: after any temporary failure, because the request takes effect at
   * most once. `refused`: only if the platform rejected the request before acting on it. `never`: none.
   */
  repeat: "safe" | "refused" | "never";
  /** Called before each retry. Tells the caller that an earlier attempt may already have taken effect. */
  repeats?: () => void;
}

export interface Transport {
  /** @throws Problem if the platform responds with an error; TypeError if the platform cannot be reached */
  send(request: Request): Promise<Response>;
  /** Sets the token for all further requests. Undefined restores the token from the client's options. */
  useToken(token: string | undefined): void;
}

/** Returns a transport that asks for the shape of a revision of the orb's definition. */
export function pinnedTo(transport: Transport, revision: number | undefined): Transport {
  if (revision === undefined) return transport;
  const pin = { "orb-definition": String(revision) };
  return {
    ...transport,
    send: (request) => transport.send({ ...request, headers: { ...request.headers, ...pin } }),
  };
}

/**
 * The first and the longest pause between retries, in milliseconds. Each pause is twice as long as the previous one.
 */
const PAUSE = { first: 200, longest: 5_000 };
/**
 * Longest `Retry-After`, in seconds, that the client waits for. If it is longer, the client throws the error instead.
 */
const LONGEST_WAIT = 30;
const PASSING = new Set([429, 502, 503, 504]);

/** Returns whether a request that got this status may succeed later. */
export const isPassing = (status: number) => PASSING.has(status);

/** Error codes of requests that the platform rejected before it did anything. */
const REFUSED = new Set(["handler_unavailable", "no_responders", "reads_busy", "stopping", "link_busy"]);

/** Waits for a number of milliseconds. Rejects if the signal is aborted. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    if (signal?.aborted === true) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

/** Returns the pause before a retry, in milliseconds. A random part keeps clients from retrying at the same time. */
export function backoff(attempt: number): number {
  return Math.min(PAUSE.first * 2 ** attempt, PAUSE.longest) * (0.5 + Math.random() / 2);
}

/**
 * Returns a new idempotency key. Does not use `crypto.randomUUID`, because browsers lack it on pages loaded over plain
 * HTTP.
 */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function problemOf(response: Response): Promise<Problem> {
  const body: unknown = await response.json().catch(() => undefined);
  const members = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  const retryAfter = Number.isFinite(seconds) ? seconds : undefined;
  return new Problem(response.status, members, response.headers.get("x-request-id"), retryAfter);
}

export function createTransport(options: ClientOptions): Transport {
  const { retries = 4, credentials = "same-origin" } = options;
  const send = options.fetch ?? fetch;
  const base = (options.url ?? (globalThis as { location?: { origin: string } }).location?.origin)?.replace(
    /\/+$/,
    "",
  );
  if (base === undefined)
    throw new TypeError("createClient needs the option url: the address of the platform.");
  let ownToken: string | undefined;
  const tokenOf = async () =>
    ownToken ?? (typeof options.token === "function" ? await options.token() : options.token);

  async function once({ method, path, query, body, upload, headers, signal }: Request): Promise<Response> {
    const token = await tokenOf();
    const search = query === undefined || query.size === 0 ? "" : `?${query}`;
    return send(`${base}${path}${search}`, {
      method,
      headers: {
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(upload === undefined ? {} : { "content-type": upload.type }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(upload === undefined ? {} : { body: upload.body }),
      ...(upload?.body instanceof ReadableStream ? { duplex: "half" } : {}),
      ...(signal === undefined ? {} : { signal }),
      credentials,
    });
  }

  return {
    async send(request) {
      const isStream = request.upload?.body instanceof ReadableStream;
      for (let attempt = 0; ; attempt++) {
        let wait = backoff(attempt);
        let failure: unknown;
        try {
          const response = await once(request);
          if (response.ok || response.status === 304) return response;
          const problem = await problemOf(response);
          const { retryAfter: seconds = 0 } = problem;
          const refused = problem.status === 429 || REFUSED.has(problem.code);
          const passes = isPassing(problem.status) && seconds <= LONGEST_WAIT;
          const repeats = request.repeat === "safe" || (request.repeat === "refused" && refused);
          if (!passes || isStream || !repeats) throw problem;
          wait = Math.max(wait, seconds * 1_000);
          failure = problem;
        } catch (error) {
          request.signal?.throwIfAborted();
          if (error instanceof Problem || isStream || request.repeat !== "safe") throw error;
          failure = error;
        }
        if (attempt >= retries) throw failure;
        await pause(wait, request.signal);
        request.repeats?.();
      }
    },
    useToken(token) {
      ownToken = token;
    },
  };
}
