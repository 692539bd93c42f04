/** Conversions that several field types use. */
import type { Conversion, FieldType, Json } from "./type.ts";

/** Each value of the other type is a value of this type. */
export const unchanged: Conversion = { always: true, convert: (value) => value };

/** Some values of the other type are values of this type. */
export const ifValid = (parse: FieldType["parse"]): Conversion => ({
  always: false,
  convert: (value, field) => parse(value, () => {}, field),
});

const textOfNumber: Conversion = { always: true, convert: (value) => String(value) };

/** The types whose values all have a text. */
export const textsOf = {
  integer: textOfNumber,
  number: textOfNumber,
  decimal: unchanged,
  date: unchanged,
  time: unchanged,
  datetime: unchanged,
  email: unchanged,
  url: unchanged,
  slug: unchanged,
} as const satisfies FieldType["madeFrom"];

/** Some texts are values of this type. */
export const fromTexts = (parse: FieldType["parse"]) =>
  ({ string: ifValid(parse), text: ifValid(parse) }) as const satisfies FieldType["madeFrom"];

/** Some texts are the text of a number. */
export const numberOfText = (parse: FieldType["parse"]): Conversion => ({
  always: false,
  convert: (value: Json) => parse(Number(value), () => {}),
});
