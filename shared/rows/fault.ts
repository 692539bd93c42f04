/** The kind of an error in a line. `utf8`, `quote` and `header` concern the whole file. */
export type FaultCode = "utf8" | "quote" | "header" | "json" | "wide" | "narrow" | "cell" | "text";

/** Tells which line of a file cannot be read exactly, and why. The message does not repeat the number. */
export class RowFault extends Error {
  readonly line: number;
  readonly code: FaultCode;

  constructor(line: number, code: FaultCode, message: string) {
    super(message);
    this.name = "RowFault";
    this.line = line;
    this.code = code;
  }

  /** Whether the lines after this one cannot be read either. */
  get isFinal(): boolean {
    return this.code === "utf8" || this.code === "quote" || this.code === "header";
  }
}

/** Shortens a text for an error message. */
export const clipped = (text: string): string => (text.length > 40 ? `${text.slice(0, 40)}…` : text);
