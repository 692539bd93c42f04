/** Common code of date, time and datetime fields. */
import type { FieldDefinition } from "../../document/index.ts";
import { FIELD_TRAITS } from "../../types/index.ts";
import { fromTexts } from "./conversion.ts";
import { compareScalars, type FieldType, type Rule } from "./type.ts";

interface Temporal {
  name: "date" | "time" | "datetime";
  /** What JSON Schema tells about the form of the text. */
  form: { format: "date" | "date-time" } | { pattern: string };
  /** Converts a string to its stored form, or returns undefined if it is invalid. */
  read: (text: string) => string | undefined;
  /** Conversions from other types that have no texts of their own. */
  madeFrom?: FieldType["madeFrom"];
  /** Error messages for a wrong type and for an invalid text. */
  faults: { type: string; format: string };
}

export function temporalType({ name, form, read, madeFrom, faults }: Temporal): FieldType {
  const parse: FieldType["parse"] = (value, report) => {
    if (typeof value !== "string") {
      report("type", faults.type);
      return undefined;
    }
    const known = read(value);
    if (known === undefined) report("format", faults.format);
    return known;
  };
  return {
    name,
    ...FIELD_TRAITS[name],
    compare: compareScalars,
    parse,
    madeFrom: { ...fromTexts(parse), ...madeFrom },
    fromText: read,
    rules: (field) => bounds(field, read),
    token: (value) => (typeof value === "string" ? `t:${value}` : null),
    jsonSchema: ({ min, max }) => ({
      type: "string",
      ...form,
      ...(min === undefined && max === undefined
        ? {}
        : // OpenAPI has no bounds for dates and times.
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
