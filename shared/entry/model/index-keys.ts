/**
 * An index key is a string by which an index finds an entry. Each entry stores a list of its keys, and each key has a
 * message in an index:
 * - `u.<field>.<token>`: the entry owns a unique value
 * - `e.<field>.<token>`: a field has a value
 * - `r.<field>.<target id>`: a field refers to another entry
 * - `o.<index>.<value as JSON>`: a field with an ordered index has a value or sort key, or none (`null`)
 * - `w.<word> <field>`: a searchable text contains a word
 *
 * A field of an object is written with hyphens instead of dots, such as `seo-title`, except in keys of words.
 */
import { base64url } from "jose";
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { homeKey } from "../../definition/document/index.ts";
import type { Json } from "../../definition/fields/index.ts";
import { isBlankForm } from "../../definition/fields/parts/index.ts";
import type { Values } from "../../definition/validate.ts";
import { allFields, fieldsNamed, type Leaf, leavesOf, referenceTargets } from "../../definition/walk.ts";
import type { Config } from "../../deps.ts";
import { BoundedMap } from "../../kernel/bounded-map.ts";
import { sha256 } from "../../kernel/ids.ts";
import { type EntryAddress, subjects } from "../../store/subjects.ts";
import { type OrderedValue, orderedValue } from "./ordered-value.ts";
import type { EntrySnapshot } from "./snapshot.ts";
import { termsOf, WORDS } from "./word-keys.ts";

const encoder = new TextEncoder();

/** Returns which index finds entries by an exact value of a field: unique values, references, equality, or none. */
export function indexKind(field: CompiledField): "uq" | "ref" | "eq" | null {
  if (!field.indexed) return null;
  if (field.definition.type === "reference") return "ref";
  return field.unique ? "uq" : "eq";
}

/**
 * Cache of hashed values. Caches only short values, because values that occur often, such as those of enums, are short.
 */
const hashes = new BoundedMap<string, string>(1_000);
const SHORT = 64;

/** Returns whether the index of a field lists the entries that have a value. */
export function isIndexed(field: CompiledField, value: Json): boolean {
  return !field.unique || !isBlankForm(field.equality(value));
}

/**
 * Returns a value in each form in which the equality index may list it. The index lists texts as they were written, and
 * comparisons ignore the Unicode form.
 */
export function listedForms({ allowed, equality }: CompiledField, value: Json): Json[] {
  if (typeof value !== "string") return [value];
  const inDocument = allowed?.get(equality(value) ?? "") ?? value;
  return [...new Set([value, inDocument, value.normalize("NFC"), value.normalize("NFD")])];
}

/** Returns the hash under which the equality index lists a value, or null if the value is not indexed. */
export function equalityToken(field: CompiledField, value: Json): string | null | Promise<string> {
  const token = field.type.token(value);
  return token === null ? null : (hashes.get(token) ?? hashOf(token));
}

async function hashOf(token: string): Promise<string> {
  const hash = `h${(await sha256(token)).slice(0, 22)}`;
  if (token.length <= SHORT) hashes.set(token, hash);
  return hash;
}

/**
 * Returns the hashes that reserve a unique value: of its normalized form and, for older versions of this software, of
 * the value as written. Sensitive values use HMACs, so that stored data does not reveal the values. During a rotation
 * of `CLAIM_KEY`, each value has one hash per secret.
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

async function formTokens(
  config: Config,
  schema: CompiledSchema,
  field: CompiledField,
  { value, market, language }: Pick<Leaf, "value" | "market" | "language">,
): Promise<{ written: string[]; normal: string[] }> {
  const tokens = async (token: string): Promise<string[]> => {
    const text = `${market ?? ""}/${language ?? ""}/${token}`;
    if (!field.sensitive) return [await sha256(text)];
    return hmacs(config, `${schema.orb}/${homeKey(schema.home)}/${field.storedName}/${text}`);
  };
  const token = field.type.token(value);
  const form = field.equality(value);
  if (isBlankForm(form)) return { written: [], normal: [] };
  return {
    written: token === null ? [] : await tokens(token),
    normal: form === null || form === token ? [] : await tokens(form),
  };
}

/**
 * Finds unique values that change when they are normalized. Returns a map from the index key of each normalized value
 * to the index keys of the value as written.
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
          `u.${field.token}.${token}`,
          written.map((other) => `u.${field.token}.${other}`),
        );
      }
    }
  }
  return keys;
}

export function hasForms(schema: CompiledSchema): boolean {
  return schema.unique.some(({ equality, type }) => equality !== type.token);
}

/**
 * Returns whether the entry may lack index keys. Older versions of this software stored the index key of a unique value
 * as written, but not the key of its normalized form (`unique-form.ts`).
 */
