/**
 * Turns stored names into the names of a definition, and back. Converts values that were stored before a change of
 * type, and takes values of fields that moved into objects there. All other code sees values under the names and of the
 * types of the definition with which it works. Does nothing for schemas without renames and changes of type.
 *
 * A conversion may lose something, so a write must not store the converted value of a field that it does not change.
 * Named values therefore remember which stored ones they were made of, and unchanged fields are stored as they were.
 */
import type { CompiledField, CompiledOrb, CompiledSchema } from "../../definition/compile.ts";
import { keyOfRef } from "../../definition/document/index.ts";
import {
  type Conversion,
  type ConversionBudget,
  conversionBudget,
  isAlike,
  type MadeField,
  madeOfStored,
  movedInto,
  moveValues,
  objectsOf,
  type Part,
  partAt,
  pick,
  type Source,
  shown,
  sourcesOf,
  withoutEarlier,
} from "../../definition/names/index.ts";
import { entryPath } from "../../definition/rich-text.ts";
import { valueFault } from "../../definition/validate.ts";
import { KEY, TYPE } from "../../definition/walk.ts";
import { equal, isObject } from "../../kernel/json.ts";
import { knownLocales } from "./known.ts";
import { type LoadedEntry, type StoredEntry, schemaOf } from "./resolve.ts";
import type { EntryView, StoredValue, StoredValues } from "./snapshot.ts";

export { remembered, withoutAnyMarks } from "../../definition/names/index.ts";

type Values = Record<string, StoredValue>;
type Members = ReadonlyMap<string, CompiledField>;

type WithStored = Pick<EntryView, "id" | "module" | "schema"> & { values: StoredValues };
type Named<T> = Omit<T, "values"> & { values: Values };
type Stored<T> = Omit<T, "values"> & { values: StoredValues };

// The two types are the same at runtime. They differ only so that no code confuses stored and current names.
const opened = (values: StoredValues) => values as unknown as Values;
const closed = (values: Values) => values as unknown as StoredValues;

/**
 * Returns a stored revision or copy with the names of a definition.
 * @param schema undefined if the definition no longer has the entry's schema: all names stay as stored
 */
export function withNames<T extends WithStored>(schema: CompiledSchema | undefined, stored: T): Named<T> {
  if (schema?.renamed !== true) return stored as unknown as Named<T>;
  const { module, id } = schema;
  const values = namedValues(schema, stored.id, opened(stored.values));
  madeOfStored(values, opened(stored.values));
  return { ...stored, module, schema: id, values };
}

function namedValues(schema: CompiledSchema, id: string, stored: Readonly<Values>): Values {
  const own = outOfObjects(schema, withoutEarlier(schema.made, stored));
  const moved = intoObjects(schema, withMade(schema, id, own));
  return withoutMarks(schema, namedObject(schema.fields, moved, { budgets: new Map() }));
}

/**
 * Returns a revision with the names under which it is stored. Fields that have the value of a stored revision from which
 * the values come are stored as they are there.
 */
export function withStoredNames<T extends { values: Values; id?: string }>(
  schema: CompiledSchema | undefined,
  named: T,
): Stored<T> {
  if (schema?.renamed !== true) return named as unknown as Stored<T>;
  const { id = "", values } = named;
  return { ...named, values: closed(storedValues(schema, id, values, sourcesOf(values))) };
}

/** Returns values under the current stored names, and of the current types. */
const currentValues = (schema: CompiledSchema, named: Readonly<Values>): Values => ({
  ...marksOf(schema),
  ...storedObject(schema.fields, named),
});

const isSame = (one: StoredValue, other: StoredValue) => equal(one ?? null, other ?? null);

/** Returns whether stored values are the current ones, without any of fields that the definition no longer has. */
const isCurrent = (schema: CompiledSchema, { named, stored }: Source): boolean =>
  equal(currentValues(schema, pick(named, [...schema.fields.keys()])), stored);

