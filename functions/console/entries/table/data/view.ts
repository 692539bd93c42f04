/**
 * The filters, sort order and columns of an entry table. They are stored in the query of the page's URL:
 * `?status=SAVED&filter[title][contains]=lamp`.
 */

import { traitsOf } from "../../../../../shared/definition/types/index.ts";
import { isObject } from "../../../../../shared/kernel/json.ts";
import type { EntryItem } from "../../../api/entries.ts";
import type { Status } from "../../../api/orbs.ts";
import { kindOf } from "../../../fields/index.ts";
import type { FilterOp } from "../../../fields/parts/kind.ts";
import {
  type FieldModel,
  isListField,
  isObjects,
  labelOf,
  type OrbModel,
  type SchemaModel,
  titleField,
} from "../../../model/orb.ts";
import { t, withCommas } from "../../../texts/t.ts";

export interface Filter {
  name: string;
  op: FilterOp;
  /** The value, as text for a query parameter. */
  value: string;
}

export interface View {
  filters: readonly Filter[];
  /** Whether an entry matches if it meets at least one of the filters, instead of all. */
  any: boolean;
  /** Words that an entry must contain. */
  search: string | undefined;
  /** Language that entries must lack: they have a value in another one. */
  missing: string | undefined;
  status: Status | undefined;
  /** Whether only entries to which no other one refers are in the list. Only for platform admins. */
  unused: boolean;
  /** Name of the column to sort by, with a leading `-` for descending order. */
  sort: string;
  /** Language and market of the shown values; undefined for the default. */
  locale: string | undefined;
  market: string | undefined;
  /** Name of another layout than the table, as `layoutsOf` has it. */
  layout: string | undefined;
  /** Names of the columns; undefined for the columns that the browser has stored, or the default columns. */
  columns: readonly string[] | undefined;
}

/** The default sort order. Sorting by creation time is fast for any number of entries. */
export const NEWEST = "-createdAt";
export const STATUSES: readonly Status[] = ["SAVED", "PUBLISHED", "UNPUBLISHED", "ARCHIVED"];
const FILTER = /^filter\[([^[\]]+)\](?:\[([^[\]]+)\])?$/;

export function readView(query: URLSearchParams): View {
  const filters: Filter[] = [];
  for (const [key, value] of query) {
    const [, name, op = "eq"] = FILTER.exec(key) ?? [];
    if (name !== undefined) filters.push({ name, op: op as FilterOp, value });
  }
  return {
    filters,
    any: query.get("match") === "any",
    search: query.get("search") ?? undefined,
    missing: query.get("missing") ?? undefined,
    status: STATUSES.find((status) => status === query.get("status")),
    unused: query.get("used") === "false",
    sort: query.get("sort") ?? NEWEST,
    locale: query.get("locale") ?? undefined,
    market: query.get("market") ?? undefined,
    layout: query.get("layout") ?? undefined,
    columns: query.get("columns")?.split(",").filter(Boolean),
  };
}

function addOrder(query: URLSearchParams, { search, missing, status, unused, sort }: View): void {
  if (search !== undefined) query.set("search", search);
  if (missing !== undefined) query.set("missing", missing);
  if (status !== undefined) query.set("status", status);
  if (unused) query.set("used", "false");
  if (sort !== NEWEST) query.set("sort", sort);
}

/**
 * Returns whether the list begins with the newest entries. A search without a sort order begins with the best matches
 * instead.
 */
export const isNewestFirst = ({ sort, search }: View): boolean => sort === NEWEST && search === undefined;

/** Returns whether an entry has to meet only one of several filters. */
export const isAny = ({ any, filters }: View): boolean => any && filters.length > 1;

/** Returns the filters in the form that the client library expects. */
export function filterOf(view: View): Readonly<Record<string, unknown>> {
  if (isAny(view)) return { or: view.filters.map(({ name, op, value }) => ({ [name]: { [op]: value } })) };
  const filter: Record<string, Record<string, string>> = {};
  for (const { name, op, value } of view.filters) filter[name] = { ...filter[name], [op]: value };
  return filter;
}

/** Returns the query part of the page's URL. Does not escape brackets and commas, so that it stays readable. */
export function writeView(view: View): string {
  const query = new URLSearchParams();
  for (const { name, op, value } of view.filters) query.append(`filter[${name}][${op}]`, value);
  if (isAny(view)) query.set("match", "any");
  addOrder(query, view);
  for (const name of ["locale", "market"] as const) {
    const value = view[name];
    if (value !== undefined) query.set(name, value);
  }
  if (view.layout !== undefined) query.set("layout", view.layout);
  if (view.columns !== undefined) query.set("columns", view.columns.join(","));
  const text = query.toString();
  return text.replaceAll("%5B", "[").replaceAll("%5D", "]").replaceAll("%2C", ",").replaceAll("%3A", ":");
}

