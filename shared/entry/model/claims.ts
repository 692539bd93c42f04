/**
 * What an entry holds beside its log: unique values, equality indexes, references. Each is a key in the snapshot and a
 * message in the orb's stream; the sets before and after a write give the messages of its atomic act.
 *
 * Keys: `u.<field>.<token>` unique value, `e.<field>.<token>` equality index, `r.<field>.<target id>` reference.
 */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import type { Json } from "../../definition/fields/index.ts";
import type { Values } from "../../definition/validate.ts";
import { type Leaf, leavesOf, referenceTargets } from "../../definition/values.ts";
import type { Config } from "../../deps.ts";
import { base64url, sha256 } from "../../kernel/ids.ts";
import { type EntryAddress, subjects } from "../../store/subjects.ts";
import type { Append } from "../../store/types.ts";
import type { EntrySnapshot } from "./snapshot.ts";

/** Seconds after which a freed claim or index message is gone. */
const FREED_SECONDS = 1;
/** Body of index messages: anything but empty, which means "freed". */
const PRESENT = "1";

const encoder = new TextEncoder();

/** Which index answers equality on a field: its unique claims, its references, its own index, or none. */
export function indexKind(field: CompiledField): "uq" | "ref" | "eq" | null {
  if (!field.indexed) return null;
  if (field.definition.type === "reference") return "ref";
  return field.unique ? "uq" : "eq";
}

/** Hashes of short texts: the values of enums are few and come again and again. */
const hashes = new Map<string, string>();
const HASHES = 1000;
const SHORT = 64;

/** The token of a value in a field's equality index; null when the value has none. */
export async function equalityToken(field: CompiledField, value: Json): Promise<string | null> {
  const token = field.type.token(value);
  if (token === null) return null;
  const known = hashes.get(token);
  if (known !== undefined) return known;
  const hash = `h${(await sha256(token)).slice(0, 22)}`;
  if (token.length <= SHORT) {
    if (hashes.size >= HASHES) hashes.clear();
    hashes.set(token, hash);
  }
  return hash;
}

/**
 * The tokens under which a unique value is claimed: none when it has none. It is claimed in its normal form and, where it
 * was written in another one, as written too: that is how versions before the normal form claimed it, and instances of
 * both may serve side by side. A sensitive value has a token under each of the claim keys: an HMAC bound to the field, so
 * that readers of the broker's files can neither guess nor compare values. While keys change, two instances that have one
 * key in common still meet.
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

/** The tokens of a unique value as it was written, and those of its normal form where that is another one. */
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

/** Keys of normal forms in which values were not written, each with the keys of the value as it was written. */
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

/** Whether values of a schema's unique fields have normal forms. */
export function hasForms(schema: CompiledSchema): boolean {
  return schema.unique.some(({ equality, type }) => equality !== type.token);
}

/**
 * Whether an entry's values must tell what it holds, as its keys may have been made by a version that knew no normal form:
 * a unique value is in another form, or its live revision, which is not at hand, has another one than the newest.
 */
export function mayLackForms(
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

/** Those of these keys that depend on the claim keys. */
export function secretOf(schema: CompiledSchema, keys: readonly string[]): string[] {
  const secret = schema.unique.filter((field) => field.sensitive).map(({ name }) => `u.${name}.`);
  return secret.length === 0 ? [] : keys.filter((key) => secret.some((start) => key.startsWith(start)));
}

/** HMAC-SHA-256 under each claim key, as base64url: for what must not be guessable from its hash. */
export function hmacs(config: Config, text: string): Promise<string[]> {
  return Promise.all(
    config.claimKeys.map(async (secret) => {
      const hmac = { name: "HMAC", hash: "SHA-256" };
      const key = await crypto.subtle.importKey("raw", base64urlBytes(secret), hmac, false, ["sign"]);
      return base64url(new Uint8Array(await crypto.subtle.sign("HMAC", key, encoder.encode(text))));
    }),
  );
}

function base64urlBytes(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

/** Whether a key claims a unique value. */
export function isUniqueKey(key: string): boolean {
  return key.startsWith("u.");
}

/** Whether a key stands for a value in an equality index. */
export function isEqualityKey(key: string): boolean {
  return key.startsWith("e.");
}

/** The key of a reference to an entry. */
export function referenceKey(field: string, target: string): string {
  return `r.${field}.${target}`;
}

/** Everything that values hold, as keys, sorted. `plain` has its sensitive values in plaintext. */
export async function claimsOf(
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

/** A key taken apart. */
export interface ClaimKey {
  kind: "u" | "e" | "r";
  field: string;
  /** Token of the value, or the id of the entry referred to. */
  token: string;
}

/** Takes a key apart. */
export function parseKey(key: string): ClaimKey {
  const [kind, field = "", token = ""] = key.split(".");
  return { kind: kind === "u" || kind === "e" ? kind : "r", field, token };
}

/** The subject of a key's message. */
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

/** What a write adds and frees. */
export interface ClaimChange {
  adds: string[];
  frees: string[];
}

/** The difference between what was held and what will be. */
export function claimChange(before: ReadonlySet<string>, after: ReadonlySet<string>): ClaimChange {
  return {
    adds: [...after].filter((key) => !before.has(key)),
    frees: [...before].filter((key) => !after.has(key)),
  };
}

/**
 * The messages of a change. Claims of unique values expect that nobody holds them.
 * @param known sequence of the claim's last message where it was looked up; otherwise one that is added is assumed to have
 * none, and one that is freed to be its entry's own
 */
export function claimMessages(
  address: EntryAddress,
  change: ClaimChange,
  known: ReadonlyMap<string, number> = new Map(),
): Append[] {
  const messages: Append[] = [];
  const touched = new Set<string>();
  for (const key of change.adds) {
    const subject = keySubject(address, key);
    const { kind, token } = parseKey(key);
    if (kind === "u") {
      messages.push({ subject, data: address.id, expect: { seq: known.get(key) ?? 0 } });
      continue;
    }
    messages.push({ subject, data: PRESENT, rollup: true });
    if (kind === "r" && !touched.has(token)) {
      touched.add(token);
      messages.push({ subject: subjects.referenceGuard(address.orb, token), data: PRESENT, rollup: true });
    }
  }
  for (const key of change.frees) {
    const seq = known.get(key);
    messages.push({
      subject: keySubject(address, key),
      data: "",
      rollup: true,
      ttl: FREED_SECONDS,
      ...(seq === undefined ? {} : { expect: { seq } }),
    });
  }
  return messages;
}

/**
 * Marks of the values that an entry takes after its creation. Index messages of values lie in the order in which they
 * were taken; lists in creation order read them so, and look among these marks for the few that are out of order.
 */
export function lateMarks(address: EntryAddress, change: ClaimChange): Append[] {
  const marks = (keys: readonly string[], message: Omit<Append, "subject">): Append[] =>
    keys
      .map(parseKey)
      .filter(({ kind }) => kind !== "u")
      .map(({ field, token }) => ({ ...message, subject: subjects.late(address, field, token) }));
  return [
    ...marks(change.adds, { data: PRESENT, rollup: true }),
    ...marks(change.frees, { data: "", rollup: true, ttl: FREED_SECONDS }),
  ];
}
