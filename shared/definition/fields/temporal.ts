/** Shared by date and datetime fields, whose normal forms sort by time. */
import type { FieldDefinition } from "../document/document.ts";
import { type FieldType, ordered, type Rule } from "./type.ts";

/** The differences between the two types. */
interface Temporal {
  name: "date" | "datetime";
  /** Name of the format in JSON Schema. */
  format: "date" | "date-time";
  /** The normal form of a text; undefined if it is invalid. */
  read: (text: string) => string | undefined;
  /** Messages for a value that is not a string, and for an invalid text. */
  faults: { type: string; format: string };
}

/** Creates the field type for dates or for datetimes. */
export function temporalType({ name, format, read, faults }: Temporal): FieldType {
  return {
    name,
    ...ordered,
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
