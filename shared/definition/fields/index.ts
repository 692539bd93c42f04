import type { FieldTypeName } from "../types/index.ts";
import { booleanType } from "./boolean.ts";
import { dateType } from "./date.ts";
import { datetimeType } from "./datetime.ts";
import { decimalType } from "./decimal.ts";
import { emailType } from "./email.ts";
import { fileType } from "./file.ts";
import { integerType } from "./integer.ts";
import { jsonType } from "./json.ts";
import { numberType } from "./number.ts";
import { blocksType, objectType, richTextType } from "./object.ts";
import type { FieldType } from "./parts/index.ts";
import { pointType } from "./point.ts";
import { referenceType } from "./reference.ts";
import { slugType } from "./slug.ts";
import { stringType } from "./string.ts";
import { textType } from "./text.ts";
import { timeType } from "./time.ts";
import { urlType } from "./url.ts";

export const FIELD_TYPES: Readonly<Record<FieldTypeName, FieldType>> = {
  string: stringType,
  text: textType,
  slug: slugType,
  email: emailType,
  url: urlType,
  number: numberType,
  integer: integerType,
  decimal: decimalType,
  boolean: booleanType,
  date: dateType,
  time: timeType,
  datetime: datetimeType,
  json: jsonType,
  point: pointType,
  reference: referenceType,
  file: fileType,
  object: objectType,
  blocks: blocksType,
  richText: richTextType,
};

export type { FilterOperator } from "../types/index.ts";
export type { FieldType, Json, JsonSchema, Rule } from "./parts/index.ts";
export { MAX_SLUG } from "./slug.ts";
