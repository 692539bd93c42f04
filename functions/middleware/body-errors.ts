import { AppError, invalid } from "../../shared/kernel/errors.ts";

/** How to store content that is larger than an entry may be. */
export const AS_FILE =
  "Store large content, such as GeoJSON, as a file: send it to POST /api/{orb}/files, and set a field of type file.";

export function tooLarge(limit: number): AppError {
  return new AppError(
    "too_large",
    "body_too_large",
    `The body must be smaller than ${limit / 1024} KiB. Send less in one request. ${AS_FILE}`,
  );
}

/** Error 400: the client disconnected before the end of the body, or sent invalid chunks. */
export function bodyAborted(cause: unknown): AppError {
  return new AppError(
    "malformed",
    "body_incomplete",
    "The body ended before it was complete. Send the request again.",
    { cause },
  );
}

export function notJson(): AppError {
  return new AppError(
    "unsupported_media",
    "not_json",
    "The body must be JSON. Send it with Content-Type: application/json.",
  );
}

/** Error 415: the body is JSON, but a patch in an unsupported format, such as JSON Patch. */
export function notMergePatch(): AppError {
  return new AppError(
    "unsupported_media",
    "not_merge_patch",
    "The body must be a JSON Merge Patch. Send it with Content-Type: application/merge-patch+json.",
  );
}

/**
 * Error 400 for a body that arrives too slowly. Without a time limit, a client could keep a request open forever by
 * sending single bytes.
 */
export function tooSlow(): AppError {
  return new AppError(
    "malformed",
    "body_incomplete",
    "The body arrived too slowly. Send the request again over a faster connection.",
  );
}

export function noBody(): AppError {
  return invalid([{ path: "", code: "required", message: "is required: send a JSON object as the body" }]);
}
