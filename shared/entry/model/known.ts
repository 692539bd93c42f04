import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { currentPointer } from "../../definition/document/targets.ts";
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
import { holdsSealed, isSealed, maskValues } from "./masking.ts";
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

function inKnownFields(
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
): Record<string, StoredValue> {
  const known = Object.entries(withPointers(schema, stored)).filter(([name, value]) => {
    const field = schema.fields.get(name);
    return field !== undefined && isReadable(field, value);
  });
  return Object.fromEntries(known);
}

/**
 * Returns false if the stored value is encrypted, because the field was sensitive at that time. Never show encrypted
 * text. The values inside objects are judged one by one.
 */
const isReadable = (field: CompiledField, value: StoredValue) =>
  field.sensitive || field.shapes !== undefined || !holdsSealed(value);

export function withKnownFields(
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
): Record<string, StoredValue> {
  return maskValues(inKnownFields(schema, stored));
}

/** Returns the stored values. Omits fields, languages and markets that the application's definition no longer has. */
export function knownValues(
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
): Record<string, StoredValue> {
  const known: Record<string, StoredValue> = {};
  for (const [name, value] of Object.entries(inKnownFields(schema, stored))) {
    const field = schema.fields.get(name);
    const left = field === undefined ? undefined : knownLocales(schema, field, value);
    if (left !== undefined) known[name] = left;
  }
  return known;
}

export function storedInput(
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
): Record<string, StoredValue> {
  return maskValues(knownValues(schema, stored));
}

/** Returns a field's value for the application's current languages and markets, or undefined if none remains. */
export function knownLocales(schema: CompiledSchema, field: CompiledField, value: StoredValue): StoredValue {
  if (!field.translatable && !field.marketSpecific && field.shapes === undefined) return value;
  const levels = [
    ...(field.marketSpecific ? [schema.markets] : []),
    ...(field.translatable ? [schema.languages] : []),
  ];
  if (field.shapes === undefined) return leftOf(value, levels);
  return leftOf(value, levels, (inner) =>
    mapObjects(field, inner, (object) => knownMembers(schema, field, object)),
  );
}

function leftOf(
  value: StoredValue,
  levels: readonly (readonly string[])[],
  inner: (value: StoredValue) => StoredValue = (one) => one,
): StoredValue {
  const [keys, ...below] = levels;
  if (keys === undefined) return inner(value);
  if (!isObject(value) || isSealed(value)) return value;
  const left = Object.entries(value)
    .filter(([key]) => keys.includes(key))
    .map(([key, item]) => [key, leftOf(item, below, inner)] as const)
    .filter(([, item]) => item !== undefined);
  return left.length === 0 ? undefined : Object.fromEntries(left);
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