/** Returns values as they are stored: those that are the same as in a source as they are there. */
function storedValues(
  schema: CompiledSchema,
  id: string,
  named: Readonly<Values>,
  from: readonly Readonly<Values>[],
): Values {
  const current = currentValues(schema, named);
  const known = from
    .map((stored): Source => ({ stored, named: namedValues(schema, id, stored) }))
    .filter((one) => !isCurrent(schema, one));
  if (known.length === 0) return current;
  const expected = namedValues(schema, id, current);
  const kept = new Set(schema.fields.keys());
  // Fields can depend on each other: one may be made of another one, or moved into it. So read the result again, and
  // store the current value of each field that would not be what it is.
  for (;;) {
    const stored = keptValues(schema, named, known, kept);
    const read = namedValues(schema, id, stored);
    const wrong = [...schema.fields.keys()].filter((name) => !isAlike(read[name], expected[name]));
    if (wrong.length === 0) return stored;
    if (wrong.filter((name) => kept.delete(name)).length === 0) return current;
  }
}

/** @param kept the fields that may be stored as they were */
function keptValues(
  schema: CompiledSchema,
  named: Readonly<Values>,
  known: readonly Source[],
  kept: ReadonlySet<string>,
): Values {
  const unknown = Object.entries(named).filter(([name]) => !schema.fields.has(name));
  const out: Values = { ...marksOf(schema), ...Object.fromEntries(unknown) };
  for (const [name, field] of schema.fields) {
    const value = named[name];
    const open = kept.has(name) ? known : [];
    const same = open.find((one) => isSame(one.named[name], value) && isKept(schema, field, one));
    const source = open.find((one) => isObjectOf(field, one.named[name]));
    // A write leaves out an object of whose members nothing was made.
    const isNone = (value ?? null) === null && !field.list && isAlike(source?.named[name], value);
    const rest = isNone ? changedField(schema, name, {}, source) : {};
    if (same !== undefined) Object.assign(out, asBefore(schema, name, same));
    else if (!isAlike(rest, {})) Object.assign(out, rest);
    else if (Object.hasOwn(named, name)) Object.assign(out, changedField(schema, name, value, source));
  }
  return out;
}

/**
 * Returns whether a source has the value of a field, or an earlier one of which nothing was made. What cannot be converted
 * is lost: only the history has it.
 */
function isKept({ made }: CompiledSchema, field: CompiledField, { named, stored }: Source): boolean {
  if (!Object.hasOwn(named, field.key)) return false;
  return (named[field.key] ?? null) !== null || ownName(field, withoutEarlier(made, stored)) !== field.stored;
}

const isObjectOf = (field: CompiledField, value: StoredValue) =>
  field.shapes !== undefined && value !== undefined && value !== null;

/** Returns the name under which an object has the value of a field. */
const ownName = (field: CompiledField, stored: Readonly<Values>): string | undefined =>
  [field.stored, ...(field.forms?.keys() ?? [])].find((name) => Object.hasOwn(stored, name));

/** Returns how to store a field that a write does not change. */
function asBefore(schema: CompiledSchema, name: string, { named, stored }: Source): Values {
  const field = schema.fields.get(name);
  const isMade = schema.made.some((one) => one.name === name && !one.isStored(stored));
  const own = field && !isMade ? ownName(field, withoutEarlier(schema.made, stored)) : undefined;
  const moved = movedInto(schema.moved, name, stored).map(([from]) => from);
  const isPart = (path: string) => path.split(".")[0] === name;
  if (own === undefined && moved.length === 0)
    return { ...changedField(schema, name, named[name]), ...madeOf(schema, isPart, stored) };
  return { ...pick(stored, own === undefined ? moved : [own, ...moved]), ...madeOf(schema, isPart, stored) };
}

/** Returns the stored values of which rules have made those at some paths, if the definition no longer has their fields. */
function madeOf(
  { made, fields }: CompiledSchema,
  isAt: (path: string) => boolean,
  stored: Readonly<Values>,
): Values {
  const current = byStored(fields);
  const own = made.filter(({ name }) => isAt(name));
  return Object.assign({}, ...own.map(({ sourcesIn }) => sourcesIn(stored, (name) => current.has(name))));
}

