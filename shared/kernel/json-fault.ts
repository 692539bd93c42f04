/**
 * Finds the faults of a JSON text that `JSON.parse` does not report: the position of a syntax error, properties that an
 * object has twice, and numbers that a JavaScript number cannot hold.
 */
import { decimalOf } from "./decimal.ts";
import type { Fault } from "./errors.ts";
import { pointer } from "./faults.ts";

const SPACE = /[ \t\n\r]*/y;
const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)/y;
const STRICT_STRING = /"[ !#-[\]-\uffff]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[ !#-[\]-\uffff]*)*/y;

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
      at = endOf(STRICT_STRING, text, at);
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

/** Maximum flaws that are reported. */
const MOST = 20;

const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/sy;
const OTHER = /[^\s,\]}]+/y;

/**
 * Returns whether a number survives being read: it is not infinite, a small one does not become 0, and a whole number
 * keeps all its digits. A fraction is rounded to the nearest double, as every reader of JSON does.
 * @param literal a number in the syntax of JSON
 */
export function survives(literal: string): boolean {
  const value = Number(literal);
  if (!Number.isFinite(value)) return false;
  if (value === 0) return !/[1-9]/.test(literal.split(/e/i, 1)[0] ?? "");
  if (Number.isSafeInteger(value) || !/^-?\d+$/.test(literal)) return true;
  const whole = BigInt(literal);
  if (whole === BigInt(value)) return true;
  // The digits that JavaScript prints. They can differ from the exact value of a number beyond 2^53.
  const { digits, scale } = decimalOf(value);
  return scale === 0 && whole === digits;
}

/** Whether a text has exponents or fractions so small that a number could become 0. */
const MINUTE = /[eE]-0*\d{3}|(?<!0)0{300}/;

/**
 * Returns the flaws of a JSON text. Costs little if there are none: only then is the text read a second time.
 * @param members members of all objects in the text (`membersIn`)
 * @param value the result of `JSON.parse`
 */
export function flawsIn(text: string, members: number, value: unknown): Fault[] {
  const found = { members: 0, large: false, zero: false };
  count(value, found);
  const isMinute = found.zero && MINUTE.test(text);
  return found.members === members && !found.large && !isMinute ? [] : new Reader(text).flaws();
}

function count(value: unknown, found: { members: number; large: boolean; zero: boolean }): void {
  if (typeof value === "number") {
    if (value === 0) found.zero = true;
    else if (Number.isInteger(value) ? !Number.isSafeInteger(value) : !Number.isFinite(value))
      found.large = true;
  } else if (Array.isArray(value)) for (const item of value) count(item, found);
  else if (typeof value === "object" && value !== null) {
    const items = Object.values(value);
    found.members += items.length;
    for (const item of items) count(item, found);
  }
}

const TWICE = "is in the body twice. Send each property once.";
const LOST =
  "must be exact in double precision. Send it as a string, or with fewer digits: whole numbers from -9007199254740991 to 9007199254740991 are always exact.";

/** Reads a well-formed JSON text of limited depth. */
class Reader {
  readonly #text: string;
  readonly #path: (string | number)[] = [];
  readonly #flaws: Fault[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  flaws(): Fault[] {
    this.#value();
    return this.#flaws;
  }

  #take(expression: RegExp): string {
    expression.lastIndex = this.#at;
    const [taken = ""] = expression.exec(this.#text) ?? [];
    this.#at += taken.length;
    return taken;
  }

  #flaw(code: string, message: string): void {
    if (this.#flaws.length < MOST) this.#flaws.push({ path: pointer(this.#path), code, message });
  }

  #value(): void {
    this.#take(SPACE);
    const char = this.#text[this.#at];
    if (char === "{") this.#members(new Set());
    else if (char === "[") this.#items();
    else if (char === '"') this.#take(STRING);
    else {
      const literal = this.#take(OTHER);
      if (/^-?\d/.test(literal) && !survives(literal)) this.#flaw("range", LOST);
    }
    this.#take(SPACE);
  }

  #members(names: Set<string>): void {
    do {
      this.#at++;
      this.#take(SPACE);
      if (this.#text[this.#at] === "}") break;
      const name = JSON.parse(this.#take(STRING)) as string;
      this.#path.push(name);
      if (names.has(name)) this.#flaw("duplicate", TWICE);
      names.add(name);
      this.#take(SPACE);
      this.#at++;
      this.#value();
      this.#path.pop();
    } while (this.#text[this.#at] === ",");
    this.#at++;
  }

  #items(): void {
    for (let index = 0; ; index++) {
      this.#at++;
      this.#take(SPACE);
      if (this.#text[this.#at] === "]") break;
      this.#path.push(index);
      this.#value();
      this.#path.pop();
      if (this.#text[this.#at] !== ",") break;
    }
    this.#at++;
  }
}
