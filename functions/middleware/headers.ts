import type { Context, MiddlewareHandler } from "hono";
import type { Config, Deps } from "../../shared/deps.ts";
import type { AppEnv } from "../request/context.ts";

/** Default headers of every response. Pages set their own Content-Security-Policy. */
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

/** Returns the default headers of this platform's responses. */
export function defaultHeaders(config: Pick<Config, "publicUrl">): Record<string, string> {
  const headers: Record<string, string> = { ...SECURITY_HEADERS, "cache-control": "no-store" };
  if (config.publicUrl.startsWith("https:")) headers["strict-transport-security"] = HSTS;
  return headers;
}

/** Returns the default headers of a request's response. */
function commonHeaders(c: Context<AppEnv>): Record<string, string> {
  const deps: Deps | undefined = c.get("deps");
  // The host failed before it created dependencies, so this is an error response.
  if (deps === undefined) return { ...SECURITY_HEADERS, "cache-control": "no-store" };
  const { config, request } = deps;
  const headers = defaultHeaders(config);
  headers["x-request-id"] = request.requestId;
  if (request.traceparent !== undefined) headers.traceparent = request.traceparent;
  return headers;
}

/**
 * Creates a response with all headers at once. On frequent routes, adding each default header later costs more than the
 * response itself.
 * @param headers in lower case; they replace the default ones
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

/** Middleware that adds missing default headers. */
export const securityHeaders: MiddlewareHandler<AppEnv> = async (c, next) => {
  await next();
  // Accessing a response's headers creates them, so skip complete responses.
  if (c.get("whole") === c.res) return;
  const { headers } = c.res;
  for (const [name, value] of Object.entries(commonHeaders(c)))
    if (!headers.has(name)) headers.set(name, value);
};
