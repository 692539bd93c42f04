/** Errors of request bodies. */
import { AppError, invalid } from "../../shared/kernel/errors.ts";

/** 413 */
export function tooLarge(limit: number): AppError {
  return new AppError(
    "too_large",
    "body_too_large",
    `The body must be smaller than ${limit / 1024} KiB. Send less in one request.`,
  );
}

/** 400: reading a body fails only because of the client, which disconnected or sent invalid chunks. */
export function bodyAborted(cause: unknown): AppError {
  return new AppError(
    "malformed",
    "body_incomplete",
    "The body ended before it was complete. Send the request again.",
    { cause },
  );
}

/** 415 */
export function notJson(): AppError {
  return new AppError(
    "unsupported_media",
    "not_json",
    "The body must be JSON. Send it with Content-Type: application/json.",
  );
}

/** 400: without this limit, a client could hold a request open indefinitely by sending single bytes. */
export function tooSlow(): AppError {
  return new AppError(
    "malformed",
    "body_incomplete",
    "The body arrived too slowly. Send the request again over a faster connection.",
  );
}

/** 422: a body is required. */
export function noBody(): AppError {
  return invalid([{ path: "", code: "required", message: "is required: send a JSON object as the body" }]);
}
