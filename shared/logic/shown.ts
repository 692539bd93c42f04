/** Decides which fields of an entry are shown: the rules in `showIf`, over the values of the entry. */
import { type Budget, runRule } from "./engine.ts";

/** The attributes of a field that decide what rules read of it. */
interface ReadField {
  name: string;
  translatable?: boolean | undefined;
  marketSpecific?: boolean | undefined;
  sensitive?: boolean | undefined;
}

interface ConditionalField {
  name: string;
  showIf?: unknown;
}

export interface Places {
  languages: readonly string[];
  markets: readonly string[];
}

type Members = Readonly<Record<string, unknown>>;

function below(value: unknown, key: string | undefined): unknown {
  if (typeof value !== "object" || value === null || key === undefined) return null;
  return Object.hasOwn(value, key) ? ((value as Members)[key] ?? null) : null;
}

/**
 * Returns the values that rules read: those of the default language and market, and no sensitive ones, because a rule
 * would reveal them.
 */
export function factsOf(
  fields: Iterable<ReadField>,
  values: Members,
  { languages, markets }: Places,
): Record<string, unknown> {
  const facts: [string, unknown][] = [];
  for (const { name, translatable, marketSpecific, sensitive } of fields) {
    if (sensitive === true) continue;
    let value = below(values, name);
    if (marketSpecific === true) value = below(value, markets[0]);
    if (translatable === true) value = below(value, languages[0]);
    facts.push([name, value]);
  }
  return Object.fromEntries(facts);
}

/** Name under which the rule of a field inside an object reads the values of the entry. No field can have it. */
const ENTRY = "_entry";

/** Returns what the rules of the fields of an object read: the object's own members, and the entry under `_entry`. */
export function factsInside(
  fields: Iterable<ReadField>,
  object: Members,
  entry: Members,
  places: Places,
): Record<string, unknown> {
  return { ...factsOf(fields, object, places), [ENTRY]: entry };
}

/** Returns the names of the fields whose rule is not met. A field whose rule fails is shown. */
export function hiddenFields(
  fields: Iterable<ConditionalField>,
  facts: Members,
  budget: Budget,
): Set<string> {
  const hidden = new Set<string>();
  for (const { name, showIf } of fields) {
    if (showIf === undefined) continue;
    const { fired, failure } = runRule(showIf, facts, budget);
    if (!fired && failure === undefined) hidden.add(name);
  }
  return hidden;
}
