import type { CompiledField } from "../../definition/compile.ts";
import type { FieldType, FilterOperator, Json } from "../../definition/fields/index.ts";
import type { Values } from "../../definition/validate.ts";
import { leavesOf } from "../../definition/values.ts";
import { containsText } from "../../kernel/search.ts";
import { type Choice, resolveField } from "../model/localize.ts";
import { sortedText } from "../model/ordered-value.ts";
import {
  type Condition,
  isGroup,
  isRelated,
  isSearch,
  type Property,
  type Related,
  type Search,
  type SortKey,
  type Subject,
  type Where,
} from "./parameters.ts";
import { scoreOf } from "./search.ts";

export interface FilterInput {
  id: string;
  revision: number;
  createdAt: string;
  createdBy: string;
  updatedAt: string;
  updatedBy: string;
  validFrom: string | null;
  validTo: string | null;
  values: Readonly<Record<string, unknown>>;
}

interface Comparison {
  type: FieldType;
  equality: FieldType["token"];
}

function equal({ equality }: Comparison, a: Json, b: Json): boolean {
  const token = equality(a);
  return token !== null && token === equality(b);
}

/**
 * Compares two values. Returns NaN if the stored value does not fit the field's current type. Comparisons with NaN are
 * false, so such a value matches no filter.
 */
function compared(type: FieldType, value: Json, wanted: Json): number {
  return type.token(value) === null ? Number.NaN : type.compare(value, wanted);
}

function one(by: Comparison, operator: FilterOperator, value: Json, wanted: readonly Json[]): boolean {
  const { type } = by;
  const [first = null] = wanted;
  switch (operator) {
    case "eq":
      return equal(by, value, first);
    case "in":
      return wanted.some((candidate) => equal(by, value, candidate));
    case "gt":
      return compared(type, value, first) > 0;
    case "gte":
      return compared(type, value, first) >= 0;
    case "lt":
      return compared(type, value, first) < 0;
    case "lte":
      return compared(type, value, first) <= 0;
    case "contains":
      return typeof value === "string" && containsText(fold(value), fold(String(first)));
    case "startsWith":
      return typeof value === "string" && fold(value).startsWith(fold(String(first)));
    default:
      return false;
  }
}

/** Ignores case, for text search. Equality filters compare the exact text. */
function fold(text: string): string {
  return text.toLowerCase();
}

/** Returns the values of a field in the response's language and market. */
export function valuesIn(field: CompiledField, entry: FilterInput, choice: Choice | undefined): Json[] {
  if (choice === undefined) return leavesOf(field, entry.values as Values).map((leaf) => leaf.value);
  const stored = Object.hasOwn(entry.values, field.name) ? entry.values[field.name] : undefined;
  if (stored === undefined || stored === null) return [];
  const value =
    field.translatable || field.marketSpecific ? resolveField(field, stored, choice).value : stored;
  return value === null || value === undefined ? [] : [value as Json];
}

function isEmpty(value: Json): boolean {
  return Array.isArray(value) && value.length === 0;
}

function judgeField(
  field: CompiledField,
  condition: Condition,
  entry: FilterInput,
  choice: Choice | undefined,
): boolean {
  const found = valuesIn(field, entry, choice);
  const { operator, values } = condition;
  if (operator === "null") return (found.length === 0 || found.every(isEmpty)) === values[0];
  if (operator === "ne") return !found.some((value) => one(field, "eq", value, values));
  if (field.list) {
    return found.some((list) => Array.isArray(list) && list.some((item) => one(field, "eq", item, values)));
  }
  return found.some((value) => one(field, operator, value, values));
}

function judgeProperty(name: Property, type: FieldType, condition: Condition, entry: FilterInput): boolean {
  const value = entry[name];
  const { operator, values } = condition;
  const by = { type, equality: type.token };
  if (operator === "null") return (value === null) === values[0];
  if (operator === "ne") return value === null || !equal(by, value, values[0] ?? null);
  return value !== null && one(by, operator, value, values);
}

/**
 * Returns whether an entry meets all filters.
 * @param choice language and market of the response; without it, a value in any language and market may match
 * @param related tests a condition on referenced entries; without it, all such conditions count as not met
 */
export function matches(
  conditions: readonly Where[],
  entry: FilterInput,
  choice: Choice | undefined,
  related: (where: Related, entry: FilterInput) => boolean = () => false,
): boolean {
  const holds = (where: Where): boolean => {
    if (isRelated(where)) return related(where, entry);
    if (isSearch(where)) return rankOf(where, entry, choice) > 0;
    if (!isGroup(where)) return meets(where, entry, choice);
    return where.join === "or" ? where.of.some(holds) : where.of.every(holds) === (where.join === "and");
  };
  return conditions.every(holds);
}

function meets(where: Condition, entry: FilterInput, choice: Choice | undefined): boolean {
  const { subject } = where;
  return subject.kind === "field"
    ? judgeField(subject.field, where, entry, choice)
    : judgeProperty(subject.name, subject.type, where, entry);
}

/** Returns how well an entry matches a search, in points. Entries with more points come first. 0 means no match. */
export function rankOf(search: Search, entry: FilterInput, choice: Choice | undefined): number {
  return scoreOf(search, (field) => valuesIn(field, entry, choice));
}

export type SortValue = string | number | boolean | null;

/** Returns the value of a field or property in the response's language and market, or null. */
export function plainValue(subject: Subject, entry: FilterInput, choice: Choice): SortValue {
  const value =
    subject.kind === "property" ? entry[subject.name] : (valuesIn(subject.field, entry, choice)[0] ?? null);
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null;
}

function sortValue(subject: Subject, entry: FilterInput, choice: Choice): SortValue {
  const value = plainValue(subject, entry, choice);
  return typeof value === "string" ? sortedText(value) : value;
}

export function sortValues(keys: readonly SortKey[], entry: FilterInput, choice: Choice): SortValue[] {
  return keys.map((key) => sortValue(key.subject, entry, choice));
}

export interface SortPosition {
  keys: SortValue[];
  id: string;
}

/** Compares two entries by the sort fields. Entries without a value come first. Equal entries are ordered by id. */
export function compareRanked(order: readonly SortKey[], a: SortPosition, b: SortPosition): number {
  for (let i = 0; i < order.length; i++) {
    const key = order[i];
    const x = a.keys[i] ?? null;
    const y = b.keys[i] ?? null;
    if (key === undefined || x === y) continue;
    const result = x === null ? -1 : y === null ? 1 : key.subject.type.compare(x, y);
    if (result !== 0) return key.descending ? -result : result;
  }
  const ids = a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
  return order[0]?.descending === true ? -ids : ids;
}
