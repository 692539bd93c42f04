import { LONGEST_TEXT } from "../../collation/keys.ts";
import type { CompiledField } from "../../definition/compile.ts";
import { idIn } from "../../definition/document/index.ts";
import type { FieldType, FilterOperator, Json } from "../../definition/fields/index.ts";
import {
  areaIn,
  compareScalars,
  distance,
  type Point,
  pointIn,
} from "../../definition/fields/parts/index.ts";
import { AREAS } from "../../definition/types/index.ts";
import type { Values } from "../../definition/validate.ts";
import { leavesOf } from "../../definition/walk.ts";
import { isObject } from "../../kernel/json.ts";
import type { ReadBudget } from "../../store/budget.ts";
import { searchFor } from "../../texts/search.ts";
import { caseless } from "../../texts/words.ts";
import { type Choice, lacksLanguage, presentLeaves, resolveField, sortedText } from "../model/index.ts";
import {
  type Condition,
  isGroup,
  isLacking,
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
  compare: FieldType["compare"];
  sortKey?: CompiledField["sortKey"];
}

/** What one condition needs for every entry. */
interface Prepared {
  /** The equality of each wanted value. */
  tokens: ReadonlySet<string>;
  /** Tells whether a text contains the wanted one, both in the form in which such texts are compared. */
  isIn: (text: string) => boolean;
  beginning: string;
}

const prepared = new WeakMap<readonly Json[], Prepared>();

/** Returns the wanted values in the forms in which they are compared. Computes them once for a condition. */
function preparedFor({ equality }: Comparison, wanted: readonly Json[]): Prepared {
  const known = prepared.get(wanted);
  if (known !== undefined) return known;
  const beginning = caseless(String(wanted[0] ?? ""));
  const tokens = new Set(wanted.map((value) => equality(value)).filter((token) => token !== null));
  const made = { tokens, isIn: searchFor(beginning), beginning };
  prepared.set(wanted, made);
  return made;
}

/** Counts work, and converts each text of an entry only once. */
export class Comparing {
  readonly #budget: Work | undefined;
  #texts: Map<string, string> | undefined;

  constructor(budget: Work | undefined) {
    this.#budget = budget;
  }

  work(characters: number): void {
    this.#budget?.work(characters);
  }

  caseless(text: string): string {
    this.#texts ??= new Map();
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    this.work(text.length);
    const form = caseless(text);
    this.#texts.set(text, form);
    return form;
  }
}

/** A budget for work, in characters that are compared. */
export type Work = Pick<ReadBudget, "work">;

/** Work to make the sort key of a character. */
const SORT_KEY = 16;
/** Work to evaluate a condition, in addition to the texts that it compares. */
const CONDITION = 16;

const lengthOf = (value: Json) => (typeof value === "string" ? value.length : 0);

/**
 * Compares two values. Returns NaN if the stored value does not fit the field's current type. Comparisons with NaN are
 * false, so such a value matches no filter.
 */
function compared(by: Comparison, value: Json, wanted: Json, comparing: Comparing): number {
  const { type, compare, sortKey } = by;
  if (sortKey !== undefined) comparing.work(SORT_KEY * Math.min(lengthOf(value), LONGEST_TEXT));
  return type.token(value) === null ? Number.NaN : compare(value, wanted);
}

/** Characters of a text from which `startsWith` takes the beginning: a character can become several, or fewer. */
const startOf = (text: string, beginning: string) => text.slice(0, 4 * beginning.length + 16);

function one(
  by: Comparison,
  operator: FilterOperator,
  value: Json,
  wanted: readonly Json[],
  comparing: Comparing,
): boolean {
  const [first = null] = wanted;
  if (operator === "contains") {
    if (typeof value !== "string") return false;
    comparing.work(value.length);
    return preparedFor(by, wanted).isIn(comparing.caseless(value));
  }
  if (operator === "startsWith") {
    if (typeof value !== "string") return false;
    const { beginning } = preparedFor(by, wanted);
    comparing.work(beginning.length);
    return caseless(startOf(value, beginning)).startsWith(beginning);
  }
  // Conversions of texts to other Unicode forms are faster than searches.
  comparing.work(lengthOf(value) / 8);
  switch (operator) {
    case "eq":
    case "in":
      return preparedFor(by, wanted).tokens.has(by.equality(value) ?? "");
    case "gt":
      return compared(by, value, first, comparing) > 0;
    case "gte":
      return compared(by, value, first, comparing) >= 0;
    case "lt":
      return compared(by, value, first, comparing) < 0;
    case "lte":
      return compared(by, value, first, comparing) <= 0;
    default:
      return false;
  }
}

