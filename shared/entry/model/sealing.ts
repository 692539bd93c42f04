/** Encryption of sensitive values. Values are decrypted only to index, compare or reveal them. */
import type { CompiledSchema } from "../../definition/compile.ts";
import { MASK } from "../../definition/document/index.ts";
import type { Values } from "../../definition/validate.ts";
import {
  counterpart,
  leavesOf,
  type Replacement,
  replaceLeaves,
  rootOf,
  withNested,
} from "../../definition/walk.ts";
import type { Config } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { isCurrent, open, seal } from "../../kernel/seal.ts";
import { holdsSealed, isSealed, type Sealed } from "./masking.ts";
import type { StoredValue } from "./snapshot.ts";

/**
 * Returns the additional authenticated data of the encryption, so that encrypted text is valid only in one application,
 * entry and field.
 * @param field first stored name of a field of the schema, also for values inside its objects
 */
function sealBinding(orb: string, id: string, field: string): string {
  return `${orb}/${id}/${field}`;
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
  const stored: Replacement[] = [];
  const plain: Replacement[] = [];
  for (const field of schema.sensitive) {
    const binding = sealBinding(schema.orb, id, rootOf(field).identity);
    for (const { trail, value: sent } of leavesOf(field, values)) {
      // A masked value in the request means "unchanged". The stored value may still be plaintext, because the field was
      // not always sensitive.
      const value = sent === MASK ? counterpart(values, trail, existing) : sent;
      if (sent === MASK) plain.push({ trail, value: await opened(config, value, binding) });
      // Encrypt a value again even if it equals the stored one. If the encrypted text stayed the same, a caller could
      // guess a value and see that the guess was right.
      const isKept = value === undefined || value === null || isSealed(value);
      const kept = isKept
        ? value
        : { $sealed: await seal(config.encryptionKeys, JSON.stringify(value), binding) };
      stored.push({ trail, value: kept });
    }
  }
  return {
    stored: replaceLeaves(values, stored),
    plain: replaceLeaves(values, plain) as Values,
  };
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
  const plain: Replacement[] = [];
  for (const field of schema.sensitive) {
    const binding = sealBinding(schema.orb, id, rootOf(field).identity);
    for (const { trail, value } of leavesOf(field, stored as Values))
      plain.push({ trail, value: await opened(config, value, binding) });
  }
  return replaceLeaves(stored, plain) as Values;
}

function* sealedIn(value: unknown): Generator<string> {
  if (isSealed(value)) yield value.$sealed;
  else if (typeof value === "object" && value !== null)
    for (const item of Object.values(value)) yield* sealedIn(item);
}

/** Returns whether any value is encrypted with an old key. */
export function needsReseal(config: Config, stored: Readonly<Record<string, StoredValue>>): boolean {
  for (const value of Object.values(stored)) {
    for (const sealed of sealedIn(value)) if (!isCurrent(config.encryptionKeys, sealed)) return true;
  }
  return false;
}

async function mapSealed(value: unknown, change: (sealed: Sealed) => Promise<unknown>): Promise<unknown> {
  if (isSealed(value)) return change(value);
  if (!holdsSealed(value)) return value;
  if (Array.isArray(value)) return Promise.all(value.map((item) => mapSealed(item, change)));
  const out: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value as object)) out[key] = await mapSealed(item, change);
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
    const field = schema?.fields.get(name);
    const binding = sealBinding(orb, id, field?.identity ?? name);
    const needed = field !== undefined && withNested(field).some(({ sensitive }) => sensitive);
    out[name] = await mapSealed(value, async (sealed) => {
      if (needed) return opened(config, sealed, binding);
      const text = await open(config.encryptionKeys, sealed.$sealed, binding);
      return text === null ? MASK : (JSON.parse(text) as unknown);
    });
  }
  return out;
}

/**
 * Returns the values with sensitive ones encrypted for the current names of their fields. They are encrypted for stored
 * names, which only this application knows. Leaves out values whose key is missing.
 */
export async function reboundValues(
  config: Config,
  schema: CompiledSchema,
  { orb, id, values }: { orb: string; id: string; values: Readonly<Record<string, StoredValue>> },
): Promise<Record<string, StoredValue>> {
  const moved = schema.sensitive.map(rootOf).filter(({ key, identity }) => key !== identity);
  const out = { ...values };
  for (const { key, identity } of new Set(moved)) {
    out[key] = await mapSealed(values[key], async (sealed) => {
      const text = await open(config.encryptionKeys, sealed.$sealed, sealBinding(orb, id, identity));
      return text === null
        ? null
        : { $sealed: await seal(config.encryptionKeys, text, sealBinding(orb, id, key)) };
    });
  }
  return out;
}

export async function resealValues(
  config: Config,
  schema: CompiledSchema | undefined,
  { orb, id, values }: { orb: string; id: string; values: Readonly<Record<string, StoredValue>> },
): Promise<Record<string, StoredValue>> {
  const out: Record<string, StoredValue> = {};
  for (const [name, value] of Object.entries(values)) {
    const binding = sealBinding(orb, id, schema?.fields.get(name)?.identity ?? name);
    out[name] = await mapSealed(value, async (sealed) => {
      if (isCurrent(config.encryptionKeys, sealed.$sealed)) return sealed;
      const text = JSON.stringify(await opened(config, sealed, binding));
      return { $sealed: await seal(config.encryptionKeys, text, binding) };
    });
  }
  return out;
}
