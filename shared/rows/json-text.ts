/** Reads JSON texts without changing them: finds the text of each member, and what `JSON.parse` would change. */
import { DEPTH_LIMIT, tooDeep } from "../kernel/json.ts";
import { malformedAt, placeIn } from "../kernel/json-fault.ts";
import { clipped } from "./fault.ts";

/** A member of an object or an item of a list. `text` is its value as written. */
export interface Part {
  name: string;
  text: string;
}

const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\]|\\.)*"/sy;
const SPACE = /[ \t\n\r]*/y;
const WORD = /true|false|null/y;
/** Double precision represents every number of 15 digits. */
const CERTAIN = 15;

/** Returns the significant digits of a number without leading and trailing zeros, and the exponent of the last one. */
function decimalOf(number: string): string {
  const [mantissa = "", exponent = "0"] = number.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.replace("-", "").split(".");
  const digits = (whole + fraction).replace(/^0+/, "");
  const short = digits.replace(/0+$/, "");
  const scale = BigInt(exponent) - BigInt(fraction.length) + BigInt(digits.length - short.length);
  return short === "" ? "0" : `${short}e${scale}`;
}

/** Returns why a number in JSON would not be stored as it is written, or undefined if it would. */
export function inexact(number: string): string | undefined {
  if (number.length <= CERTAIN && !/e/i.test(number)) return undefined;
  const value = Number(number);
  if (!Number.isFinite(value)) return `the number ${clipped(number)} is too large for double precision`;
  if (decimalOf(String(value)) === decimalOf(number)) return undefined;
  return `the number ${clipped(number)} has more digits than double precision can store; it would become ${value}`;
}

/** Walks over a valid JSON text. */
class Walker {
  readonly #text: string;
  #at = 0;
  fault: { at: number; message: string } | undefined;

  constructor(text: string) {
    this.#text = text;
  }

  #pass(expression: RegExp): string {
    expression.lastIndex = this.#at;
    const [found = ""] = expression.exec(this.#text) ?? [];
    this.#at += found.length;
    return found;
  }

  #report(at: number, message: string): void {
    this.fault ??= { at, message };
  }

  /** Passes one value, and returns its text. Calls `tell` for each of its members or items. */
  value(tell?: (part: Part) => void): string {
    this.#pass(SPACE);
    const start = this.#at;
    const char = this.#text[start];
    if (char === "{" || char === "[") this.#container(char === "{", tell);
    else if (char === '"') this.#pass(STRING);
    else {
      const number = this.#pass(NUMBER);
      if (number === "") this.#pass(WORD);
      else {
        const reason = inexact(number);
        if (reason !== undefined) this.#report(start, reason);
      }
    }
    const text = this.#text.slice(start, this.#at);
    this.#pass(SPACE);
    return text;
  }

  #container(named: boolean, tell: ((part: Part) => void) | undefined): void {
    const names = new Set<string>();
    this.#at++;
    this.#pass(SPACE);
    while (!"}]".includes(this.#text[this.#at] ?? "}")) {
      let name = "";
      if (named) {
        const at = this.#at;
        name = JSON.parse(this.#pass(STRING)) as string;
        if (names.has(name)) this.#report(at, `the property ${JSON.stringify(clipped(name))} is given twice`);
        names.add(name);
        this.#pass(SPACE);
        this.#at++;
      }
      const text = this.value();
      tell?.({ name, text });
      if (this.#text[this.#at] === ",") this.#at++;
      this.#pass(SPACE);
    }
    this.#at++;
  }
}

/**
 * Returns the members or items of a JSON text, and why `JSON.parse` would change the text or cannot parse it.
 * @returns `parts` is undefined if the text contains neither an object nor a list
 */
export function readJsonText(text: string): { parts?: Part[]; kind: "object" | "list" | "other" } | string {
  try {
    JSON.parse(text);
  } catch {
    return `is not JSON: see ${placeIn(text, malformedAt(text) ?? 0)}`;
  }
  if (tooDeep(text)) return `is nested deeper than ${DEPTH_LIMIT} levels. Use a flatter value.`;
  const walker = new Walker(text);
  const parts: Part[] = [];
  walker.value((part) => parts.push(part));
  if (walker.fault !== undefined) {
    const { at, message } = walker.fault;
    return `cannot be stored exactly: ${message} (${placeIn(text, at)}). Write it as a text, or shorten it.`;
  }
  const [first] = text.trimStart();
  const kind = first === "{" ? "object" : first === "[" ? "list" : "other";
  return kind === "other" ? { kind } : { kind, parts };
}
