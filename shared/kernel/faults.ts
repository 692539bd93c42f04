/**
 * Collects all faults of an input, so that a caller learns all of them from one response.
 *
 * Codes (stable): `required`, `type`, `unknown_property`, `format`, `reserved`, `duplicate`, `too_short`, `too_long`,
 * `too_small`, `too_big`, `too_few`, `too_many`, `enum`, `pattern`, `not_applicable`, `unknown_reference`,
 * `unknown_language`, `unknown_market`, `mask`, `text`, `range`, `bounds`, `unsafe_pattern`, `too_deep`,
 * `too_many_faults`.
 */
import type { core } from "zod";
import type { Fault } from "./errors.ts";

/** Maximum number of faults in a response. Further ones are only counted. */
export const MAX_FAULTS = 1_000;
/** Maximum total length of paths and messages, because many faults can repeat a long schema name. */
const MAX_TEXT = 128_000;

/** Reports a fault at a fixed path. `sub` is a JSON Pointer below it. */
export type Report = (code: string, message: string, sub?: string) => void;

/** A bounded list of faults without duplicates. */
export class Faults {
  readonly #most: number;
  readonly #list: Fault[] = [];
  readonly #seen = new Set<string>();
  #text = 0;
  #more = 0;

  constructor(most = MAX_FAULTS) {
    this.#most = most;
  }

  /** Adds a fault unless there is one with the same path and code. */
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

  /** A reporter for one path. */
  at(path: string): Report {
    return (code, message, sub = "") => this.add(path + sub, code, message);
  }

  /** Whether there are any faults. */
  get any(): boolean {
    return this.#list.length > 0;
  }

  /** All faults in the order in which they were added. */
  list(): Fault[] {
    if (this.#more === 0) return [...this.#list];
    return [
      ...this.#list,
      { path: "", code: "too_many_faults", message: `${this.#more} more faults are not listed.` },
    ];
  }
}

/** The JSON Pointer (RFC 6901) of a path. */
export function pointer(segments: readonly PropertyKey[]): string {
  return segments.map((segment) => `/${escapeSegment(String(segment))}`).join("");
}

/** One escaped segment of a JSON Pointer. */
export function escapeSegment(segment: string): string {
  return segment.replaceAll("~", "~0").replaceAll("/", "~1");
}

/**
 * Converts zod issues to faults with stable codes. `input` is the checked value, which distinguishes missing from
 * mistyped.
 */
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

/** Message for an invalid date and time. */
export const MOMENT_FORM = "must be an existing date and time with an offset, such as 2026-03-01T10:00:00Z";

/** Replacements for zod's messages by format. */
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

/** A limit in words: the length of a text, or the value itself. */
function measure(origin: string, bound: string, size: number | bigint): string {
  if (origin !== "string") return `${bound} ${size}`;
  return `${bound} ${size} character${Number(size) === 1 ? "" : "s"} long`;
}

/** A JSON type with its article: `a string`, `an array`. */
export function article(type: string): string {
  const word = type === "int" ? "integer" : type === "record" ? "object" : type;
  return `${/^[aeiou]/.test(word) ? "an" : "a"} ${word}`;
}

/** Shortens a caller's text for a message. */
export function clip(text: string): string {
  return text.length <= 64 ? text : `${text.slice(0, 61)}...`;
}

/** Maximum number of names in a message, so that a short request cannot cause a long response. */
const MAX_NAMED = 20;

/** Joins names for a message; `none` for an empty list. */
export function joinNames(names: readonly string[]): string {
  if (names.length === 0) return "none";
  const more = names.length - MAX_NAMED;
  return more > 0 ? `${names.slice(0, MAX_NAMED).join(", ")} and ${more} more` : names.join(", ");
}

/** Message for an unknown query parameter. */
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
