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

/** Whether a browser page of this origin may act with the user's cookie. `*` allows pages of any origin, and is none. */
export function isTrustedOrigin(config: Config, origin: string): boolean {
  return origin === config.publicUrl || (origin !== "*" && config.allowedOrigins.includes(origin));
}

/** Answers to browsers of other origins: only to those in `ALLOWED_ORIGINS`; `*` lets everybody in without cookies. */
export const cors: MiddlewareHandler<AppEnv> = (c, next) => {
  const origin = c.req.header("origin");
  const { allowedOrigins } = c.get("deps").config;
  const open = allowedOrigins.includes("*");
  // Nobody asks from elsewhere, or may: nothing to add, nor to wait for.
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
  // Also to who names no origin: a cache may hold that answer ready for an origin that is allowed.
  if (origin !== undefined || config.allowedOrigins.length > 0) c.res.headers.append("vary", "Origin");
  if (allow === undefined) return undefined;
  c.res.headers.set("access-control-allow-origin", allow);
  c.res.headers.set("access-control-expose-headers", EXPOSED_HEADERS);
  if (trusted) c.res.headers.set("access-control-allow-credentials", "true");
  return undefined;
}
