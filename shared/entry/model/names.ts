/**
 * Turns stored names into the names of a definition, and back. Converts values that were stored before a change of
 * type, and takes values of fields that moved into objects there. All other code sees values under the names and of the types of the definition with which it works. Does nothing
 * for schemas without renames and changes of type.
 */
import type { CompiledField, CompiledOrb, CompiledSchema } from "../../definition/compile.ts";
import { keyOfRef } from "../../definition/document/index.ts";
import {
  type Conversion,
  type ConversionBudget,
  conversionBudget,
  type MadeField,
  moveValues,
  shown,
} from "../../definition/names/index.ts";
import { entryPath } from "../../definition/rich-text.ts";
import { valueFault } from "../../definition/validate.ts";
import { TYPE } from "../../definition/walk.ts";
import { isObject } from "../../kernel/json.ts";
import { knownLocales } from "./known.ts";
import { maskValues } from "./masking.ts";
import { type LoadedEntry, type StoredEntry, schemaOf } from "./resolve.ts";
import type { EntryView, StoredCopy, StoredSnapshot, StoredValue, StoredValues } from "./snapshot.ts";

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
  const moved = intoObjects(schema, withMade(schema, stored.id, outOfObjects(schema, opened(stored.values))));
  const values = namedObject(schema.fields, moved, { budgets: new Map() });
  return { ...stored, module, schema: id, values: withoutMarks(schema, values) };
}

/** Returns a revision with the names under which it is stored. */
export function withStoredNames<T extends { values: Values }>(
  schema: CompiledSchema | undefined,
  named: T,
): Stored<T> {
  if (schema?.renamed !== true) return named as unknown as Stored<T>;
  return { ...named, values: closed({ ...marksOf(schema), ...storedObject(schema.fields, named.values) }) };
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

/** Returns the copy of a revision for its readers, without encrypted text. */
export function liveCopy(snapshot: StoredSnapshot): StoredCopy {
  const { id, orb, module, schema, validFrom, validTo, createdAt, createdBy, updatedAt, updatedBy } =
    snapshot;
  return {
    v: 1,
    id,
    orb,
    module,
    schema,
    status: "PUBLISHED",
    revision: snapshot.revision,
    publishedRevision: snapshot.revision,
    validFrom,
    validTo,
    createdAt,
    createdBy,
    updatedAt,
    updatedBy,
    ...(snapshot.change === undefined ? {} : { change: snapshot.change }),
    values: closed(maskValues(opened(snapshot.values))),
  };
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
  const own = outOfObjects(schema, opened(values), onLost);
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

function storedObject(fields: Members, named: Readonly<Values>): Values {
  const out: Values = {};
  for (const [name, value] of Object.entries(named)) {
    const field = fields.get(name);
    const own = field === undefined ? value : inside(field, value, storedMembers);
    const { written } = field ?? {};
    if (written === undefined) out[field?.stored ?? name] = own;
    else {
      const made = written.conversion.convert(own);
      if (made !== undefined) out[written.stored] = made;
    }
  }
  return out;
}

type Change = (field: CompiledField, object: Readonly<Values>) => Values;

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

function storedMembers(field: CompiledField, object: Readonly<Values>): Values {
  const { shapes, blocks, renamedInside, renamedTargets } = field;
  if (renamedTargets !== undefined) {
    const schema = renamedTargets.get(String(object.schema));
    return schema === undefined ? object : pointingTo(object, schema);
  }
  if (!blocks) return storedObject(shapes?.get("") ?? new Map(), object);
  const component = String(object[TYPE]);
  const fields = shapes?.get(component);
  const stored = renamedInside?.get(component);
  return fields === undefined || stored === undefined
    ? object
    : { ...storedObject(fields, object), [TYPE]: stored };
}

/** Returns a reference that names its schema by another name. The reference of a link also has the entry's address. */
function pointingTo(reference: Readonly<Values>, schema: string): Values {
  const named = { ...reference, schema };
  return Object.hasOwn(reference, "path")
    ? { ...named, path: entryPath(schema, String(reference.id)) }
    : named;
}

/** Changes the objects and references in a value: in each market and language, and in lists. */
function inside(field: CompiledField, value: StoredValue, change: Change): StoredValue {
  if (field.renamedInside === undefined && field.renamedTargets === undefined) return value;
  const each = (one: StoredValue) => (isObject(one) ? change(field, one) : one);
  const items = (one: StoredValue) => (field.list && Array.isArray(one) ? one.map(each) : each(one));
  const inLanguages = (one: StoredValue) => (field.translatable ? mapEach(one, items) : items(one));
  return field.marketSpecific ? mapEach(value, inLanguages) : inLanguages(value);
}

function mapEach(map: StoredValue, change: (value: StoredValue) => StoredValue): StoredValue {
  if (!isObject(map)) return map;
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value)]));
}
