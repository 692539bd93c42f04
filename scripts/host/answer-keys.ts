/** The keys of cached answers, and the heads that many answers share. */
import type { IncomingMessage, OutgoingHttpHeaders } from "node:http";

/** Longer addresses are not worth caching. */
const MOST_KEY = 1_000;
/** Headers of one request, and those of one body. */
const PER_REQUEST: ReadonlySet<string> = new Set([
  "x-request-id",
  "traceparent",
  "date",
  "content-length",
  "content-type",
  "etag",
]);

/** The keys of an answer: its address alone, or its address with the languages of the request where these count. */
export interface Keys {
  plain: string;
  spoken: string;
}

/** The part that many answers share. */
export interface Head {
  /** All of it as one text. */
  key: string;
  /** Names and values in turn, without those of one request and one body. */
  headers: readonly string[];
  type: string;
  route: string;
  orb: string | undefined;
}

/** Returns the part of an answer that others share. */
export function headOf(all: OutgoingHttpHeaders, route: string, orb: string | undefined): Head {
  const headers: string[] = [];
  for (const name in all) if (!PER_REQUEST.has(name.toLowerCase())) headers.push(name, String(all[name]));
  const type = String(all["content-type"] ?? "application/json");
  return { key: [route, orb, type, ...headers].join("\n"), headers, type, route, orb };
}

/** Returns the keys of the answer to a request, or undefined if the answer must not be cached. */
export function keysOf({ method, url = "", headers }: IncomingMessage): Keys | undefined {
  if (method !== "GET" || headers.authorization !== undefined || headers.cookie !== undefined)
    return undefined;
  // Other ways to write an address only make more of them.
  if (headers.range !== undefined || !url.startsWith("/") || url.includes("#")) return undefined;
  // No header is empty and none at once: an empty origin is answered with a `Vary` of its own.
  const plain = `${url}\n${headers.origin ?? "\0"}`;
  const spoken = `${plain}\n${headers["accept-language"] ?? "\0"}`;
  return spoken.length > MOST_KEY ? undefined : { plain, spoken };
}
