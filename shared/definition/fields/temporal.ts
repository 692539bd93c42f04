/** Common code of date and datetime fields. */
import type { FieldDefinition } from "../document/document.ts";
import { type FieldType, ordered, type Rule } from "./type.ts";

interface Temporal {
  name: "date" | "datetime";
  format: "date" | "date-time";
  /** Converts a string to its stored form, or returns undefined if it is invalid. */
  read: (text: string) => string | undefined;
  /** Error messages for a wrong type and for an invalid text. */
  faults: { type: string; format: string };
}

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
    jsonSchema: ({ min, max }) => ({
      type: "string",
      format,
      ...(min === undefined && max === undefined
        ? {}
        : // OpenAPI has no bounds for dates.
          {
            description: [min && `Not before ${min}.`, max && `Not after ${max}.`].filter(Boolean).join(" "),
          }),
    }),
  };
}

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
