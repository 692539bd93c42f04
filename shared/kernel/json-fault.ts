/** Finds the position of a JSON syntax error, which `JSON.parse` does not report reliably. */

const SPACE = /[ \t\n\r]*/y;
const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;
const STRING = /"[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\uffff]*)*/y;

function endOf(expression: RegExp, text: string, at: number): number {
  expression.lastIndex = at;
  return expression.test(text) ? expression.lastIndex : at;
}

/** Returns the index of the first JSON syntax error, or undefined for valid JSON. */
export function malformedAt(text: string): number | undefined {
  const closers: string[] = [];
  /** The kind of token that must come next. After an opening bracket, the matching closing bracket is allowed too. */
  let awaited: "value" | "name" | "colon" | "more" = "value";
  let opened = false;
  for (let at = 0; ; at++) {
    at = endOf(SPACE, text, at);
    const char = text[at];
    const closer = closers.at(-1);
    if (char === undefined) return awaited === "more" && closer === undefined ? undefined : at;
    if (char === closer && (awaited === "more" || opened)) {
      closers.pop();
      awaited = "more";
    } else if (awaited === "more") {
      if (char !== "," || closer === undefined) return at;
      awaited = closer === "}" ? "name" : "value";
    } else if (awaited === "colon") {
      if (char !== ":") return at;
      awaited = "value";
    } else if (char === '"') {
      at = endOf(STRING, text, at);
      if (text[at] !== '"') return at;
      awaited = awaited === "name" ? "colon" : "more";
    } else if (awaited === "value" && (char === "{" || char === "[")) {
      closers.push(char === "{" ? "}" : "]");
      awaited = char === "{" ? "name" : "value";
    } else {
      const end = awaited === "value" ? endOf(SCALAR, text, at) : at;
      if (end === at) return at;
      awaited = "more";
      at = end - 1;
    }
    opened = (char === "{" || char === "[") && awaited !== "more";
  }
}

export function placeIn(text: string, at: number): string {
  const before = text.slice(0, at).split("\n");
  const column = `column ${(before.at(-1)?.length ?? 0) + 1}`;
  return text.includes("\n") ? `line ${before.length}, ${column}` : column;
}