/** Returns the API parameters that select and sort the entries. */
export function conditionsOf(view: View): URLSearchParams {
  const query = new URLSearchParams();
  for (const [at, { name, op, value }] of view.filters.entries())
    query.append(`filter${isAny(view) ? `[or][${at}]` : ""}[${name}][${op}]`, value);
  addOrder(query, view);
  // A search without a sort order begins with the best matches.
  if (view.search === undefined) query.set("sort", view.sort);
  return query;
}

/**
 * Adds a condition on a field, which must hold together with those of the list. A request takes each condition on a field
 * only once, so if the list has the same one with another value, the condition is a group of its own.
 */
export function narrow(query: URLSearchParams, name: string, op: FilterOp, value: string): void {
  const plain = `[${name}][${op}]`;
  query.append(query.has(`filter${plain}`) ? `filter[and][0]${plain}` : `filter${plain}`, value);
}

/** Returns the view with one more filter, instead of those with its field and operator. */
export const withFilter = ({ filters }: View, filter: Filter): readonly Filter[] => [
  ...filters.filter(({ name, op }) => name !== filter.name || op !== filter.op),
  filter,
];

/**
 * Returns the query parameters for the runtime API, which returns values in one language and cannot filter by state.
 */
export function runtimeConditionsOf(view: View): URLSearchParams {
  const query = conditionsOf({ ...view, status: undefined, unused: false });
  for (const name of ["locale", "market"] as const) {
    const value = view[name];
    if (value !== undefined) query.set(name, value);
  }
  return query;
}

/**
 * Describes a property of every entry, such as its state, as if it were a field. It can then be a column and have
 * filters.
 */
const property = (name: keyof EntryItem & string, type: FieldModel["type"], label: string): FieldModel => ({
  name,
  type,
  label,
});
export const PROPERTIES: readonly FieldModel[] = [
  property("updatedAt", "datetime", t("table.updatedAt")),
  property("updatedBy", "string", t("table.updatedBy")),
  property("createdAt", "datetime", t("table.createdAt")),
  property("createdBy", "string", t("table.createdBy")),
  property("validFrom", "datetime", t("table.validFrom")),
  property("validTo", "datetime", t("table.validTo")),
  property("id", "string", t("table.id")),
];
/** Returns whether a property contains the id of an account. */
export const isAccount = ({ name }: Pick<FieldModel, "name">): boolean =>
  name === "updatedBy" || name === "createdBy";
const isProperty = ({ name }: FieldModel) => PROPERTIES.some((one) => one.name === name);

/** Returns the fields and properties that filters can use. */
export const filterable = ({ fields }: SchemaModel): readonly FieldModel[] =>
  [...fields, ...PROPERTIES].filter((field) => opsOf(field).length > 0);

/** Returns the filter operators that the platform accepts for a field. */
export function opsOf(field: FieldModel): readonly FilterOp[] {
  if (field.sensitive === true) return [];
  if (field.name === "id") return ["eq", "in"];
  if (isAccount(field)) return ["eq", "ne"];
  const { filterOps } = kindOf(field);
  if (isListField(field)) return filterOps.includes("eq") ? ["contains", "null"] : ["null"];
  if (field.name === "createdAt" || field.name === "updatedAt")
    return filterOps.filter((op) => op !== "null" && op !== "eq");
  // Users pick an enum value from a list, so text search makes no sense.
  return field.enum === undefined
    ? filterOps
    : filterOps.filter((op) => ["eq", "ne", "in", "null"].includes(op));
}

/** Returns whether lists can be sorted by a field. */
export const isSortable = ({ name, type, list, sensitive }: FieldModel): boolean =>
  name !== "status" &&
  !isAccount({ name }) &&
  list !== true &&
  sensitive !== true &&
  type !== "text" &&
  type !== "json" &&
  !isObjects({ type });

export const fieldOf = (schema: SchemaModel, name: string): FieldModel | undefined =>
  [...schema.fields, ...PROPERTIES].find((field) => field.name === name);

/** Default number of columns: fewer on a small screen. */
const SHOWN = innerWidth < 1500 ? 3 : 5;

const isAmount = ({ type }: FieldModel) => traitsOf(type).kind === "number";

/** Returns whether values are dates or times, which are before or after others. */
export const isTemporal = ({ type }: FieldModel): boolean => traitsOf(type).kind === "time";

