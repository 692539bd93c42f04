/** A JSON parser that also returns the offsets of values and of the first error. */
import type { TextKey } from "../../texts/t.ts";
import { below, type Json } from "./pointer.ts";

/** Maximum length of a document, because requests must be smaller than 512 KiB. */
const MAX_TEXT = 512 * 1024 - 1;
const MAX_DEPTH = 64;

export interface TextFault {
  offset: number;
  line: number;
  column: number;
  reason: TextKey;
}

export interface ParsedText {
  /** Missing if the text has a syntax error. */
  value?: Json;
  fault?: TextFault;
  /**
   * Offset of each value, keyed by JSON Pointer. The offset of a property is where its name begins. The map is sorted
   * by offset.
   */
  places: ReadonlyMap<string, number>;
}

class Stop extends Error {
  readonly offset: number;
  readonly reason: TextKey;

  constructor(offset: number, reason: TextKey) {
    super(reason);
    this.offset = offset;
    this.reason = reason;
  }
}

const BLANK = /[ \t\n\r]*/y;
/** Matches a JSON string. Excludes control characters, which must be escaped. */
const STRING = /"(?:[^"\\\p{Cc}]|[\u007f-\u009f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/uy;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const WORD = /true|false|null/y;

export function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf("\n"); at >= 0 && at < offset; at = text.indexOf("\n", at + 1)) line++;
  return line;
}

export function parseText(text: string): ParsedText {
  const places = new Map<string, number>();
  let at = 0;
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    if (found !== undefined) at += found.length;
    return found;
  };
  const skip = () => void match(BLANK);
  const stop = (reason: TextKey): never => {
    throw new Stop(at, reason);
  };
  const string = (): string => {
    const found = match(STRING);
    return found === undefined ? stop("json.text") : (JSON.parse(found) as string);
  };

  function object(path: string, depth: number): Json {
    const result: Record<string, Json> = {};
    at++;
    skip();
    if (text[at] === "}") {
      at++;
      return result;
    }
    for (;;) {
      skip();
      if (text[at] !== '"') stop(text[at] === "}" ? "json.comma" : "json.name");
      const start = at;
      const name = string();
      if (Object.hasOwn(result, name)) {
        at = start;
        stop("json.twice");
      }
      const inner = below(path, name);
      places.set(inner, start);
      skip();
      if (text[at] !== ":") stop("json.colon");
      at++;
      // An assignment to the name `__proto__` would set the prototype, so define the property instead.
      Object.defineProperty(result, name, {
        value: value(inner, depth),
        enumerable: true,
        configurable: true,
        writable: true,
      });
      skip();
      if (text[at] === "}") break;
      if (text[at] !== ",") stop("json.endObject");
      at++;
    }
    at++;
    return result;
  }

  function list(path: string, depth: number): Json {
    const result: Json[] = [];
    at++;
    skip();
    if (text[at] === "]") {
      at++;
      return result;
    }
    for (;;) {
      skip();
      if (text[at] === "]") stop("json.comma");
      const inner = below(path, result.length);
      places.set(inner, at);
      result.push(value(inner, depth));
      skip();
      if (text[at] === "]") break;
      if (text[at] !== ",") stop("json.endList");
      at++;
    }
    at++;
    return result;
  }

  function value(path: string, depth: number): Json {
    skip();
    if (depth > MAX_DEPTH) stop("json.deep");
    const first = text[at];
    if (first === "{") return object(path, depth + 1);
    if (first === "[") return list(path, depth + 1);
    if (first === '"') return string();
    const word = match(WORD) ?? match(NUMBER);
    return word === undefined
      ? stop(at >= text.length ? "json.end" : "json.value")
      : (JSON.parse(word) as Json);
  }

  try {
    if (text.length > MAX_TEXT) {
      at = MAX_TEXT;
      stop("json.large");
    }
    skip();
    if (text[at] !== "{") stop("json.object");
    places.set("", at);
    const result = value("", 0);
    skip();
    if (at < text.length) stop("json.after");
    return { value: result, places };
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    const { offset, reason } = error;
    const line = lineAt(text, offset);
    return { places, fault: { offset, line, column: offset - text.lastIndexOf("\n", offset - 1), reason } };
  }
}

/** Returns the offset of a value, or of its closest existing ancestor. */
export function offsetOf({ places }: ParsedText, path: string): number {
  for (let inner = path; ; inner = inner.slice(0, inner.lastIndexOf("/"))) {
    const found = places.get(inner);
    if (found !== undefined) return found;
    if (inner === "") return 0;
  }
}

/** Returns the JSON Pointer of the last value that begins at or before an offset. */
export function pathAt({ places }: ParsedText, offset: number): string {
  let found = "";
  for (const [path, start] of places) {
    if (start > offset) break;
    found = path;
  }
  return found;
}
