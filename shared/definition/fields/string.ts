import { FIELD_TRAITS } from "../types/index.ts";
import {
  characterRules,
  characterSchema,
  compareTexts,
  type FieldType,
  fromParagraphs,
  ifValid,
  parseCharacters,
  textEquality,
  textsOf,
  uniqueForm,
} from "./parts/index.ts";

/** Maximum characters. Text fields allow longer values. */
const MAX_STRING = 10_000;

const parse: FieldType["parse"] = (value, report) => parseCharacters(value, MAX_STRING, report);

/** A short text. It can be filtered, sorted and unique. */
export const stringType: FieldType = {
  name: "string",
  ...FIELD_TRAITS.string,
  parse,
  madeFrom: {
    ...textsOf,
    text: ifValid(parse),
    richText: fromParagraphs(parse),
  },
  fromText: (text) => text,
  rules: characterRules,
  compare: compareTexts,
  token: (value) => (typeof value === "string" ? `s:${value}` : null),
  equality: textEquality,
  uniqueToken: (value) => (typeof value === "string" ? `s:${uniqueForm(value)}` : null),
  jsonSchema: (field) => characterSchema(field, MAX_STRING),
};
