import { isSlug } from "../../texts/slug.ts";
import { sourceOf } from "../document/index.ts";
import { FIELD_TRAITS } from "../types/index.ts";
import {
  characterRules,
  characterSchema,
  compareTexts,
  type FieldType,
  fromTexts,
  parseCharacters,
  textEquality,
} from "./parts/index.ts";

/** Maximum characters. */
export const MAX_SLUG = 200;

const parse: FieldType["parse"] = (value, report) => {
  const text = parseCharacters(value, MAX_SLUG, report);
  if (text === undefined || isSlug(text)) return text;
  report("format", "must be lower-case letters and digits, with single hyphens between words: red-chair");
  return undefined;
};

/** A part of an address, such as `red-chair`. The service makes it from the field that `from` names. */
export const slugType: FieldType = {
  name: "slug",
  ...FIELD_TRAITS.slug,
  parse,
  madeFrom: fromTexts(parse),
  fromText: (text) => text,
  rules: characterRules,
  compare: compareTexts,
  token: textEquality,
  jsonSchema(field) {
    const source = sourceOf(field);
    return {
      ...characterSchema(field, MAX_SLUG),
      pattern: "^[a-z0-9\u0080-\uffff]+(-[a-z0-9\u0080-\uffff]+)*$",
      ...(source === undefined ? {} : { description: `Made from ${source} if it is left out.` }),
    };
  },
};
