import type { FieldDefinition } from "../document/document.ts";
import { booleanType } from "./boolean.ts";
import { dateType } from "./date.ts";
import { datetimeType } from "./datetime.ts";
import { fileType } from "./file.ts";
import { integerType } from "./integer.ts";
import { jsonType } from "./json.ts";
import { numberType } from "./number.ts";
import { referenceType } from "./reference.ts";
import { stringType } from "./string.ts";
import { textType } from "./text.ts";
import type { FieldType } from "./type.ts";

export const FIELD_TYPES: Readonly<Record<FieldDefinition["type"], FieldType>> = {
  string: stringType,
  text: textType,
  number: numberType,
  integer: integerType,
  boolean: booleanType,
  date: dateType,
  datetime: datetimeType,
  json: jsonType,
  reference: referenceType,
  file: fileType,
};

export type { FieldType, FilterOperator, Json, JsonSchema, Rule } from "./type.ts";
