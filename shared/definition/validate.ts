/**
 * Validates the values of an entry and converts them to their stored form. A translatable field is stored as a map by
 * language, a market-specific field as a map by market. If a field is both, each market's value is a map by language.
 */
import type { Fault } from "../kernel/errors.ts";
import { clip, escapeSegment, Faults, joinNames, type Report } from "../kernel/faults.ts";
import { newKey } from "../kernel/ids.ts";
import { equal, isObject } from "../kernel/json.ts";
import type { CompiledField, CompiledSchema } from "./compile.ts";
import { MASK } from "./document/index.ts";
import type { Json } from "./fields/index.ts";
import { MAX_ITEMS } from "./fields/parts/index.ts";
import { inLanguage } from "./languages.ts";
import { itemWith, KEY, keyOf, membersOf, shapeOf, TYPE, type Values } from "./walk.ts";

/** Maximum values inside all objects of an entry. Defaults can multiply the values of a small request. */
export const MAX_NESTED = 20_000;
/** Maximum characters that defaults of fields inside objects may add to an entry, as JSON. */
const MAX_DEFAULTS = 512 * 1024;
/** Key of an item in a list of objects. */
export const ITEM_KEY = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

export { MAX_ITEMS, type Values };

export interface ValidateOptions {
  /**
   * Values of the entry's newest revision. A client sends a mask to keep a sensitive value; the stored value then
   * replaces the mask.
   */
  existing?: Readonly<Values> | undefined;
  /** JSON Pointer of the values in the request. Default: `/values`. */
  base?: string;
  /** Languages of the texts for people, preferred first. The orb's languages follow. */
  languages?: (() => readonly string[]) | undefined;
  /** Whether the values will be published. Some fields then need a value in every language. */
  publish?: boolean;
  /** Returns a random key for an item of a list that has none. */
  newKey?: () => string;
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
  for (const name of Object.keys(input)) {
    if (schema.fields.has(name)) continue;
    const fault = unknownField(schema, `${base}/${escapeSegment(name)}`, [...schema.fields.keys()]);
    faults.add(fault.path, fault.code, fault.message);
  }
  const reading: Reading = { schema, faults, base, masked, options, nested: 0, defaults: 0 };
  const { existing = {} } = options;
  for (const field of schema.fields.values()) {
    const { name } = field;
    member(new ValuePath(reading, field, name, get(existing, name)), get(input, name), values);
  }
  return { values, masked, faults: faults.list() };
}

/**
 * Returns what is wrong with a value of a field by the rules of its definition, in all its languages and markets.
 * Undefined if nothing is. Requires a value only of fields that are always shown. The fault's path is the one inside the
 * value.
 */
export function valueFault(schema: CompiledSchema, field: CompiledField, value: unknown): Fault | undefined {
  const { faults } = alone(schema, field, value);
  return faults.list().find(({ code }) => code !== "required" || field.definition.showIf === undefined);
}

/**
 * Returns the form in which a value of a field is stored. If the value is undefined, returns that of the field's default.
 * Undefined if nothing would be stored, or the value is not valid.
 */
export function storedForm(schema: CompiledSchema, field: CompiledField, value: unknown): Json | undefined {
  const { faults, stored } = alone(schema, field, value);
  return faults.list().every(({ code }) => code === "required") ? stored : undefined;
}

/** Validates one value of a field, as if the entry had no other values. */
function alone(schema: CompiledSchema, field: CompiledField, value: unknown) {
  const faults = new Faults();
  const values: Values = {};
  const reading: Reading = {
    ...{ schema, faults, base: undefined },
    ...{ masked: [], options: {}, nested: 0, defaults: 0 },
  };
  member(new ValuePath(reading, field, field.name, undefined), value, values);
  return { faults, stored: values[field.key] };
}

/** Validates one member of the values, or of an object in them, and adds it to `values`. */
function member(at: ValuePath, given: unknown, values: Values): void {
  const { field, reading } = at;
  const raw = given === undefined ? defaultOf(reading.schema, field) : given;
  const value = raw === null || raw === undefined ? undefined : marketsOf(at, raw);
  if (value !== undefined) values[field.key] = value;
  // The request has emptied this field. Store null, because the next validation would set a missing field to its
  // default.
  else if (given !== undefined && field.definition.default !== undefined) values[field.key] = null;
  if (field.required) checkRequired(at, value, raw);
  if (field.definition.required === "allLanguages" && reading.options.publish === true)
    checkLanguages(at, value);
}

