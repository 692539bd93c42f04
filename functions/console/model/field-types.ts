/**
 * Attributes that each field type allows. They must match the platform's field types, which
 * `test/unit/console-schema.test.ts` checks.
 */
import type { FieldType } from "./orb.ts";

export interface FieldRules {
  /** The property that `min` and `max` limit: the value itself or its length. */
  bounds: "value" | "length" | "none";
  pattern: boolean;
  enumerable: boolean;
  unique: boolean;
  /** Whether the values can have an ordered index. */
  orderable: boolean;
  /** Whether the full-text search can include the values. */
  searchable: boolean;
  default: boolean;
  sensitive: boolean;
}

const ordered: FieldRules = {
  bounds: "value",
  pattern: false,
  enumerable: true,
  unique: true,
  orderable: true,
  searchable: false,
  default: true,
  sensitive: true,
};
const text: FieldRules = { ...ordered, bounds: "length", pattern: true, searchable: true };

const reference: FieldRules = {
  ...ordered,
  bounds: "none",
  enumerable: false,
  orderable: false,
  default: false,
  sensitive: false,
};

export const FIELD_RULES: Readonly<Record<FieldType, FieldRules>> = {
  string: text,
  text: { ...text, unique: false, orderable: false },
  number: ordered,
  integer: ordered,
  boolean: { ...ordered, bounds: "none", orderable: false },
  date: ordered,
  datetime: ordered,
  json: { ...ordered, bounds: "none", enumerable: false, unique: false, orderable: false },
  reference,
  file: { ...reference, unique: false },
};

export const FIELD_TYPES = Object.keys(FIELD_RULES) as readonly FieldType[];

export const isFieldType = (type: unknown): type is FieldType =>
  typeof type === "string" && Object.hasOwn(FIELD_RULES, type);
