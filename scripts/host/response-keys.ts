import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";

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
export interface Keys {
  plain: string;
  spoken: string;
}

/** A set of response headers, which many responses share. */
export interface Head {
  /** All headers as one text, for comparison. */
  key: string;
  /** Alternating header names and values, without headers that depend on the request or the body. */
  headers: readonly string[];
  type: string;
  route: string;
  orb: string | undefined;
}

export function headOf(all: OutgoingHttpHeaders, route: string, orb: string | undefined): Head {
  const headers: string[] = [];
  for (const name in all) if (!PER_REQUEST.has(name.toLowerCase())) headers.push(name, String(all[name]));
  const type = String(all["content-type"] ?? "application/json");
  return { key: [route, orb, type, ...headers].join("\n"), headers, type, route, orb };
}

/** Returns the cache keys of a request, or undefined if its response must not be cached. */
export function keysOf({ method, url = "", headers }: IncomingMessage): Keys | undefined {
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
