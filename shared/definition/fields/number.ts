import { FIELD_TRAITS } from "../types/traits.ts";
import { numberOfText, unchanged } from "./parts/conversion.ts";
import { numberFromText, numericRules, numericSchema, numericToken, parseNumber } from "./parts/numeric.ts";
import { compareScalars, type FieldType } from "./parts/type.ts";

/** Any number that double precision can hold. */
export const numberType: FieldType = {
  name: "number",
  ...FIELD_TRAITS.number,
  compare: compareScalars,
  parse: parseNumber,
  widens: "integer",
  madeFrom: {
    integer: unchanged,
    decimal: numberOfText(parseNumber),
    string: numberOfText(parseNumber),
    text: numberOfText(parseNumber),
  },
  fromText: numberFromText,
  rules: numericRules,
  token: numericToken,
  jsonSchema: (field) => numericSchema(field),
};
