import type { Report } from "../../kernel/faults.ts";
import type { FieldDefinition } from "../document/document.ts";
import type { Json, JsonSchema, Rule } from "./type.ts";

/** Rejects integers beyond ±(2^53 - 1), which double precision cannot represent exactly. */
export function parseNumber(value: unknown, report: Report): number | undefined {
  if (typeof value !== "number") {
    report("type", "must be a number");
    return undefined;
  }
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
    report(
      "range",
      "must be exact in double precision: whole numbers from -9007199254740991 to 9007199254740991",
    );
    return undefined;
  }
  return value === 0 ? 0 : value; // Store negative zero as zero: the two are equal, but JSON and some comparisons would treat them differently.
}

export function numberFromText(text: string): number | undefined {
  if (!/^-?\d{1,40}(\.\d{1,40})?([eE][+-]?\d{1,3})?$/.test(text)) return undefined;
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

export function numericSchema(type: "number" | "integer", { min, max }: FieldDefinition): JsonSchema {
  const most = Number.MAX_SAFE_INTEGER;
  return {
    type,
    minimum: typeof min === "number" ? Math.max(min, -most) : -most,
    maximum: typeof max === "number" ? Math.min(max, most) : most,
  };
}
