/**
 * References that a client writes as a value of a unique field, such as `{ "name": "Vermeer" }`, instead of an id. If the
 * field refers to several schemas, the object also names the schema: `{ "schema": "shop/people/person", "name": … }`.
 */
import type { Actor } from "../../access/actor.ts";
import { may, principalIn } from "../../access/authorize.ts";
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { type ReferenceTarget, refsOf, targetNamed } from "../../definition/document/index.ts";
import type { Json } from "../../definition/fields/index.ts";
import { leavesWith, readAll, replaceLeaves } from "../../definition/walk.ts";
import type { Deps } from "../../deps.ts";
import { AppError, type Fault } from "../../kernel/errors.ts";
import { clip, escapeSegment, joinNames } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import { comparableBy, type OrbContext, targetSchema } from "../model/index.ts";
import { type EntryKey, keyIn, ownersOf } from "./by-key.ts";

/** A reference by a key, and where the values contain it. */
interface Named {
  field: CompiledField;
  trail: readonly string[];
  /** JSON Pointer of `trail`, for faults. */
  path: string;
  /** The schema of the entry. Undefined if the object names none to which the field may refer. */
  target: ReferenceTarget | undefined;
  key: Readonly<Record<string, unknown>>;
  /** What the values have. With several targets, it also names the schema. */
  sent: Readonly<Record<string, unknown>>;
}

/** Values whose references are ids, and the faults of those that could not be replaced. */
export interface WithReferences {
  given: unknown;
  faults: Fault[];
}

/**
 * Returns the key of a reference, or a fault. Only callers who may read all drafts of the target's schema may use keys,
 * because a key tells whether there is an entry with the value.
 */
function keyOf(actor: Actor, context: OrbContext, { field, path, key, target: to }: Named): EntryKey | Fault {
  if (to === undefined)
    return {
      path,
      code: "type",
      message: `must name the schema of the entry in "schema": ${joinNames(refsOf(field.definition))}`,
    };
  const target = targetSchema(context.compiled, to);
  if (target === undefined)
    return {
      path,
      code: "type",
      message: "must be the id of an entry, because its schema is in another orb",
    };
  const caller = principalIn(actor, context.orb, context.compiled);
  if (!may(caller, "readDraft", { access: target.access, own: false }))
    return {
      path,
      code: "not_allowed",
      message: "must be the id of an entry, because you may not read all entries of its schema",
    };
  const [name, ...more] = Object.keys(key);
  if (name === undefined || more.length > 0)
    return {
      path,
      code: "type",
      message: "must be the id of an entry, or an object with one unique field of it",
    };
  try {
    const found = keyIn(comparableBy(target, caller), [name], key);
    return found ?? { path, code: "type", message: `must have a value of the type of ${clip(name)}` };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { path, code: "unknown_key", message: `must name a unique field. ${error.detail}` };
  }
}

/** A key that no entry of a schema has. */
export interface MissingKey {
  target: CompiledSchema;
  key: EntryKey;
}

/** What the keys in values lead to: references by their paths, or nothing. */
interface Resolved {
  found: Map<string, Json>;
  faults: Fault[];
  missing: MissingKey[];
}

async function resolved(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  named: readonly Named[],
): Promise<Resolved> {
  const result: Resolved = { found: new Map(), faults: [], missing: [] };
  for (const [to, some] of Map.groupBy(named, (one) => one.target)) {
    const wanted = some.flatMap((one) => {
      const key = keyOf(actor, context, one);
      if ("code" in key) result.faults.push(key);
      return "code" in key ? [] : [{ one, key }];
    });
    const target = targetSchema(context.compiled, to);
    if (target === undefined) continue;
    const keys = wanted.map(({ key }) => key);
    const owners = await ownersOf(deps, target, keys, "leader");
    for (const [at, { one, key }] of wanted.entries()) {
      const id = owners[at];
      if (id !== undefined)
        result.found.set(one.path, one.field.polymorphic ? { schema: to?.ref ?? "", id } : id);
      else {
        result.faults.push({ path: one.path, code: "unmatched_reference", message: NO_ENTRY });
        result.missing.push({ target, key });
      }
    }
  }
  return result;
}

/** Returns the references by key in values, at any depth. */
function namedIn(schema: CompiledSchema, given: unknown): Named[] {
  if (!isObject(given)) return [];
  return schema.references.flatMap((field) =>
    leavesWith(readAll, field, given).flatMap(({ value, trail }) => {
      const items =
        field.list && Array.isArray(value)
          ? value.map((item, at) => [item, at] as const)
          : [[value] as const];
      return items.flatMap(([key, at]): Named[] => {
        if (!isObject(key) || (field.list && at === undefined)) return [];
        const way = at === undefined ? trail : [...trail, String(at)];
        const path = `/values/${way.map(escapeSegment).join("/")}`;
        if (!field.polymorphic)
          return [{ field, trail: way, path, target: field.targets[0], key, sent: key }];
        if (Object.hasOwn(key, "id")) return [];
        const { schema: name, ...own } = key;
        return [{ field, trail: way, path, target: targetNamed(field.targets, name), key: own, sent: key }];
      });
    }),
  );
}

/**
 * Returns values whose references by key have other names, in the form of the definition.
 * @param renamed returns the reference that a reference by key stands for. @param target the schema that a field refers
 *   to. Undefined if the field refers to several
 */
export function withRenamedKeys(
  schema: CompiledSchema,
  given: unknown,
  renamed: (key: Readonly<Record<string, unknown>>, target: ReferenceTarget | undefined) => unknown,
): unknown {
  if (schema.references.length === 0 || !isObject(given)) return given;
  return replaceLeaves(
    given,
    namedIn(schema, given).map(({ field, trail, sent }) => ({
      trail,
      value: renamed(sent, field.polymorphic ? undefined : field.targets[0]) as Json,
    })),
  );
}

/** Replaces references by key with references to the entries that have these keys. */
export async function withReferences(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  schema: CompiledSchema,
  given: unknown,
): Promise<WithReferences> {
  const named = schema.references.length === 0 ? [] : namedIn(schema, given);
  if (named.length === 0 || !isObject(given)) return { given, faults: [] };
  const beyond = named[MOST_NAMED];
  if (beyond !== undefined)
    return { given, faults: [{ path: beyond.path, code: "too_many", message: TOO_MANY }] };
  const { found, faults } = await resolved(deps, actor, context, named);
  const replacements = named.flatMap(({ trail, path }) => {
    const value = found.get(path);
    return value === undefined ? [] : [{ trail, value }];
  });
  return { given: replaceLeaves(given, replacements), faults };
}

/** Returns the keys in values that no entry has. */
export async function missingKeys(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  schema: CompiledSchema,
  given: unknown,
): Promise<MissingKey[]> {
  const { missing } = await resolved(deps, actor, context, namedIn(schema, given));
  return missing;
}

/** Maximum references by key in one write: about as many as one write can add. */
const MOST_NAMED = 450;
const TOO_MANY = `must not be one of more than ${MOST_NAMED} references by a unique value. Use ids, or several writes.`;

/** Returns whether a fault only says that no entry has a key. */
export function isUnmatchedKey({ code }: Fault): boolean {
  return code === "unmatched_reference";
}

const NO_ENTRY = "must be a value that an entry has. Create that entry first, or correct the value.";
