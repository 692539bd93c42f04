import { compareScalars, type FieldType } from "./type.ts";

export const booleanType: FieldType = {
  name: "boolean",
  bounds: "none",
  pattern: false,
  enumerable: true,
  unique: true,
  default: true,
  sensitive: true,
  sortable: true,
  orderable: false,
  searchable: false,
  operators: ["eq", "ne", "in", "null"],
  parse(value, report) {
    if (typeof value === "boolean") return value;
    report("type", "must be true or false");
    return undefined;
  },
  fromText: (text) => (text === "true" ? true : text === "false" ? false : undefined),
  rules: () => () => {},
  compare: compareScalars,
  token: (value) => (typeof value === "boolean" ? `b:${value}` : null),
  jsonSchema: () => ({ type: "boolean" }),
};
