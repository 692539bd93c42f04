/** Errors that do not depend on HTTP. Clients must check the stable `code`, never the text. */

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

/** One validation error. The message continues a sentence that begins with the property's name: "must be a string". */
export interface Fault {
  path: string;
  code: string;
  message: string;
}

export interface ErrorExtras {
  errors?: Fault[] | undefined;
  /** Seconds to wait before a retry. */
  retryAfter?: number | undefined;
  /** More properties for the problem document (RFC 9457). Never include a secret. */
  data?: Record<string, unknown> | undefined;
  /** The underlying error, for the log only. */
  cause?: unknown;
}

/** An error for clients. They see `detail`, so it must contain neither secrets nor messages of the broker. */
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

  /** Returns the same error with other faults. */
  withFaults(errors: Fault[]): AppError {
    const { kind, code, detail, data, retryAfter, cause } = this;
    return new AppError(kind, code, detail, { errors, data, retryAfter, cause });
  }
}

/** Returns whether an error says that another part of the system did not answer, so that nothing is known. */
export const isSilence = (error: unknown): error is AppError =>
  error instanceof AppError && (error.kind === "unavailable" || error.kind === "timeout");

export function notFound(what: string, detail = `There is no such ${what}.`): AppError {
  return new AppError("not_found", `${what.replaceAll(" ", "_")}_not_found`, detail);
}

export function invalid(errors: Fault[], detail?: string): AppError {
  const text =
    detail ?? (errors.length === 1 ? "One value is not valid." : `${errors.length} values are not valid.`);
  return new AppError("invalid", "validation_failed", text, { errors });
}

export function invalidParameters(errors: Fault[]): AppError {
  const detail = "Query parameters or headers are not valid. See errors for each one.";
  return new AppError("malformed", "invalid_parameter", detail, { errors });
}

/** Returns a 412 error: the header If-Match does not name the newest revision. */
export function revisionMismatch(newest: number): AppError {
  const detail = `If-Match must name the newest revision, which is ${newest}. Read it and apply your change again.`;
  return new AppError("precondition", "revision_mismatch", detail, { data: { revision: newest } });
}

/** Returns a 409 error: every retry failed, because other requests kept changing the same data. */
export function writeConflict(): AppError {
  const detail = "Other requests kept changing this at the same time. Read it again and retry.";
  return new AppError("conflict", "write_conflict", detail);
}

/** Returns a 503 error: the message broker does not respond. */
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
