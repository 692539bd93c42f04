import { FIELD_TRAITS } from "../types/index.ts";
import {
  characterRules,
  characterSchema,
  compareTexts,
  type FieldType,
  fromParagraphs,
  parseCharacters,
  textEquality,
  textsOf,
  unchanged,
} from "./parts/index.ts";

/** Maximum characters. The size limit of a whole entry applies too. */
export const MAX_TEXT = 500_000;

const parse: FieldType["parse"] = (value, report) => parseCharacters(value, MAX_TEXT, report);

/** A long text, such as an article's body. It can be filtered, but neither sorted nor unique. */
export const textType: FieldType = {
  name: "text",
  ...FIELD_TRAITS.text,
  parse,
  widens: "string",
  madeFrom: {
    ...textsOf,
    string: unchanged,
    richText: fromParagraphs(parse),
  },
  fromText: (text) => text,
  rules: characterRules,
  compare: compareTexts,
  token: (value) => (typeof value === "string" ? `s:${value}` : null),
  equality: textEquality,
  jsonSchema: (field) => characterSchema(field, MAX_TEXT),
};
