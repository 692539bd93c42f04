import { normaliseInstant } from "./calendar.ts";
import { temporalRules, temporalToken } from "./temporal.ts";
import { compareScalars, type FieldType } from "./type.ts";

/** A moment: RFC 3339 with an offset; kept in UTC with milliseconds. */
export const datetimeType: FieldType = {
  name: "datetime",
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
      report("type", "This must be a date and time as a string, such as 2026-03-01T10:00:00Z.");
      return undefined;
    }
    const instant = normaliseInstant(value);
    if (instant === undefined)
      report("format", "This must be a date and time that exists, with an offset: 2026-03-01T10:00:00Z.");
    return instant;
  },
  fromText: (text) => normaliseInstant(text),
  rules: temporalRules,
  compare: compareScalars,
  token: temporalToken,
  jsonSchema: () => ({ type: "string", format: "date-time" }),
};
