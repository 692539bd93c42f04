/** Converts any error to an error that clients may see. */
import { AppError } from "../../shared/kernel/errors.ts";
import { StreamMissing } from "../../shared/store/types.ts";

export function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof StreamMissing) {
    return new AppError(
      "unavailable",
      "storage_not_ready",
      "The platform's storage is not ready yet. Try again in a few seconds.",
      {
        retryAfter: 1,
      },
    );
  }
  return new AppError(
    "internal",
    "internal_error",
    "Internal error. Try again; if it persists, report the X-Request-Id.",
  );
}
