/** Rules that dates and moments share: both are texts whose normal form sorts in time. */
import type { FieldDefinition } from "../document.ts";
import { normaliseInstant } from "./calendar.ts";
import type { Json, Rule } from "./type.ts";

/** `min` and `max` as dates or moments. */
export function temporalRules(field: FieldDefinition): Rule {
  const min = bound(field.min, field.type);
  const max = bound(field.max, field.type);
  return (value, report) => {
    if (typeof value !== "string") return;
    if (min !== undefined && value < min) report("too_small", `This is not before ${min}.`);
    if (max !== undefined && value > max) report("too_big", `This is not after ${max}.`);
  };
}

function bound(value: number | string | undefined, type: FieldDefinition["type"]): string | undefined {
  if (typeof value !== "string") return undefined;
  return type === "datetime" ? normaliseInstant(value) : value;
}

/** Equal moments, equal tokens. */
export function temporalToken(value: Json): string | null {
  return typeof value === "string" ? `t:${value}` : null;
}
