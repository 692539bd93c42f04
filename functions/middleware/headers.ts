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

const NO_STORE = "no-store";
const HSTS = "max-age=31536000; includeSubDomains";

export const securityHeaders: MiddlewareHandler<AppEnv> = async (c, next) => {
  const secure = c.get("deps").config.publicUrl.startsWith("https:");
  // Prepared beforehand: whatever a route sets replaces them, and nothing is looked up again afterwards.
  for (const name in SECURITY_HEADERS) c.header(name, SECURITY_HEADERS[name]);
  c.header("cache-control", NO_STORE);
  if (secure) c.header("strict-transport-security", HSTS);
  await next();
  const { headers } = c.res;
  if (headers.has("x-content-type-options")) return;
  // An answer that was not made by the context knows nothing of what was prepared.
  for (const name in SECURITY_HEADERS)
    if (!headers.has(name)) headers.set(name, SECURITY_HEADERS[name] ?? "");
  if (!headers.has("cache-control")) headers.set("cache-control", NO_STORE);
  if (secure) headers.set("strict-transport-security", HSTS);
  const { requestId, traceparent } = c.get("deps").request;
  if (!headers.has("x-request-id")) headers.set("x-request-id", requestId);
  if (traceparent !== undefined && !headers.has("traceparent")) headers.set("traceparent", traceparent);
};
