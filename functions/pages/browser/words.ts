import { deviceWords } from "./device.ts";
import { hasText, text } from "./texts.ts";

/** Thrown if the platform refuses a request or cannot be reached. */
export class Refused extends Error {
  readonly code: string;
  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** Returns an error message that users without technical knowledge understand. */
export function wordsFor(error: unknown, doing: "register" | "login"): string {
  if (!(error instanceof Refused)) return deviceWords(error, doing) ?? text("script.unknown");
  const key = `script.${error.code}`;
  return text(hasText(key) ? key : "script.unknown");
}
