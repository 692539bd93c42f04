/**
 * Applies a change that was made in the shape of an earlier revision to values of the live definition. Only what the
 * change names is replaced: whatever the earlier shape does not show stays as it is.
 *
 * Three values are compared: `base`, the stored one; `before`, what the earlier shape shows of it; `after`, what the
 * change made of that. All of them have the live shape. Where `before` and `after` are the same, `base` stays. Where
 * `before` shows all of `base`, `after` replaces it. Everywhere else, replacing would lose what the caller does not see.
 */
import { KEY, keyOf, TYPE } from "../../definition/walk.ts";
import { equal, isObject } from "../../kernel/json.ts";

/** What a change would lose, or what it must say so that nothing is lost. */
export interface Loss {
  /** Path in the values of the live shape. */
  trail: readonly string[];
  kind: "hidden_part" | "item_key";
}

export interface Overlaid {
  value: unknown;
  losses: Loss[];
  /** For each list that has more items than the request, by its JSON path: the positions of its items in the request. */
  positions: ReadonlyMap<string, readonly number[]>;
}

interface Overlaying {
  losses: Loss[];
  positions: Map<string, number[]>;
}

type Trail = readonly string[];
type Item = Readonly<Record<string, unknown>>;

/** Key of the item that a conversion makes of a single object. */
const FIRST_KEY = "first";

const isNone = (value: unknown): value is null | undefined => value === undefined || value === null;
/** Returns whether there is no value. Empty lists and objects count as none. */
const isBlank = (value: unknown): boolean =>
  isNone(value) || (typeof value === "object" && Object.keys(value).length === 0);
export const isSame = (one: unknown, other: unknown) => (isBlank(one) && isBlank(other)) || equal(one, other);
const memberOf = (map: unknown, key: string): unknown =>
  isObject(map) && Object.hasOwn(map, key) ? map[key] : undefined;

function keyless(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(keyless);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, one]) => (name === KEY ? [] : [[name, keyless(one)]])),
  );
}

/** Returns the key of a position, for {@link Overlaid.positions}. */
export const placeKey = (trail: Trail): string => JSON.stringify(trail);

export function overlay(base: unknown, before: unknown, after: unknown): Overlaid {
  const context: Overlaying = { losses: [], positions: new Map() };
  return { value: merged(context, base, before, after, []), ...context };
}

function merged(context: Overlaying, base: unknown, before: unknown, after: unknown, trail: Trail): unknown {
  if (isSame(before, after)) return base;
  if (isSame(base, before)) return after;
  if (isItems(base) && (isNone(before) || isItems(before)) && (isNone(after) || isAllItems(after)))
    return mergedItems(context, base, before ?? [], after ?? [], trail);
  const isMap = isObject(base) && (isNone(before) || isObject(before)) && (isNone(after) || isObject(after));
  if (isMap && !isOtherBlock(base, after)) return mergedMap(context, base, before ?? {}, after, trail);
  context.losses.push({ trail, kind: "hidden_part" });
  return base;
}

/** Returns whether a change makes another block of an item, so that the members of both do not belong together. */
const isOtherBlock = (base: Item, after: unknown): boolean =>
  isObject(after) && Object.hasOwn(base, TYPE) && base[TYPE] !== after[TYPE];

function mergedMap(
  context: Overlaying,
  base: Item,
  before: Item,
  after: Item | null | undefined,
  trail: Trail,
): unknown {
  const keys = new Set([...Object.keys(base), ...Object.keys(after ?? {})]);
  const all = [...keys].map((key): [string, unknown] => [
    key,
    merged(context, memberOf(base, key), memberOf(before, key), memberOf(after, key), [...trail, key]),
  ]);
  const left = all.filter(([, value]) => value !== undefined);
  // The change has cleared the value, and nothing is left that it did not see.
  if (isNone(after) && left.every(([, value]) => value === null)) return null;
  return Object.fromEntries(left);
}

const isItems = (value: unknown): value is readonly Item[] =>
  isAllItems(value) && value.every((item) => keyOf(item) !== undefined);
const isAllItems = (value: unknown): value is readonly Item[] =>
  Array.isArray(value) && value.every(isObject);

