import type { IncomingMessage } from "node:http";
import {
  ALLOWED_METHODS,
  defaultHeaders,
  EXPOSED_HEADERS,
  isTrustedOrigin,
  REQUEST_HEADERS,
} from "../../functions/middleware/headers.ts";
import { namesOf } from "../../functions/request/log.ts";
import type { Config } from "../../shared/deps.ts";
import { STREAM_VARY } from "../../shared/streams/serve.ts";
import { TICKET } from "../../shared/streams/ticket.ts";

/**
 * Returns whether a web page may read the response. After a redirect, browsers send `Origin: null`. The ticket in the
 * URL then shows that the page is trusted.
 */
function isTrusted(config: Config, origin: string, url: string): boolean {
  if (isTrustedOrigin(config, origin)) return true;
  return origin === "null" && URL.parse(url, "http://streams")?.searchParams.has(TICKET) === true;
}

const one = (value: string | string[] | undefined) => (Array.isArray(value) ? value[0] : value);

export function commonHeaders(
  config: Config,
  { headers: request, url = "" }: IncomingMessage,
): Record<string, string> {
  const { requestId, traceparent } = namesOf(one(request["x-request-id"]), one(request.traceparent));
  const headers: Record<string, string> = {
    ...defaultHeaders(config),
    vary: STREAM_VARY,
    "x-request-id": requestId,
    traceparent,
  };
  const origin = one(request.origin);
  // Set `Vary` even if the request has no Origin header: a cache may later use the response for a request from
  // another origin.
  if (origin !== undefined || config.allowedOrigins.length > 0) headers.vary = `${STREAM_VARY}, Origin`;
  if (origin === undefined) return headers;
  if (isTrusted(config, origin, url)) {
    headers["access-control-allow-origin"] = origin;
    headers["access-control-allow-credentials"] = "true";
  } else if (config.allowedOrigins.includes("*")) headers["access-control-allow-origin"] = "*";
  else return headers;
  headers["access-control-expose-headers"] = EXPOSED_HEADERS;
  return headers;
}

/** Returns whether a request gets the response to a CORS preflight. OPTIONS requests without an origin get it too. */
export function isPreflight({ method, headers }: IncomingMessage): boolean {
  if (method !== "OPTIONS") return false;
  return headers.origin === undefined || headers["access-control-request-method"] !== undefined;
}

export function preflightHeaders(common: Record<string, string>): Record<string, string> {
  const headers: Record<string, string> = { ...common, vary: "Origin" };
  if (headers["access-control-allow-origin"] === undefined) return headers;
  return {
    ...headers,
    "access-control-allow-methods": ALLOWED_METHODS,
    "access-control-allow-headers": REQUEST_HEADERS,
    "access-control-max-age": "600",
  };
}
