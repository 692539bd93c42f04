import { AppError } from "../shared/errors.ts";

/** A failure that the person at the terminal can mend: one clear message, no stack. */
export class Failure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Failure";
  }
}

/** What went wrong, without a stack: for what is no defect. Undefined for one. */
export function oneLine(error: unknown): string | undefined {
  if (error instanceof Failure) return error.message;
  return error instanceof AppError && error.kind !== "internal" ? `${error.detail}${why(error)}` : undefined;
}

/** What lies under the rules' own error, in brackets: the person at the terminal may read the broker's words. */
export function why({ cause }: AppError): string {
  const words = cause instanceof Error ? cause.message : typeof cause === "string" ? cause : "";
  return words === "" ? "" : ` (${words})`;
}

/** Prints what went wrong (in one line, a defect with its stack) and ends the process with 1. */
export function exitWith(error: unknown): never {
  const line = oneLine(error);
  if (line !== undefined) console.error(line);
  else console.error(error);
  process.exit(1);
}

/** The system's code of an error, such as EADDRINUSE, or undefined. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