/** Returns the default columns of records, which have no state: amounts first, then who wrote them and when. */
function recordColumns(fields: readonly FieldModel[]): string[] {
  const first = [...fields.filter(isAmount), ...fields.filter((field) => !isAmount(field))];
  return [...first.slice(0, SHOWN).map(({ name }) => name), "createdAt", "createdBy"];
}

/**
 * Returns the default columns: the field that names an entry first, then short fields.
 * @param isRecord whether the entries are records or settings, which cannot be published
 */
export function defaultColumns(schema: SchemaModel, isRecord = false): string[] {
  const title = titleField(schema);
  const short = schema.fields.filter(
    (field) =>
      field !== title &&
      field.type !== "text" &&
      field.type !== "json" &&
      !isObjects(field) &&
      field.sensitive !== true,
  );
  // Use fields with long texts or masked values only if there are no others.
  const named = [...(title === undefined ? [] : [title]), ...short];
  if (isRecord) return recordColumns(named.length > 0 ? named : schema.fields);
  const [first, ...others] = (named.length > 0 ? named : schema.fields)
    .slice(0, SHOWN)
    .map(({ name }) => name);
  const id = innerWidth > 800 && (others.length < 2 || SHOWN > 3) ? ["id"] : [];
  return [...(first === undefined ? [] : [first]), "status", ...others, "updatedAt", ...id];
}

/** Returns a filter in words: the label of its field, its operator and its value. */
export function wordsOfFilter(
  schema: SchemaModel,
  { name, op, value }: Filter,
): { label: string; op: string; value: string } {
  const field = fieldOf(schema, name);
  const label = field === undefined ? name : labelOf(field);
  if (op === "null")
    return { label, op: t(value === "true" ? "table.opEmpty" : "table.opFilled"), value: "" };
  const temporal = field !== undefined && isTemporal(field);
  return { label, op: opLabel(op, temporal), value: op === "in" ? withCommas(splitValues(value)) : value };
}

/** @param temporal whether the field is a date or a time */
export function opLabel(op: FilterOp, temporal: boolean): string {
  const words = {
    eq: "table.opEq",
    ne: "table.opNe",
    in: "table.opIn",
    gt: temporal ? "table.opAfter" : "table.opGt",
    gte: temporal ? "table.opFrom" : "table.opGte",
    lt: temporal ? "table.opBefore" : "table.opLt",
    lte: temporal ? "table.opUntil" : "table.opLte",
    contains: "table.opContains",
    startsWith: "table.opStartsWith",
    near: "table.opNear",
    within: "table.opWithin",
    null: "table.opEmpty",
  } as const;
  return t(words[op]);
}

/** Splits the value of the operator `in`: items separated by commas, or a JSON array if an item contains a comma. */
export function splitValues(text: string): string[] {
  if (text.startsWith("["))
    try {
      const list: unknown = JSON.parse(text);
      if (Array.isArray(list)) return list.map(String);
    } catch {
      // The text is not JSON, so it is a plain value that begins with a bracket.
    }
  return text.split(",").filter((value) => value !== "");
}

export const joinValues = (values: readonly string[]): string =>
  values.some((value) => value.includes(",") || value.startsWith("["))
    ? JSON.stringify(values)
    : values.join(",");

/** A value in the form that the table shows. */
export interface Shown {
  value: unknown;
  /** The language of the shown value, if the chosen language has no value. */
  from?: string;
}

/** Returns the value of a field in a language and market, or else in the default language and market. */
export function shownValue(
  field: FieldModel,
  stored: unknown,
  { languages, markets }: Pick<OrbModel, "languages" | "markets">,
  { locale, market }: Pick<View, "locale" | "market">,
): Shown {
  const pick = (map: unknown, wish: string | undefined, first: string | undefined): [unknown, string?] => {
    if (!isObject(map)) return [map];
    for (const name of [wish, first, ...Object.keys(map)])
      if (name !== undefined && map[name] !== null && map[name] !== undefined) return [map[name], name];
    return [null];
  };
  let value: unknown = stored ?? null;
  if (field.marketSpecific === true) [value] = pick(value, market, markets[0]);
  if (field.translatable !== true) return { value };
  const [text, from] = pick(value, locale, languages[0]);
  const missing = from !== undefined && from !== (locale ?? languages[0]);
  return { value: text ?? null, ...(missing ? { from } : {}) };
}

/** Returns an entry's value for a column. A column shows a field, or a property such as the state. */
export const storedValue = (item: EntryItem, field: FieldModel): unknown =>
  isProperty(field) ? item[field.name as keyof EntryItem] : item.values[field.name];
