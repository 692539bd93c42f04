/** Encryption of sensitive values. Values are decrypted only to index, compare or reveal them. */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { MASK } from "../../definition/document/mask.ts";
import type { Json } from "../../definition/fields/index.ts";
import type { Values } from "../../definition/validate.ts";
import type { Config } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { isObject } from "../../kernel/json.ts";
import { isCurrent, open, seal } from "../../kernel/seal.ts";
import { isSealed, type Sealed } from "./masking.ts";
import type { StoredValue } from "./snapshot.ts";

/**
 * Returns the additional authenticated data of the encryption, so that encrypted text is valid only in one application,
 * entry and field.
 */
function sealBinding(orb: string, id: string, field: string): string {
  return `${orb}/${id}/${field}`;
}

function depthOf(field: CompiledField): number {
  return Number(field.marketSpecific) + Number(field.translatable);
}

async function mapLeaves(
  value: unknown,
  other: unknown,
  depth: number,
  change: (value: unknown, other: unknown) => Promise<unknown>,
): Promise<unknown> {
  if (value === null || value === undefined) return value;
  if (depth === 0) return change(value, other);
  if (!isObject(value)) return value;
  const out: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    out[key] = await mapLeaves(item, isObject(other) ? other[key] : undefined, depth - 1, change);
  }
  return out;
}

/**
 * Values as they are stored (sensitive values are encrypted), and the same values in plaintext. Never store or return
 * the plaintext.
 */
export interface SealedValues {
  stored: Record<string, StoredValue>;
  plain: Values;
}

/** Encrypts the sensitive values among validated values. Masked values keep their stored encrypted text. */
export function sealValues(
  config: Config,
  schema: CompiledSchema,
  id: string,
  values: Readonly<Values>,
  existing: Readonly<Record<string, StoredValue>>,
): SealedValues | Promise<SealedValues> {
  if (schema.sensitive.length === 0) return { stored: values, plain: values };
  return sealSensitive(config, schema, id, values, existing);
}

async function sealSensitive(
  config: Config,
  schema: CompiledSchema,
  id: string,
  values: Readonly<Values>,
  existing: Readonly<Record<string, StoredValue>>,
): Promise<SealedValues> {
  const stored: Record<string, StoredValue> = { ...values };
  const plain: Values = { ...values };
  for (const field of schema.sensitive) {
    const given = values[field.name];
    if (given === undefined || given === null) continue;
    const binding = sealBinding(schema.orb, id, field.name);
    const before = existing[field.name];
    stored[field.name] = await mapLeaves(given, before, depthOf(field), async (sent, old) => {
      // A masked value in the request means "unchanged". The stored value may still be plaintext, because the field was
      // not always sensitive.
      const value = sent === MASK ? old : sent;
      if (value === undefined || value === null || isSealed(value)) return value;
      // Encrypt a value again even if it equals the stored one. If the encrypted text stayed the same, a caller could
      // guess a value and see that the guess was right.
      return { $sealed: await seal(config.encryptionKeys, JSON.stringify(value), binding) };
    });
    plain[field.name] = (await mapLeaves(given, before, depthOf(field), async (value, old) =>
      value === MASK ? opened(config, old, binding) : value,
    )) as Json;
  }
  return { stored, plain };
}

async function opened(config: Config, value: unknown, binding: string): Promise<unknown> {
  if (!isSealed(value)) return value;
  const text = await open(config.encryptionKeys, value.$sealed, binding);
  if (text === null) {
    throw new AppError(
      "internal",
      "sealed_value_lost",
      "A sensitive value cannot be opened with the configured keys. Add the key that sealed it to ENCRYPTION_KEYS.",
      { data: { field: binding.slice(binding.lastIndexOf("/") + 1) } },
    );
  }
  return JSON.parse(text) as unknown;
}

export async function openValues(
  config: Config,
  schema: CompiledSchema,
  id: string,
  stored: Readonly<Record<string, StoredValue>>,
): Promise<Values> {
  const plain: Record<string, unknown> = { ...stored };
  for (const field of schema.sensitive) {
    const binding = sealBinding(schema.orb, id, field.name);
    plain[field.name] = await mapLeaves(stored[field.name], undefined, depthOf(field), (value) =>
      opened(config, value, binding),
    );
    if (plain[field.name] === undefined) delete plain[field.name];
  }
  return plain as Values;
}

function* sealedIn(value: unknown, depth: number): Generator<string> {
  if (isSealed(value)) yield value.$sealed;
  else if (depth > 0 && isObject(value))
    for (const item of Object.values(value)) yield* sealedIn(item, depth - 1);
}

/** Returns whether any value is encrypted with an old key. */
export function needsReseal(config: Config, stored: Readonly<Record<string, StoredValue>>): boolean {
  for (const value of Object.values(stored)) {
    for (const sealed of sealedIn(value, 2)) if (!isCurrent(config.encryptionKeys, sealed)) return true;
  }
  return false;
}

async function mapSealed(
  value: unknown,
  change: (sealed: Sealed) => Promise<unknown>,
  depth = 2,
): Promise<unknown> {
  if (isSealed(value)) return change(value);
  if (depth === 0 || !isObject(value)) return value;
  const out: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) out[key] = await mapSealed(item, change, depth - 1);
  return out;
}

/** Decrypts all values, including values of fields that the definition no longer has. */
export async function openEverything(
  config: Config,
  schema: CompiledSchema | undefined,
  { orb, id, values }: { orb: string; id: string; values: Readonly<Record<string, StoredValue>> },
): Promise<Record<string, StoredValue>> {
  const out: Record<string, StoredValue> = {};
  for (const [name, value] of Object.entries(values)) {
    const binding = sealBinding(orb, id, name);
    const needed = schema?.fields.get(name)?.sensitive === true;
    out[name] = await mapSealed(value, async (sealed) => {
      if (needed) return opened(config, sealed, binding);
      const text = await open(config.encryptionKeys, sealed.$sealed, binding);
      return text === null ? MASK : (JSON.parse(text) as unknown);
    });
  }
  return out;
}

export async function resealValues(
  config: Config,
  orb: string,
  id: string,
  stored: Readonly<Record<string, StoredValue>>,
): Promise<Record<string, StoredValue>> {
  const out: Record<string, StoredValue> = {};
  for (const [name, value] of Object.entries(stored)) {
    const binding = sealBinding(orb, id, name);
    out[name] = await mapSealed(value, async (sealed) => {
      if (isCurrent(config.encryptionKeys, sealed.$sealed)) return sealed;
      const text = JSON.stringify(await opened(config, sealed, binding));
      return { $sealed: await seal(config.encryptionKeys, text, binding) };
    });
  }
  return out;
}
