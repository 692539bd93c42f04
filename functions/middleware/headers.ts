import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "../context.ts";

/** Headers that every answer carries unless its route set its own. Pages set their own Content-Security-Policy. */
export const SECURITY_HEADERS: Record<string, string> = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "permissions-policy": "geolocation=(), camera=(), microphone=()",
};

export const securityHeaders: MiddlewareHandler<AppEnv> = async (c, next) => {
  await next();
  const headers = c.res.headers;
  for (const name in SECURITY_HEADERS)
    if (!headers.has(name)) headers.set(name, SECURITY_HEADERS[name] ?? "");
  if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
  if (c.var.deps.config.publicUrl.startsWith("https:")) {
    headers.set("strict-transport-security", "max-age=31536000; includeSubDomains");
  }
};