export function mayNeedForms(
  schema: CompiledSchema,
  { values, claims, liveClaims }: Pick<EntrySnapshot, "values" | "claims" | "liveClaims">,
): boolean {
  return schema.unique.some((field) => {
    const { type, equality } = field;
    if (field.sensitive || equality === type.token) return false;
    const start = `u.${field.token}.`;
    return (
      leavesOf(field, values as Values).some(({ value }) => type.token(value) !== equality(value)) ||
      (liveClaims ?? []).some((key) => key.startsWith(start) && !claims.includes(key))
    );
  });
}

/** Returns the index keys of sensitive values. They are HMACs, so they change with the secrets in `CLAIM_KEY`. */
export function secretOf(schema: CompiledSchema, keys: readonly string[]): string[] {
  const secret = schema.unique.filter((field) => field.sensitive).map(({ token }) => `u.${token}.`);
  return secret.length === 0 ? [] : keys.filter((key) => secret.some((start) => key.startsWith(start)));
}

/** Returns the HMAC-SHA-256 of a string under each secret in `CLAIM_KEY`, as base64url. */
export function hmacs(config: Config, text: string): Promise<string[]> {
  return Promise.all(
    config.claimKeys.map(async (secret) => {
      const key = imported.get(secret) ?? (await importSecret(secret));
      return base64url.encode(new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text))));
    }),
  );
}

/** Secrets of `CLAIM_KEY`, ready for use, because the import of one takes as long as its use. */
const imported = new BoundedMap<string, CryptoKey>(8);

async function importSecret(secret: string): Promise<CryptoKey> {
  const bytes = new Uint8Array(base64url.decode(secret));
  const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  imported.set(secret, key);
  return key;
}

export function isUniqueKey(key: string): boolean {
  return key.startsWith("u.");
}

function isEqualityKey(key: string): boolean {
  return key.startsWith("e.");
}

export function isWordKey(key: string): boolean {
  return key.startsWith("w.");
}

/** Returns whether the key belongs to an index that has a log: an ordered index or a word index. */
export function isOrderedKey(key: string): boolean {
  return key.startsWith("o.") || isWordKey(key);
}

/**
 * Returns whether an index key may be written separately from its entry, not in one atomic batch. This is safe if
 * readers of the index compare each message with the entry.
 */
export function isHintKey(key: string): boolean {
  return isEqualityKey(key) || isOrderedKey(key);
}

export function orderedKey(field: string, value: OrderedValue): string {
  return field === WORDS ? `w.${String(value)}` : `o.${field}.${JSON.stringify(value)}`;
}

export function referenceKey(field: string, target: string): string {
  return `r.${field}.${target}`;
}

/** Returns the sorted index keys of an entry. The values must be decrypted. */
export async function indexKeysOf(
  config: Config,
  schema: CompiledSchema,
  plain: Readonly<Values>,
): Promise<string[]> {
  const keys = new Set<string>();
  for (const field of schema.unique) {
    for (const leaf of leavesOf(field, plain)) {
      const tokens = await uniqueTokens(config, schema, field, leaf.value, leaf.market, leaf.language);
      for (const token of tokens) keys.add(`u.${field.token}.${token}`);
    }
  }
  for (const field of schema.indexed) {
    if (indexKind(field) !== "eq") continue;
    for (const leaf of leavesOf(field, plain)) {
      const token = await equalityToken(field, leaf.value);
      if (token !== null) keys.add(`e.${field.token}.${token}`);
    }
  }
  for (const field of schema.references) {
    for (const target of referenceTargets(field, plain)) keys.add(referenceKey(field.token, target));
  }
  for (const field of schema.ordered) keys.add(orderedKey(field.indexName, orderedValue(field, plain)));
  for (const term of termsOf(schema, plain)) keys.add(orderedKey(WORDS, term));
  return [...keys].sort();
}

