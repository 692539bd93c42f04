/** Selects the stored values that the definition still has a place for. */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { isObject } from "../../kernel/json.ts";
import { holdsSealed, isSealed, maskValues } from "./masking.ts";
import { type EntrySnapshot, type EntryView, entryView, type StoredValue } from "./snapshot.ts";

/**
 * Returns the stored values of fields that the definition has, without sealed values of fields that are no longer
 * sensitive.
 */
function inKnownFields(
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
): Record<string, StoredValue> {
  const known = Object.entries(stored).filter(([name, value]) => {
    const field = schema.fields.get(name);
    // A response must never show a value that was sealed while the field was sensitive.
    return field !== undefined && (field.sensitive || !holdsSealed(value));
  });
  return Object.fromEntries(known);
}

/** Returns the stored values of fields that the definition has, masked. */
export function withKnownFields(
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
): Record<string, StoredValue> {
  return maskValues(inKnownFields(schema, stored));
}

/**
 * Returns the stored values that the definition has a place for, without dropped fields, languages and markets.
 * Responses show these values and writes carry them over, so a client can send a response back. Sealed values stay
 * sealed.
 */
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

/**
 * Returns the stored values that a write carries over, masked. The write validates them again. A field without a
 * remaining value counts as not given.
 */
export function storedInput(
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
): Record<string, StoredValue> {
  return maskValues(knownValues(schema, stored));
}

/** Returns a field's value for the orb's languages and markets, or undefined if nothing remains. */
export function knownLocales(schema: CompiledSchema, field: CompiledField, value: StoredValue): StoredValue {
  return leftOf(value, [
    ...(field.marketSpecific ? [schema.markets] : []),
    ...(field.translatable ? [schema.languages] : []),
  ]);
}

/** Keeps only these keys of nested maps, outermost level first. Returns undefined if nothing remains. */
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
 * Returns the newest or the live revision for the management API, in a form that a client can send back. Values of
 * dropped fields, languages and markets are visible only in the history (`entryView`).
 * @param schema undefined if the definition no longer has it; then all values are shown, because no write can carry
 * them over
 */
export function currentView(snapshot: EntrySnapshot, schema: CompiledSchema | undefined): EntryView {
  if (schema === undefined) return entryView(snapshot);
  return entryView({ ...snapshot, values: knownValues(schema, snapshot.values) }, schema);
}
