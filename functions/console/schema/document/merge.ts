/** Structural diff and three-way merge of documents. */
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

/** Compares two texts by line. */
export function diffLines(from: string, to: string): DiffLine[] {
  const [a, b] = [from.split("\n"), to.split("\n")];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const [m, n] = [a.length - start - end, b.length - start - end];
  const lines: DiffLine[] = a
    .slice(0, start)
    .map((text, at) => ({ kind: "same", text, at: [at + 1, at + 1] }));
  // Longest common subsequence. Very long changes count as one replacement, because the table would be too large.
  const table = m * n > 4_000_000 ? undefined : new Uint16Array((m + 1) * (n + 1));
  const cell = (i: number, j: number) => table?.[i * (n + 1) + j] ?? 0;
  if (table !== undefined) {
    for (let i = m - 1; i >= 0; i--)
      for (let j = n - 1; j >= 0; j--)
        table[i * (n + 1) + j] =
          a[start + i] === b[start + j] ? cell(i + 1, j + 1) + 1 : Math.max(cell(i + 1, j), cell(i, j + 1));
  }
  for (let i = 0, j = 0; i < m || j < n; ) {
    const [old, now] = [a[start + i] ?? "", b[start + j] ?? ""];
    if (table !== undefined && i < m && j < n && old === now) {
      lines.push({ kind: "same", text: old, at: [start + ++i, start + ++j] });
    } else if (i < m && (j >= n || cell(i + 1, j) >= cell(i, j + 1))) {
      lines.push({ kind: "removed", text: old, at: [start + ++i, null] });
    } else lines.push({ kind: "added", text: now, at: [null, start + ++j] });
  }
  for (let at = 0; at < end; at++)
    lines.push({
      kind: "same",
      text: a[start + m + at] ?? "",
      at: [start + m + at + 1, start + n + at + 1],
    });
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