/** @param known names of the fields that the error message lists */
export function unknownField(schema: CompiledSchema, path: string, known: readonly string[]): Fault {
  const message = `is not a field of ${schema.module}/${schema.id}. Its fields are ${joinNames(known)}.`;
  return { path, code: "unknown_property", message };
}

/** The validation of one entry. */
interface Reading {
  schema: CompiledSchema;
  faults: Faults;
  /** JSON Pointer of the values. Undefined if paths begin at the value of the field. */
  base: string | undefined;
  masked: string[][];
  options: ValidateOptions;
  /** Number of values inside objects. */
  nested: number;
  /** Characters of the defaults inside objects. */
  defaults: number;
}

/** A value that is validated, and where it is. Makes the path only for a fault or a mask, because most values have none. */
class ValuePath {
  readonly reading: Reading;
  readonly field: CompiledField;
  readonly key: string;
  readonly existing: unknown;
  readonly above: ValuePath | undefined;

  /** @param existing the stored value */
  constructor(
    reading: Reading,
    field: CompiledField,
    key: string,
    existing: unknown,
    above: ValuePath | undefined = undefined,
  ) {
    this.reading = reading;
    this.field = field;
    this.key = key;
    this.existing = existing;
    this.above = above;
  }

  get report(): Report {
    return (code, message, sub = "") => this.reading.faults.add(this.pointer + sub, code, message);
  }

  get pointer(): string {
    const { base } = this.reading;
    const above = this.above?.pointer ?? base;
    return this.above === undefined && base === undefined ? "" : `${above}/${escapeSegment(this.key)}`;
  }

  get trail(): string[] {
    return [...(this.above?.trail ?? []), this.key];
  }

  /** Returns the path of the value in a market or language. */
  below(key: string): ValuePath {
    const existing = isObject(this.existing) ? get(this.existing, key) : undefined;
    return new ValuePath(this.reading, this.field, key, existing, this);
  }
}

function marketsOf(at: ValuePath, raw: unknown): Json | undefined {
  if (!at.field.marketSpecific) return languagesOf(at, raw);
  return mapOf(at, raw, at.reading.schema.markets, "market", languagesOf);
}

function languagesOf(at: ValuePath, raw: unknown): Json | undefined {
  if (!at.field.translatable) return leaf(at, raw);
  return mapOf(at, raw, at.reading.schema.languages, "language", leaf);
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
  let isEmpty = true;
  for (const key of Object.keys(raw)) {
    if (!keys.includes(key)) {
      at.below(key).report(`unknown_${kind}`, `is not a ${kind} of this orb. Use ${joinNames(keys)}.`);
      continue;
    }
    const item = raw[key];
    if (item === null || item === undefined) continue;
    const value = inner(at.below(key), item);
    if (value === undefined) continue;
    map[key] = value;
    isEmpty = false;
  }
  return isEmpty ? undefined : map;
}

function leaf(at: ValuePath, raw: unknown): Json | undefined {
  const { field, report } = at;
  if (field.sensitive && raw === MASK) {
    if (at.existing === undefined || at.existing === null) {
      report("mask", "must not be the mask, because no value is stored yet. Send the value itself.");
      return undefined;
    }
    at.reading.masked.push(at.trail);
    return MASK;
  }
  if (!field.list) return field.shapes === undefined ? single(at, raw, report) : objectOf(at, raw);
  if (!Array.isArray(raw)) {
    const isText = field.definition.type === "richText";
    report(
      "type",
      isText ? "must be a list of blocks, or an object with only markdown or html" : "must be a list",
    );
    return undefined;
  }
  if (raw.length > MAX_ITEMS) {
    report("too_many", `must have at most ${MAX_ITEMS} items`);
    return undefined;
  }
  if (field.shapes !== undefined) return itemsOf(at, raw);
  const list: Json[] = [];
  for (const [index, item] of raw.entries()) {
    const value = single(at, item, (code, message, sub = "") => report(code, message, `/${index}${sub}`));
    if (value !== undefined) list.push(value);
  }
  return list;
}

/** Validates an object and its members. An object without any value counts as no value. */
function objectOf(at: ValuePath, raw: unknown): Json | undefined {
  if (!isObject(raw)) {
    at.report("type", "must be an object with one property for each field");
    return undefined;
  }
  const object = told(at, raw);
  const values = object === undefined ? undefined : membersIn(at, object, []);
  return values === undefined || Object.keys(values).length === 0 ? undefined : values;
}

