import type { Context, MiddlewareHandler, Next } from "hono";
import type { Config, Deps } from "../../shared/deps.ts";
import type { AppEnv } from "../request/context.ts";

/** Default headers of all responses. HTML pages set another Content-Security-Policy. */
export const SECURITY_HEADERS: Record<string, string> = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "permissions-policy": "geolocation=(), camera=(), microphone=()",
};

const HSTS = "max-age=31536000; includeSubDomains";

const DEFAULTS: Record<string, string> = { ...SECURITY_HEADERS, "cache-control": "no-store" };
const HTTPS_DEFAULTS: Record<string, string> = { ...DEFAULTS, "strict-transport-security": HSTS };

export function defaultHeaders(config: Pick<Config, "publicUrl">): Readonly<Record<string, string>> {
  return config.publicUrl.startsWith("https:") ? HTTPS_DEFAULTS : DEFAULTS;
}

function commonHeaders(c: Context<AppEnv>): Record<string, string> {
  const deps: Deps | undefined = c.get("deps");
  // `deps` is undefined if the host failed before it read its settings.
  if (deps === undefined) return { ...DEFAULTS };
  const { config, request } = deps;
  const headers: Record<string, string> = {
    ...defaultHeaders(config),
    ...c.get("lossHeaders"),
    "x-request-id": request.requestId,
  };
  if (request.traceparent !== undefined) headers.traceparent = request.traceparent;
  return headers;
}

/** Creates a response that has all default headers from the start. Adding them later would be much slower. */
export function completeResponse(
  c: Context<AppEnv>,
  body: string | null,
  status: number,
  headers: Record<string, string>,
): Response {
  const response = new Response(body, { status, headers: Object.assign(commonHeaders(c), headers) });
  c.set("whole", response);
  return response;
}

export const securityHeaders: MiddlewareHandler<AppEnv> = async (c, next) => {
  await next();
  // Skip a response that already has all default headers, because accessing headers is slow.
  if (c.get("whole") === c.res) return;
  const { headers } = c.res;
  for (const [name, value] of Object.entries(commonHeaders(c)))
    if (!headers.has(name)) headers.set(name, value);
};

export const EXPOSED_HEADERS = [
  "ETag",
  "Location",
  "Content-Location",
  "Content-Range",
  "Tus-Resumable",
  "Tus-Version",
  "Tus-Extension",
  "Tus-Max-Size",
  "Upload-Offset",
  "Upload-Length",
  "Upload-Expires",
  "Upload-Metadata",
  "Retry-After",
  "Content-Language",
  "Entry-Unchanged",
  "Idempotent-Replayed",
  "Orb-Damaged",
  "Orb-Definition",
  "Deprecation",
  "X-Request-Id",
  "traceparent",
  "Stream-Next-Offset",
  "Stream-Cursor",
  "Stream-Up-To-Date",
  "Stream-SSE-Data-Encoding",
].join(", ");
export const ALLOWED_METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";
export const REQUEST_HEADERS =
  "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Orb-Definition, Last-Event-ID, SessionID, X-Request-Id, traceparent, Accept-Language, Range, If-Range, Content-Disposition, Content-Digest, Tus-Resumable, Upload-Length, Upload-Offset, Upload-Metadata, X-HTTP-Method-Override";

/** Returns whether web pages of an origin may use the session cookie. The setting `*` never allows cookies. */
export function isTrustedOrigin(config: Config, origin: string): boolean {
  return origin === config.publicUrl || (origin !== "*" && config.allowedOrigins.includes(origin));
}

/**
 * Adds CORS headers for the origins in `ALLOWED_ORIGINS`. `*` allows every origin, but without cookies.
 * @param isTrusted whether the request shows in another way that its page may read the response
 */
export const corsWith =
  (isTrusted: (c: Context<AppEnv>, origin: string) => boolean): MiddlewareHandler<AppEnv> =>
  (c, next) => {
    const origin = c.req.header("origin");
    const { config } = c.get("deps");
    if (origin === undefined && config.allowedOrigins.length === 0 && c.req.method !== "OPTIONS")
      return next();
    const trusted = origin !== undefined && (isTrustedOrigin(config, origin) || isTrusted(c, origin));
    return crossOrigin(c, next, origin, trusted);
  };

export const cors = corsWith(() => false);

async function crossOrigin(
  c: Context<AppEnv>,
  next: Next,
  origin: string | undefined,
  trusted: boolean,
): Promise<Response | undefined> {
  const { config } = c.get("deps");
  const allow = trusted ? origin : config.allowedOrigins.includes("*") ? "*" : undefined;
  if (
    c.req.method === "OPTIONS" &&
    (origin === undefined || c.req.header("access-control-request-method") !== undefined)
  ) {
    const headers = new Headers({ vary: "Origin" });
    if (allow !== undefined) {
      headers.set("access-control-allow-origin", allow);
      headers.set("access-control-allow-methods", ALLOWED_METHODS);
      headers.set("access-control-allow-headers", REQUEST_HEADERS);
      headers.set("access-control-max-age", "600");
      if (trusted) headers.set("access-control-allow-credentials", "true");
    }
    return new Response(null, { status: 204, headers });
  }
  await next();
  // Send `Vary` even if the request has no Origin header, because a cache may serve the response to an allowed origin.
  if (origin !== undefined || config.allowedOrigins.length > 0) c.res.headers.append("vary", "Origin");
  if (allow === undefined) return undefined;
  c.res.headers.set("access-control-allow-origin", allow);
  c.res.headers.set("access-control-expose-headers", EXPOSED_HEADERS);
  if (trusted) c.res.headers.set("access-control-allow-credentials", "true");
  return undefined;
}
