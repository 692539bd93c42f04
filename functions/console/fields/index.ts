/** The console's field types by name. To add a field type, write a file for it and add a line here. */
import type { FieldModel, FieldType } from "../model/orb.ts";
import { booleanKind } from "./boolean.tsx";
import { dateKind } from "./date.tsx";
import { datetimeKind } from "./datetime.tsx";
import { fileKind } from "./file.tsx";
import { jsonKind } from "./json.tsx";
import type { FieldKind } from "./kind.ts";
import { integerKind, numberKind } from "./number.tsx";
import { referenceKind } from "./reference.tsx";
import { stringKind } from "./string.tsx";
import { textKind } from "./text.tsx";

const KINDS: Readonly<Record<FieldType, FieldKind>> = {
  string: stringKind,
  text: textKind,
  number: numberKind,
  integer: integerKind,
  boolean: booleanKind,
  date: dateKind,
  datetime: datetimeKind,
  json: jsonKind,
  reference: referenceKind,
  file: fileKind,
};

export const kindOf = (field: Pick<FieldModel, "type">): FieldKind => KINDS[field.type];
