/** Sends requests to the platform's HTTP API with the session cookie. All requests of the console go through here. */
import { signal } from "@preact/signals";
import { isProblem } from "../../../shared/client/problem.ts";
import { createTransport, newKey } from "../../../shared/client/transport.ts";

/** Sends requests without the headers that {@link send} adds. */
export const transport = createTransport({ retries: 2 });

/** Whether a request failed because the session has ended. The page then offers to sign in again. */
export const sessionEnded = signal(false);

/** Returns the response to a request. Notes if the session has ended. */
export async function asked<T>(request: Promise<T>): Promise<T> {
  try {
    return await request;
  } catch (error) {
    if (isProblem(error) && error.status === 401) sessionEnded.value = true;
    throw error;
  }
}

export interface ReadOptions {
  query?: Readonly<Record<string, string | number | boolean | undefined>> | URLSearchParams | undefined;
  signal?: AbortSignal | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
}

export interface WriteOptions extends ReadOptions {
  /** Revision that the change is based on. If a newer one exists, the platform responds with 412. */
  revision?: number | undefined;
  /** A body that is sent as it is, instead of `body`. */
  text?: { body: string; type: string } | undefined;
  /** Whether a POST has an idempotency key. Default: true. A request that changes nothing when repeated needs none. */
  once?: boolean;
}

function searchOf(query: ReadOptions["query"] = {}): URLSearchParams {
  if (query instanceof URLSearchParams) return query;
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return search;
}

/** Joins path segments, and escapes each: `pathOf("api", "admin", "orbs", id)`. */
export const pathOf = (...segments: readonly string[]): string =>
  `/${segments.map(encodeURIComponent).join("/")}`;

/**
 * Sends a request.
 * @throws Problem if the platform responds with an error; TypeError if it cannot be reached
 */
export async function send(
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  body: unknown,
  { query, signal, headers, revision, text, once = true }: WriteOptions = {},
): Promise<Response> {
  const request = transport.send({
    method,
    path,
    query: searchOf(query),
    body,
    ...(text === undefined ? {} : { upload: { body: new Blob([text.body]), type: text.type } }),
    signal,
    headers: {
      ...(revision === undefined ? {} : { "if-match": `"${revision}"` }),
      // The idempotency key makes a retried POST take effect only once.
      ...(method === "POST" && once ? { "idempotency-key": newKey() } : {}),
      ...headers,
    },
    repeat: method === "POST" ? "refused" : "safe",
  });
  return asked(request);
}

async function bodyOf<T>(response: Response): Promise<T> {
  const text = await response.text();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

/**
 * Sends a GET request.
 * @throws Problem, TypeError: see {@link send}
 */
export async function get<T>(path: string, options?: ReadOptions): Promise<T> {
  return bodyOf<T>(await send("GET", path, undefined, options));
}

/**
 * Sends a POST request.
 * @throws Problem, TypeError: see {@link send}
 */
export async function post<T = void>(path: string, body?: unknown, options?: WriteOptions): Promise<T> {
  return bodyOf<T>(await send("POST", path, body, options));
}

/**
 * Sends a PUT request.
 * @throws Problem, TypeError: see {@link send}
 */
export async function put<T = void>(path: string, body: unknown, options?: WriteOptions): Promise<T> {
  return bodyOf<T>(await send("PUT", path, body, options));
}

/**
 * Sends a DELETE request.
 * @throws Problem, TypeError: see {@link send}
 */
export async function remove(path: string, options?: WriteOptions): Promise<void> {
  await send("DELETE", path, undefined, options);
}