/** Returns the values of a field in the response's language and market. */
export function valuesIn(field: CompiledField, entry: FilterInput, choice: Choice | undefined): Json[] {
  if (choice === undefined) return leavesOf(field, entry.values as Values).map((leaf) => leaf.value);
  if (field.parent !== undefined) return presentLeaves(field, entry.values, choice);
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
  { field, others = [] }: Extract<Subject, { kind: "field" }>,
  condition: Condition,
  entry: FilterInput,
  choice: Choice | undefined,
  comparing: Comparing,
): boolean {
  const own = valuesIn(field, entry, choice);
  const found =
    others.length === 0 ? own : [...own, ...others.flatMap((other) => valuesIn(other, entry, choice))];
  const { operator, values } = condition;
  comparing.work(CONDITION * (1 + found.length));
  if (operator === "null") return (found.length === 0 || found.every(isEmpty)) === values[0];
  if (operator === "ne") return !found.some((value) => one(field, "eq", value, values, comparing));
  if (AREAS.has(operator)) return isInArea(found.flat(), values, comparing);
  if (!field.list) return found.some((value) => one(field, operator, value, values, comparing));
  return found.some((list) => {
    if (!Array.isArray(list)) return false;
    comparing.work(CONDITION * list.length);
    return list.some((item) => one(field, "eq", item, values, comparing));
  });
}

/** Work to compare a point with an area. */
const POINT = 16;

function isInArea(found: readonly Json[], [wanted]: readonly Json[], comparing: Comparing): boolean {
  const area = areaIn(wanted);
  comparing.work(POINT * found.length);
  return found.some((value) => {
    const point = pointIn(value);
    return point !== undefined && area?.has(point) === true;
  });
}

/** Returns the distance in metres from a point to the nearest point of a field; null if the field has none. */
function distanceFrom(from: Point, { subject }: SortKey, entry: FilterInput, choice: Choice): SortValue {
  const values = subject.kind === "field" ? valuesIn(subject.field, entry, choice).flat() : [];
  const points = values.map(pointIn).filter((point) => point !== undefined);
  return points.length === 0 ? null : Math.min(...points.map((point) => distance(from, point)));
}

function judgeProperty(
  name: Property,
  type: FieldType,
  condition: Condition,
  entry: FilterInput,
  comparing: Comparing,
): boolean {
  const value = entry[name];
  const { operator, values } = condition;
  const by = { type, equality: type.token, compare: type.compare };
  comparing.work(CONDITION);
  if (operator === "null") return (value === null) === values[0];
  if (operator === "ne") return value === null || !one(by, "eq", value, values, comparing);
  return value !== null && one(by, operator, value, values, comparing);
}

/**
 * Returns whether an entry meets all filters.
 * @param choice language and market of the response; without it, a value in any language and market may match
 * @param related tests a condition on referenced entries; without it, all such conditions count as not met
 * @param work counts how much is compared
 */
export function matches(
  conditions: readonly Where[],
  entry: FilterInput,
  choice: Choice | undefined,
  related: (where: Related, entry: FilterInput) => boolean = () => false,
  work?: Work,
): boolean {
  const comparing = new Comparing(work);
  const holds = (where: Where): boolean => {
    if (isRelated(where)) return related(where, entry);
    if (isLacking(where))
      return where.fields.some((field) => lacksLanguage(field, entry.values, where.lacks));
    if (isSearch(where)) return rankOf(where, entry, choice, work) > 0;
    if (!isGroup(where)) return meets(where, entry, choice, comparing);
    return where.join === "or" ? where.of.some(holds) : where.of.every(holds) === (where.join === "and");
  };
  return conditions.every(holds);
}

function meets(
  where: Condition,
  entry: FilterInput,
  choice: Choice | undefined,
  comparing: Comparing,
): boolean {
  const { subject } = where;
  return subject.kind === "field"
    ? judgeField(subject, where, entry, choice, comparing)
    : judgeProperty(subject.name, subject.type, where, entry, comparing);
}

/** Returns how well an entry matches a search, in points. Entries with more points come first. 0 means no match. */
export function rankOf(search: Search, entry: FilterInput, choice: Choice | undefined, work?: Work): number {
  return scoreOf(search, (field) => valuesIn(field, entry, choice), work);
}

export type SortValue = string | number | boolean | null;

/** Returns the value of a field or property in the response's language and market, or null. */
export function plainValue(subject: Subject, entry: FilterInput, choice: Choice): SortValue {
  const found =
    subject.kind === "property" ? entry[subject.name] : (valuesIn(subject.field, entry, choice)[0] ?? null);
  const value =
    isObject(found) && subject.kind === "field" && subject.field.polymorphic ? idIn(found) : found;
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : null;
}

function sortValue(subject: Subject, entry: FilterInput, choice: Choice): SortValue {
  const value = plainValue(subject, entry, choice);
  if (typeof value !== "string") return value;
  return sortedText(value, subject.kind === "field" ? subject.field.sortKey : undefined);
}

export function sortValues(keys: readonly SortKey[], entry: FilterInput, choice: Choice): SortValue[] {
  return keys.map((key) =>
    key.from === undefined
      ? sortValue(key.subject, entry, choice)
      : distanceFrom(key.from, key, entry, choice),
  );
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
    const result = x === null ? -1 : y === null ? 1 : compareScalars(x, y);
    if (result !== 0) return key.descending ? -result : result;
  }
  const ids = a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
  return order[0]?.descending === true ? -ids : ids;
}
