import type { Context, MiddlewareHandler, Next } from "hono";
import type { Config } from "../../shared/deps.ts";
import type { AppEnv } from "../request/context.ts";

export const EXPOSED_HEADERS = [
  "ETag",
  "Location",
  "Retry-After",
  "Content-Language",
  "Idempotent-Replayed",
  "X-Request-Id",
  "traceparent",
  "Stream-Next-Offset",
  "Stream-Cursor",
  "Stream-Up-To-Date",
  "Stream-SSE-Data-Encoding",
].join(", ");
export const ALLOWED_METHODS = "GET, HEAD, POST, PUT, DELETE, OPTIONS";
export const REQUEST_HEADERS =
  "Authorization, Content-Type, If-Match, If-None-Match, Idempotency-Key, Last-Event-ID, SessionID, X-Request-Id, traceparent, Accept-Language";

/**
 * Whether browser pages of an origin may use the user's cookie. `*` allows requests of any origin, but not with
 * cookies.
 */
export function isTrustedOrigin(config: Config, origin: string): boolean {
  return origin === config.publicUrl || (origin !== "*" && config.allowedOrigins.includes(origin));
}

/** Adds CORS headers for the origins in `ALLOWED_ORIGINS`; `*` allows all origins without cookies. */
export const cors: MiddlewareHandler<AppEnv> = (c, next) => {
  const origin = c.req.header("origin");
  const { allowedOrigins } = c.get("deps").config;
  const open = allowedOrigins.includes("*");
  // No cross-origin request, and none is allowed: there is nothing to add.
  if (origin === undefined && allowedOrigins.length === 0 && c.req.method !== "OPTIONS") return next();
  return crossOrigin(c, next, origin, open);
};

async function crossOrigin(
  c: Context<AppEnv>,
  next: Next,
  origin: string | undefined,
  open: boolean,
): Promise<Response | undefined> {
  const { config } = c.get("deps");
  const trusted = origin !== undefined && isTrustedOrigin(config, origin);
  const allow = trusted ? origin : open ? "*" : undefined;
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
  // Also without an Origin header: a cache may keep this response for an allowed origin.
  if (origin !== undefined || config.allowedOrigins.length > 0) c.res.headers.append("vary", "Origin");
  if (allow === undefined) return undefined;
  c.res.headers.set("access-control-allow-origin", allow);
  c.res.headers.set("access-control-expose-headers", EXPOSED_HEADERS);
  if (trusted) c.res.headers.set("access-control-allow-credentials", "true");
  return undefined;
}
