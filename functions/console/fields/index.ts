/** The console's field types by name. To add a field type, write a file for it and add a line here. */
import type { FieldModel, FieldType } from "../model/orb.ts";
import { emailKind, urlKind } from "./addresses.tsx";
import { booleanKind } from "./boolean.tsx";
import { dateKind } from "./date.tsx";
import { datetimeKind } from "./datetime.tsx";
import { decimalKind } from "./decimal.tsx";
import { fileKind } from "./file.tsx";
import { jsonKind } from "./json.tsx";
import { integerKind, numberKind } from "./number.tsx";
import type { FieldKind } from "./parts/kind.ts";
import { pointKind } from "./point.tsx";
import { referenceKind } from "./reference.tsx";
import { richTextKind } from "./rich-text.tsx";
import { slugKind } from "./slug.tsx";
import { stringKind, textKind } from "./string.tsx";
import { timeKind } from "./time.tsx";

const KINDS: Readonly<Record<FieldType, FieldKind>> = {
  string: stringKind,
  text: textKind,
  slug: slugKind,
  email: emailKind,
  url: urlKind,
  number: numberKind,
  integer: integerKind,
  decimal: decimalKind,
  boolean: booleanKind,
  date: dateKind,
  time: timeKind,
  datetime: datetimeKind,
  json: jsonKind,
  point: pointKind,
  reference: referenceKind,
  file: fileKind,
  // The form edits the fields of objects. Everything else shows objects as JSON.
  object: jsonKind,
  blocks: jsonKind,
  richText: richTextKind,
};

export const kindOf = (field: Pick<FieldModel, "type">): FieldKind => KINDS[field.type];
