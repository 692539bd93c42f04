import { AppError, unavailable, writeConflict } from "../kernel/errors.ts";
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

/** 413: one write needs too many messages. @param most maximum messages of such a write */
export function batchTooLarge(most: number): AppError {
  const detail = `One atomic write holds at most ${most} messages. Split it into smaller ones.`;
  return new AppError("too_large", "batch_too_large", detail);
}

/** Thrown if the broker rejected a message as invalid. No message of the batch was stored. */
export class RejectedWrite extends AppError {
  constructor(cause: string) {
    const { kind, code, detail, retryAfter = 1 } = unavailable();
    super(kind, code, detail, { retryAfter, cause });
  }
}

/**
 * Returns whether the broker may have stored a write despite the error. After a timeout, for example, this is unknown.
 */
export function isUnsure(error: unknown): boolean {
  if (!(error instanceof AppError) || error instanceof RejectedWrite) return false;
  return error.kind === "timeout" || error.kind === "unavailable";
}
