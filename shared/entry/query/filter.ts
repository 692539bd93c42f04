/** Judges entries by conditions, and orders them. Values are what the caller may see, never what an index remembers. */
import type { CompiledField } from "../../definition/compile.ts";
import type { FieldType, FilterOperator, Json } from "../../definition/fields/index.ts";
import type { Values } from "../../definition/validate.ts";
import { leavesOf } from "../../definition/values.ts";
import { holds } from "../../kernel/search.ts";
import { type Choice, resolveField } from "../model/localize.ts";
import type { Condition, Property, SortKey, Subject } from "./parameters.ts";

/** What conditions and sort keys look at: an entry as the caller sees it. */
export interface Judged {
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

/** Decides whether two values are equal, and which one is greater. */
interface Comparison {
  type: FieldType;
  equality: FieldType["token"];
}

function equal({ equality }: Comparison, a: Json, b: Json): boolean {
  const token = equality(a);
  return token !== null && token === equality(b);
}

/** Not a number for a value of another type, which the field had once: it is neither more nor less, nor as much. */
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
      return typeof value === "string" && holds(fold(value), fold(String(first)));
    case "startsWith":
      return typeof value === "string" && fold(value).startsWith(fold(String(first)));
    default:
      return false;
  }
}

/** Searching in texts does not mind upper and lower case; equality does. */
function fold(text: string): string {
  return text.toLowerCase();
}

/**
 * The values of a field that a condition looks at: the one of the answer's language and market, or all of them where
 * the answer shows all of them.
 */
function candidates(field: CompiledField, entry: Judged, choice: Choice | undefined): Json[] {
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
  entry: Judged,
  choice: Choice | undefined,
): boolean {
  const found = candidates(field, entry, choice);
  const { operator, values } = condition;
  if (operator === "null") return (found.length === 0 || found.every(isEmpty)) === values[0];
  if (operator === "ne") return !found.some((value) => one(field, "eq", value, values));
  if (field.list) {
    return found.some((list) => Array.isArray(list) && list.some((item) => one(field, "eq", item, values)));
  }
  return found.some((value) => one(field, operator, value, values));
}

function judgeProperty(name: Property, type: FieldType, condition: Condition, entry: Judged): boolean {
  const value = entry[name];
  const { operator, values } = condition;
  const by = { type, equality: type.token };
  if (operator === "null") return (value === null) === values[0];
  if (operator === "ne") return value === null || !equal(by, value, values[0] ?? null);
  return value !== null && one(by, operator, value, values);
}

/**
 * Whether an entry meets all conditions.
 * @param choice the answer's language and market; without one, a condition holds when any of a field's values meets it
 */
export function matches(
  conditions: readonly Condition[],
  entry: Judged,
  choice: Choice | undefined,
): boolean {
  return conditions.every((condition) => {
    const { subject } = condition;
    return subject.kind === "field"
      ? judgeField(subject.field, condition, entry, choice)
      : judgeProperty(subject.name, subject.type, condition, entry);
  });
}

/** Values by which an entry is ordered. */
export type SortValue = string | number | boolean | null;

/** Texts are ordered by so many first characters (cursors carry them), then by id. */
const SORTED_CHARACTERS = 200;

function sortValue(subject: Subject, entry: Judged, choice: Choice): SortValue {
  const value =
    subject.kind === "property" ? entry[subject.name] : (candidates(subject.field, entry, choice)[0] ?? null);
  if (typeof value === "string") return value.slice(0, SORTED_CHARACTERS);
  return typeof value === "number" || typeof value === "boolean" ? value : null;
}

/** What an entry is ordered by. */
export function sortValues(keys: readonly SortKey[], entry: Judged, choice: Choice): SortValue[] {
  return keys.map((key) => sortValue(key.subject, entry, choice));
}

/** An entry's place in an order. */
export interface Ranked {
  keys: SortValue[];
  id: string;
}

/** Orders by the keys, entries without a value first; equal ones by id, in the direction of the first key. */
export function compareRanked(order: readonly SortKey[], a: Ranked, b: Ranked): number {
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
