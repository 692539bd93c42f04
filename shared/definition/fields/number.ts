import { numberFromText, numericRules, numericSchema, numericToken, parseNumber } from "./numeric.ts";
import { compareScalars, type FieldType } from "./type.ts";

/** A number with double precision. */
export const numberType: FieldType = {
  name: "number",
  bounds: "value",
  pattern: false,
  enumerable: true,
  unique: true,
  default: true,
  sensitive: true,
  sortable: true,
  operators: ["eq", "ne", "in", "gt", "gte", "lt", "lte", "null"],
  parse: parseNumber,
  fromText: numberFromText,
  rules: numericRules,
  compare: compareScalars,
  token: numericToken,
  jsonSchema: (field) => numericSchema("number", field),
};
