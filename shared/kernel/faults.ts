/**
 * Collects all validation errors of an input, so that one response can report them together.
 *
 * Stable codes: `required`, `type`, `unknown_property`, `format`, `reserved`, `duplicate`, `too_short`, `too_long`,
 * `too_small`, `too_big`, `too_few`, `too_many`, `enum`, `pattern`, `not_applicable`, `unknown_reference`,
 * `unknown_language`, `unknown_market`, `mask`, `text`, `range`, `bounds`, `unsafe_pattern`, `too_deep`,
 * `too_many_faults`, `converted`, `unknown_item`, `unknown_component`, `recursive`, `ambiguous_field`.
 */
import type { core } from "zod";
import type { Fault } from "./errors.ts";

/** Maximum number of validation errors in a response. */
export const MAX_FAULTS = 1_000;
/**
 * Maximum characters of all paths and messages together. Without this limit, many errors about one long name would
 * repeat the name each time.
 */
const MAX_TEXT = 128_000;

/** Reports a validation error. `sub` is a JSON Pointer relative to the value in question. */
export type Report = (code: string, message: string, sub?: string) => void;

export class Faults {
  readonly #most: number;
  readonly #list: Fault[] = [];
  readonly #seen = new Set<string>();
  #text = 0;
  #more = 0;

  constructor(most = MAX_FAULTS) {
    this.#most = most;
  }

  /** Adds an error, unless one with the same path and code is already listed. */
  add(path: string, code: string, message: string): void {
    const key = `${code} ${path}`;
    if (this.#seen.has(key)) return;
    const text = this.#text + path.length + message.length;
    if (this.#list.length >= this.#most || (this.any && text > MAX_TEXT)) {
      this.#more++;
      return;
    }
    this.#seen.add(key);
    this.#text = text;
    this.#list.push({ path, code, message });
  }

  at(path: string): Report {
    return (code, message, sub = "") => this.add(path + sub, code, message);
  }

  get any(): boolean {
    return this.#list.length > 0;
  }

  list(): Fault[] {
    if (this.#more === 0) return [...this.#list];
    return [
      ...this.#list,
      { path: "", code: "too_many_faults", message: `${this.#more} more faults are not listed.` },
    ];
  }
}

/** Builds a JSON Pointer (RFC 6901). */
export function pointer(segments: readonly PropertyKey[]): string {
  return segments.map((segment) => `/${escapeSegment(String(segment))}`).join("");
}

export function escapeSegment(segment: string): string {
  return segment.replaceAll("~", "~0").replaceAll("/", "~1");
}

export function unescapeSegment(segment: string): string {
  return segment.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** Adds the errors of a failed zod parse. The parsed input shows whether a value is missing or has a wrong type. */
export function addZodIssues(faults: Faults, issues: readonly core.$ZodIssue[], input: unknown): void {
  for (const issue of issues) {
    if (issue.code === "unrecognized_keys") {
      for (const key of issue.keys) {
        faults.add(
          pointer([...issue.path, key]),
          "unknown_property",
          "is not a known property. Remove it or correct its name.",
        );
      }
      continue;
    }
    const path = pointer(issue.path);
    const missing = isMissing(input, issue.path);
    faults.add(path, missing ? "required" : codeOf(issue), missing ? "is required" : messageOf(issue));
  }
}

function codeOf(issue: core.$ZodIssue): string {
  switch (issue.code) {
    case "invalid_format":
      return "format";
    case "invalid_value":
      return "enum";
    case "too_big":
      return issue.origin === "string" ? "too_long" : issue.origin === "array" ? "too_many" : "too_big";
    case "too_small":
      return issue.origin === "string" ? "too_short" : issue.origin === "array" ? "too_few" : "too_small";
    case "custom":
      return typeof issue.params?.code === "string" ? issue.params.code : "format";
    default:
      return "type";
  }
}

export const MOMENT_FORM = "must be an existing date and time with an offset, such as 2026-03-01T10:00:00Z";

const FORMS: Record<string, string> = {
  datetime: MOMENT_FORM,
  email: "must be an email address",
};

function messageOf(issue: core.$ZodIssue): string {
  if (issue.code === "invalid_format") return FORMS[issue.format] ?? issue.message;
  if (issue.code === "invalid_type") return `must be ${article(issue.expected)}`;
  if (issue.code === "invalid_value") return `must be one of: ${issue.values.map(String).join(", ")}`;
  if (issue.code === "too_big" && issue.origin === "array") return `must have at most ${issue.maximum} items`;
  if (issue.code === "too_small" && issue.origin === "array")
    return `must have at least ${issue.minimum} items`;
  if (issue.code === "too_big") return `must be ${measure(issue.origin, "at most", issue.maximum)}`;
  if (issue.code === "too_small") return `must be ${measure(issue.origin, "at least", issue.minimum)}`;
  return issue.message;
}

function measure(origin: string, bound: string, size: number | bigint): string {
  if (origin !== "string") return `${bound} ${size}`;
  return `${bound} ${size} character${Number(size) === 1 ? "" : "s"} long`;
}

/** Puts the indefinite article before the name of a JSON type: `a string`, `an array`. */
export function article(type: string): string {
  const word = type === "int" ? "integer" : type === "record" ? "object" : type;
  return `${/^[aeiou]/.test(word) ? "an" : "a"} ${word}`;
}

export function clip(text: string): string {
  return text.length <= 64 ? text : `${text.slice(0, 61)}...`;
}

/** Maximum names in one error message, so that a short request does not cause a long response. */
const MAX_NAMED = 20;

export function joinNames(names: readonly string[]): string {
  if (names.length === 0) return "none";
  const more = names.length - MAX_NAMED;
  return more > 0 ? `${names.slice(0, MAX_NAMED).join(", ")} and ${more} more` : names.join(", ");
}

export function knownParameters(known: readonly string[]): string {
  return known.length === 0
    ? "is not a known parameter. This address takes none."
    : `is not a known parameter. Use ${known.join(", ")}.`;
}

function isMissing(input: unknown, path: readonly PropertyKey[]): boolean {
  let value = input;
  for (const segment of path) {
    if (typeof value !== "object" || value === null) return false;
    if (!Object.hasOwn(value, segment)) return true;
    value = Reflect.get(value, segment);
  }
  return value === undefined;
}
