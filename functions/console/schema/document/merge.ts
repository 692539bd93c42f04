/** Structural diff and three-way merge of documents. */
import { diffArrays } from "diff/lib/diff/array.js";
import { isList, isObject, type Json, type JsonObject, same } from "./pointer.ts";

/** Path to a value. Identifies list items by their property `id`, `name` or `service` instead of their index. */
export type Way = readonly string[];

export interface Difference {
  way: Way;
  /** Undefined if the value was added. */
  from: Json | undefined;
  /** Undefined if the value was removed. */
  to: Json | undefined;
}

/** A value that the user and another user changed differently. */
export interface Clash {
  way: Way;
  mine: Json | undefined;
  theirs: Json | undefined;
}

const keyOf = (item: Json): string | undefined => {
  if (!isObject(item)) return undefined;
  const key = item.id ?? item.name ?? item.service;
  return typeof key === "string" ? key : undefined;
};

/** Returns the items of a list by key; undefined if an item has no key, or two items have the same key. */
function keyed(value: Json | undefined): ReadonlyMap<string, Json> | undefined {
  if (!isList(value)) return undefined;
  const found = new Map<string, Json>();
  for (const item of value) {
    const key = keyOf(item);
    if (key === undefined || found.has(key)) return undefined;
    found.set(key, item);
  }
  return found;
}

/** Returns the properties of an object by name, or the items of a list by key. `list` is true for a list. */
function partsOf(value: Json | undefined): { parts: ReadonlyMap<string, Json>; list: boolean } | undefined {
  if (isObject(value)) return { parts: new Map(Object.entries(value)), list: false };
  const items = keyed(value);
  return items === undefined ? undefined : { parts: items, list: true };
}

const keysOf = (...maps: readonly ReadonlyMap<string, Json>[]) =>
  new Set(maps.flatMap((map) => [...map.keys()]));

/** Lists the differences between two values. An added or removed item counts as one difference. */
export function differences(from: Json | undefined, to: Json | undefined, way: Way = []): Difference[] {
  if (same(from, to)) return [];
  const [before, after] = [partsOf(from), partsOf(to)];
  if (before === undefined || after === undefined || before.list !== after.list) return [{ way, from, to }];
  const found = [...keysOf(before.parts, after.parts)].flatMap((key) =>
    differences(before.parts.get(key), after.parts.get(key), [...way, key]),
  );
  return found.length === 0 ? [{ way, from, to }] : found;
}

/**
 * Three-way merge of two edits of one document.
 * @param choose returns which side wins if both changed the same value
 */
export function merge(
  base: JsonObject,
  mine: JsonObject,
  theirs: JsonObject,
  choose: (way: Way) => "mine" | "theirs",
): { merged: JsonObject; clashes: Clash[] } {
  const clashes: Clash[] = [];
  function walk(a: Json | undefined, b: Json | undefined, c: Json | undefined, way: Way): Json | undefined {
    if (same(b, c) || same(a, c)) return b;
    if (same(a, b)) return c;
    const [before, own, other] = [partsOf(a), partsOf(b), partsOf(c)];
    const empty = { parts: new Map<string, Json>(), list: own?.list ?? false };
    const start = before ?? (isList(a) ? undefined : empty);
    if (own === undefined || other === undefined || start === undefined || own.list !== other.list) {
      clashes.push({ way, mine: b, theirs: c });
      return choose(way) === "mine" ? b : c;
    }
    // Use the order of the side that reordered the list. Append the items that only the other side added.
    const orderOf = (list: ReadonlyMap<string, Json>) =>
      [...list.keys()].filter((key) => start.parts.has(key) && other.parts.has(key)).join("\n");
    const moved = orderOf(start.parts) !== orderOf(other.parts);
    const order = moved ? keysOf(other.parts, own.parts) : keysOf(own.parts, other.parts);
    const parts = new Map<string, Json>();
    for (const key of order) {
      const part = walk(start.parts.get(key), own.parts.get(key), other.parts.get(key), [...way, key]);
      if (part !== undefined) parts.set(key, part);
    }
    return own.list ? [...parts.values()] : Object.fromEntries(parts);
  }
  const merged = walk(base, mine, theirs, []);
  return { merged: isObject(merged) ? merged : mine, clashes };
}

export interface DiffLine {
  kind: "same" | "added" | "removed" | "gap";
  text: string;
  /** Line number in the older and in the newer text; null if that text lacks the line. */
  at: readonly [number | null, number | null];
}

/** Context lines around a change. */
const AROUND = 3;

/** Maximum number of removed and added lines. Texts with more count as replaced, because comparing them takes long. */
const MOST_LINES = 4_000;

/** Compares two texts by line. */
export function diffLines(from: string, to: string): DiffLine[] {
  const [a, b] = [from.split("\n"), to.split("\n")];
  const changes = diffArrays(a, b, { maxEditLength: MOST_LINES }) ?? [
    { value: a, added: false, removed: true },
    { value: b, added: true, removed: false },
  ];
  const lines: DiffLine[] = [];
  let [old, now] = [0, 0];
  for (const { value, added, removed } of changes)
    for (const text of value) {
      if (!added) old++;
      if (!removed) now++;
      const kind = added ? "added" : removed ? "removed" : "same";
      lines.push({ kind, text, at: [added ? null : old, removed ? null : now] });
    }
  return folded(lines);
}

/** Replaces unchanged lines by gaps, except for a few lines around each change. */
function folded(lines: readonly DiffLine[]): DiffLine[] {
  const near = new Set<number>();
  for (const [at, { kind }] of lines.entries())
    if (kind !== "same") for (let by = -AROUND; by <= AROUND; by++) near.add(at + by);
  const result: DiffLine[] = [];
  for (const [at, line] of lines.entries()) {
    if (near.has(at)) result.push(line);
    else if (result.at(-1)?.kind !== "gap") result.push({ kind: "gap", text: "", at: [null, null] });
  }
  return result;
}
