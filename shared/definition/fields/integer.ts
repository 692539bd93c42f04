import { FIELD_TRAITS } from "../types/index.ts";
import {
  compareScalars,
  type FieldType,
  ifValid,
  numberFromText,
  numberOfText,
  numericRules,
  numericToken,
  parseNumber,
} from "./parts/index.ts";

const MOST = Number.MAX_SAFE_INTEGER;

const parse: FieldType["parse"] = (value, report) => {
  const number = parseNumber(value, report);
  if (number === undefined || Number.isSafeInteger(number)) return number;
  if (Number.isInteger(number)) report("range", `must be from ${-MOST} to ${MOST}`);
  else report("type", "must be a whole number");
  return undefined;
};

/** An integer that double precision represents exactly: within ±(2^53 - 1). */
export const integerType: FieldType = {
  name: "integer",
  ...FIELD_TRAITS.integer,
  compare: compareScalars,
  parse,
  madeFrom: {
    number: ifValid(parse),
    decimal: numberOfText(parse),
    string: numberOfText(parse),
    text: numberOfText(parse),
  },
  fromText(text) {
    const number = numberFromText(text);
    return Number.isSafeInteger(number) ? number : undefined;
  },
  rules: numericRules,
  token: numericToken,
  jsonSchema: ({ min, max }) => ({
    type: "integer",
    minimum: typeof min === "number" ? Math.max(min, -MOST) : -MOST,
    maximum: typeof max === "number" ? Math.min(max, MOST) : MOST,
  }),
};
