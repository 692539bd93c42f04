/** Selects the stored values that the definition still has a place for. Answers show these, and writes take over these. */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { isObject } from "../../kernel/json.ts";
import { holdsSealed, isSealed, maskValues } from "./masking.ts";
import { type EntrySnapshot, type EntryView, entryView, type StoredValue } from "./snapshot.ts";

/** Stored values of the fields that the definition has, without sealed values of fields that are no longer sensitive. */
function inKnownFields(
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
): Record<string, StoredValue> {
  const known = Object.entries(stored).filter(([name, value]) => {
    const field = schema.fields.get(name);
    // No answer may show a value that the platform sealed while the field was sensitive.
    return field !== undefined && (field.sensitive || !holdsSealed(value));
  });
  return Object.fromEntries(known);
}

/** Stored values, masked, of the fields that the definition has. */
export function ofKnownFields(
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
): Record<string, StoredValue> {
  return maskValues(inKnownFields(schema, stored));
}

/**
 * The stored values that the definition has a place for: those of fields, languages and markets that it dropped are left
 * out. Answers show these, and a write takes over these, so that an answer can be sent back. Sealed values stay sealed.
 */
export function knownValues(
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
): Record<string, StoredValue> {
  const known: Record<string, StoredValue> = {};
  for (const [name, value] of Object.entries(inKnownFields(schema, stored))) {
    const field = schema.fields.get(name);
    const left = field === undefined ? undefined : knownPlaces(schema, field, value);
    if (left !== undefined) known[name] = left;
  }
  return known;
}

/**
 * Stored values, masked, as a write takes them over: what the definition dropped is left behind; the rest is checked
 * again. A field of which nothing is left is as one that was never given.
 */
export function storedInput(
  schema: CompiledSchema,
  stored: Readonly<Record<string, StoredValue>>,
): Record<string, StoredValue> {
  return maskValues(knownValues(schema, stored));
}

/** A field's value for the languages and markets that the orb has; undefined when nothing is left. */
export function knownPlaces(schema: CompiledSchema, field: CompiledField, value: StoredValue): StoredValue {
  return leftOf(value, [
    ...(field.marketSpecific ? [schema.markets] : []),
    ...(field.translatable ? [schema.languages] : []),
  ]);
}

/** Keeps these keys of a value in maps, outermost first; undefined when nothing is left. */
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
 * The newest or the live revision as the management API answers it, in a form that can be sent back. Values of fields, languages and markets that the definition dropped stay in the
 * history, where `entryView` shows them.
 * @param schema undefined when the definition has dropped it: then everything is shown, as no write can take it over
 */
export function currentView(snapshot: EntrySnapshot, schema: CompiledSchema | undefined): EntryView {
  if (schema === undefined) return entryView(snapshot);
  return entryView({ ...snapshot, values: knownValues(schema, snapshot.values) }, schema);
}
