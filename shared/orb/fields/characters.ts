/** Rules that strings and texts share. Lengths are in Unicode characters (code points), as in JSON Schema. */
import type { FieldDefinition } from "../document.ts";
import type { Report } from "../faults.ts";
import { textFlaw } from "../text.ts";
import { compilePattern, MAX_MATCHED } from "./pattern.ts";
import type { JsonSchema, Rule } from "./type.ts";

/** Reads characters that storage and every client can carry: no NUL and no half of a surrogate pair. */
export function parseCharacters(value: unknown, longest: number, report: Report): string | undefined {
  if (typeof value !== "string") {
    report("type", "This must be a string.");
    return undefined;
  }
  const flaw = textFlaw(value);
  if (flaw !== undefined) {
    report("text", flaw);
    return undefined;
  }
  if (value.length > longest && characters(value) > longest) {
    report("too_long", `This must be at most ${longest} characters long.`);
    return undefined;
  }
  return value;
}

/** The number of Unicode characters. */
export function characters(text: string): number {
  let count = text.length;
  for (let index = 0; index < text.length - 1; index++) {
    const unit = text.charCodeAt(index);
    if (unit >= 0xd800 && unit <= 0xdbff) {
      count--;
      index++;
    }
  }
  return count;
}

/** `min` and `max` as lengths, and `pattern`. */
export function characterRules(field: FieldDefinition): Rule {
  const { min, max, pattern } = field;
  return (value, report) => {
    if (typeof value !== "string") return;
    if (typeof min === "number" && characters(value) < min)
      report("too_short", `This must be at least ${min} characters long.`);
    if (typeof max === "number" && characters(value) > max)
      report("too_long", `This must be at most ${max} characters long.`);
    if (pattern === undefined) return;
    if (value.length > MAX_MATCHED) {
      report("too_long", `This must be at most ${MAX_MATCHED} characters long, as it has a pattern.`);
      return;
    }
    const compiled = compilePattern(pattern);
    if (typeof compiled === "string" || !compiled.test(value))
      report("pattern", `This must match ${pattern}`);
  };
}

/** The same rules as JSON Schema. */
export function characterSchema(field: FieldDefinition, longest: number): JsonSchema {
  return {
    type: "string",
    ...(typeof field.min === "number" ? { minLength: field.min } : {}),
    maxLength: typeof field.max === "number" ? Math.min(field.max, longest) : longest,
    ...(field.pattern === undefined ? {} : { pattern: field.pattern }),
  };
}