/** Returns how to store a field that a write changes. Of objects, the members that it does not change stay as they are. */
function changedField(schema: CompiledSchema, name: string, value: StoredValue, source?: Source): Values {
  const field = schema.fields.get(name);
  if (field === undefined) return {};
  const part = source && partOf(field, source, name);
  const made = inside(field, value, storedMembers, part);
  const before = source?.named[name];
  const members = field.shapes?.get("");
  if (source === undefined || !isObject(made) || !isObject(value) || !isObject(before))
    return asWritten(field, made);
  const isKept = (member: string) => isSame(before[member], value[member]);
  const isAt = (path: string) => path.split(".")[0] === name && isKept(path.split(".")[1] ?? "");
  const moved = movedInto(schema.moved, name, source.stored).filter(([, member]) => isKept(member));
  const left = new Set(moved.map(([, member]) => members?.get(member)?.stored));
  const rest = Object.fromEntries(Object.entries(made).filter(([one]) => !left.has(one)));
  return {
    [field.stored]: rest,
    ...pick(
      source.stored,
      moved.map(([from]) => from),
    ),
    ...madeOf(schema, isAt, source.stored),
  };
}

/** Returns the values of fields that left objects as their own, so that no rule replaces them or misses them. */
const outOfObjects = ({ moved }: CompiledSchema, stored: Readonly<Values>, lose?: OnLostField) =>
  moveValues(
    moved.filter(({ isOwn }) => isOwn),
    stored,
    lose,
  ) as Readonly<Values>;

const intoObjects = ({ moved }: CompiledSchema, stored: Readonly<Values>, lose?: OnLostField) =>
  moveValues(
    moved.filter(({ isOwn }) => !isOwn),
    stored,
    lose,
  ) as Readonly<Values>;

/** Adds the values that rules make of other fields. */
function withMade(
  schema: CompiledSchema,
  id: string,
  stored: Readonly<Values>,
  lose?: OnLostField,
): Readonly<Values> {
  return schema.made.reduce(
    (values, { name, add }) => add(values, id, (reason) => lose?.(name, reason)) as Readonly<Values>,
    stored,
  );
}

/** Returns the mark of each field that a rule makes of others: a revision with it needs no rule. */
const marksOf = ({ made }: CompiledSchema): Values =>
  Object.fromEntries(made.map(({ mark }) => [mark, null]));

function withoutMarks({ made }: CompiledSchema, values: Values): Values {
  if (made.every(({ mark }) => !Object.hasOwn(values, mark))) return values;
  const marks = new Set(made.map(({ mark }) => mark));
  return Object.fromEntries(Object.entries(values).filter(([name]) => !marks.has(name)));
}

/** Returns stored values for which no rule makes those of these fields. */
export const withMarks = (
  schema: CompiledSchema,
  values: StoredValues,
  isMarked: (name: string) => boolean,
): StoredValues =>
  closed({
    ...opened(values),
    ...Object.fromEntries(schema.made.flatMap(({ name, mark }) => (isMarked(name) ? [[mark, null]] : []))),
  });

/** Returns an entry with the names of a definition. */
export function namedEntry(compiled: CompiledOrb, entry: StoredEntry): LoadedEntry;
export function namedEntry(compiled: CompiledOrb, entry: StoredEntry | null): LoadedEntry | null;
export function namedEntry(compiled: CompiledOrb, entry: StoredEntry | null): LoadedEntry | null {
  if (entry === null) return null;
  return { ...entry, head: withNames(schemaOf(compiled, entry.address), entry.head) };
}

/** Returns which of the stored names have a value that is not null. */
export function namesWithValue({ values }: { values: StoredValues }, names: readonly string[]): string[] {
  return names.filter((name) => (opened(values)[name] ?? null) !== null);
}

/** Returns how the values of a field are made of others in a revision. Undefined if it was stored with the field. */
export function madeWithout(
  schema: CompiledSchema,
  field: string,
  { values }: { values: StoredValues },
): MadeField | undefined {
  const own = outOfObjects(schema, opened(values));
  return schema.made.find(({ name, isStored }) => name === field && !isStored(own));
}

/** Returns a revision's values with one more, under the stored name that a field has in another definition. */
export const withStoredValue = (schema: CompiledSchema, field: CompiledField, value: StoredValue): Values =>
  Object.fromEntries(
    Object.entries(storedObject(schema.fields, { [field.key]: value })).filter(
      ([name]) => name === field.stored,
    ),
  );

