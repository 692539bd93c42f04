import { isObject } from "../../kernel/json.ts";
import { FIELD_TRAITS } from "../types/index.ts";
import { type FieldType, type Json, searchedText, toParagraphs } from "./parts/index.ts";

/** An object with fields of its own. The validation of entries checks these fields. */
export const objectType: FieldType = {
  name: "object",
  ...FIELD_TRAITS.object,
  parse(value, report) {
    if (isObject(value)) return value as { [key: string]: Json };
    report("type", "must be an object with one property for each field");
    return undefined;
  },
  fromText: () => undefined,
  rules: () => () => {},
  compare: () => 0,
  token: () => null,
  jsonSchema: () => ({ type: "object" }),
};

/** An object that tells its component in `_type`. The values of such fields are lists. */
export const blocksType: FieldType = { ...objectType, name: "blocks" };

/** Portable Text: paragraphs of formatted text, with blocks of components between them. The value is a list. */
export const richTextType: FieldType = {
  ...blocksType,
  ...FIELD_TRAITS.richText,
  name: "richText",
  searchText: searchedText,
  madeFrom: { string: toParagraphs, text: toParagraphs },
};
