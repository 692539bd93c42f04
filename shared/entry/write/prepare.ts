import type { Actor } from "../../access/actor.ts";
import { principalIn } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { ruleFaults } from "../../definition/rule.ts";
import { type Values, validateValues } from "../../definition/validate.ts";
import type { Deps } from "../../deps.ts";
import { type Attached, attachFiles } from "../../files/attach.ts";
import { AppError, type Fault, invalid } from "../../kernel/errors.ts";
import { encodeText } from "../../kernel/ids.ts";
import { countValues } from "../../quotas/write.ts";
import { checkTargets } from "../index/references.ts";
import { ofFields, readableIn } from "../model/fields.ts";
import { indexKeysOf, isUniqueKey, parseKey, referenceKey, secretOf } from "../model/index-keys.ts";
import type { Guard } from "../model/messages.ts";
import type { OrbContext } from "../model/resolve.ts";
import { sealValues } from "../model/sealing.ts";
import type { StoredValue } from "../model/snapshot.ts";

/** An entry's values must have fewer bytes than this, as JSON. */
export const ENTRY_LIMIT = 512 * 1024;

export interface Prepared {
  values: Record<string, StoredValue>;
  claims: string[];
  guards: Guard[];
}

export interface Preparation {
  id: string;
  /** Values from the client, or the masked stored values if the client sent none. */
  given: unknown;
  stored: Readonly<Record<string, StoredValue>>;
  /**
   * Index keys that are already stored for the entry. A reference among them was checked earlier, and is not checked
   * again.
   */
  held: readonly string[];
  publish: boolean;
  faults: readonly Fault[];
  /** Account that created the entry. For a new entry, this is the caller. */
  createdBy: string;
}

interface RelatedValues extends Pick<Preparation, "id" | "stored" | "publish"> {
  values: Readonly<Values>;
  held: ReadonlySet<string>;
}

function sizeOf(values: Readonly<Record<string, unknown>>): number {
  return encodeText(JSON.stringify(values)).length;
}

/**
 * Returns the size in bytes of the values that the caller may read. Throws 413 if the values are too large. Fields with
 * different readers have separate limits, because with a common limit, a caller could find out how large the hidden
 * fields are.
 * @param view the schema, reduced to the fields that the caller may read
 */
function measured(
  schema: CompiledSchema,
  view: CompiledSchema,
  values: Readonly<Record<string, unknown>>,
): number {
  if (!schema.narrowed.read) {
    const bytes = sizeOf(values);
    if (bytes >= ENTRY_LIMIT) throw tooLarge(ENTRY_LIMIT, false);
    return bytes;
  }
  const readers = Map.groupBy(schema.fields.values(), ({ access }) => JSON.stringify(access.read ?? null));
  const limit = Math.floor(ENTRY_LIMIT / Math.max(1, readers.size));
  for (const fields of readers.values()) {
    const group = fields.flatMap(({ name }) => (Object.hasOwn(values, name) ? [[name, values[name]]] : []));
    if (sizeOf(Object.fromEntries(group)) >= limit) throw tooLarge(limit, readers.size > 1);
  }
  return sizeOf(ofFields(view, values));
}

function tooLarge(limit: number, grouped: boolean): AppError {
  const which = grouped ? "The entry's values in fields with the same readers" : "The entry's values";
  const detail = `${which} must be smaller than ${Math.floor(limit / 1024)} KiB as JSON. Remove or shorten some of them.`;
  return new AppError("too_large", "entry_too_large", detail);
}

/**
 * Validates values and encrypts the sensitive ones.
 * @throws AppError invalid with all validation errors
 */
export async function prepare(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  schema: CompiledSchema,
  input: Preparation,
): Promise<Prepared> {
  const isNew = Object.keys(input.stored).length === 0;
  const checked = validateValues(schema, input.given, isNew ? {} : { existing: input.stored as Values });
  const faults = [...checked.faults, ...ruleFaults(schema, checked.values), ...input.faults];
  const held = new Set(input.held);
  const related = hasRelated(schema)
    ? await attachRelated(deps, actor, context, schema, { ...input, values: checked.values, held })
    : { values: checked.values, faults: [], guards: [] };
  const notLive = related.faults.filter((fault) => fault.code === "reference_not_live");
  faults.push(...related.faults.filter((fault) => fault.code !== "reference_not_live"));
  if (faults.length > 0) throw invalid(faults);
  if (notLive.length > 0) throw referencesNotLive(notLive);
  const { stored, plain } = await sealValues(deps.config, schema, input.id, related.values, input.stored);
  const caller = principalIn(actor, context.orb, context.compiled);
  const view = readableIn(schema, caller, input.createdBy);
  const bytes = measured(schema, view, plain);
  const claims = await indexKeysOf(deps.config, schema, plain);
  const guesses = schema.unique.length === 0 ? [] : guessesIn(schema, view, claims, held);
  await countValues(deps, actor, context.orb, { bytes, guesses });
  return { values: stored, claims, guards: related.guards };
}

function hasRelated({ references, files }: CompiledSchema): boolean {
  return references.length > 0 || files.length > 0;
}

/** Checks the references in the values, and marks the files that the values name as used by the entry. */
async function attachRelated(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  schema: CompiledSchema,
  { id, values, stored, held, publish }: RelatedValues,
): Promise<Attached> {
  const [targets, files] = await Promise.all([
    checkTargets(deps, actor, context, schema, id, values, {
      live: publish,
      ...(publish ? {} : { only: added(schema, values, held) }),
    }),
    attachFiles(deps, actor, context, schema, { id, values, stored }),
  ]);
  return {
    values: files.values,
    faults: [...targets.faults, ...files.faults],
    guards: [...targets.guards, ...files.guards],
  };
}

/**
 * Returns the unique fields with which a caller could guess values of other entries: those that are sensitive or that
 * the caller may not read. A conflict reveals that another entry has the value, so a rate limit counts these writes.
 */
function guessesIn(
  schema: CompiledSchema,
  view: CompiledSchema,
  keys: readonly string[],
  held: ReadonlySet<string>,
): string[] {
  const secret = new Set(secretOf(schema, keys));
  return keys.flatMap((key) => {
    const { field } = parseKey(key);
    const hidden = isUniqueKey(key) && !view.fields.has(field);
    return (secret.has(key) || hidden) && !held.has(key) ? [field] : [];
  });
}

function added(schema: CompiledSchema, values: Readonly<Values>, held: ReadonlySet<string>): Set<string> {
  const out = new Set<string>();
  for (const field of schema.references) {
    const collect = (value: unknown): void => {
      if (typeof value === "string") {
        const key = referenceKey(field.name, value);
        if (!held.has(key)) out.add(key);
      } else if (typeof value === "object" && value !== null) Object.values(value).forEach(collect);
    };
    collect(values[field.name]);
  }
  return out;
}

/** Error 409: a published entry refers to entries that are not published. */
function referencesNotLive(errors: Fault[]): AppError {
  return new AppError(
    "conflict",
    "reference_not_live",
    "The entry refers to entries that are not live. Publish those first.",
    {
      errors,
    },
  );
}