/** Returns the values that cannot be converted to the types of a definition: the fields' names, and the reasons. */
export function unconverted(
  schema: CompiledSchema,
  { id, values }: { id: string; values: StoredValues },
): { field: string; reason: string }[] {
  const lost: { field: string; reason: string }[] = [];
  const lose = (field: CompiledField, reason: string) => lost.push({ field: field.name, reason });
  const onRuled = (field: CompiledField, value: StoredValue) => {
    const fault = valueFault(schema, field, knownLocales(schema, field, value) ?? null);
    if (fault?.code === "required") {
      const place = fault.path === "" ? "" : ` in ${fault.path.slice(1)}`;
      lose(field, `would have no value${place}, which is required`);
    } else if (fault !== undefined) lose(field, `would have a value that ${fault.message}: ${shown(value)}`);
  };
  if (!schema.renamed) return lost;
  const onLost: OnLostField = (field, reason) => lost.push({ field, reason });
  const own = outOfObjects(schema, withoutEarlier(schema.made, opened(values)), onLost);
  const all = withMade(schema, id, own, onLost);
  const moved = intoObjects(schema, all, onLost);
  const named = namedObject(schema.fields, moved, { budgets: new Map(), checks: { lose, onRuled } });
  for (const { name, form, moved: inObjects, isStored } of schema.made) {
    const field = schema.fields.get(name);
    if (inObjects.length > 0 && !isStored(own)) {
      const reason = `is in an object now, but the entry has no stored value yet of ${name}, which a rule makes. Publish the rule without the move, write the entry, and move the field then`;
      for (const path of inObjects) onLost(path, reason);
    }
    const isMade = Object.hasOwn(all, form) && !Object.hasOwn(own, form);
    if (field !== undefined && isMade) onRuled(field, named[name] ?? null);
  }
  return lost;
}

/** Called with the name of a field, and the reason why its value is lost. */
type OnLostField = (field: string, reason: string) => void;

/** The field that has the values under a stored name. */
interface Place {
  field: CompiledField;
  /** Set if the values are from before a change of the field's type. */
  conversion?: Conversion;
}

const tables = new WeakMap<Members, ReadonlyMap<string, Place>>();

/** Returns the fields by their stored names. */
function byStored(fields: Members): ReadonlyMap<string, Place> {
  const known = tables.get(fields);
  if (known !== undefined) return known;
  const table = new Map<string, Place>();
  for (const field of fields.values()) {
    table.set(field.stored, { field });
    for (const [stored, conversion] of field.forms ?? []) table.set(stored, { field, conversion });
  }
  tables.set(fields, table);
  return table;
}

/** Checks the conversions. */
interface Checks {
  /** Called with each value that a change of type has lost. */
  lose: (field: CompiledField, reason: string) => void;
  /** Called with each value that a rule of the document has made. */
  onRuled: (field: CompiledField, value: StoredValue) => void;
}

/** The conversion of all values of one entry. */
interface Naming {
  /** What rules may still spend for each field. */
  budgets: Map<CompiledField, ConversionBudget>;
  checks?: Checks;
}

/** Converts a value that was stored before a change of its field's type. */
function converted(
  { budgets, checks }: Naming,
  { field, conversion }: Place,
  value: StoredValue,
): StoredValue {
  if (conversion === undefined) return value;
  const budget = budgets.get(field) ?? conversionBudget();
  budgets.set(field, budget);
  const own = conversion.convert(value, (reason) => checks?.lose(field, reason), budget);
  if (conversion.ruled && value !== null && own !== undefined) checks?.onRuled(field, own);
  return own;
}

function namedObject(fields: Members, stored: Readonly<Values>, naming: Naming): Values {
  const table = byStored(fields);
  const out: Values = {};
  for (const [name, value] of Object.entries(stored)) {
    const place = table.get(name);
    if (place !== undefined) {
      const { field, conversion } = place;
      // Each write stores all values, so the current form is never older than another one.
      if (conversion !== undefined && Object.hasOwn(stored, field.stored)) continue;
      const own = converted(naming, place, value);
      if (own !== undefined)
        out[field.key] = inside(field, own, (one, object) => namedMembers(one, object, naming));
    }
    // A value of a removed field. If another field has its name now, the value must not appear as that field's.
    else if (!fields.has(name)) out[name] = value;
  }
  return out;
}

/** Returns a value under the stored name that writes give it. */
function asWritten({ stored, written }: CompiledField, value: StoredValue): Values {
  if (written === undefined) return { [stored]: value };
  const made = written.conversion.convert(value);
  return made === undefined ? {} : { [written.stored]: made };
}

