/** A failure that the person at the terminal can mend: one clear message, no stack. */
export class Failure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Failure";
  }
}

/** Prints what went wrong (a Failure in one line, a defect with its stack) and ends the process with 1. */
export function exitWith(error: unknown): never {
  if (error instanceof Failure) console.error(error.message);
  else console.error(error);
  process.exit(1);
}

/** The system's code of an error, such as EADDRINUSE, or undefined. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
