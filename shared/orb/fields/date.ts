import { isDate } from "./calendar.ts";
import { temporalRules, temporalToken } from "./temporal.ts";
import { compareScalars, type FieldType } from "./type.ts";

/** A day without a time or a zone, `YYYY-MM-DD`. */
export const dateType: FieldType = {
  name: "date",
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
      report("type", "This must be a date as a string, YYYY-MM-DD.");
      return undefined;
    }
    if (isDate(value)) return value;
    report("format", "This must be a date that exists, YYYY-MM-DD.");
    return undefined;
  },
  fromText: (text) => (isDate(text) ? text : undefined),
  rules: temporalRules,
  compare: compareScalars,
  token: temporalToken,
  jsonSchema: () => ({ type: "string", format: "date" }),
};
