/** Merges two versions of a value that were made from the same one: members and items by their keys. */
import { equal, isObject } from "../kernel/json.ts";
import { isParagraph, type KeyOf, keyed } from "./changes.ts";

export interface Merged {
  value: unknown;
  /** Places that both versions have changed, each in another way: names and keys that lead there. */
  conflicts: string[][];
}

const same = (a: unknown, b: unknown) => equal(a ?? null, b ?? null);

type Members = Readonly<Record<string, unknown>>;

export interface MergeOptions {
  /** Returns whether the value at a place is an object that is compared as a whole, such as an encrypted value. */
  isWhole?: (value: unknown, way: readonly string[]) => boolean;
  /** Returns whether a conflict at a place takes the value of `theirs`. */
  isTheirs?: (way: readonly string[]) => boolean;
  /** Returns the key of an item in a list. Default: its `_key`. */
  keyOf?: KeyOf;
}

/**
 * Merges two versions of a value. Where both have changed it, each in another way, takes the one of `mine`, and reports
 * a conflict.
 * @param base the value from which both were made
 * @param theirs the other version
 */
export function merge(
  base: unknown,
  theirs: unknown,
  mine: unknown,
  { isWhole = () => false, isTheirs = () => false, keyOf }: MergeOptions = {},
): Merged {
  const conflicts: string[][] = [];
  const at = (way: string[], old: unknown, other: unknown, own: unknown): unknown => {
    if (same(own, other) || same(other, old)) return own;
    if (same(own, old)) return other;
    const all = [old, other, own];
    if (isObject(other) && isObject(own) && !all.some((one) => isParagraph(one) || isWhole(one, way))) {
      return members(way, isObject(old) ? old : {}, other, own);
    }
    const [a, b, c] = [old ?? [], other, own].map((list) => keyed(list, keyOf));
    if (a !== undefined && b !== undefined && c !== undefined) return items(way, a, b, c);
    conflicts.push(way);
    return isTheirs(way) ? other : own;
  };
  const members = (way: string[], old: Members, other: Members, own: Members): Members => {
    const names = [...new Set([...Object.keys(own), ...Object.keys(other)])];
    return Object.fromEntries(
      names.flatMap((name) => {
        const value = at([...way, name], old[name], other[name], own[name]);
        return value === undefined ? [] : [[name, value]];
      }),
    );
  };
  const items = (way: string[], old: Keyed, other: Keyed, own: Keyed): unknown[] => {
    const order = orderOf([...old.keys()], [...other.keys()], [...own.keys()]);
    if (order === undefined) conflicts.push(way);
    return (order ?? [...(isTheirs(way) ? other : own).keys()]).flatMap((key) => {
      const value = at([...way, key], old.get(key), other.get(key), own.get(key));
      return value === undefined ? [] : [value];
    });
  };
  return { value: at([], base, theirs, mine), conflicts };
}

type Keyed = ReadonlyMap<string, unknown>;

const among = (keys: readonly string[], some: readonly string[]) => keys.filter((key) => some.includes(key));

/**
 * Returns the order of the items of both versions: that of the version that has changed it, with the new items of the
 * other one after the items that they follow there. Undefined if both have changed it.
 */
function orderOf(
  old: readonly string[],
  other: readonly string[],
  own: readonly string[],
): string[] | undefined {
  const all = among(among(old, other), own);
  const isMoved = (some: readonly string[]) => !equal(among(some, all), all);
  if (isMoved(other) && isMoved(own) && !equal(among(other, all), among(own, all))) return undefined;
  const [first, second] = isMoved(other) ? [other, own] : [own, other];
  const order = [...first];
  for (const [index, key] of second.entries()) {
    if (order.includes(key)) continue;
    const before = second.slice(0, index).findLast((one) => order.includes(one));
    order.splice(before === undefined ? 0 : order.indexOf(before) + 1, 0, key);
  }
  return order;
}
