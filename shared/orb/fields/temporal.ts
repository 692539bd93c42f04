/** What dates and moments share: both are texts whose normal form sorts in time. */
import type { FieldDefinition } from "../document.ts";
import { compareScalars, type FieldType, type Rule } from "./type.ts";

/** How one of the two differs from the other. */
interface Temporal {
  name: "date" | "datetime";
  /** The format's name in JSON Schema. */
  format: "date" | "date-time";
  /** The normal form of a text; undefined when it is none of this type. */
  read: (text: string) => string | undefined;
  /** Said of what is no text, and of a text that is none of this type. */
  faults: { type: string; format: string };
}

/** The field type of dates, or of moments. */
export function temporalType({ name, format, read, faults }: Temporal): FieldType {
  return {
    name,
    bounds: "value",
    pattern: false,
    enumerable: true,
    unique: true,
    default: true,
    sensitive: true,
    sortable: true,
    operators: ["eq", "ne", "in", "gt", "gte", "lt", "lte", "null"],
    parse(value, report) {
      if (typeof value !== "string") {
        report("type", faults.type);
        return undefined;
      }
      const known = read(value);
      if (known === undefined) report("format", faults.format);
      return known;
    },
    fromText: read,
    rules: (field) => bounds(field, read),
    compare: compareScalars,
    token: (value) => (typeof value === "string" ? `t:${value}` : null),
    jsonSchema: () => ({ type: "string", format }),
  };
}

/** `min` and `max` in the type's own form. */
function bounds(field: FieldDefinition, read: Temporal["read"]): Rule {
  const [min, max] = [field.min, field.max].map((bound) =>
    typeof bound === "string" ? read(bound) : undefined,
  );
  return (value, report) => {
    if (typeof value !== "string") return;
    if (min !== undefined && value < min) report("too_small", `must not be before ${min}`);
    if (max !== undefined && value > max) report("too_big", `must not be after ${max}`);
  };
}
