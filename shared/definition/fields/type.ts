/** The interface of a field type. A new type needs one file next to this one and one line in `index.ts`. */
import type { Report } from "../../kernel/faults.ts";
import type { FieldDefinition } from "../document/document.ts";

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

/** One field type: parses, validates, compares and describes single values. Lists and maps are handled elsewhere. */
export interface FieldType {
  readonly name: FieldDefinition["type"];
  /** The property that `min` and `max` limit: the value, its length in characters, or nothing. */
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
  /** Filter operators for single values. */
  readonly operators: readonly FilterOperator[];
  /** Converts a JSON value to its normal form. Reports a fault and returns undefined if it is invalid. */
  parse(value: unknown, report: Report): Json | undefined;
  /** Parses a query parameter; undefined if it is invalid. */
  fromText(text: string): Json | undefined;
  /** Compiles a field's rules beyond its type. */
  rules(field: FieldDefinition): Rule;
  /** Compares two normal forms: negative, zero or positive. */
  compare(a: Json, b: Json): number;
  /** A text that is equal exactly for equal values, for index keys; null if the type has none. */
  token(value: Json): string | null;
  /** Like {@link token}, for unique fields whose type treats further values as equal. */
  uniqueToken?(value: Json): string | null;
  /** JSON Schema of a field's values. */
  jsonSchema(field: FieldDefinition): JsonSchema;
}

/** Compares strings, numbers and booleans. Returns 0 for values without an order. */
export function compareScalars(a: Json, b: Json): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  if (typeof a === "string" && typeof b === "string") return a < b ? -1 : a > b ? 1 : 0;
  return 0;
}

/** What the types of ordered values have in common: numbers, dates and datetimes. */
export const ordered = {
  bounds: "value",
  pattern: false,
  enumerable: true,
  unique: true,
  default: true,
  sensitive: true,
  sortable: true,
  operators: ["eq", "ne", "in", "gt", "gte", "lt", "lte", "null"],
  compare: compareScalars,
} satisfies Partial<FieldType>;
