/**
 * The one error that rules throw. Transports map `kind` to their own answer (HTTP: functions/problem.ts);
 * clients branch on `code`, which is stable, and never on prose.
 */

/** What went wrong, independent of any transport. HTTP maps each to exactly one status. */
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

/** One fault in an input: where (JSON Pointer, RFC 6901), a stable code, and words for a person. */
export interface Fault {
  path: string;
  code: string;
  message: string;
}

/** What an error may carry beside its words. */
export interface ErrorExtras {
  /** Every fault of an invalid input, all at once. */
  errors?: Fault[];
  /** Seconds after which trying again makes sense. */
  retryAfter?: number;
  /** Further members of the problem document. Never a secret. */
  data?: Record<string, unknown>;
  /** The failure underneath, for the log only. */
  cause?: unknown;
}

/** A failure with a stable code. `detail` is read by people and must hold no secret and no broker text. */
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

/** 422 that tells every fault at once. */
export function invalid(errors: Fault[], detail?: string): AppError {
  const text =
    detail ?? (errors.length === 1 ? "One value is not valid." : `${errors.length} values are not valid.`);
  return new AppError("invalid", "validation_failed", text, { errors });
}

/** 412: somebody else wrote since the caller looked. */
export function revisionMismatch(newest: number): AppError {
  const detail = `The newest revision is ${newest}, and If-Match names another one.`;
  return new AppError("precondition", "revision_mismatch", detail, { data: { revision: newest } });
}

/** 409: others kept coming between for as long as it was tried. */
export function writeConflict(): AppError {
  const detail = "Others kept writing at the same moment. Read again and retry.";
  return new AppError("conflict", "write_conflict", detail);
}

/** 503: the broker does not answer. Clients may try again after a second. */
export function unavailable(cause?: unknown): AppError {
  return new AppError(
    "unavailable",
    "broker_unavailable",
    "The platform's storage cannot be reached at the moment.",
    {
      retryAfter: 1,
      cause,
    },
  );
}
