/**
 * Finds the values of fields in the values of an entry, at any depth. All code that reads, replaces or collects the
 * values of certain fields (references, files, sensitive values, index keys, searched words) walks through here.
 */
import { isObject } from "../kernel/json.ts";
import type { CompiledField, CompiledSchema } from "./compile.ts";
import { idIn } from "./document/index.ts";
import type { Json } from "./fields/index.ts";
import { KEY, TYPE } from "./nested.ts";
import { linkKey } from "./rich-text.ts";

export { KEY, TYPE, withNested } from "./nested.ts";

/** The values of an entry. */
export type Values = { [field: string]: Json };

export interface Leaf {
  value: Json;
  market: string | undefined;
  language: string | undefined;
  /** Path of the value: member names, markets, languages, and the positions of items in lists of objects. */
  trail: string[];
}

/** An object that has the values of some fields: the values of an entry, an object field, or an item of a list. */
interface Owner extends Omit<Leaf, "value"> {
  object: Readonly<Record<string, unknown>>;
}

/** A value of a field in one language and market, and the keys that lead to it in the maps of the field. */
export interface ReadValue {
  value: Json;
  market?: string | undefined;
  language?: string | undefined;
}

/** Returns the values of a field that a walk continues with. @param stored never null */
export type ReadField = (field: CompiledField, stored: Json) => ReadValue[];

/** Reads the values in all languages and markets. */
export const readAll: ReadField = (field, stored) =>
  entriesOf(stored, field.marketSpecific).flatMap(([market, byMarket]) =>
    entriesOf(byMarket, field.translatable).flatMap(([language, value]) =>
      value === null ? [] : [{ value, market, language }],
    ),
  );

/** Reads values that are in one language and market already, as in responses. */
const readPlain: ReadField = (_, value) => [{ value }];

/** Returns the values of a field in all languages and markets. Skips values in the format of an older definition. */
export function leavesOf(field: CompiledField, values: Readonly<Values>): Leaf[] {
  if (field.parent !== undefined) return leavesWith(readAll, field, values);
  const stored = Object.hasOwn(values, field.name) ? values[field.name] : undefined;
  if (stored === undefined || stored === null) return [];
  if (!field.marketSpecific && !field.translatable)
    return [{ value: stored, market: undefined, language: undefined, trail: [field.name] }];
  return leavesWith(readAll, field, values);
}

/** Returns the values of a field in a request or response for one language and market. */
export function plainLeaves(field: CompiledField, values: Readonly<Record<string, unknown>>): Leaf[] {
  return leavesWith(readPlain, field, values);
}

/** Returns the values of a field. @param read chooses the values of the field, and of the fields that contain it */
export function leavesWith(
  read: ReadField,
  field: CompiledField,
  values: Readonly<Record<string, unknown>>,
): Leaf[] {
  const { parent } = field;
  if (parent === undefined)
    return leavesIn(read, field, { object: values, market: undefined, language: undefined, trail: [] });
  return leavesWith(read, parent, values).flatMap(({ value, trail, ...place }) =>
    objectsIn(parent, value, field.component).flatMap(({ object, at }) =>
      leavesIn(read, field, { ...place, object, trail: at === undefined ? trail : [...trail, at] }),
    ),
  );
}

function leavesIn(read: ReadField, field: CompiledField, owner: Owner): Leaf[] {
  const { object, trail } = owner;
  const stored = Object.hasOwn(object, field.key) ? (object[field.key] as Json | undefined) : undefined;
  if (stored === undefined || stored === null) return [];
  return read(field, stored).map(({ value, market, language }) => ({
    value,
    market: market ?? owner.market,
    language: language ?? owner.language,
    trail: [
      ...trail,
      field.key,
      ...(market === undefined || !field.marketSpecific ? [] : [market]),
      ...(language === undefined || !field.translatable ? [] : [language]),
    ],
  }));
}

/**
 * Returns the objects in a value of an object field in one language and market.
 * @param component only objects of this shape
 */
export function objectsIn(
  field: CompiledField,
  value: unknown,
  component?: string,
): { object: Readonly<Record<string, unknown>>; at: string | undefined }[] {
  const isWanted = (object: unknown): object is Readonly<Record<string, unknown>> =>
    isObject(object) && (component === undefined || shapeOf(field, object) === component);
  if (!field.list) return isWanted(value) ? [{ object: value, at: undefined }] : [];
  if (!Array.isArray(value)) return [];
  return value.flatMap((object: unknown, at) => (isWanted(object) ? [{ object, at: String(at) }] : []));
}

