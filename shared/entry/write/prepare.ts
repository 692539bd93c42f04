import type { Actor } from "../../access/actor.ts";
import { isOwn, may, mayField, type Principal } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { ruleFaults } from "../../definition/rule.ts";
import { type Values, validateValues } from "../../definition/validate.ts";
import type { Deps } from "../../deps.ts";
import { type Attached, attachFiles } from "../../files/attach.ts";
import { AppError, type Fault, invalid } from "../../kernel/errors.ts";
import { encodeText } from "../../kernel/ids.ts";
import { isObject } from "../../kernel/json.ts";
import type { Guesses } from "../../quotas/guesses.ts";
import { countValues } from "../../quotas/write.ts";
import { checkTargets, withMarkup, withReferences, withSlugs } from "../index/index.ts";
import {
  fieldsOfToken,
  type Guard,
  groupedByReaders,
  indexKeysOf,
  isUniqueKey,
  mayReadAt,
  type OrbContext,
  ofFields,
  parseKey,
  readableIn,
  remembered,
  richTextsOf,
  type StoredValue,
  sealValues,
  secretOf,
} from "../model/index.ts";
import { neededFaults } from "../values/index.ts";

/** An entry's values must have fewer bytes than this, as JSON. */
export const ENTRY_LIMIT = 512 * 1024;

const NO_GUESSES: Guesses = { secret: [], unread: [] };

export interface Prepared {
  values: Record<string, StoredValue>;
  claims: string[];
  guards: Guard[];
  /**
   * In fields that the caller may read: what was changed in texts to fit their fields, and references of a publication
   * whose targets are gone.
   */
  warnings: Fault[];
  /** Index keys of values that the platform chose. Another attempt may choose others. */
  made?: readonly string[];
}

type Related = Attached & Pick<Prepared, "warnings">;

export interface Preparation {
  id: string;
  /** Values from the client, or the masked stored values if the client sent none. */
  given: unknown;
  stored: Readonly<Record<string, StoredValue>>;
  /** Other values of which those to store are made: what they keep of these is stored as it is there. */
  from?: readonly unknown[];
  /**
   * Index keys that are already stored for the entry. A reference among them was checked earlier, and is not checked
   * again.
   */
  held: readonly string[];
  publish: boolean;
  faults: readonly Fault[];
  /** Account that created the entry. For a new entry, this is the caller. */
  createdBy: string;
  /** Returns the faults of values that the write must keep. Called if a conversion of a text has changed the values. */
  keeps?: (values: Readonly<Record<string, unknown>>) => readonly Fault[];
  /** Whether the write brings back a deleted entry. */
  revives?: boolean | undefined;
  /** Number of earlier attempts of the same write that met a conflict. */
  attempt?: number | undefined;
}

interface RelatedValues extends Pick<Preparation, "id" | "stored" | "publish" | "revives"> {
  values: Readonly<Values>;
  held: ReadonlySet<string>;
}

function sizeOf(values: object): number {
  return encodeText(JSON.stringify(values)).length;
}

/**
 * Returns the size in bytes of the values that the caller may read. Throws 413 if the values are too large. Fields with
 * different readers have separate limits, because with a common limit, a caller could find out how large the hidden
 * fields are.
 * @param view the schema, reduced to the fields that the caller may read
 */
function measured(schema: CompiledSchema, view: CompiledSchema, values: Readonly<Values>): number {
  if (!schema.narrowed.read) {
    const bytes = sizeOf(values);
    if (bytes >= ENTRY_LIMIT) throw tooLarge(ENTRY_LIMIT, false);
    return bytes;
  }
  const groups = groupedByReaders(schema, values);
  const limit = Math.floor(ENTRY_LIMIT / Math.max(1, groups.size));
  for (const group of groups.values()) if (sizeOf(group) >= limit) throw tooLarge(limit, groups.size > 1);
  return sizeOf(ofFields(view, values));
}

function tooLarge(limit: number, grouped: boolean): AppError {
  const which = grouped ? "The entry's values in fields with the same readers" : "The entry's values";
  const detail = `${which} must be smaller than ${Math.floor(limit / 1024)} KiB as JSON. Remove or shorten some of them. Store large content, such as GeoJSON, as a file, in a field of type file.`;
  return new AppError("too_large", "entry_too_large", detail);
}

/**
 * Validates values and encrypts the sensitive ones.
 * @throws AppError invalid with all validation errors
 */
