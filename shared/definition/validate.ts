/**
 * Validates the values of an entry and converts them to their stored form. A translatable field is stored as a map by
 * language, a market-specific field as a map by market. If a field is both, each market's value is a map by language.
 */
import type { Fault } from "../kernel/errors.ts";
import { clip, escapeSegment, Faults, joinNames, type Report } from "../kernel/faults.ts";
import { isObject } from "../kernel/json.ts";
import type { CompiledField, CompiledSchema } from "./compile.ts";
import { MASK } from "./document/mask.ts";
import type { Json } from "./fields/index.ts";

export const MAX_ITEMS = 1_000;

export type Values = { [field: string]: Json };

export interface ValidateOptions {
  /**
   * Values of the entry's newest revision. A client sends a mask to keep a sensitive value; the stored value then
   * replaces the mask.
   */
  existing?: Readonly<Values> | undefined;
  /** JSON Pointer of the values in the request. Default: `/values`. */
  base?: string;
}

export interface Validated {
  values: Values;
  /** Paths of fields in which the request sends a mask: field, then market and language if the field has them. */
  masked: string[][];
  /** Store the values only if this list is empty. */
  faults: Fault[];
}

/** Validates the values of an entry. Never throws because of invalid input. */
export function validateValues(
  schema: CompiledSchema,
  input: unknown,
  options: ValidateOptions = {},
): Validated {
  const base = options.base ?? "/values";
  const faults = new Faults();
  const values: Values = {};
  const masked: string[][] = [];
  if (!isObject(input)) {
    faults.add(base, "type", "must be an object with one property for each field");
    return { values, masked, faults: faults.list() };
  }
  const unknown = Object.keys(input).filter((name) => !schema.fields.has(name));
  for (const name of unknown) {
    const fault = unknownField(schema, `${base}/${escapeSegment(name)}`, [...schema.fields.keys()]);
    faults.add(fault.path, fault.code, fault.message);
  }
  for (const field of schema.fields.values()) {
    const at: ValuePath = {
      schema,
      field,
      report: faults.at(`${base}/${field.name}`),
      masked,
      existing: options.existing === undefined ? undefined : get(options.existing, field.name),
      trail: [field.name],
    };
    const given = get(input, field.name);
    const raw = given === undefined ? defaultOf(schema, field) : given;
    const value = raw === null || raw === undefined ? undefined : marketsOf(at, raw);
    if (value !== undefined) values[field.name] = value;
    // The request has emptied this field. Store null, because the next validation would set a missing field to its
    // default.
    else if (given !== undefined && field.definition.default !== undefined) values[field.name] = null;
    if (field.required) checkRequired(at, value, raw);
  }
  return { values, masked, faults: faults.list() };
}

/** @param known names of the fields that the error message lists */
export function unknownField(schema: CompiledSchema, path: string, known: readonly string[]): Fault {
  const message = `is not a field of ${schema.module}/${schema.id}. Its fields are ${joinNames(known)}.`;
  return { path, code: "unknown_property", message };
}

interface ValuePath {
  schema: CompiledSchema;
  field: CompiledField;
  report: Report;
  masked: string[][];
  existing: unknown;
  trail: string[];
}

function below(at: ValuePath, key: string): ValuePath {
  const segment = `/${escapeSegment(key)}`;
  return {
    ...at,
    report: (code, message, sub = "") => at.report(code, message, segment + sub),
    existing: isObject(at.existing) ? get(at.existing, key) : undefined,
    trail: [...at.trail, key],
  };
}

function marketsOf(at: ValuePath, raw: unknown): Json | undefined {
  if (!at.field.marketSpecific) return languagesOf(at, raw);
  return mapOf(at, raw, at.schema.markets, "market", languagesOf);
}

function languagesOf(at: ValuePath, raw: unknown): Json | undefined {
  if (!at.field.translatable) return leaf(at, raw);
  return mapOf(at, raw, at.schema.languages, "language", leaf);
}

/** Validates a map by market or language. An empty map counts as no value. */
function mapOf(
  at: ValuePath,
  raw: unknown,
  keys: readonly string[],
  kind: "market" | "language",
  inner: (at: ValuePath, raw: unknown) => Json | undefined,
): Json | undefined {
  if (!isObject(raw)) {
    at.report("type", `must be an object with one property for each ${kind}, such as {"${keys[0]}": …}`);
    return undefined;
  }
  const map: { [key: string]: Json } = {};
  for (const [key, item] of Object.entries(raw)) {
    const place = below(at, key);
    if (!keys.includes(key)) {
      place.report(`unknown_${kind}`, `is not a ${kind} of this orb. Use ${joinNames(keys)}.`);
      continue;
    }
    if (item === null || item === undefined) continue;
    const value = inner(place, item);
    if (value !== undefined) map[key] = value;
  }
  return Object.keys(map).length === 0 ? undefined : map;
}

function leaf(at: ValuePath, raw: unknown): Json | undefined {
  const { field, report } = at;
  if (field.sensitive && raw === MASK) {
    if (at.existing === undefined || at.existing === null) {
      report("mask", "must not be the mask, because no value is stored yet. Send the value itself.");
      return undefined;
    }
    at.masked.push(at.trail);
    return MASK;
  }
  if (!field.list) return single(field, raw, report);
  if (!Array.isArray(raw)) {
    report("type", "must be a list");
    return undefined;
  }
  if (raw.length > MAX_ITEMS) {
    report("too_many", `must have at most ${MAX_ITEMS} items`);
    return undefined;
  }
  const list: Json[] = [];
  for (const [index, item] of raw.entries()) {
    const value = single(field, item, (code, message, sub = "") => report(code, message, `/${index}${sub}`));
    if (value !== undefined) list.push(value);
  }
  return list;
}

function single(field: CompiledField, raw: unknown, report: Report): Json | undefined {
  const value = field.type.parse(raw, report);
  if (value === undefined) return undefined;
  field.rules(value, report);
  if (field.allowed !== undefined && !field.allowed.has(field.type.token(value) ?? "")) {
    report(
      "enum",
      `must be one of: ${joinNames((field.definition.enum ?? []).map((each) => clip(String(each))))}`,
    );
  }
  return value;
}

/**
 * Requires a value for the default market and language. Readers get this value if there is none for their own market
 * and language.
 */
function checkRequired(at: ValuePath, value: Json | undefined, raw: unknown): void {
  const { field, schema } = at;
  const path = [
    ...(field.marketSpecific && schema.markets[0] !== undefined ? [schema.markets[0]] : []),
    ...(field.translatable && schema.languages[0] !== undefined ? [schema.languages[0]] : []),
  ];
  let place = at;
  let current: unknown = value;
  let given: unknown = raw;
  for (const key of path) {
    place = below(place, key);
    current = isObject(current) ? get(current, key) : undefined;
    given = isObject(given) ? get(given, key) : given === undefined || given === null ? undefined : given;
  }
  const empty = current === "" || (Array.isArray(current) && current.length === 0);
  if (empty || (current === undefined && (given === undefined || given === null))) {
    place.report("required", "is required");
  }
}

function defaultOf(schema: CompiledSchema, field: CompiledField): unknown {
  const value = field.definition.default;
  if (value === undefined) return undefined;
  const translated = field.translatable ? { [schema.languages[0] ?? ""]: value } : value;
  return field.marketSpecific ? { [schema.markets[0] ?? ""]: translated } : translated;
}

function get(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}