/**
 * Returns an object that tells its shape as the definition writes it. If there is only one shape, the object need not
 * tell it. Reports a shape that the field does not allow.
 */
function told({ field, report }: ValuePath, raw: Readonly<Record<string, unknown>>) {
  const { kind, shapes } = field;
  if (kind === undefined || shapes === undefined) return raw;
  const allowed = [...shapes.values()].flatMap((fields) => fields.get(kind)?.definition.enum ?? []);
  const given = get(raw, kind) ?? (allowed.length === 1 ? allowed[0] : undefined);
  const named = shapes.get(shapeOf(field, { [kind]: given }))?.get(kind)?.definition.enum?.[0];
  if (named !== undefined) return { ...raw, [kind]: named };
  report(
    given === undefined ? "required" : "enum",
    `must be one of: ${joinNames(allowed.map(String))}`,
    `/${kind}`,
  );
  return undefined;
}

/** @param own names of members that are no fields */
function membersIn(
  at: ValuePath,
  raw: Readonly<Record<string, unknown>>,
  own: readonly string[],
): Values | undefined {
  const { reading, existing } = at;
  const fields = membersOf(at.field, raw);
  if (fields === undefined) return undefined;
  for (const name of Object.keys(raw)) {
    if (fields.has(name) || own.includes(name)) continue;
    const message = `is not a field of ${at.field.name}. Its fields are ${joinNames([...fields.keys()])}.`;
    at.report("unknown_property", message, `/${escapeSegment(name)}`);
  }
  const values: Values = {};
  for (const field of fields.values()) {
    const given = get(raw, field.key);
    if (given === undefined && field.definition.default !== undefined)
      reading.defaults += JSON.stringify(field.definition.default).length;
    else if (given !== undefined) reading.nested++;
    if (reading.nested > MAX_NESTED || reading.defaults > MAX_DEFAULTS) {
      at.report("too_big", `must contain at most ${MAX_NESTED} values, and fewer defaults`);
      return undefined;
    }
    const stored = isObject(existing) ? get(existing, field.key) : undefined;
    member(new ValuePath(reading, field, field.key, stored, at), given, values);
  }
  at.field.finish?.get(shapeOf(at.field, raw))?.(values, at.report);
  return values;
}

/** Validates the items of a list of objects, and gives a key to those that have none. */
function itemsOf(at: ValuePath, raw: readonly unknown[]): Json[] {
  const keys = new Set<string>();
  for (const item of raw) {
    const key = keyOf(item);
    if (key !== undefined) keys.add(key);
  }
  const seen = new Set<string>();
  const list: Json[] = [];
  for (const [index, item] of raw.entries()) {
    const stored = itemWith(at.existing, keyOf(item));
    const place = new ValuePath(at.reading, at.field, String(index), stored, at);
    const value = itemOf(place, item);
    if (value === undefined) continue;
    const key =
      keyOf(item) ?? keptKey(at.existing, index, value, keys) ?? (at.reading.options.newKey ?? newKey)();
    if (seen.has(key)) place.report("duplicate", "is already the key of another item", `/${KEY}`);
    seen.add(key);
    const { [TYPE]: type, ...values } = value;
    list.push({ ...(type === undefined ? {} : { [TYPE]: type }), [KEY]: key, ...values });
  }
  return list;
}

/**
 * Returns the key of the stored item in the same position, if it has the same values. A client that sends an unchanged
 * list without keys changes nothing.
 */
function keptKey(
  existing: unknown,
  index: number,
  value: Values,
  taken: ReadonlySet<string>,
): string | undefined {
  const stored: unknown = Array.isArray(existing) ? existing[index] : undefined;
  const key = keyOf(stored);
  if (key === undefined || taken.has(key) || !isObject(stored)) return undefined;
  const { [KEY]: _, ...values } = stored;
  return equal(values, value) ? key : undefined;
}

