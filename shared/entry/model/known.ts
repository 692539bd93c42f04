import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { currentPointer } from "../../definition/document/index.ts";
import { remembered } from "../../definition/names/index.ts";
import {
  KEY,
  leavesOf,
  mapObjects,
  membersOf,
  replaceLeaves,
  TYPE,
  type Values,
} from "../../definition/walk.ts";
import { equal, isObject } from "../../kernel/json.ts";
import { holdsSealed, isSealed, withoutSealed } from "./masking.ts";
import { type EntrySnapshot, type EntryView, entryView, type StoredValue } from "./snapshot.ts";

/**
 * Returns values whose references name their schemas by the current ids. References from before the field could refer to
 * several schemas are stored as ids alone.
 */
export function withPointers(
  { references }: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
): Readonly<Record<string, StoredValue>> {
  if (references.length === 0) return stored;
  const places = references
    .filter(({ polymorphic }) => polymorphic)
    .flatMap((field) =>
      leavesOf(field, stored as Values).flatMap(({ value, trail }) => {
        const current = Array.isArray(value)
          ? value.map((item) => currentPointer(field.targets, item))
          : currentPointer(field.targets, value);
        return equal(current, value) ? [] : [{ trail, value: current }];
      }),
    );
  return places.length === 0 ? stored : replaceLeaves(stored, places);
}

/** Returns the stored values of the fields that the definition has, as `view` shows them. Undefined hides a value. */
function inKnownFields(
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
  view: (schema: CompiledSchema, field: CompiledField, value: StoredValue) => StoredValue,
): Record<string, StoredValue> {
  const known: Record<string, StoredValue> = {};
  const values = withPointers(schema, stored);
  for (const name of Object.keys(values)) {
    const field = schema.fields.get(name);
    const value = values[name];
    const shown = field !== undefined && isReadable(field, value) ? view(schema, field, value) : undefined;
    if (shown !== undefined) known[name] = shown;
  }
  return remembered(known, stored);
}

/** Returns whether a value of a field may contain encrypted text that a reader may know of. */
const holdsSecrets = ({ sensitive, shapes }: CompiledField) => sensitive || shapes !== undefined;

/**
 * Returns false if the stored value is encrypted, because the field was sensitive at that time. Never show encrypted
 * text. The values inside objects are judged one by one.
 */
const isReadable = (field: CompiledField, value: StoredValue) => holdsSecrets(field) || !holdsSealed(value);

const masked = (field: CompiledField, value: StoredValue) =>
  holdsSecrets(field) ? withoutSealed(value) : value;

export function withKnownFields(
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
): Record<string, StoredValue> {
  return inKnownFields(schema, stored, (_, field, value) => masked(field, value));
}

/** Returns the stored values. Omits fields, languages and markets that the application's definition no longer has. */
export function knownValues(
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
): Record<string, StoredValue> {
  return inKnownFields(schema, stored, knownLocales);
}

export function storedInput(
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
): Record<string, StoredValue> {
  return inKnownFields(schema, stored, (_, field, value) =>
    masked(field, knownLocales(schema, field, value)),
  );
}

/** Returns a field's value for the application's current languages and markets, or undefined if none remains. */
export function knownLocales(schema: CompiledSchema, field: CompiledField, value: StoredValue): StoredValue {
  const { marketSpecific, translatable, shapes } = field;
  if (!translatable && !marketSpecific && shapes === undefined) return value;
  const languages = translatable ? schema.languages : undefined;
  const levels = marketSpecific ? [schema.markets, languages] : [languages];
  if (shapes === undefined) return leftOf(value, levels);
  return leftOf(value, levels, (inner) =>
    mapObjects(field, inner, (object) => knownMembers(schema, field, object)),
  );
}

/** @param levels the keys that a value keeps at each level, from `level` on */
function leftOf(
  value: StoredValue,
  levels: readonly (readonly string[] | undefined)[],
  inner?: (value: StoredValue) => StoredValue,
  level = 0,
): StoredValue {
  const keys = levels[level];
  if (keys === undefined) return inner === undefined ? value : inner(value);
  if (!isObject(value) || isSealed(value)) return value;
  const left: Record<string, StoredValue> = {};
  let isEmpty = true;
  for (const key of Object.keys(value)) {
    const item = keys.includes(key) ? leftOf(value[key], levels, inner, level + 1) : undefined;
    if (item === undefined) continue;
    left[key] = item;
    isEmpty = false;
  }
  return isEmpty ? undefined : left;
}

function knownMembers(
  schema: CompiledSchema,
  field: CompiledField,
  object: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const fields = membersOf(field, object);
  return Object.fromEntries(
    Object.entries(object).flatMap(([name, value]) => {
      if (name === KEY || name === TYPE) return [[name, value]];
      const inner = fields?.get(name);
      if (inner === undefined || !isReadable(inner, value)) return [];
      const left = knownLocales(schema, inner, value);
      return left === undefined ? [] : [[name, left]];
    }),
  );
}

/**
 * Returns a revision as the management API shows it. A client can send this form back, because it contains only fields,
 * languages and markets of the current definition.
 */
export function currentView(snapshot: EntrySnapshot, schema: CompiledSchema | undefined): EntryView {
  if (schema === undefined) return entryView(snapshot);
  return entryView({ ...snapshot, values: knownValues(schema, snapshot.values) }, schema);
}