/**
 * Returns a value of an object field in one language and market, with each of its objects changed. Omits blocks of
 * components that the field no longer allows.
 */
export function mapObjects(
  field: CompiledField,
  value: unknown,
  change: (object: Readonly<Record<string, unknown>>) => Record<string, unknown>,
): unknown {
  const known = objectsIn(field, value).filter(({ object }) => membersOf(field, object) !== undefined);
  if (field.list) return Array.isArray(value) ? known.map(({ object }) => change(object)) : value;
  const [only] = known;
  return only === undefined ? value : change(only.object);
}

/** Returns the key of an object in the shapes of its field. */
export function shapeOf({ kind }: CompiledField, object: Readonly<Record<string, unknown>>): string {
  if (kind === undefined) return "";
  const told = Object.hasOwn(object, kind) ? String(object[kind]) : "";
  return kind === TYPE ? told : linkKey(told);
}

/** Returns the fields that an object in a field's value has. Undefined if its component is unknown. */
export function membersOf(
  field: CompiledField,
  object: Readonly<Record<string, unknown>>,
): ReadonlyMap<string, CompiledField> | undefined {
  return field.shapes?.get(shapeOf(field, object));
}

function entriesOf(value: Json, map: boolean): [string | undefined, Json][] {
  if (!map) return [[undefined, value]];
  return isObject(value) ? Object.entries(value) : [];
}

export function referenceTargets(field: CompiledField, values: Readonly<Values>): string[] {
  const pointers = leavesOf(field, values).flatMap((leaf) =>
    Array.isArray(leaf.value) ? leaf.value : [leaf.value],
  );
  return [...new Set(pointers.flatMap((pointer) => idIn(pointer) ?? []))];
}

export interface Replacement {
  trail: readonly string[];
  value: unknown;
}

/** Returns the values with some of them replaced. Copies only the objects and lists that contain a replaced value. */
export function replaceLeaves(
  values: Readonly<Record<string, unknown>>,
  replacements: Iterable<Replacement>,
): Record<string, unknown> {
  const root: Record<string, unknown> = { ...values };
  const copies = new Set<object>([root]);
  for (const { trail, value } of replacements) {
    let owner: object = root;
    for (const [at, step] of trail.entries()) {
      if (at === trail.length - 1) {
        Reflect.set(owner, step, value);
        break;
      }
      const below: unknown = Reflect.get(owner, step);
      if (typeof below !== "object" || below === null) break;
      const copy: object = copies.has(below) ? below : Array.isArray(below) ? [...below] : { ...below };
      copies.add(copy);
      Reflect.set(owner, step, copy);
      owner = copy;
    }
  }
  return root;
}

/** Returns the key of an item in a list of objects. */
export function keyOf(item: unknown): string | undefined {
  if (!isObject(item) || !Object.hasOwn(item, KEY)) return undefined;
  const key = item[KEY];
  return typeof key === "string" ? key : undefined;
}

/** Returns the item with a key. */
export function itemWith(items: unknown, key: string | undefined): unknown {
  if (key === undefined || !Array.isArray(items)) return undefined;
  return items.find((item) => keyOf(item) === key);
}

/**
 * Returns the value of another revision at the place of a value. Finds items of lists by their keys.
 * @param values the values that `trail` leads through
 */
export function counterpart(
  values: Readonly<Record<string, unknown>>,
  trail: readonly string[],
  other: Readonly<Record<string, unknown>>,
): unknown {
  let here: unknown = values;
  let there: unknown = other;
  for (const step of trail) {
    if (Array.isArray(here)) {
      here = here[Number(step)];
      there = itemWith(there, keyOf(here));
    } else {
      here = isObject(here) && Object.hasOwn(here, step) ? here[step] : undefined;
      there = isObject(there) && Object.hasOwn(there, step) ? there[step] : undefined;
    }
  }
  return there;
}

/**
 * Returns the fields with a name such as `seo.title`. Several components of a field with blocks may have a field of the
 * same name.
 */
export function fieldsNamed(
  { fields, nested }: Pick<CompiledSchema, "fields" | "nested">,
  name: string,
): readonly CompiledField[] {
  const field = fields.get(name);
  return field === undefined ? (nested.get(name) ?? []) : [field];
}

/** Returns the fields of a schema, and of all objects in its values. */
export function allFields({ fields, nested }: Pick<CompiledSchema, "fields" | "nested">): CompiledField[] {
  return [...fields.values(), ...[...nested.values()].flat()];
}

/** Returns the field of the schema that contains a field. */
export function rootOf(field: CompiledField): CompiledField {
  return field.parent === undefined ? field : rootOf(field.parent);
}
