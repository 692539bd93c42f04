/** Maps errors of the store to the errors that callers see. */
import { AppError, writeConflict } from "../kernel/errors.ts";
import { REQUEST_BYTES, tooManyBytes } from "./budget.ts";
import { Conflict, StreamMissing, TooMuch } from "./types.ts";

/**
 * Returns the error for the caller if a write conflict, an oversized read or a missing stream was not handled.
 * @param onMissing called with the name of a missing stream
 * @returns undefined for all other errors
 */
export function storeFailure(error: unknown, onMissing: (stream: string) => void): AppError | undefined {
  if (error instanceof Conflict) return writeConflict();
  if (error instanceof TooMuch) return tooManyBytes(REQUEST_BYTES);
  if (!(error instanceof StreamMissing)) return undefined;
  onMissing(error.stream);
  return new AppError("unavailable", "storage_not_ready", "The platform's storage is not ready yet.", {
    retryAfter: 1,
  });
}
