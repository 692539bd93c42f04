/**
 * Index keys: how an entry is found by its values, apart from its log. Each key is stored in the snapshot and has a
 * message in the orb's stream. The difference between the keys before and after a write gives the index messages of
 * that write.
 *
 * Stored keys (`claims` in a snapshot):
 * - `u.<field>.<token>`: reservation of a unique value
 * - `e.<field>.<token>`: equality index
 * - `r.<field>.<target id>`: reference to another entry
 */
import { base64url } from "jose";
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import type { Json } from "../../definition/fields/index.ts";
import type { Values } from "../../definition/validate.ts";
import { type Leaf, leavesOf, referenceTargets } from "../../definition/values.ts";
import type { Config } from "../../deps.ts";
import { BoundedMap } from "../../kernel/bounded-map.ts";
import { sha256 } from "../../kernel/ids.ts";
import { type EntryAddress, subjects } from "../../store/subjects.ts";
import type { EntrySnapshot } from "./snapshot.ts";

const encoder = new TextEncoder();

/**
 * Returns the index that answers equality on a field: its reservations, its references, its equality index, or none.
 */
export function indexKind(field: CompiledField): "uq" | "ref" | "eq" | null {
  if (!field.indexed) return null;
  if (field.definition.type === "reference") return "ref";
  return field.unique ? "uq" : "eq";
}

/** Cache of the hashes of short texts, because enums have few distinct values. */
const hashes = new BoundedMap<string, string>(1_000);
const SHORT = 64;

/** Returns the token of a value in a field's equality index, or null if the value has none. */
export async function equalityToken(field: CompiledField, value: Json): Promise<string | null> {
  const token = field.type.token(value);
  if (token === null) return null;
  const known = hashes.get(token);
  if (known !== undefined) return known;
  const hash = `h${(await sha256(token)).slice(0, 22)}`;
  if (token.length <= SHORT) hashes.set(token, hash);
  return hash;
}

/**
 * Returns the tokens that reserve a unique value; none if the value has none.
 *
 * A value is reserved in its normal form and, if it was written in another form, also as written. Versions before
 * normal forms reserved values as written only, and instances of both versions can serve at the same time.
 *
 * A sensitive value has a token for each claim key: an HMAC bound to the field. A reader of the broker's files can
 * therefore neither guess nor compare values. While claim keys are rotated, two instances with one key in common
 * still detect duplicates.
 * @param value plaintext
 */
export async function uniqueTokens(
  config: Config,
  schema: CompiledSchema,
  field: CompiledField,
  value: Json,
  market?: string,
  language?: string,
): Promise<string[]> {
  const { written, normal } = await formTokens(config, schema, field, { value, market, language });
  return [...written, ...normal];
}

/** Returns the tokens of a unique value as written, and those of its normal form if that differs. */
async function formTokens(
  config: Config,
  schema: CompiledSchema,
  field: CompiledField,
  { value, market, language }: Pick<Leaf, "value" | "market" | "language">,
): Promise<{ written: string[]; normal: string[] }> {
  const tokens = async (token: string): Promise<string[]> => {
    const text = `${market ?? ""}/${language ?? ""}/${token}`;
    if (!field.sensitive) return [await sha256(text)];
    return hmacs(config, `${schema.orb}/${schema.subjectType}/${schema.id}/${field.name}/${text}`);
  };
  const token = field.type.token(value);
  const form = field.equality(value);
  return {
    written: token === null ? [] : await tokens(token),
    normal: form === null || form === token ? [] : await tokens(form),
  };
}

/**
 * Returns the index keys of normal forms that differ from the written value, each with the keys of the value as
 * written.
 */
export async function formKeys(
  config: Config,
  schema: CompiledSchema,
  plain: Readonly<Values>,
): Promise<Map<string, string[]>> {
  const keys = new Map<string, string[]>();
  for (const field of schema.unique) {
    for (const leaf of leavesOf(field, plain)) {
      if (field.type.token(leaf.value) === field.equality(leaf.value)) continue;
      const { written, normal } = await formTokens(config, schema, field, leaf);
      for (const token of normal) {
        keys.set(
          `u.${field.name}.${token}`,
          written.map((other) => `u.${field.name}.${other}`),
        );
      }
    }
  }
  return keys;
}

