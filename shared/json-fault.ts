/** Where a text stops being JSON. Parsers do not say so reliably, and whoever sent it wants to look there. */

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** End of what a sticky expression matches at a place; undefined when it does not. */
function matchAt(expression: RegExp, text: string, at: number): number | undefined {
  expression.lastIndex = at;
  return expression.test(text) ? expression.lastIndex : undefined;
}

/** Reads a string from its opening quote. @returns its end, or where it is broken */
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

/** What may come next: a value, a name of a member, the colon behind it, or what follows a value. */
type Awaited = "value" | "name" | "colon" | "more";

/**
 * Index of the first character that cannot be there, or the text's length when it ends too early; undefined for JSON.
 * It takes one pass and no recursion.
 */
export function malformedAt(text: string): number | undefined {
  const closers: string[] = [];
  let awaited: Awaited = "value";
  // Behind an opening bracket, and only there, its closing one may come instead.
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

/** The place in words for a person: `line 3, column 14`, both from 1, or only the column in a text of one line. */
export function placeIn(text: string, at: number): string {
  const before = text.slice(0, at).split("\n");
  const column = `column ${(before.at(-1)?.length ?? 0) + 1}`;
  return text.includes("\n") ? `line ${before.length}, ${column}` : column;
}
