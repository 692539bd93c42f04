import { numberFromText, numericRules, numericSchema, numericToken, parseNumber } from "./numeric.ts";
import { type FieldType, ordered } from "./type.ts";

/** An integer that double precision represents exactly: within ±(2^53 - 1). */
export const integerType: FieldType = {
  name: "integer",
  ...ordered,
  parse(value, report) {
    const number = parseNumber(value, report);
    if (number === undefined || Number.isInteger(number)) return number;
    report("type", "must be a whole number");
    return undefined;
  },
  fromText(text) {
    const number = numberFromText(text);
    return Number.isInteger(number) ? number : undefined;
  },
  rules: numericRules,
  token: numericToken,
  jsonSchema: (field) => numericSchema("integer", field),
};
