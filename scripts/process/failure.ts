import { AppError } from "../../shared/kernel/errors.ts";

/** An error that the operator can fix: one clear message without a stack. */
export class Failure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Failure";
  }
}

/** Returns the message of an expected error; undefined if the error is a bug. */
export function oneLine(error: unknown): string | undefined {
  if (error instanceof Failure) return error.message;
  return error instanceof AppError && error.kind !== "internal" ? `${error.detail}${why(error)}` : undefined;
}

/** Returns the cause of an error in parentheses. It may be the broker's own message, which operators may see. */
export function why({ cause }: AppError): string {
  const words = cause instanceof Error ? cause.message : typeof cause === "string" ? cause : "";
  return words === "" ? "" : ` (${words})`;
}

/** Prints an error (a bug with its stack) and exits with code 1. */
export function exitWith(error: unknown): never {
  const line = oneLine(error);
  if (line !== undefined) console.error(line);
  else console.error(error);
  process.exit(1);
}

/** Returns the operating system's error code, such as EADDRINUSE. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
