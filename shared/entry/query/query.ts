/** Parses query parameters of lists and single entries. Reports all errors in one response. */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import type { ReferenceTarget } from "../../definition/document/index.ts";
import { fieldsNamed } from "../../definition/walk.ts";
import { invalidParameters } from "../../kernel/errors.ts";
import { clip, escapeSegment, Faults, joinNames, knownParameters } from "../../kernel/faults.ts";
import { isLocale, isMarket, RICH_TEXT_FORMS } from "../model/index.ts";
import { type Aggregation, aggregateName, readAggregation } from "./aggregate.ts";
import { FILTER_LIMITS, filterPath, readFilters } from "./groups.ts";
import {
  isProperty,
  type Lacking,
  nearOf,
  PROPERTIES,
  readSort,
  type SortKey,
  type Where,
} from "./parameters.ts";
import { readSearch } from "./search.ts";

/** Default and maximum page size of lists. */
export const PAGE_SIZE = { default: 50, max: 200 } as const;
/** Maximum errors in a response, so that a short URL cannot cause a long response. */
const MAX_FAULTS = 50;

export interface ListQuery {
  limit: number;
  cursor: string | undefined;
  /** A list contains an entry only if all of these conditions hold. */
  conditions: readonly Where[];
  /** Conditions that all entries of the list meet, to choose an index with. If missing, `conditions` are used. */
  planned?: readonly Where[];
  /** Whether `planned` is the same for all pages of the list. */
  isPlanFixed?: boolean;
  /** Fields to sort by. If empty, the list is in order of creation. */
  sort: SortKey[];
  fields: ReadonlySet<string> | undefined;
  expand: CompiledField[];
  count: boolean;
  /** Whether to describe how the list was read. */
  explain: boolean;
  aggregation: Aggregation | undefined;
  /** Other query parameters that the route allows, as unparsed text. */
  extra: Record<string, string>;
}

export const LIST_PARAMETERS = [
  "limit",
  "cursor",
  "sort",
  "fields",
  "expand",
  "count",
  "explain",
  "group",
  "search",
  "missing",
] as const;
const SINGLE_PARAMETERS = ["fields", "expand"] as const;

const EXTRA_CHECKS: Record<string, { test: (text: string) => boolean; message: string }> = {
  locale: { test: isLocale, message: "must be a language tag such as en or de-CH, or *" },
  market: { test: isMarket, message: "must be the name of a market" },
  live: { test: (text) => text === "sse", message: "must be sse" },
  fallback: { test: (text) => text === "none", message: "must be none" },
  richText: {
    test: (text) => RICH_TEXT_FORMS.some((form) => form === text),
    message: `must be one of: ${joinNames(RICH_TEXT_FORMS)}`,
  },
};

type TargetOf = (target: ReferenceTarget) => CompiledSchema | undefined;

/** Collects the errors of all parameters. {@link Reader.finish} throws them together. */
class Reader {
  #faults: Faults | undefined;
  readonly schema: CompiledSchema | undefined;
  readonly compared: CompiledSchema | undefined;
  readonly targetOf: TargetOf;

  constructor(schema: CompiledSchema | undefined, compared = schema, targetOf: TargetOf = () => undefined) {
    this.schema = schema;
    this.compared = compared;
    this.targetOf = targetOf;
  }

  fault(parameter: string, code: string, message: string): void {
    this.#faults ??= new Faults(MAX_FAULTS);
    this.#faults.add(`/${escapeSegment(parameter)}`, code, message);
  }

  fields(text: string): ReadonlySet<string> | undefined {
    if (this.schema === undefined) {
      this.fault("fields", "needs_schema", "must only be given in lists of one schema");
      return undefined;
    }
    const known = [...this.schema.fields.keys()];
    const names = this.parts("fields", text, known.length + PROPERTIES.length);
    const unknown = names.find((name) => !this.schema?.fields.has(name) && !isProperty(name));
    if (unknown !== undefined) {
      const message = `must not name the unknown field "${clip(unknown)}". Use ${joinNames(known)}.`;
      this.fault("fields", "unknown_field", message);
    }
    return new Set(names);
  }

