import { AppError, writeConflict } from "../kernel/errors.ts";
import { REQUEST_BYTES, tooManyBytes } from "./budget.ts";
import { Conflict, StreamMissing, TooMuch } from "./types.ts";

/**
 * Converts an error of the store into the error that the client of the API gets. Returns undefined if the error does
 * not come from the store.
 */
export function storeFailure(error: unknown, onMissing: (stream: string) => void): AppError | undefined {
  if (error instanceof Conflict) return writeConflict();
  if (error instanceof TooMuch) return tooManyBytes(REQUEST_BYTES);
  if (!(error instanceof StreamMissing)) return undefined;
  onMissing(error.stream);
  return new AppError(
    "unavailable",
    "storage_not_ready",
    "The platform's storage is not ready yet. Try again in a second.",
    {
      retryAfter: 1,
    },
  );
}
