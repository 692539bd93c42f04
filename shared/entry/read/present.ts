/** The form in which the runtime API answers entries, and what tells one answer from another. */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import type { Seen } from "../index/seen.ts";
import { fingerprint } from "../model/cursor.ts";
import { knownPlaces } from "../model/known.ts";
import { type Choice, resolveField } from "../model/localize.ts";
import type { EntryView } from "../model/snapshot.ts";

/** An entry as the runtime API answers it. `expand` holds referenced entries by field, null where there is none to see. */
export interface RuntimeEntry extends EntryView {
  expand?: Record<string, unknown>;
}

/** What an answer is made for. */
export interface Presentation {
  choice: Choice;
  /** Names of the fields to show; all of them without it. */
  fields?: ReadonlySet<string> | undefined;
}

/** The value of a field in an answer: one, or the whole map. Collects the languages that were answered. */
export function presentField(
  field: CompiledField,
  stored: unknown,
  choice: Choice,
  languages?: Set<string>,
): unknown {
  if (choice.whole || (!field.translatable && !field.marketSpecific)) return stored;
  const { value, language } = resolveField(field, stored, choice);
  if (language !== undefined) languages?.add(language);
  return value;
}

/** The values of an entry as the definition has them: what it no longer names is not shown. */
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
    const known = choice.whole ? knownPlaces(schema, field, stored) : stored;
    if (known !== undefined) out[name] = presentField(field, known, choice, languages);
  }
  return out;
}

/** An entry as the runtime API answers it. @param languages collects the languages that its values are in */
export function presentEntry(seen: Seen, presentation: Presentation, languages: Set<string>): RuntimeEntry {
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
 * The entity tag of an answer of the runtime API: the newest revision's number, and what else the answer depends on.
 * @param parts definition's revision, choice, fields, what is expanded …
 */
export function runtimeTag(newest: number, parts: readonly unknown[]): string {
  return `"${newest}-${fingerprint(JSON.stringify(parts))}"`;
}

/** How a choice differs from another in answers. */
export function choiceKey(choice: Choice): unknown[] {
  return choice.whole ? ["*"] : [choice.languages, choice.markets];
}
