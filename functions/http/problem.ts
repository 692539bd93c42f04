/** Turns errors into `application/problem+json` responses (RFC 9457). */
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { ZodError } from "zod";
import { AppError, type ErrorKind, type Fault } from "../../shared/kernel/errors.ts";
import { addZodIssues, Faults } from "../../shared/kernel/faults.ts";
import { storeFailure } from "../../shared/store/errors.ts";
import { notJson } from "../middleware/body-errors.ts";
import { completeResponse } from "../middleware/headers.ts";
import type { AppEnv } from "../request/context.ts";

export const STATUS: Record<ErrorKind, ContentfulStatusCode> = {
  malformed: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  gone: 410,
  precondition: 412,
  too_large: 413,
  unsupported_media: 415,
  invalid: 422,
  too_many: 429,
  internal: 500,
  bad_gateway: 502,
  unavailable: 503,
  timeout: 504,
  full: 507,
};

export const TITLES: Record<number, string> = {
  400: "Bad request",
  401: "Authentication required",
  403: "Not allowed",
  404: "Not found",
  405: "Method not allowed",
  409: "Conflict",
  410: "Gone",
  412: "Precondition failed",
  413: "Too large",
  415: "Unsupported media type",
  422: "Not valid",
  429: "Too many requests",
  500: "Internal error",
  502: "Bad gateway",
  503: "Unavailable",
  504: "Timed out",
  507: "Insufficient storage",
};

export function noRouteDetail(path: string): string {
  const slash = path.length > 1 && path.endsWith("/") ? " Try it without the trailing slash." : "";
  return `No route matches this address.${slash}`;
}

export function problemText(
  status: number,
  code: string,
  detail: string,
  more: { errors?: Fault[] | undefined; data?: Record<string, unknown> | undefined } = {},
): string {
  const members = { type: `urn:problem:${code}`, title: TITLES[status] ?? "Error", status, detail, code };
  return JSON.stringify({
    // The standard members come first for readability. They are repeated last, so that `data` cannot replace them.
    ...members,
    ...more.data,
    ...members,
    ...(more.errors === undefined ? {} : { errors: more.errors }),
  });
}

export function problemHeaders({ kind, code, retryAfter }: AppError): Record<string, string> {
  const headers: Record<string, string> = {};
  if (retryAfter !== undefined) headers["retry-after"] = String(Math.max(1, Math.ceil(retryAfter)));
  if (kind === "unauthenticated") {
    headers["www-authenticate"] =
      code === "invalid_token" ? 'Bearer realm="platform", error="invalid_token"' : 'Bearer realm="platform"';
  }
  return headers;
}

export function problem(
  c: Context<AppEnv>,
  status: ContentfulStatusCode,
  code: string,
  detail: string,
  more: {
    errors?: Fault[] | undefined;
    data?: Record<string, unknown> | undefined;
    headers?: Record<string, string>;
  } = {},
): Response {
  c.set("problem", code);
  return completeResponse(c, problemText(status, code, detail, more), status, {
    "content-type": "application/problem+json",
    "cache-control": "no-store",
    ...more.headers,
  });
}

export function wrongMethod(c: Context<AppEnv>, methods: readonly string[]): Response {
  const allow = [...methods].sort().join(", ");
  const detail = `This method is not supported at this address. Use ${allow}.`;
  return problem(c, 405, "method_not_allowed", detail, { headers: { allow } });
}

export function faultsOf(error: ZodError, input: unknown): Fault[] {
  const faults = new Faults();
  addZodIssues(faults, error.issues, input);
  return faults.list();
}

/** Logs why the broker or a service failed, because responses do not contain the cause. */
export function logUpstream(c: Context<AppEnv>, { kind, code, cause }: AppError): void {
  if (kind !== "unavailable" && kind !== "timeout" && kind !== "bad_gateway") return;
  const [route, orb] = [c.get("route"), c.req.param("orbId")];
  c.var.deps?.log.warn("upstream failed", {
    code,
    ...(route === undefined ? {} : { route }),
    ...(orb === undefined ? {} : { orb }),
    ...(cause === undefined || cause === "" ? {} : { cause: String(cause) }),
  });
}

/** Turns any thrown error into a response. Clients never see the text of an unexpected error. */
export function onError(error: Error, c: Context<AppEnv>): Response {
  let known: AppError;
  const failure = storeFailure(error, (stream) => c.var.deps?.log.error("stream missing", { stream }));
  if (error instanceof AppError) known = error;
  else if (failure !== undefined) known = failure;
  else if (error instanceof HTTPException && error.status === 415) known = notJson();
  else if (error instanceof HTTPException) {
    return problem(
      c,
      error.status as ContentfulStatusCode,
      `http_${error.status}`,
      TITLES[error.status] ?? "Error",
    );
  } else {
    known = new AppError(
      "internal",
      "internal_error",
      "Internal error. Try again; if it persists, report the X-Request-Id.",
    );
    c.var.deps?.log.error("unexpected error", { error: error.message, stack: error.stack });
  }
  logUpstream(c, known);
  return problem(c, STATUS[known.kind], known.code, known.detail, {
    errors: known.errors,
    data: known.data,
    headers: problemHeaders(known),
  });
}