export interface IndexKey {
  kind: "u" | "e" | "r" | "o";
  /** Token of the field, or the name of its index. */
  field: string;
  /** The last part of the key: a hash of the value, the id of the referenced entry, or the value as JSON. */
  token: string;
}

/** Returns the name of the field that a token stands for in index keys and subjects. */
export function nameOfToken(schema: CompiledSchema | undefined, token: string): string {
  const named = schema?.renamed === true ? fieldsOfToken(schema, token)[0]?.name : undefined;
  // A field that was removed has only its stored name, which can have a number that tells it from an earlier one.
  return named ?? token.replaceAll("-", ".").replace(/~\w+/g, "");
}

/**
 * Returns the fields of a token. Components of one field of blocks may have fields with the same token. Empty if the
 * schema no longer has such a field, even if it has the object that contained it.
 */
export function fieldsOfToken(schema: CompiledSchema, token: string): CompiledField[] {
  const fields = allFields(schema);
  const named = [token, ...movedTokens(schema, token)].map((one) =>
    fields.filter((field) => isTokenOf(field, one)),
  );
  return named.find(({ length }) => length > 0) ?? [];
}

/**
 * Returns the token of a field that has moved into an object, or out of one, since entries were written with the given
 * token. Entries keep such tokens until their next write.
 */
function movedTokens(schema: CompiledSchema, token: string): string[] {
  return schema.moved.flatMap(({ path, stored, moves }) => {
    const members = moves.flatMap(({ objects, members: inside }) =>
      [...objects.keys()].flatMap((object) => [...inside.keys()].map((member) => `${object}-${member}`)),
    );
    const start = [...stored, ...members].find((one) => token === one || token.startsWith(`${one}-`));
    const [field] = fieldsNamed(schema, path);
    return start === undefined || field === undefined ? [] : [field.token + token.slice(start.length)];
  });
}

/** Returns whether index keys of a field have a token: the current one, or one from before a change of type. */
function isTokenOf({ stored, forms, parent }: CompiledField, token: string): boolean {
  return [stored, ...(forms?.keys() ?? [])].some((name) => {
    if (parent === undefined) return token === name;
    return token.endsWith(`-${name}`) && isTokenOf(parent, token.slice(0, -name.length - 1));
  });
}

export function parseKey(key: string): IndexKey {
  if (isWordKey(key)) return { kind: "o", field: WORDS, token: JSON.stringify(key.slice(2)) };
  const kind = key.slice(0, 1);
  const dot = key.indexOf(".", 2);
  const [field, token] = dot < 0 ? [key.slice(2), ""] : [key.slice(2, dot), key.slice(dot + 1)];
  return { kind: kind === "u" || kind === "e" || kind === "o" ? kind : "r", field, token };
}

/** Returns the ordered index of a key, and the value that the key contains. */
export function orderedKeyParts(key: string): { field: string; value: OrderedValue } {
  // An entry can have thousands of words. Encoding them as JSON and decoding them again would be slow.
  if (isWordKey(key)) return { field: WORDS, value: key.slice(2) };
  const { field, token } = parseKey(key);
  return { field, value: JSON.parse(token) as OrderedValue };
}

export function keySubject(address: EntryAddress, key: string): string {
  return subjectOf(address, parseKey(key));
}

export function subjectOf(address: EntryAddress, { kind, field, token }: IndexKey): string {
  switch (kind) {
    case "u":
      return subjects.unique(address, field, token);
    case "e":
      return subjects.equality(address, field, token);
    case "o":
      return subjects.orderedLog(address, field);
    default:
      return subjects.reference(token, address, field);
  }
}