/** @param source the object that has been changed, if there was one */
function storedObject(fields: Members, named: Readonly<Values>, source?: Source): Values {
  const out: Values = {};
  for (const [name, value] of Object.entries(named)) {
    const field = fields.get(name);
    const own = source && field && ownName(field, source.stored);
    if (field === undefined) out[name] = value;
    else if (
      own !== undefined &&
      Object.hasOwn(source?.named ?? {}, name) &&
      isSame(source?.named[name], value)
    )
      out[own] = source?.stored[own];
    else
      Object.assign(
        out,
        asWritten(field, inside(field, value, storedMembers, source && partOf(field, source, name))),
      );
  }
  if (source === undefined) return out;
  for (const [name, field] of fields) {
    // A conversion has made nothing of a value, and the write does not change that.
    const own =
      Object.hasOwn(named, name) || source.named[name] !== null ? undefined : ownName(field, source.stored);
    if (own !== undefined) out[own] = source.stored[own];
  }
  return out;
}

/** Returns the value of a field in an object. What it contains may be of earlier types; the field itself is not. */
function partOf(field: CompiledField, { named, stored }: Source, name: string): Part | undefined {
  const own = ownName(field, stored);
  if (own === undefined || !Object.hasOwn(named, name)) return undefined;
  const conversion = field.forms?.get(own);
  const value = stored[own];
  return { named: named[name], stored: conversion === undefined ? value : conversion.convert(value) };
}

type Change = (field: CompiledField, object: Readonly<Values>, source?: Source) => Values;

function namedMembers(field: CompiledField, object: Readonly<Values>, naming: Naming): Values {
  const { shapes, blocks, renamedInside, renamedTargets } = field;
  if (renamedTargets !== undefined) {
    const key = keyOfRef(object.schema);
    const ref = [...renamedTargets].find(([, stored]) => stored === key)?.[0];
    return ref === undefined ? object : pointingTo(object, ref);
  }
  if (!blocks) return namedObject(shapes?.get("") ?? new Map(), object, naming);
  const component = [...(renamedInside ?? [])].find(([, stored]) => stored === object[TYPE])?.[0];
  const fields = component === undefined ? undefined : shapes?.get(component);
  return fields === undefined ? object : { ...namedObject(fields, object, naming), [TYPE]: component };
}

function storedMembers(field: CompiledField, object: Readonly<Values>, before?: Source): Values {
  const { shapes, blocks, renamedInside, renamedTargets } = field;
  if (renamedTargets !== undefined) {
    const schema = renamedTargets.get(String(object.schema));
    return schema === undefined ? object : pointingTo(object, schema);
  }
  if (!blocks) return storedObject(shapes?.get("") ?? new Map(), object, before);
  const component = String(object[TYPE]);
  const fields = shapes?.get(component);
  const stored = renamedInside?.get(component);
  const source = before?.named[TYPE] === object[TYPE] ? before : undefined;
  return fields === undefined || stored === undefined
    ? object
    : { ...storedObject(fields, object, source), [TYPE]: stored };
}

/** Returns a reference that names its schema by another name. The reference of a link also has the entry's address. */
function pointingTo(reference: Readonly<Values>, schema: string): Values {
  const named = { ...reference, schema };
  return Object.hasOwn(reference, "path")
    ? { ...named, path: entryPath(schema, String(reference.id)) }
    : named;
}

/**
 * Changes the objects and references in a value: in each market and language, and in lists.
 * @param part the value before a write
 */
function inside(field: CompiledField, value: StoredValue, change: Change, part?: Part): StoredValue {
  if (field.renamedInside === undefined && field.renamedTargets === undefined) return value;
  const each = (one: StoredValue, before: Part | undefined) =>
    isObject(one) ? change(field, one, objectsOf(before)) : one;
  const items = (one: StoredValue, before: Part | undefined) =>
    field.list && Array.isArray(one)
      ? one.map((item: unknown) => each(item, isObject(item) ? partAt(before, item[KEY]) : undefined))
      : each(one, before);
  const inLanguages = (one: StoredValue, before: Part | undefined) =>
    field.translatable ? mapEach(one, (text, key) => items(text, partAt(before, key))) : items(one, before);
  return field.marketSpecific
    ? mapEach(value, (one, key) => inLanguages(one, partAt(part, key)))
    : inLanguages(value, part);
}

function mapEach(map: StoredValue, change: (value: StoredValue, key: string) => StoredValue): StoredValue {
  if (!isObject(map)) return map;
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value, key)]));
}