function mergedItems(
  context: Overlaying,
  base: readonly Item[],
  shown: readonly Item[],
  sent: readonly Item[],
  trail: Trail,
): unknown {
  const [before, after] = withBaseKey(base, shown, sent);
  const seen = new Map(before.map((item) => [keyOf(item), item]));
  const stored = new Map(base.map((item) => [keyOf(item), item]));
  if (before.some((item) => !stored.has(keyOf(item)))) {
    // A conversion made the items. Their keys differ from those that were stored since.
    if (equal(keyless(base), keyless(before))) return after;
    context.losses.push({ trail, kind: "hidden_part" });
    return base;
  }
  const used = new Set<string>();
  const keying: Keying = { context, before, stored, sent: new Set(after.map(keyOf)), taken: new Set() };
  const kept = after.map((given, position) => {
    const place = [...trail, String(position)];
    const item = keyed(keying, given, position, place);
    const key = keyOf(item);
    const own = key === undefined || used.has(key) ? undefined : stored.get(key);
    if (key === undefined || own === undefined) return { key, item, position };
    used.add(key);
    return { key, item: merged(context, own, seen.get(key), item, place), position };
  });
  // Items that the earlier shape does not show stay behind the item that they were behind.
  const hidden = new Map<string | undefined, unknown[]>();
  let anchor: string | undefined;
  for (const item of base) {
    const key = keyOf(item);
    if (key !== undefined && used.has(key)) anchor = key;
    else if (!seen.has(key)) hidden.set(anchor, [...(hidden.get(anchor) ?? []), item]);
  }
  const behind = (key: string | undefined) => (hidden.get(key) ?? []).map((item) => ({ item, position: -1 }));
  const result = [
    ...behind(undefined),
    ...kept.flatMap(({ key, item, position }) => [
      { item, position },
      ...(key === undefined || !used.delete(key) ? [] : behind(key)),
    ]),
  ];
  if (result.some(({ position }, at) => position !== at))
    context.positions.set(
      placeKey(trail),
      result.map(({ position }) => position),
    );
  return result.map(({ item }) => item);
}

/** Gives the only item of a list the key that it has in the base. A conversion from a single object chose another one. */
function withBaseKey(
  base: readonly Item[],
  before: readonly Item[],
  after: readonly Item[],
): [readonly Item[], readonly Item[]] {
  const [first] = base;
  const isConverted =
    before.length === 1 && keyOf(before[0]) === FIRST_KEY && base.every((item) => keyOf(item) !== FIRST_KEY);
  if (!isConverted || first === undefined) return [before, after];
  const rekeyed = (items: readonly Item[]) =>
    items.map((item) => (keyOf(item) === FIRST_KEY ? { ...item, [KEY]: first[KEY] } : item));
  return [rekeyed(before), rekeyed(after)];
}

interface Keying {
  context: Overlaying;
  before: readonly Item[];
  stored: ReadonlyMap<string | undefined, Item>;
  /** Keys of the items that were sent. */
  sent: ReadonlySet<string | undefined>;
  /** Keys that items have got. */
  taken: Set<string>;
}

/**
 * Gives an item that was sent without a key the key of the same item that the caller sees. If it may be a new version of
 * an item with values that the caller does not see, the caller must say so.
 */
function keyed(keying: Keying, item: Item, position: number, place: Trail): Item {
  const { context, before, stored, sent, taken } = keying;
  if (keyOf(item) !== undefined) return item;
  const free = before.filter((one) => {
    const key = keyOf(one);
    return key !== undefined && !taken.has(key) && !sent.has(key);
  });
  const here = before[position];
  const candidates = here !== undefined && free.includes(here) ? [here, ...free] : free;
  const key = keyOf(candidates.find((one) => equal({ ...item, [KEY]: keyOf(one) }, one)));
  if (key !== undefined) {
    taken.add(key);
    return { ...item, [KEY]: key };
  }
  if (free.some((one) => !equal(stored.get(keyOf(one)), one)))
    context.losses.push({ trail: [...place, KEY], kind: "item_key" });
  return item;
}
