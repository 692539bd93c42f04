/** To add a field type, write one file in the folder above and list it in its `index.ts`. */
import type { Report } from "../../../kernel/faults.ts";
import { comparable } from "../../../texts/words.ts";
import type { FieldDefinition } from "../../document/index.ts";
import { AREAS, type FieldTraits, type FieldTypeName, type FilterOperator } from "../../types/index.ts";

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

export type JsonSchema = { [key: string]: Json };

export type Rule = (value: Json, report: Report) => void;

/** How to make values of a type from those of another type. */
export interface Conversion {
  /** Whether each value of the other type has a counterpart, which can be converted back into the same value. */
  readonly always: boolean;
  /**
   * Returns the counterpart of a value, which may lose something. Undefined if there is none.
   * @param field attributes of the field with the new type
   */
  convert(value: Json, field: ConvertedField): Json | undefined;
}

/** The attributes of a field that determine the form of its values. */
export type ConvertedField = Pick<FieldDefinition, "scale" | "styles" | "ref">;

/** Parses, validates, compares and describes the values of a field type. Its traits are in `../../types/traits.ts`. */
export interface FieldType extends FieldTraits {
  readonly name: FieldTypeName;
  /**
   * Converts a JSON value to its stored form, or reports an error and returns undefined.
   * @param field the attributes of the field, if the form depends on them
   */
  parse(value: unknown, report: Report, field?: ConvertedField): Json | undefined;
  fromText(text: string): Json | undefined;
  /**
   * The types from which a field may change to this type. A type that is listed here lists this type too, so that a
   * conversion can be checked by converting back.
   */
  readonly madeFrom?: Readonly<Partial<Record<FieldTypeName, Conversion>>>;
  /** A type whose values are values of this type, with the same index keys and in the same order. */
  readonly widens?: FieldTypeName;
  /** Returns a function that checks `min`, `max` and `pattern`. */
  rules(field: FieldDefinition): Rule;
  compare(a: Json, b: Json): number;
  /**
   * Converts a value to a string for index keys. Only equal values have equal strings. Null if the value cannot be
   * indexed.
   */
  token(value: Json): string | null;
  /** Replaces `token` in comparisons. Texts that differ only in their Unicode form get the same string. */
  equality?(value: Json): string | null;
  /** Replaces `token` in unique fields. Texts that look alike get the same string, so they count as duplicates. */
  uniqueToken?(value: Json): string | null;
  /**
   * Returns a text by which lists are sorted instead of the value, for types whose values are not in the order of their
   * characters. Must agree with `compare`.
   */
  sortKey?(text: string): string;
  /** Returns the text under which an ordered index lists a value, for types whose values are objects. */
  indexText?(value: Json): string | undefined;
  /** Digits after the point in sums of decimal texts. Missing if the values are JavaScript numbers, or no numbers. */
  sumScale?(field: FieldDefinition): number;
  /** Returns the text that `search` finds in a value. Missing if the values are texts, or lists of texts. */
  searchText?(value: Json): string;
  jsonSchema(field: FieldDefinition): JsonSchema;
}

/** Compares texts in Unicode code units. Texts that differ only in their Unicode form are equal. */
export function compareTexts(a: Json, b: Json): number {
  if (typeof a !== "string" || typeof b !== "string") return 0;
  return compareScalars(comparable(a), comparable(b));
}

/** Returns how a type compares texts whose stored form is not the form in which they are equal. */
export function comparedAs(
  sortKey: (text: string) => string,
): Pick<FieldType, "compare" | "token" | "sortKey"> {
  return {
    compare: (a, b) =>
      typeof a === "string" && typeof b === "string" ? compareTexts(sortKey(a), sortKey(b)) : 0,
    token: (value) => (typeof value === "string" ? `s:${sortKey(value)}` : null),
    sortKey,
  };
}

export function textEquality(value: Json): string | null {
  return typeof value === "string" ? `s:${comparable(value)}` : null;
}

export function compareScalars(a: Json, b: Json): number {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a === "boolean" && typeof b === "boolean") return Number(a) - Number(b);
  if (typeof a === "string" && typeof b === "string") return a < b ? -1 : a > b ? 1 : 0;
  return 0;
}

/** Filters on a list field. They test whether the list contains an item, or whether it is empty. */
export function listOperators(type: FieldType): FilterOperator[] {
  return type.operators.includes("eq")
    ? ["contains", "null"]
    : type.operators.filter((one) => AREAS.has(one) || one === "null");
}