  expand(text: string): CompiledField[] {
    const chosen = new Set<CompiledField>();
    const expandable = [...(this.schema?.references ?? []), ...(this.schema?.files ?? [])];
    const known = [...new Set(expandable.map((f) => f.name))];
    for (const name of this.parts("expand", text, Math.max(1, known.length))) {
      const [field] = this.schema === undefined ? [] : fieldsNamed(this.schema, name);
      // The name of a rich text also stands for the references in its links.
      const named = expandable.filter((one) => one.name === name);
      for (const one of named) chosen.add(one);
      if (named.length > 0) continue;
      this.fault(
        "expand",
        field === undefined ? "unknown_field" : "not_a_reference",
        known.length === 0
          ? "is not supported here, because the schema has no fields of the types reference and file. Remove the parameter."
          : `must name fields of the types reference or file ("${clip(name)}" is not one). Use ${joinNames(known)}.`,
      );
    }
    return [...chosen];
  }

  parts(parameter: string, text: string, most: number): string[] {
    const parts = text.split(",");
    if (parts.length <= most) return parts;
    this.fault(parameter, "too_many", `must name at most ${most}`);
    return [];
  }

  number(parameter: string, text: string, most: number): number {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (value >= 1 && value <= most) return value;
    this.fault(parameter, "invalid_value", `must be a whole number from 1 to ${most}`);
    return 1;
  }

  flag(parameter: string, text: string): boolean {
    if (text !== "true" && text !== "false") this.fault(parameter, "invalid_value", "must be true or false");
    return text === "true";
  }

