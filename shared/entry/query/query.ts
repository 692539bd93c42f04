/** Parses the query of lists and of single entries. Reports all faults at once. */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { knownParameters } from "../../kernel/faults.ts";
import { isLocale, isMarket } from "../model/localize.ts";
import { type Condition, PROPERTY_TYPES, Reader, type SortKey } from "./parameters.ts";

/** Default and maximum page size of lists. */
export const PAGE_SIZE = { default: 50, max: 200 } as const;
const MAX_CONDITIONS = 20;

/** A parsed list query. */
export interface ListQuery {
  limit: number;
  cursor: string | undefined;
  conditions: Condition[];
  /** Empty means creation order, oldest first. */
  sort: SortKey[];
  fields: ReadonlySet<string> | undefined;
  expand: CompiledField[];
  count: boolean;
  /** Additional parameters of the route, as text. */
  extra: Record<string, string>;
}

const FILTER = /^filter\[([^[\]]{1,200})\](?:\[([^[\]]{1,200})\])?$/;
/** Parameters of every list besides filters. */
export const LIST_PARAMETERS = ["limit", "cursor", "sort", "fields", "expand", "count"] as const;
const SINGLE_PARAMETERS = ["fields", "expand"] as const;

/** Validation of parameters that only some routes have. */
const EXTRA_CHECKS: Record<string, { test: (text: string) => boolean; message: string }> = {
  locale: { test: isLocale, message: "must be a language tag such as en or de-CH, or *" },
  market: { test: isMarket, message: "must be the name of a market" },
};

/** Groups parameters by name. Only filters may be repeated. */
function grouped(reader: Reader, parameters: Iterable<[string, string]>, known: readonly string[]) {
  const values = new Map<string, string>();
  const filters = new Map<string, { match: RegExpExecArray; texts: string[] }>();
  for (const [name, value] of parameters) {
    const match = known.includes("limit") ? FILTER.exec(name) : null;
    const filter = filters.get(name);
    if (filter !== undefined) filter.texts.push(value);
    else if (match !== null) filters.set(name, { match, texts: [value] });
    else if (!known.includes(name)) {
      const filterable = known.includes("limit") ? ["filter[field]", "filter[field][operator]"] : [];
      reader.fault(name.slice(0, 100), "unknown_parameter", knownParameters([...known, ...filterable]));
    } else if (values.has(name)) reader.fault(name, "repeated", "must be given only once");
    else values.set(name, value);
  }
  return { values, filters };
}

function readExtra(
  reader: Reader,
  values: Map<string, string>,
  extra: readonly string[],
): Record<string, string> {
  const out: Record<string, string> = {};
  for (const name of extra) {
    const text = values.get(name);
    if (text === undefined) continue;
    const check = EXTRA_CHECKS[name];
    if (check !== undefined && !check.test(text)) reader.fault(name, "invalid_value", check.message);
    out[name] = text;
  }
  return out;
}

/**
 * Parses the query of a list.
 * @param schema of the entries. Without it, only the properties of every entry can be used.
 * @param extra names of additional parameters of the route
 * @throws AppError malformed `invalid_parameter` with all faults
 */
export function parseListQuery(
  parameters: Iterable<[string, string]>,
  schema: CompiledSchema | undefined,
  extra: readonly string[],
): ListQuery {
  const reader = new Reader(schema);
  const { values, filters } = grouped(reader, parameters, [...LIST_PARAMETERS, ...extra]);
  const conditions: Condition[] = [];
  if (filters.size > MAX_CONDITIONS)
    reader.fault("filter", "too_many", `must not be given more than ${MAX_CONDITIONS} times in one query`);
  for (const [name, { match, texts }] of [...filters].slice(0, MAX_CONDITIONS)) {
    const condition = reader.condition(name, match, texts);
    if (condition !== undefined) conditions.push(condition);
  }
  const { limit, cursor, sort, fields, expand, count } = Object.fromEntries(values);
  const query: ListQuery = {
    limit: limit === undefined ? PAGE_SIZE.default : reader.number("limit", limit, PAGE_SIZE.max),
    cursor,
    conditions,
    sort: sort === undefined ? [] : reader.sort(sort),
    fields: fields === undefined ? undefined : reader.fields(fields),
    expand: expand === undefined ? [] : reader.expand(expand),
    count: count === undefined ? false : reader.flag("count", count),
    extra: readExtra(reader, values, extra),
  };
  reader.finish();
  return query;
}

/** The parsed query of a single entry. */
export interface OneQuery {
  fields: ReadonlySet<string> | undefined;
  expand: CompiledField[];
  extra: Record<string, string>;
}

/** Parses the query of a single entry. @throws AppError malformed `invalid_parameter` with all faults */
export function parseOneQuery(
  parameters: Iterable<[string, string]>,
  schema: CompiledSchema,
  extra: readonly string[],
): OneQuery {
  const reader = new Reader(schema);
  const { values } = grouped(reader, parameters, [...SINGLE_PARAMETERS, ...extra]);
  const fields = values.get("fields");
  const expand = values.get("expand");
  const query: OneQuery = {
    fields: fields === undefined ? undefined : reader.fields(fields),
    expand: expand === undefined ? [] : reader.expand(expand),
    extra: readExtra(reader, values, extra),
  };
  reader.finish();
  return query;
}

/**
 * Parses parameters that need no schema, such as those of operations. @throws AppError malformed `invalid_parameter`
 */
export function parseExtras(
  parameters: Iterable<[string, string]>,
  extra: readonly string[],
  flags: readonly string[] = [],
): Record<string, string> {
  const reader = new Reader(undefined);
  const { values } = grouped(reader, parameters, [...extra, ...flags]);
  const out = readExtra(reader, values, [...extra, ...flags]);
  for (const name of flags) if (out[name] !== undefined) reader.flag(name, out[name]);
  reader.finish();
  return out;
}

/** The default sort order, for lists that must be sorted in memory. */
export const BY_CREATION: SortKey = {
  subject: { kind: "property", name: "createdAt", type: PROPERTY_TYPES.createdAt },
  descending: false,
};

/** Returns the direction of a list in creation order, or undefined for any other sort order. */
export function creationOrder(query: Pick<ListQuery, "sort">): "asc" | "desc" | undefined {
  const [key, more] = query.sort;
  if (key === undefined) return "asc";
  if (more !== undefined || key.subject.name !== "createdAt" || key.subject.kind !== "property")
    return undefined;
  return key.descending ? "desc" : "asc";
}
