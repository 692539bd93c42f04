/** Rules for string and text fields. Lengths count Unicode code points, as in JSON Schema. */
import type { Report } from "../../../kernel/faults.ts";
import { type FieldDefinition, textFlaw } from "../../document/index.ts";
import { compilePattern, MAX_MATCHED } from "./pattern.ts";
import type { JsonSchema, Rule } from "./type.ts";

/** Rejects NUL characters and unpaired surrogates, which some clients cannot handle. */
export function parseCharacters(value: unknown, longest: number, report: Report): string | undefined {
  if (typeof value !== "string") {
    report("type", "must be a string");
    return undefined;
  }
  const flaw = textFlaw(value);
  if (flaw !== undefined) {
    report("text", flaw);
    return undefined;
  }
  if (value.length > longest && characters(value) > longest) {
    report("too_long", `must be at most ${longest} characters long (is ${characters(value)})`);
    return undefined;
  }
  return value;
}

/** Counts Unicode code points. */
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

export function characterRules(field: FieldDefinition): Rule {
  const { min, max, pattern } = field;
  return (value, report) => {
    if (typeof value !== "string") return;
    if (typeof min === "number" && characters(value) < min)
      report("too_short", `must be at least ${min} characters long (is ${characters(value)})`);
    if (typeof max === "number" && value.length > max && characters(value) > max)
      report("too_long", `must be at most ${max} characters long (is ${characters(value)})`);
    if (pattern === undefined) return;
    if (value.length > MAX_MATCHED) {
      report("too_long", `must be at most ${MAX_MATCHED} characters long, because the field has a pattern`);
      return;
    }
    const compiled = compilePattern(pattern);
    if (typeof compiled === "string" || !compiled.test(value))
      report("pattern", `must match the pattern ${pattern}`);
  };
}

export function characterSchema({ min, max, pattern }: FieldDefinition, longest: number): JsonSchema {
  const most = pattern === undefined ? longest : Math.min(longest, MAX_MATCHED);
  return {
    type: "string",
    ...(typeof min === "number" ? { minLength: min } : {}),
    maxLength: typeof max === "number" ? Math.min(max, most) : most,
    ...(pattern === undefined ? {} : { pattern }),
  };
}
