import { FIELD_TRAITS } from "../types/index.ts";
import {
  compareScalars,
  type FieldType,
  numberFromText,
  numberOfText,
  numericRules,
  numericSchema,
  numericToken,
  parseNumber,
  unchanged,
} from "./parts/index.ts";

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
