/** Runtime API responses, and their entity tags. */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import type { VisibleEntry } from "../index/visible.ts";
import { fingerprint } from "../model/cursor.ts";
import { knownLocales } from "../model/known.ts";
import { type Choice, resolveField } from "../model/localize.ts";
import type { EntryView } from "../model/snapshot.ts";

/**
 * An entry in runtime API responses. `expand` contains referenced entries by field, or null for those that the caller
 * cannot see.
 */
export interface RuntimeEntry extends EntryView {
  expand?: Record<string, unknown>;
}

/** Language, market and fields of a response. */
export interface Presentation {
  choice: Choice;
  /** Names of the fields to show. All if omitted. */
  fields?: ReadonlySet<string> | undefined;
}

/** Returns a field's value for a response: one value, or the whole map. Adds the value's language to `languages`. */
export function presentField(
  field: CompiledField,
  stored: unknown,
  choice: Choice,
  languages?: Set<string>,
): unknown {
  if (choice.allLocales || (!field.translatable && !field.marketSpecific)) return stored;
  const { value, language } = resolveField(field, stored, choice);
  if (language !== undefined) languages?.add(language);
  return value;
}

/** Returns an entry's values for a response, without fields that the definition no longer has. */
export function presentValues(
  schema: CompiledSchema,
  values: Readonly<Record<string, unknown>>,
  { choice, fields }: Presentation,
  languages: Set<string>,
): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [name, field] of schema.fields) {
    if (fields !== undefined && !fields.has(name)) continue;
    const stored = Object.hasOwn(values, name) ? values[name] : undefined;
    const known = choice.allLocales ? knownLocales(schema, field, stored) : stored;
    if (known !== undefined) out[name] = presentField(field, known, choice, languages);
  }
  return out;
}

/** Returns an entry for a runtime API response. @param languages collects the languages of its values */
export function presentEntry(
  seen: VisibleEntry,
  presentation: Presentation,
  languages: Set<string>,
): RuntimeEntry {
  const { shown, schema } = seen;
  return {
    id: shown.id,
    orb: shown.orb,
    module: schema.module,
    schema: schema.id,
    status: shown.status,
    revision: shown.revision,
    publishedRevision: shown.publishedRevision,
    validFrom: shown.validFrom,
    validTo: shown.validTo,
    createdAt: shown.createdAt,
    createdBy: shown.createdBy,
    updatedAt: shown.updatedAt,
    updatedBy: shown.updatedBy,
    values: presentValues(schema, shown.values, presentation, languages),
  };
}

/**
 * Returns the entity tag of a runtime API response: the newest revision number, and a hash of what else the response
 * depends on.
 * @param parts definition revision, choice, fields, expanded entries …
 */
export function runtimeTag(newest: number, parts: readonly unknown[]): string {
  return `"${newest}-${fingerprint(JSON.stringify(parts))}"`;
}

/** Returns the part of a choice that affects a response. */
export function choiceKey(choice: Choice): unknown[] {
  return choice.allLocales ? ["*"] : [choice.languages, choice.markets];
}
