import { characterRules, characterSchema, parseCharacters } from "./characters.ts";
import { compareScalars, type FieldType } from "./type.ts";

/** Maximum characters. The size limit of a whole entry applies too. */
export const MAX_TEXT = 500_000;

/** A long text, such as an article's body. It can be filtered, but neither sorted nor unique. */
export const textType: FieldType = {
  name: "text",
  bounds: "length",
  pattern: true,
  enumerable: true,
  unique: false,
  default: true,
  sensitive: true,
  sortable: false,
  orderable: false,
  searchable: true,
  operators: ["eq", "ne", "in", "contains", "startsWith", "null"],
  parse: (value, report) => parseCharacters(value, MAX_TEXT, report),
  fromText: (text) => text,
  rules: characterRules,
  compare: compareScalars,
  token: (value) => (typeof value === "string" ? `s:${value}` : null),
  jsonSchema: (field) => characterSchema(field, MAX_TEXT),
};
