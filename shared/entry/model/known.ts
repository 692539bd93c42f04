import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { isObject } from "../../kernel/json.ts";
import { holdsSealed, isSealed, maskValues } from "./masking.ts";
import { type EntrySnapshot, type EntryView, entryView, type StoredValue } from "./snapshot.ts";

function inKnownFields(
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
): Record<string, StoredValue> {
  const known = Object.entries(stored).filter(([name, value]) => {
    const field = schema.fields.get(name);
    // The stored value is encrypted, because the field was sensitive at that time. Never show encrypted text.
    return field !== undefined && (field.sensitive || !holdsSealed(value));
  });
  return Object.fromEntries(known);
}

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
  return leftOf(value, [
    ...(field.marketSpecific ? [schema.markets] : []),
    ...(field.translatable ? [schema.languages] : []),
  ]);
}

function leftOf(value: StoredValue, levels: readonly (readonly string[])[]): StoredValue {
  const [keys, ...below] = levels;
  if (keys === undefined || !isObject(value) || isSealed(value)) return value;
  const left = Object.entries(value)
    .filter(([key]) => keys.includes(key))
    .map(([key, item]) => [key, leftOf(item, below)] as const)
    .filter(([, item]) => item !== undefined);
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

/**
 * Returns a revision as the management API shows it. A client can send this form back, because it contains only fields,
 * languages and markets of the current definition.
 */
export function currentView(snapshot: EntrySnapshot, schema: CompiledSchema | undefined): EntryView {
  if (schema === undefined) return entryView(snapshot);
  return entryView({ ...snapshot, values: knownValues(schema, snapshot.values) }, schema);
}