/** Returns whether values of any unique field of a schema have normal forms. */
export function hasForms(schema: CompiledSchema): boolean {
  return schema.unique.some(({ equality, type }) => equality !== type.token);
}

/**
 * Returns whether an entry's index keys must be computed from its values, because a version without normal forms may
 * have written them. That is so if a unique value is not in its normal form, or if the live revision, which is not
 * loaded, has another unique value than the newest.
 */
export function mayNeedForms(
  schema: CompiledSchema,
  { values, claims, liveClaims }: Pick<EntrySnapshot, "values" | "claims" | "liveClaims">,
): boolean {
  return schema.unique.some((field) => {
    const { type, equality, name } = field;
    if (field.sensitive || equality === type.token) return false;
    const start = `u.${name}.`;
    return (
      leavesOf(field, values as Values).some(({ value }) => type.token(value) !== equality(value)) ||
      (liveClaims ?? []).some((key) => key.startsWith(start) && !claims.includes(key))
    );
  });
}

/** Returns the keys that depend on the claim keys (`CLAIM_KEY`). */
export function secretOf(schema: CompiledSchema, keys: readonly string[]): string[] {
  const secret = schema.unique.filter((field) => field.sensitive).map(({ name }) => `u.${name}.`);
  return secret.length === 0 ? [] : keys.filter((key) => secret.some((start) => key.startsWith(start)));
}

/**
 * Returns the HMAC-SHA-256 of a text under each claim key, as base64url. For values that must not be guessable from a
 * hash.
 */
export function hmacs(config: Config, text: string): Promise<string[]> {
  return Promise.all(
    config.claimKeys.map(async (secret) => {
      const hmac = { name: "HMAC", hash: "SHA-256" };
      const key = await crypto.subtle.importKey(
        "raw",
        new Uint8Array(base64url.decode(secret)),
        hmac,
        false,
        ["sign"],
      );
      return base64url.encode(new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text))));
    }),
  );
}

/** Returns whether a key is a reservation of a unique value. */
export function isUniqueKey(key: string): boolean {
  return key.startsWith("u.");
}

/** Returns whether a key belongs to an equality index. */
export function isEqualityKey(key: string): boolean {
  return key.startsWith("e.");
}

/** Returns the index key of a reference to an entry. */
export function referenceKey(field: string, target: string): string {
  return `r.${field}.${target}`;
}

/** Returns all index keys of an entry's values, sorted. `plain` has sensitive values in plaintext. */
export async function indexKeysOf(
  config: Config,
  schema: CompiledSchema,
  plain: Readonly<Values>,
): Promise<string[]> {
  const keys = new Set<string>();
  for (const field of schema.unique) {
    for (const leaf of leavesOf(field, plain)) {
      const tokens = await uniqueTokens(config, schema, field, leaf.value, leaf.market, leaf.language);
      for (const token of tokens) keys.add(`u.${field.name}.${token}`);
    }
  }
  for (const field of schema.indexed) {
    if (indexKind(field) !== "eq") continue;
    for (const leaf of leavesOf(field, plain)) {
      const token = await equalityToken(field, leaf.value);
      if (token !== null) keys.add(`e.${field.name}.${token}`);
    }
  }
  for (const field of schema.references) {
    for (const target of referenceTargets(field, plain)) keys.add(referenceKey(field.name, target));
  }
  return [...keys].sort();
}

/** The parts of an index key. */
export interface IndexKey {
  kind: "u" | "e" | "r";
  field: string;
  /** Token of the value, or the id of the referenced entry. */
  token: string;
}

/** Parses an index key. */
export function parseKey(key: string): IndexKey {
  const [kind, field = "", token = ""] = key.split(".");
  return { kind: kind === "u" || kind === "e" ? kind : "r", field, token };
}

/** Returns the subject of a key's message. */
export function keySubject(address: EntryAddress, key: string): string {
  const { kind, field, token } = parseKey(key);
  switch (kind) {
    case "u":
      return subjects.unique(address, field, token);
    case "e":
      return subjects.equality(address, field, token);
    default:
      return subjects.reference(token, address, field);
  }
}
