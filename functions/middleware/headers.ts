import type { Context, MiddlewareHandler } from "hono";
import type { Config, Deps } from "../../shared/deps.ts";
import type { AppEnv } from "../request/context.ts";

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

const HSTS = "max-age=31536000; includeSubDomains";

/** What every answer of this platform says unless it says otherwise itself. */
export function standingHeaders(config: Pick<Config, "publicUrl">): Record<string, string> {
  const headers: Record<string, string> = { ...SECURITY_HEADERS, "cache-control": "no-store" };
  if (config.publicUrl.startsWith("https:")) headers["strict-transport-security"] = HSTS;
  return headers;
}

/** What every answer says unless its route says otherwise. */
function commonHeaders(c: Context<AppEnv>): Record<string, string> {
  const deps: Deps | undefined = c.get("deps");
  // A host that could not even begin has only an error to tell.
  if (deps === undefined) return { ...SECURITY_HEADERS, "cache-control": "no-store" };
  const { config, request } = deps;
  const headers = standingHeaders(config);
  headers["x-request-id"] = request.requestId;
  if (request.traceparent !== undefined) headers.traceparent = request.traceparent;
  return headers;
}

/**
 * An answer with all its headers at once: where many are asked for, adding each to the others costs more than making
 * what is answered.
 * @param headers in lower case; they replace the common ones
 */
export function completeResponse(
  c: Context<AppEnv>,
  body: string | null,
  status: number,
  headers: Record<string, string>,
): Response {
  const response = new Response(body, { status, headers: { ...commonHeaders(c), ...headers } });
  c.set("whole", response);
  return response;
}

/** Adds what an answer does not say by itself. */
export const securityHeaders: MiddlewareHandler<AppEnv> = async (c, next) => {
  await next();
  // Looking at the headers of an answer makes them.
  if (c.get("whole") === c.res) return;
  const { headers } = c.res;
  for (const [name, value] of Object.entries(commonHeaders(c)))
    if (!headers.has(name)) headers.set(name, value);
};
