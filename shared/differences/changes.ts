/** Compares values with objects, blocks and rich text: items by their keys, texts word by word. */
import { escapeSegment } from "../kernel/faults.ts";
import { isObject } from "../kernel/json.ts";
import { unmoved } from "./moves.ts";
import { WordBudget, type WordChange, wordChanges } from "./words.ts";

/** One difference between two versions of a value. */
export interface Change {
  kind: "added" | "removed" | "moved" | "changed";
  /** Names and keys or positions that lead to the value. Items of lists are named by their `_key`. */
  way: readonly string[];
  before: unknown;
  after: unknown;
  /** The words of a text that has changed. */
  words?: WordChange[];
}

/** Name of the change of a paragraph whose text is the same, but whose marks or links are not. */
export const FORMAT = "children";

interface Sides {
  way: readonly string[];
  before: unknown;
  after: unknown;
}

/** Returns all differences of two versions of a value, in the order of the newer one. */
export function changesIn(before: unknown, after: unknown, budget = new WordBudget()): Change[] {
  return compare({ way: [], before, after }, budget);
}

function compare(sides: Sides, budget: WordBudget): Change[] {
  const { way, before, after } = sides;
  if (JSON.stringify(before ?? null) === JSON.stringify(after ?? null)) return [];
  if (isNothing(before)) return [{ ...sides, kind: "added" }];
  if (isNothing(after)) return [{ ...sides, kind: "removed" }];
  if (typeof before === "string" && typeof after === "string")
    return [{ ...sides, kind: "changed", words: wordChanges(before, after, budget) }];
  const [old, now] = [keyed(before), keyed(after)];
  if (old !== undefined && now !== undefined) return compareItems(way, old, now, budget);
  if (!isObject(before) || !isObject(after)) return [{ ...sides, kind: "changed" }];
  return isParagraph(before) && isParagraph(after)
    ? compareParagraph(way, before, after, budget)
    : compareMembers(way, before, after, budget);
}

const isNothing = (value: unknown) =>
  value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0);

type Members = Readonly<Record<string, unknown>>;

function compareMembers(
  way: readonly string[],
  before: Members,
  after: Members,
  budget: WordBudget,
): Change[] {
  return [...new Set([...Object.keys(after), ...Object.keys(before)])].flatMap((name) =>
    compare({ way: [...way, name], before: before[name], after: after[name] }, budget),
  );
}

/** Compares the text of a paragraph as a whole, because formatting divides it into spans. */
function compareParagraph(
  way: readonly string[],
  before: Members,
  after: Members,
  budget: WordBudget,
): Change[] {
  const { children: old, markDefs: oldLinks, ...was } = before;
  const { children: now, markDefs: nowLinks, ...is } = after;
  const others = compareMembers(way, was, is, budget);
  const [oldText, nowText] = [plainText(before), plainText(after)];
  if (oldText !== nowText)
    return [
      { kind: "changed", way, before: oldText, after: nowText, words: wordChanges(oldText, nowText, budget) },
      ...others,
    ];
  const isFormatted = JSON.stringify([old, oldLinks]) !== JSON.stringify([now, nowLinks]);
  const format: Change = { kind: "changed", way: [...way, FORMAT], before: old, after: now };
  return isFormatted ? [format, ...others] : others;
}

/** Returns whether a value is a paragraph of rich text. */
export function isParagraph(value: unknown): value is { children: readonly unknown[] } & Members {
  return isObject(value) && value._type === "block" && Array.isArray(value.children);
}

type Items = ReadonlyMap<string, unknown>;

/** Returns the key of an item in a list. Undefined if it has none. */
export type KeyOf = (item: Members) => string | undefined;

const ownKey: KeyOf = ({ _key: key }) => (typeof key === "string" ? key : undefined);

/** Returns the items of a list by their keys. Undefined for any other value, and if two items have one key. */
export function keyed(list: unknown, keyOf: KeyOf = ownKey): Items | undefined {
  if (!Array.isArray(list)) return undefined;
  const items = new Map<string, unknown>();
  for (const item of list) {
    const key = isObject(item) ? keyOf(item) : undefined;
    if (key === undefined || items.has(key)) return undefined;
    items.set(key, item);
  }
  return items;
}

function compareItems(way: readonly string[], before: Items, after: Items, budget: WordBudget): Change[] {
  const places = new Map([...before.keys()].map((key, at) => [key, at]));
  const common = [...after.keys()].filter((key) => places.has(key));
  const still = unmoved(common.map((key) => places.get(key) ?? 0));
  const moved = new Set(common.filter((_, at) => !still.has(at)));
  const removed = [...before].flatMap(([key, item]): Change[] =>
    after.has(key) ? [] : [{ kind: "removed", way: [...way, key], before: item, after: undefined }],
  );
  const others = [...after].flatMap(([key, item]): Change[] => {
    const sides = { way: [...way, key], before: before.get(key), after: item };
    if (!before.has(key)) return [{ ...sides, kind: "added" }];
    return [...(moved.has(key) ? [{ ...sides, kind: "moved" as const }] : []), ...compare(sides, budget)];
  });
  return [...removed, ...others];
}

/** Returns the JSON Pointer to a value, in which positions stand for the keys of items. */
export function pathOf(value: unknown, way: readonly string[]): string {
  let inner = value;
  return way
    .map((name) => {
      const list = Array.isArray(inner) ? inner : undefined;
      const at = list?.findIndex((item) => isObject(item) && item._key === name) ?? -1;
      inner = list === undefined ? (isObject(inner) ? inner[name] : undefined) : list[at];
      return `/${escapeSegment(list === undefined ? name : String(at))}`;
    })
    .join("");
}

/** Members of objects that are not content for readers. */
const NAMES = new Set(["_key", "_type", "marks", "markDefs", "style", "listItem", "level"]);

/** Returns the text in a value, such as a block: one line for each text that it contains. */
export function plainText(value: unknown): string {
  if (isParagraph(value))
    return value.children.map((span) => (isObject(span) ? String(span.text ?? "") : "")).join("");
  const inner = Array.isArray(value)
    ? value
    : isObject(value)
      ? Object.entries(value).flatMap(([name, member]) => (NAMES.has(name) ? [] : [member]))
      : undefined;
  if (inner === undefined) return value === undefined || value === null ? "" : String(value);
  return inner
    .map(plainText)
    .filter((text) => text !== "")
    .join("\n");
}