  finish(): void {
    if (this.#faults !== undefined) throw invalidParameters(this.#faults.list());
  }
}

/** Parses `missing`, the language that entries must lack. */
function readMissing(reader: Reader, language: string): Lacking[] {
  const { compared } = reader;
  const fields = [...(compared?.translatable ?? [])].filter(({ sensitive }) => !sensitive);
  if (compared === undefined)
    reader.fault("missing", "needs_schema", "must only be given in lists of one schema");
  else if (fields.length === 0)
    reader.fault("missing", "not_applicable", "must not be given, because no field is translatable");
  else if (!compared.languages.includes(language))
    reader.fault(
      "missing",
      "invalid_value",
      `must be a language of the orb: ${joinNames(compared.languages)}`,
    );
  else return [{ lacks: language, fields }];
  return [];
}

/** Groups query parameters by name. Only filters may appear more than once. */
function grouped(reader: Reader, parameters: Iterable<[string, string]>, known: readonly string[]) {
  const values = new Map<string, string>();
  const filters = new Map<string, { path: string[]; texts: string[] }>();
  const aggregates = new Map<string, string>();
  const isList = known.includes("limit");
  for (const [name, value] of parameters) {
    const path = isList ? filterPath(name) : undefined;
    const aggregate = isList ? aggregateName(name) : undefined;
    const filter = filters.get(name);
    if (aggregate !== undefined) {
      if (aggregates.has(aggregate)) reader.fault(name, "repeated", "must be given only once");
      aggregates.set(aggregate, value);
    } else if (filter !== undefined) filter.texts.push(value);
    else if (path !== undefined) filters.set(name, { path, texts: [value] });
    else if (!known.includes(name)) {
      const filterable = isList ? ["filter[field]", "filter[field][operator]"] : [];
      const computed = known.includes("group") ? ["aggregate[name]"] : [];
      const all = [...known, ...computed, ...filterable];
      reader.fault(name.slice(0, 100), "unknown_parameter", knownParameters(all));
    } else if (values.has(name)) reader.fault(name, "repeated", "must be given only once");
    else values.set(name, value);
  }
  return { values, filters, aggregates };
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

/** Returns the order of a list without `sort`: by distance if a filter names a point, else by creation. */
function byDistance(conditions: readonly Where[]): SortKey[] {
  const [near] = conditions.flatMap((condition) => nearOf(condition) ?? []);
  if (near === undefined) return [];
  return [{ subject: near.subject, descending: false, from: { lat: near.lat, lon: near.lon } }];
}

/**
 * Parses the query of a list. Without a schema, only properties that every entry has, such as `id`, can be filtered or
 * sorted.
 * @param schema the schema with the fields that the response may show
 * @param compared the schema with the fields that filters and sort orders may use
 * @param targetOf returns the schema that a reference field points to, with the fields that filters may use; without
 * it, filters cannot use fields of referenced entries
 * @throws AppError malformed `invalid_parameter` with all errors
 */
export function parseListQuery(
  parameters: Iterable<[string, string]>,
  schema: CompiledSchema | undefined,
  extra: readonly string[],
  compared: CompiledSchema | undefined = schema,
  targetOf?: TargetOf,
): ListQuery {
  const reader = new Reader(schema, compared, targetOf);
  const { values, filters, aggregates } = grouped(reader, parameters, [...LIST_PARAMETERS, ...extra]);
  const { conditions: most } = FILTER_LIMITS;
  if (filters.size > most)
    reader.fault("filter", "too_many", `must not be given more than ${most} times in one query`);
  const conditions = readFilters(reader, [...filters].slice(0, most));
  const { limit, cursor, sort, fields, expand, count, explain, search, missing } = Object.fromEntries(values);
  const query: ListQuery = {
    limit: limit === undefined ? PAGE_SIZE.default : reader.number("limit", limit, PAGE_SIZE.max),
    cursor,
    conditions: [
      ...conditions,
      ...(search === undefined ? [] : readSearch(reader, search)),
      ...(missing === undefined ? [] : readMissing(reader, missing)),
    ],
    sort: sort === undefined ? byDistance(conditions) : readSort(reader, sort),
    fields: fields === undefined ? undefined : reader.fields(fields),
    expand: expand === undefined ? [] : reader.expand(expand),
    count: count === undefined ? false : reader.flag("count", count),
    explain: explain === undefined ? false : reader.flag("explain", explain),
    aggregation: readAggregation(reader, aggregates, values),
    extra: readExtra(reader, values, extra),
  };
  reader.finish();
  return query;
}

export interface OneQuery {
  fields: ReadonlySet<string> | undefined;
  expand: CompiledField[];
  extra: Record<string, string>;
}

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

const EVERYWHERE = "must be * or left out, because the request concerns all languages and markets";

/**
 * Parses query parameters that do not depend on a schema.
 * @param known the parameters of the route, each with its allowed values; undefined allows any text
 */
export function parseExtras(
  parameters: Iterable<[string, string]>,
  known: ReadonlyMap<string, readonly string[] | undefined> = new Map(),
): Record<string, string> {
  const reader = new Reader(undefined);
  const names = [...known.keys()];
  const { values } = grouped(reader, parameters, names);
  const out = readExtra(reader, values, names);
  for (const [name, text] of Object.entries(out)) {
    const allowed = known.get(name);
    if (allowed?.includes(text) !== false) continue;
    const isLanguage = name === "locale";
    reader.fault(name, "invalid_value", isLanguage ? EVERYWHERE : `must be ${allowed.join(" or ")}`);
  }
  reader.finish();
  return out;
}

/** Returns the direction if a list is sorted only by creation. Returns undefined for any other sort order. */
export function creationOrder(query: Pick<ListQuery, "sort">): "asc" | "desc" | undefined {
  const [key, more] = query.sort;
  if (key === undefined) return "asc";
  if (more !== undefined || key.subject.name !== "createdAt" || key.subject.kind !== "property")
    return undefined;
  return key.descending ? "desc" : "asc";
}
