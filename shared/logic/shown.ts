/** Decides which fields of an entry are shown: the rules in `showIf`, over the values of the entry. */
import { type Budget, runRule } from "./engine.ts";

/** The attributes of a field that decide what rules read of it. */
interface ReadField {
  name: string;
  /** Name of the field in the object that contains it. Default: `name`. */
  key?: string | undefined;
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

/** Returns the fields of an object in a value of a field; undefined if the value has no fields of its own. */
export type InsideOf<F> = (field: F, object: Members) => Iterable<F> | undefined;

/**
 * Returns the values that rules read: at all depths, those of the default language and market, and no sensitive ones,
 * because a rule would reveal them.
 */
export function factsOf<F extends ReadField>(
  fields: Iterable<F>,
  values: Members,
  places: Places,
  inside: InsideOf<F>,
): Record<string, unknown> {
  const facts: [string, unknown][] = [];
  for (const field of fields) {
    const { name, key = name } = field;
    if (field.sensitive !== true) facts.push([key, factOf(field, below(values, key), places, inside)]);
  }
  return Object.fromEntries(facts);
}

function factOf<F extends ReadField>(
  field: F,
  stored: unknown,
  places: Places,
  inside: InsideOf<F>,
): unknown {
  let value = stored;
  if (field.marketSpecific === true) value = below(value, places.markets[0]);
  if (field.translatable === true) value = below(value, places.languages[0]);
  const inObject = (object: unknown): unknown => {
    if (typeof object !== "object" || object === null) return object;
    const fields = inside(field, object as Members);
    if (fields === undefined) return object;
    const own = [...fields].filter(({ name, key = name }) => Object.hasOwn(object, key));
    const names = Object.entries(object).filter(([name]) => name === "_key" || name === "_type");
    return { ...Object.fromEntries(names), ...factsOf(own, object as Members, places, inside) };
  };
  return Array.isArray(value) ? value.map(inObject) : inObject(value);
}

/** Name under which the rule of a field inside an object reads the values of the entry. No field can have it. */
const ENTRY = "_entry";

/** Returns what the rules of the fields of an object read: the object's own members, and the entry under `_entry`. */
export function factsInside<F extends ReadField>(
  fields: Iterable<F>,
  object: Members,
  entry: Members,
  places: Places,
  inside: InsideOf<F>,
): Record<string, unknown> {
  return { ...factsOf(fields, object, places, inside), [ENTRY]: entry };
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
