/** Finds the position of a syntax error in a JSON text, and the position of the value at a JSON Pointer. */
import { escapeSegment } from "../../../shared/kernel/faults.ts";
import { malformedAt } from "../../../shared/kernel/json-fault.ts";

/** A range of characters in a text. */
export interface Span {
  from: number;
  to: number;
}

/** Returns the number of the line that contains a character. The first line is 1. */
export const lineAt = (text: string, at: number): number => text.slice(0, at).split("\n").length;

/** Returns the position of the first syntax error; undefined if the text is valid JSON. */
export function syntaxFault(text: string): Span | undefined {
  const at = malformedAt(text);
  return at === undefined ? undefined : { from: at, to: Math.min(at + 1, text.length) };
}

const STRING = /"(?:[^"\\]|\\.)*"/y;
const SCALAR = /[^\s,[\]{}"]+/y;
const SPACE = /\s*/y;

/**
 * Returns the positions of all values in a valid JSON text, by JSON Pointer. The pointer "" stands for the whole text.
 */
export function placesIn(text: string): Map<string, Span> {
  const places = new Map<string, Span>();
  let at = 0;
  const skip = (pattern: RegExp): string => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0] ?? "";
    at += found.length;
    return found;
  };
  const value = (pointer: string): void => {
    skip(SPACE);
    const from = at;
    const opened = text[at];
    if (opened === "{" || opened === "[") {
      at++;
      members(pointer, opened === "{");
      at++;
    } else if (skip(STRING) === "") skip(SCALAR);
    places.set(pointer, { from, to: at });
  };
  /** Reads properties or items up to the closing bracket. The text is valid, so anything between them is a comma. */
  const members = (pointer: string, named: boolean): void => {
    for (let index = 0; ; ) {
      skip(SPACE);
      if (at >= text.length || text[at] === "}" || text[at] === "]") return;
      if (text[at] === ",") {
        at++;
        continue;
      }
      let key = String(index++);
      if (named) {
        key = JSON.parse(skip(STRING)) as string;
        skip(SPACE);
        at++;
      }
      value(`${pointer}/${escapeSegment(key)}`);
    }
  };
  value("");
  return places;
}

/**
 * Returns the position of a value. If the text does not contain the value, returns the position of its closest
 * ancestor.
 */
export function spanOf(places: ReadonlyMap<string, Span>, pointer: string): Span | undefined {
  for (let path = pointer; ; path = path.slice(0, path.lastIndexOf("/"))) {
    const found = places.get(path);
    if (found !== undefined || path === "") return found;
  }
}
