/** To add a field type, write one file next to this one and list it in `index.ts`. */
import type { Report } from "../../kernel/faults.ts";
import type { FieldDefinition } from "../document/document.ts";

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/** Operators of the query parameter `filter[field][op]=value`. */
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

export type JsonSchema = { [key: string]: Json };

export type Rule = (value: Json, report: Report) => void;

/** Parses, validates, compares and describes the values of a field type. */
export interface FieldType {
  readonly name: FieldDefinition["type"];
  /** Whether `min` and `max` limit the value itself or its length. */
  readonly bounds: "value" | "length" | "none";
  readonly pattern: boolean;
  readonly enumerable: boolean;
  readonly unique: boolean;
  readonly default: boolean;
  readonly sensitive: boolean;
  readonly sortable: boolean;
  /** Whether an ordered index can list the values. */
  readonly orderable: boolean;
  /** Whether `search` can find entries by the values. */
  readonly searchable: boolean;
  readonly operators: readonly FilterOperator[];
  /** Converts a JSON value to its stored form, or reports an error and returns undefined. */
  parse(value: unknown, report: Report): Json | undefined;
  fromText(text: string): Json | undefined;
  /** Returns a function that checks `min`, `max` and `pattern`. */
  rules(field: FieldDefinition): Rule;
  compare(a: Json, b: Json): number;
  /**
   * Converts a value to a string for index keys. Only equal values have equal strings. Null if the value cannot be
   * indexed.
   */
  token(value: Json): string | null;
  /** Replaces `token` in unique fields. Texts that look alike get the same string, so they count as duplicates. */
  uniqueToken?(value: Json): string | null;
  jsonSchema(field: FieldDefinition): JsonSchema;
}

export function compareScalars(a: Json, b: Json): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  if (typeof a === "string" && typeof b === "string") return a < b ? -1 : a > b ? 1 : 0;
  return 0;
}

/** Filters on a list field. They test whether the list contains an item, or whether it is empty. */
export function listOperators(type: FieldType): FilterOperator[] {
  return type.operators.includes("eq") ? ["contains", "null"] : ["null"];
}

/** Members that the types for numbers, dates and datetimes share. */
export const ordered = {
  bounds: "value",
  pattern: false,
  enumerable: true,
  unique: true,
  default: true,
  sensitive: true,
  sortable: true,
  orderable: true,
  searchable: false,
  operators: ["eq", "ne", "in", "gt", "gte", "lt", "lte", "null"],
  compare: compareScalars,
} satisfies Partial<FieldType>;
