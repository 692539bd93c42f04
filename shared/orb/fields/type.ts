/** What every field type answers. A new type is one file beside this one and one line in `index.ts`. */
import type { FieldDefinition } from "../document.ts";
import type { Report } from "../faults.ts";

/** Any JSON value. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** The operators of `filter[field][op]=value`. */
export type FilterOperator =
  | "eq"
  | "ne"
  | "in"
  | "gt"
  | "gte"
  | "lt"
  | "lte"
  | "contains"
  | "startsWith"
  | "null";

/** A JSON Schema as OpenAPI 3.0 writes it. */
export type JsonSchema = { [key: string]: Json };

/** Checks one parsed value against a field's `min`, `max`, `pattern` and the like. */
export type Rule = (value: Json, report: Report) => void;

/** One field type: how its values are read, checked, compared and described. Values here are single ones, never lists or maps. */
export interface FieldType {
  readonly name: FieldDefinition["type"];
  /** What `min` and `max` speak of: the value itself, its length in characters, or nothing. */
  readonly bounds: "value" | "length" | "none";
  /** Whether `pattern` applies. */
  readonly pattern: boolean;
  /** Whether `enum` applies. */
  readonly enumerable: boolean;
  /** Whether `unique` applies. */
  readonly unique: boolean;
  /** Whether `default` applies. */
  readonly default: boolean;
  /** Whether `sensitive` applies. */
  readonly sensitive: boolean;
  /** Whether lists can be sorted by it. */
  readonly sortable: boolean;
  /** Filter operators that single values of this type understand. */
  readonly operators: readonly FilterOperator[];
  /** Reads a JSON value into its normal form. Reports and answers undefined when it is none of this type. */
  parse(value: unknown, report: Report): Json | undefined;
  /** Reads a value from a query parameter; undefined when it is none of this type. */
  fromText(text: string): Json | undefined;
  /** The rules of one field beyond its type, compiled once. */
  rules(field: FieldDefinition): Rule;
  /** Orders two values in their normal form: negative, zero or positive. */
  compare(a: Json, b: Json): number;
  /** A text that is equal for equal values and differs otherwise, for indexes and claims; null when there is none. */
  token(value: Json): string | null;
  /** The same for values of a unique field, where other values than those with one {@link token} count as equal. */
  uniqueToken?(value: Json): string | null;
  /** Its values as JSON Schema, with the field's own rules. */
  jsonSchema(field: FieldDefinition): JsonSchema;
}

/** Orders texts, numbers and booleans; what cannot be ordered is equal. */
export function compareScalars(a: Json, b: Json): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  if (typeof a === "string" && typeof b === "string") return a < b ? -1 : a > b ? 1 : 0;
  return 0;
}
