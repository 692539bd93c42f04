import type { Report } from "../../../kernel/faults.ts";
import { survives } from "../../../kernel/json-fault.ts";
import type { FieldDefinition } from "../../document/index.ts";
import type { Json, JsonSchema, Rule } from "./type.ts";

/** Rejects infinite numbers. */
export function parseNumber(value: unknown, report: Report): number | undefined {
  if (typeof value !== "number") {
    report("type", "must be a number");
    return undefined;
  }
  if (!Number.isFinite(value)) {
    report(
      "range",
      "must be a number in double precision: from -1.7976931348623157e+308 to 1.7976931348623157e+308",
    );
    return undefined;
  }
  return value === 0 ? 0 : value; // Store negative zero as zero: the two are equal, but JSON and some comparisons would treat them differently.
}

/** Returns undefined for texts that are no number, and for numbers that would change. */
export function numberFromText(text: string): number | undefined {
  if (!/^-?\d{1,400}(\.\d{1,400})?([eE][+-]?\d{1,3})?$/.test(text) || !survives(text)) return undefined;
  return parseNumber(Number(text), () => {});
}

export function numericRules(field: FieldDefinition): Rule {
  const { min, max } = field;
  return (value, report) => {
    if (typeof value !== "number") return;
    if (typeof min === "number" && value < min) report("too_small", `must be at least ${min} (is ${value})`);
    if (typeof max === "number" && value > max) report("too_big", `must be at most ${max} (is ${value})`);
  };
}

export function numericToken(value: Json): string | null {
  return typeof value === "number" ? `n:${value}` : null;
}

export function numericSchema({ min, max }: FieldDefinition): JsonSchema {
  return {
    type: "number",
    ...(typeof min === "number" ? { minimum: min } : {}),
    ...(typeof max === "number" ? { maximum: max } : {}),
  };
}
