/** Compares documents, such as the definition of an orb: the items of their lists have names. */
import { equal, isObject } from "../kernel/json.ts";
import { type KeyOf, keyed } from "./changes.ts";

/** Members that name an item of a list. */
const NAMES = ["_key", "id", "name", "service"] as const;

/** Returns the name of an item in a list of a document. */
export const nameIn: KeyOf = (item) =>
  NAMES.map((name) => item[name]).find((value): value is string => typeof value === "string");

/** A place where two documents differ: names that lead there, and the values. A value is undefined if there is none. */
export interface Difference {
  way: readonly string[];
  from: unknown;
  to: unknown;
}

/** Returns the members of an object, or the items of a list by their names. */
function partsOf(value: unknown, keyOf: KeyOf) {
  if (isObject(value)) return { parts: new Map(Object.entries(value)), isList: false };
  const items = keyed(value, keyOf);
  return items === undefined ? undefined : { parts: items, isList: true };
}

/** Lists the differences between two documents. An item that was added or removed counts as one. */
export function differencesIn(
  from: unknown,
  to: unknown,
  keyOf: KeyOf = nameIn,
  way: readonly string[] = [],
): Difference[] {
  if (equal(from, to)) return [];
  const [before, after] = [partsOf(from, keyOf), partsOf(to, keyOf)];
  if (before === undefined || after === undefined || before.isList !== after.isList)
    return [{ way, from, to }];
  const found = [...new Set([...before.parts.keys(), ...after.parts.keys()])].flatMap((key) =>
    differencesIn(before.parts.get(key), after.parts.get(key), keyOf, [...way, key]),
  );
  return found.length === 0 ? [{ way, from, to }] : found;
}

/** Returns the value to which names lead in a document. Undefined if there is none. */
export const valueIn = (document: unknown, way: readonly string[], keyOf: KeyOf = nameIn): unknown =>
  way.reduce<unknown>((value, name) => partsOf(value, keyOf)?.parts.get(name), document);