function itemOf(at: ValuePath, item: unknown): Values | undefined {
  if (!isObject(item)) {
    at.report("type", "must be an object with one property for each field");
    return undefined;
  }
  const key = get(item, KEY);
  if (key !== undefined && (typeof key !== "string" || !ITEM_KEY.test(key))) {
    const form = "must be 1 to 64 letters, digits, hyphens or underscores, and begin with a letter or digit";
    at.report(typeof key === "string" ? "format" : "type", form, `/${KEY}`);
    return undefined;
  }
  if (!at.field.blocks) return membersIn(at, item, [KEY]);
  const type = get(item, TYPE);
  if (typeof type === "string" && at.field.shapes?.has(type) === true) {
    const values = membersIn(at, item, [KEY, TYPE]);
    return values === undefined ? undefined : { [TYPE]: type, ...values };
  }
  const known = joinNames([...(at.field.shapes?.keys() ?? [])]);
  at.report(type === undefined ? "required" : "enum", `must be one of: ${known}`, `/${TYPE}`);
  return undefined;
}

function single(at: ValuePath, raw: unknown, report: Report): Json | undefined {
  const { field } = at;
  const value = field.type.parse(raw, report, field.definition);
  if (value === undefined) return undefined;
  field.rules(value, field.definition.message === undefined ? report : withOwnMessage(at, report));
  if (field.allowed === undefined) return value;
  // The value may be written in another Unicode form than in the document. Store it as the document has it.
  const allowed = field.allowed.get(field.equality(value) ?? "");
  if (allowed === undefined) {
    report(
      "enum",
      `must be one of: ${joinNames((field.definition.enum ?? []).map((each) => clip(String(each))))}`,
    );
  }
  return allowed ?? value;
}

const withOwnMessage =
  (at: ValuePath, report: Report): Report =>
  (code, message, sub) =>
    report(code, (code === "pattern" ? ownMessage(at) : undefined) ?? message, sub);

/** Returns what the document answers to a value that does not match the pattern, in the caller's language. */
function ownMessage({ field, reading }: ValuePath): string | undefined {
  const { message } = field.definition;
  if (message === undefined || typeof message === "string") return message;
  return inLanguage(message, [...(reading.options.languages?.() ?? []), ...reading.schema.languages]);
}

/**
 * Requires a value for the default market and language. Readers get this value if there is none for their own market
 * and language.
 */
function checkRequired(at: ValuePath, value: Json | undefined, raw: unknown): void {
  const { field } = at;
  const { schema } = at.reading;
  const path = [
    ...(field.marketSpecific && schema.markets[0] !== undefined ? [schema.markets[0]] : []),
    ...(field.translatable && schema.languages[0] !== undefined ? [schema.languages[0]] : []),
  ];
  let place = at;
  let current: unknown = value;
  let given: unknown = raw;
  for (const key of path) {
    place = place.below(key);
    current = isObject(current) ? get(current, key) : undefined;
    given = isObject(given) ? get(given, key) : given === undefined || given === null ? undefined : given;
  }
  const isBlank =
    field.shapes !== undefined &&
    isObject(given) &&
    Object.values(given).every((one) => (one ?? null) === null);
  if (isEmpty(current) || isBlank || (current === undefined && (given === undefined || given === null))) {
    place.report("required", "is required");
  }
}

const isEmpty = (value: unknown): boolean => value === "" || (Array.isArray(value) && value.length === 0);

/**
 * Requires a value in every language of each market that has a value. The default language of the default market is
 * checked elsewhere.
 */
function checkLanguages(at: ValuePath, value: Json | undefined): void {
  const { markets, languages } = at.reading.schema;
  const { marketSpecific } = at.field;
  const [main] = languages;
  const inMarkets = marketSpecific
    ? markets.filter((key) => isObject(value) && Object.hasOwn(value, key))
    : [];
  const places = marketSpecific
    ? inMarkets.map((key) => ({ place: at.below(key), map: isObject(value) ? get(value, key) : undefined }))
    : [{ place: at, map: value as unknown }];
  for (const { place, map } of places) {
    for (const language of languages) {
      const found = isObject(map) ? get(map, language) : undefined;
      const isMain = language === main && (!marketSpecific || place.trail.at(-1) === markets[0]);
      if (isMain || (found !== undefined && found !== null && !isEmpty(found))) continue;
      place.below(language).report("required", `is required in ${language} before the entry is published`);
    }
  }
}

/** Returns the default of a field in the form of a request. Undefined if the field has none. */
function defaultOf(schema: CompiledSchema, field: CompiledField): unknown {
  const value = field.definition.default;
  if (value === undefined) return undefined;
  const translated = field.translatable ? { [schema.languages[0] ?? ""]: value } : value;
  return field.marketSpecific ? { [schema.markets[0] ?? ""]: translated } : translated;
}

function get(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}
