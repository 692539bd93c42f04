/**
 * The error class of the application. Transports map `kind` to a status (HTTP: functions/http/problem.ts). Clients
 * branch on `code`, which is stable, and never on the text.
 */

/** The kind of error, independent of the transport. HTTP maps each kind to one status. */
export type ErrorKind =
  | "malformed" // 400
  | "unauthenticated" // 401
  | "forbidden" // 403
  | "not_found" // 404
  | "conflict" // 409
  | "gone" // 410
  | "precondition" // 412
  | "too_large" // 413
  | "unsupported_media" // 415
  | "invalid" // 422
  | "too_many" // 429
  | "internal" // 500
  | "bad_gateway" // 502
  | "unavailable" // 503
  | "timeout" // 504
  | "full"; // 507

/**
 * One fault in the input: a JSON Pointer (RFC 6901), a stable code, and a message that reads correctly after the
 * property's name.
 */
export interface Fault {
  path: string;
  code: string;
  message: string;
}

/** Optional parts of an error. */
export interface ErrorExtras {
  /** All faults of an invalid input. */
  errors?: Fault[] | undefined;
  /** Seconds to wait before a retry. */
  retryAfter?: number | undefined;
  /** Further properties of the problem document. Never a secret. */
  data?: Record<string, unknown> | undefined;
  /** The underlying error, only for the log. */
  cause?: unknown;
}

/** An error with a stable code. `detail` is for people. It must contain neither secrets nor messages of the broker. */
export class AppError extends Error {
  readonly kind: ErrorKind;
  readonly code: string;
  readonly detail: string;
  readonly errors: Fault[] | undefined;
  readonly retryAfter: number | undefined;
  readonly data: Record<string, unknown> | undefined;

  constructor(kind: ErrorKind, code: string, detail: string, extras: ErrorExtras = {}) {
    super(detail, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.name = "AppError";
    this.kind = kind;
    this.code = code;
    this.detail = detail;
    this.errors = extras.errors;
    this.retryAfter = extras.retryAfter;
    this.data = extras.data;
  }
}

/** 404 with a code such as `orb_not_found`. */
export function notFound(what: string, detail = `There is no such ${what}.`): AppError {
  return new AppError("not_found", `${what.replaceAll(" ", "_")}_not_found`, detail);
}

/** 422 with all faults at once. */
export function invalid(errors: Fault[], detail?: string): AppError {
  const text =
    detail ?? (errors.length === 1 ? "One value is not valid." : `${errors.length} values are not valid.`);
  return new AppError("invalid", "validation_failed", text, { errors });
}

/** 400 with a fault for each invalid query parameter or header. */
export function invalidParameters(errors: Fault[]): AppError {
  const detail = "Query parameters or headers are not valid. See errors for each one.";
  return new AppError("malformed", "invalid_parameter", detail, { errors });
}

/** 412: the revision in If-Match is not the newest one. */
export function revisionMismatch(newest: number): AppError {
  const detail = `If-Match must name the newest revision, which is ${newest}. Read it and apply your change again.`;
  return new AppError("precondition", "revision_mismatch", detail, { data: { revision: newest } });
}

/** 409: every retry met another concurrent write. */
export function writeConflict(): AppError {
  const detail = "Other requests kept changing this at the same time. Read it again and retry.";
  return new AppError("conflict", "write_conflict", detail);
}

/** 503: the broker does not respond. Clients may retry after a second. */
export function unavailable(cause?: unknown): AppError {
  return new AppError(
    "unavailable",
    "broker_unavailable",
    "The platform's storage cannot be reached at the moment. Try again in a second.",
    {
      retryAfter: 1,
      cause,
    },
  );
}
