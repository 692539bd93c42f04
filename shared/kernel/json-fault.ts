/** Finds the position where a text stops being JSON, which parsers do not report reliably. */

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** End of the match of a sticky expression at a position; undefined without a match. */
function matchAt(expression: RegExp, text: string, at: number): number | undefined {
  expression.lastIndex = at;
  return expression.test(text) ? expression.lastIndex : undefined;
}

/** Scans a string from its opening quote. @returns its end, or the position of the fault */
function readString(text: string, from: number): { end: number; whole: boolean } {
  let at = from + 1;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code === 34) return { end: at + 1, whole: true };
    if (code < 32) break;
    if (code !== 92) at++;
    else {
      const behind = matchAt(ESCAPE, text, at);
      if (behind === undefined) break;
      at = behind;
    }
  }
  return { end: at, whole: false };
}

/** The next expected token: a value, a property name, its colon, or the continuation after a value. */
type Awaited = "value" | "name" | "colon" | "more";

/**
 * Index of the first invalid character, or the length of a text that ends too early; undefined for valid JSON. One pass
 * without recursion.
 */
export function malformedAt(text: string): number | undefined {
  const closers: string[] = [];
  let awaited: Awaited = "value";
  // A closing bracket may directly follow its opening bracket.
  let opened = false;
  for (let at = 0; ; ) {
    at = matchAt(SPACE, text, at) ?? at;
    const char = text[at];
    const closer = closers.at(-1);
    if (awaited === "more" && closer === undefined) return char === undefined ? undefined : at;
    if (char === undefined) return at;
    if (char === closer && (awaited === "more" || opened)) {
      closers.pop();
      awaited = "more";
      opened = false;
      at++;
      continue;
    }
    opened = false;
    if (awaited === "more") {
      if (char !== ",") return at;
      awaited = closer === "}" ? "name" : "value";
      at++;
    } else if (awaited === "colon") {
      if (char !== ":") return at;
      awaited = "value";
      at++;
    } else if (char === '"') {
      const read = readString(text, at);
      if (!read.whole) return read.end;
      awaited = awaited === "name" ? "colon" : "more";
      at = read.end;
    } else if (awaited === "name") return at;
    else if (char === "{" || char === "[") {
      closers.push(char === "{" ? "}" : "]");
      awaited = char === "{" ? "name" : "value";
      opened = true;
      at++;
    } else {
      const end = matchAt(NUMBER, text, at) ?? matchAt(WORD, text, at);
      if (end === undefined) return at;
      awaited = "more";
      at = end;
    }
  }
}

/** A position for people: `line 3, column 14` (both from 1), or only the column in a single line. */
export function placeIn(text: string, at: number): string {
  const before = text.slice(0, at).split("\n");
  const column = `column ${(before.at(-1)?.length ?? 0) + 1}`;
  return text.includes("\n") ? `line ${before.length}, ${column}` : column;
}
