import { characterRules, characterSchema, parseCharacters } from "./characters.ts";
import { compareScalars, type FieldType } from "./type.ts";
import { uniqueForm } from "./unique-form.ts";

/** Maximum characters. Text fields allow longer values. */
const MAX_STRING = 10_000;

/** A short text. It can be filtered, sorted and unique. */
export const stringType: FieldType = {
  name: "string",
  bounds: "length",
  pattern: true,
  enumerable: true,
  unique: true,
  default: true,
  sensitive: true,
  sortable: true,
  orderable: true,
  searchable: true,
  operators: ["eq", "ne", "in", "gt", "gte", "lt", "lte", "contains", "startsWith", "null"],
  parse: (value, report) => parseCharacters(value, MAX_STRING, report),
  fromText: (text) => text,
  rules: characterRules,
  compare: compareScalars,
  token: (value) => (typeof value === "string" ? `s:${value}` : null),
  uniqueToken: (value) => (typeof value === "string" ? `s:${uniqueForm(value)}` : null),
  jsonSchema: (field) => characterSchema(field, MAX_STRING),
};
