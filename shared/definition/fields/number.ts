import { numberFromText, numericRules, numericSchema, numericToken, parseNumber } from "./numeric.ts";
import { type FieldType, ordered } from "./type.ts";

export const numberType: FieldType = {
  name: "number",
  ...ordered,
  parse: parseNumber,
  fromText: numberFromText,
  rules: numericRules,
  token: numericToken,
  jsonSchema: (field) => numericSchema("number", field),
};
