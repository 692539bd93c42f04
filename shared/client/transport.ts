/** Sends requests, and repeats those whose repetition is safe. */
import { Problem } from "./problem.ts";

export interface ClientOptions {
  /** Address of the platform, such as `https://shop.example`. In a browser, the page's own origin by default. */
  url?: string;
  /** Session token or API token, or a function that returns it. Without one, a browser sends its session cookie. */
  token?: string | (() => string | undefined | Promise<string | undefined>);
  /** Language of all reads and writes. Without one, translatable values are maps of all languages. */
  locale?: string;
  market?: string;
  fetch?: typeof fetch;
  /** How often to repeat a request that failed; 4 by default. */
  retries?: number;
}

/** Options of each call. */
export interface CallOptions {
  signal?: AbortSignal;
}

export interface Request {
  method: "GET" | "POST" | "PUT" | "DELETE";
  path: string;
  query?: URLSearchParams;
  body?: unknown;
  /** A body that is sent while it is made, instead of `body`. It can be sent only once. */
  upload?: { body: ReadableStream<Uint8Array>; type: string };
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal | undefined;
  /**
   * Which failures allow a repetition. `safe`: all that may pass, because the request has an effect at most once.
   * `refused`: only those before which the platform did nothing.
   */
  repeat: "safe" | "refused";
  /** Called before each repetition. An earlier attempt may have had its effect. */
  repeats?: () => void;
}

export interface Transport {
  /** @throws Problem if the platform responds with an error; TypeError if it cannot be reached */
  send(request: Request): Promise<Response>;
  /** Sends requests with this token from now on; undefined restores the option `token`. */
  useToken(token: string | undefined): void;
}

/** The first pause in milliseconds, and the longest. Each pause is twice as long as the one before. */
const PAUSE = { first: 200, longest: 5_000 };
/** Seconds of `Retry-After` for which the client waits. It passes a longer one on to the caller. */
const LONGEST_WAIT = 30;
const PASSING = new Set([429, 502, 503, 504]);
/** Codes of responses before which the platform did nothing. */
const REFUSED = new Set(["handler_unavailable", "no_responders", "reads_busy", "stopping", "link_busy"]);

/** Resolves after a pause. Rejects when the signal aborts. */
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

/** Returns the pause before a repetition in milliseconds, with jitter so that clients do not repeat at once. */
export function backoff(attempt: number): number {
  return Math.min(PAUSE.first * 2 ** attempt, PAUSE.longest) * (0.5 + Math.random() / 2);
}

/** Returns a new idempotency key. `crypto.randomUUID` is missing on pages that were loaded over plain HTTP. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function problemOf(response: Response): Promise<Problem> {
  const body: unknown = await response.json().catch(() => undefined);
  const members = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  return new Problem(response.status, members, response.headers.get("x-request-id"));
}

export function createTransport(options: ClientOptions): Transport {
  const { retries = 4 } = options;
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
      ...(upload === undefined ? {} : { body: upload.body, duplex: "half" }),
      ...(signal === undefined ? {} : { signal }),
      credentials: "same-origin",
    });
  }

  return {
    async send(request) {
      for (let attempt = 0; ; attempt++) {
        let wait = backoff(attempt);
        let failure: unknown;
        try {
          const response = await once(request);
          if (response.ok || response.status === 304) return response;
          const problem = await problemOf(response);
          const seconds = Number(response.headers.get("retry-after") ?? 0);
          const refused = problem.status === 429 || REFUSED.has(problem.code);
          const passes = PASSING.has(problem.status) && seconds <= LONGEST_WAIT;
          if (!passes || request.upload !== undefined || !(request.repeat === "safe" || refused))
            throw problem;
          wait = Math.max(wait, seconds * 1_000);
          failure = problem;
        } catch (error) {
          request.signal?.throwIfAborted();
          if (error instanceof Problem || request.repeat !== "safe") throw error;
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
