/** The parts of a value that correspond to each other: as a definition has them, and as they are stored. */
import { equal, isObject } from "../../kernel/json.ts";
import { KEY } from "../document/index.ts";

type Values = Readonly<Record<string, unknown>>;

/** A value as a definition has it, and as it is stored. */
export interface Part {
  named: unknown;
  stored: unknown;
}

/** Values as a definition has them, and as they are stored. */
export interface Source extends Part {
  named: Values;
  stored: Values;
}

/** Returns the part at a key of maps, or the item with a `_key` of lists. Both lists have the same items. */
export function partAt(part: Part | undefined, key: unknown): Part | undefined {
  const { named, stored } = part ?? {};
  if (Array.isArray(named) && Array.isArray(stored)) {
    const at = named.findIndex((one: unknown) => isObject(one) && one[KEY] !== undefined && one[KEY] === key);
    return at < 0 ? undefined : { named: named[at], stored: stored[at] };
  }
  if (!isObject(named) || !isObject(stored) || typeof key !== "string") return undefined;
  if (!Object.hasOwn(named, key) || !Object.hasOwn(stored, key)) return undefined;
  return { named: named[key], stored: stored[key] };
}

/** Returns a part whose values are objects; undefined if they are not. */
export const objectsOf = (part: Part | undefined): Source | undefined =>
  isObject(part?.named) && isObject(part.stored) ? { named: part.named, stored: part.stored } : undefined;

const withoutNulls = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isObject(value)) return value ?? undefined;
  const members = Object.entries(value).map(([name, one]) => [name, withoutNulls(one)] as const);
  const left = members.filter(([, one]) => one !== undefined);
  return left.length === 0 ? undefined : Object.fromEntries(left);
};

/** Returns whether two values are the same, where null and objects without values stand for no value. */
export const isAlike = (one: unknown, other: unknown): boolean =>
  equal(withoutNulls(one), withoutNulls(other));

/** Returns the values that have one of these names. */
export const pick = (values: Values, names: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(names.flatMap((name) => (Object.hasOwn(values, name) ? [[name, values[name]]] : [])));
