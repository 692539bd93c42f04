/** Finds an entry by the value of a unique field instead of by its id. */

import { type CompiledField, type CompiledSchema, isKey } from "../../definition/compile.ts";
import type { Json } from "../../definition/fields/index.ts";
import type { Deps } from "../../deps.ts";
import { AppError, invalidParameters } from "../../kernel/errors.ts";
import { clip, joinNames } from "../../kernel/faults.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { Consistency } from "../../store/types.ts";
import { isIndexed, uniqueTokens } from "../model/index.ts";

/** The value of a unique field, which identifies an entry of a schema. */
export interface EntryKey {
  field: CompiledField;
  value: Json;
}

/** @throws AppError not_found `unknown_key` if entries of the schema cannot be addressed by the field */
function keyField(schema: CompiledSchema, name: string): CompiledField {
  const found = schema.fields.get(name);
  if (found !== undefined && isKey(found)) return found;
  const known = [...schema.fields].filter(([, one]) => isKey(one));
  const names = joinNames(known.map(([key]) => key));
  const detail =
    known.length === 0
      ? "This schema has no unique field by which entries can be addressed. Use their ids."
      : `Entries cannot be addressed by "${clip(name)}". Use a unique field: ${names}.`;
  throw new AppError("not_found", "unknown_key", detail);
}

/**
 * Reads a key from text, such as the segments of a URL path.
 * @param comparable the schema with only the fields that the caller may compare
 * @throws AppError not_found `unknown_key` if the field is no key; malformed if the text is no value of the field
 */
export function readKey(comparable: CompiledSchema, name: string, text: string): EntryKey {
  const field = keyField(comparable, name);
  const value = field.type.fromText(text);
  if (value === undefined || !isIndexed(field, value)) {
    const message = `must be a value of type ${field.type.name} (is "${clip(text)}")`;
    throw invalidParameters([{ path: `/${name}`, code: "invalid_value", message }]);
  }
  return { field, value };
}

/**
 * Returns the first key that the values of an entry contain. Undefined if they contain none, or no value of its type.
 * @param names fields to look for, in this order
 * @throws AppError not_found `unknown_key` if a field is no key of the schema
 */
export function keyIn(
  schema: CompiledSchema,
  names: readonly string[],
  values: Readonly<Record<string, unknown>>,
): EntryKey | undefined {
  for (const name of names) {
    const field = keyField(schema, name);
    const given = Object.hasOwn(values, name) ? values[name] : undefined;
    const parsed =
      given === undefined ? undefined : field.type.parse(given, () => undefined, field.definition);
    // Tables contain all values as text.
    const value = parsed ?? (typeof given === "string" ? field.type.fromText(given) : undefined);
    if (value !== undefined && isIndexed(field, value)) return { field, value };
  }
  return undefined;
}

/**
 * Returns the ids of the entries that own keys, in the order of the keys. An entry may have its key in an older
 * revision: see {@link holdsKey}.
 */
export async function ownersOf(
  deps: Pick<Deps, "store" | "config">,
  schema: CompiledSchema,
  keys: readonly EntryKey[],
  consistency: Consistency,
): Promise<(string | undefined)[]> {
  const address = { orb: schema.orb, ...schema.home };
  const reservations = await Promise.all(
    keys.map(async ({ field, value }) => {
      const tokens = await uniqueTokens(deps.config, schema, field, value);
      return tokens.map((token) => subjects.unique(address, field.token, token));
    }),
  );
  const read = { consistency, maxBytes: SMALL_BYTES };
  const found = await nullIfMissing(deps.store.getMany(streams.orb(schema.orb), reservations.flat(), read));
  return reservations.map((forms) =>
    forms.map((subject) => found?.get(subject)?.text()).find((owner) => owner !== undefined && owner !== ""),
  );
}

export async function ownerOf(
  deps: Pick<Deps, "store" | "config">,
  schema: CompiledSchema,
  key: EntryKey,
  consistency: Consistency,
): Promise<string | undefined> {
  const [owner] = await ownersOf(deps, schema, [key], consistency);
  return owner;
}

/** Returns whether values of a revision, or values that a client sent, contain a key. */
export function holdsKey({ field, value }: EntryKey, values: Readonly<Record<string, unknown>>): boolean {
  const stored = Object.hasOwn(values, field.name) ? values[field.name] : undefined;
  const parsed = stored === undefined ? undefined : field.type.parse(stored, () => undefined);
  return parsed !== undefined && field.equality(parsed) === field.equality(value);
}