export async function prepare(
  deps: Deps,
  caller: Principal,
  context: OrbContext,
  schema: CompiledSchema,
  input: Preparation,
): Promise<Prepared> {
  const isNew = Object.keys(input.stored).length === 0;
  const { actor } = caller;
  const converted = hasRichText(schema)
    ? await withMarkup(schema, input.given, input.stored)
    : { given: input.given, faults: [], warnings: [] };
  const named =
    schema.references.length === 0
      ? { given: converted.given, faults: [] }
      : await withReferences(deps, actor, context, schema, converted.given);
  const { given, made } =
    schema.slugs.length === 0
      ? { given: named.given, made: [] }
      : await withSlugs(deps, schema, { ...input, given: named.given });
  const checked = validateValues(schema, given, {
    ...(isNew ? {} : { existing: input.stored as Values }),
    languages: deps.request.languages,
    publish: input.publish,
  });
  const isUnresolved = (at: string) =>
    [...converted.faults, ...named.faults].some(({ path }) => at === path || at.startsWith(`${path}/`));
  const faults = [
    ...converted.faults,
    ...(converted.given === input.given || !isObject(converted.given)
      ? []
      : (input.keeps?.(converted.given) ?? [])),
    ...named.faults,
    ...neededFaults(deps.clock, schema, checked).filter(({ path }) => !isUnresolved(path)),
    ...ruleFaults(schema, checked.values),
    ...input.faults,
  ];
  const held = new Set(input.held);
  const related = hasRelated(schema)
    ? await attachRelated(deps, actor, context, schema, { ...input, values: checked.values, held })
    : { values: checked.values, faults: [], warnings: [], guards: [] };
  const notLive = related.faults.filter((fault) => fault.code === "reference_not_live");
  faults.push(...related.faults.filter((fault) => fault.code !== "reference_not_live"));
  if (faults.length > 0) throw invalid(faults);
  if (notLive.length > 0) throw referencesNotLive(notLive);
  const { stored, plain } = await sealValues(deps.config, schema, input.id, related.values, input.stored);
  const view = readableIn(schema, caller, input.createdBy);
  const bytes = measured(schema, view, plain);
  const claims = await indexKeysOf(deps.config, schema, plain);
  const guesses = schema.unique.length === 0 ? NO_GUESSES : guessesIn(schema, view, caller, claims, held);
  await countValues(deps, actor, context.orb, { bytes, publish: input.publish, guesses });
  const found = [...converted.warnings, ...related.warnings];
  const warnings = schema.narrowed.read ? readableFaults(schema, caller, input.createdBy, found) : found;
  const values = remembered(stored, input.stored, ...(input.from ?? []).filter(isObject));
  return { values, claims, guards: related.guards, warnings, made };
}

/** Returns the faults of values that the caller may read. */
function readableFaults(
  schema: CompiledSchema,
  caller: Principal,
  createdBy: string,
  faults: readonly Fault[],
): Fault[] {
  const own = isOwn(caller.actor, createdBy);
  return faults.filter(({ path }) =>
    mayReadAt(schema, path.split("/").slice(2), ({ access }) => mayField(caller, "read", { access, own })),
  );
}

const hasRichText = (schema: CompiledSchema) => richTextsOf(schema).length > 0;

function hasRelated({ references, files }: CompiledSchema): boolean {
  return references.length > 0 || files.length > 0;
}

/** Checks the references in the values, and marks the files that the values name as used by the entry. */
async function attachRelated(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  schema: CompiledSchema,
  { id, values, stored, held, publish, revives }: RelatedValues,
): Promise<Related> {
  const [targets, files] = await Promise.all([
    checkTargets(deps, actor, context, schema, id, values, {
      live: publish,
      held,
      stored: stored as Values,
    }),
    attachFiles(deps, actor, context, schema, { id, values, stored, publish, revives }),
  ]);
  return {
    values: files.values,
    faults: [...targets.faults, ...files.faults],
    warnings: targets.warnings,
    guards: [...targets.guards, ...files.guards],
  };
}

/**
 * Returns the unique fields with which a caller could guess values of other entries: those that are sensitive or that
 * the caller may not read, and all of them if the caller may not read the drafts of others. A conflict reveals that
 * another entry has the value, so a rate limit counts these writes.
 */
function guessesIn(
  schema: CompiledSchema,
  view: CompiledSchema,
  caller: Principal,
  keys: readonly string[],
  held: ReadonlySet<string>,
): Guesses {
  const sensitive = new Set(secretOf(schema, keys));
  const readsAll =
    may(caller, "read", { access: schema.access, own: false }) &&
    may(caller, "readDraft", { access: schema.access, own: false });
  const guesses = { secret: [] as string[], unread: [] as string[] };
  for (const key of keys) {
    if (!isUniqueKey(key) || held.has(key)) continue;
    const { field } = parseKey(key);
    if (sensitive.has(key) || fieldsOfToken(view, field).length === 0) guesses.secret.push(field);
    else if (!readsAll) guesses.unread.push(field);
  }
  return guesses;
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
