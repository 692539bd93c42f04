/**
 * Applies a change that was made in the shape of an earlier revision to values of the live definition. Only what the
 * change names is replaced: whatever the earlier shape does not show stays as it is.
 *
 * Three values are compared: `base`, the stored one; `before`, what the earlier shape shows of it; `after`, what the
 * change made of that. All of them have the live shape. Where `before` and `after` are the same, `base` stays. Where
 * `before` shows all of `base`, `after` replaces it. Everywhere else, replacing would lose what the caller does not see.
 */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { MAX_ITEMS } from "../../definition/validate.ts";
import { KEY, keyOf, membersOf, TYPE } from "../../definition/walk.ts";
import { canonical, equal, isObject } from "../../kernel/json.ts";
import { levelsOf } from "../model/index.ts";

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

/** The live schema, and what the earlier revision and the caller have of its fields. */
export interface Overlay {
  schema: CompiledSchema;
  /** Returns whether the earlier revision shows only the first item of a field's list of objects. */
  isPicked(field: CompiledField): boolean;
  /** Returns whether the caller must not set a field. */
  isFixed(field: CompiledField): boolean;
}

interface Overlaying extends Overlay {
  losses: Loss[];
  positions: Map<string, number[]>;
}

/** The field that a value belongs to. */
interface Place {
  trail: Trail;
  /** Undefined for all values of the entry, and inside values that are not fields. */
  field: CompiledField | undefined;
  /** How many maps by market and language lead from here to the values of the field. */
  levels: number;
}

type Trail = readonly string[];
type Item = Readonly<Record<string, unknown>>;

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

export function overlay(base: unknown, before: unknown, after: unknown, how: Overlay): Overlaid {
  const context: Overlaying = { ...how, losses: [], positions: new Map() };
  const value = merged(context, base, before, after, { trail: [], field: undefined, levels: 0 });
  return { value, losses: context.losses, positions: context.positions };
}

function merged(context: Overlaying, base: unknown, before: unknown, after: unknown, place: Place): unknown {
  if (equal(before, after)) return base;
  // A value that the caller must not set stays if the request omits it. Otherwise, its check reports the change.
  if (place.field !== undefined && context.isFixed(place.field)) return after === undefined ? base : after;
  if (equal(base, before)) return after;
  // A conversion may make nothing of a blank value, so both stand for each other.
  if (isSame(before, after)) return base;
  if (isSame(base, before)) return after;
  if (isItems(base) && (isNone(before) || isItems(before)) && (isNone(after) || isAllItems(after)))
    return mergedItems(context, base, before ?? [], after ?? [], place);
  const isMap = isObject(base) && (isNone(before) || isObject(before)) && (isNone(after) || isObject(after));
  if (isMap && !isOtherBlock(base, after)) return mergedMap(context, base, before ?? {}, after, place);
  context.losses.push({ trail: place.trail, kind: "hidden_part" });
  return base;
}

/** Returns the place of a member, or of a key in a map by market or language. */
function below(context: Overlaying, { trail, field, levels }: Place, object: Item, key: string): Place {
  const at = [...trail, key];
  if (levels > 0) return { trail: at, field, levels: levels - 1 };
  const members = trail.length === 0 ? context.schema.fields : field && membersOf(field, object);
  const inner = members?.get(key);
  return { trail: at, field: inner, levels: inner === undefined ? 0 : levelsOf(inner) };
}

/** Returns whether a change makes another block of an item, so that the members of both do not belong together. */
const isOtherBlock = (base: Item, after: unknown): boolean =>
  isObject(after) && Object.hasOwn(base, TYPE) && base[TYPE] !== after[TYPE];

function mergedMap(
  context: Overlaying,
  base: Item,
  before: Item,
  after: Item | null | undefined,
  place: Place,
): unknown {
  const keys = new Set([...Object.keys(base), ...Object.keys(after ?? {})]);
  const all = [...keys].map((key): [string, unknown] => {
    const at = below(context, place, base, key);
    return [key, merged(context, memberOf(base, key), memberOf(before, key), memberOf(after, key), at)];
  });
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
  place: Place,
): unknown {
  const { trail, field } = place;
  // Validation refuses such a list.
  if (sent.length > MAX_ITEMS) return sent;
  const isPicked = field !== undefined && context.isPicked(field);
  const [first] = base;
  // Without its only visible item, the next one would take its place.
  const isUnseen = isPicked && (shown.length === 0 || (sent.length === 0 && base.length > 1));
  const [before, after] =
    isPicked && first !== undefined
      ? [withKey(shown, keyOf(first)), withKey(sent, keyOf(first))]
      : [shown, sent];
  const seen = new Map(before.map((item) => [keyOf(item), item]));
  const stored = new Map(base.map((item) => [keyOf(item), item]));
  if (first !== undefined && (isUnseen || before.some((item) => !stored.has(keyOf(item))))) {
    // A conversion made the items. Their keys differ from those that were stored since.
    if (!isUnseen && equal(keyless(base), keyless(before))) return after;
    context.losses.push({ trail, kind: "hidden_part" });
    return base;
  }
  const used = new Set<string>();
  const keying = after.every((item) => keyOf(item) !== undefined)
    ? undefined
    : new Keying(before, after, stored);
  const kept = after.map((given, position) => {
    const at: Place = { ...place, trail: [...trail, String(position)] };
    const item = keying?.keyed(given, position) ?? given;
    if (keying?.mayReplace(item) === true)
      context.losses.push({ trail: [...at.trail, KEY], kind: "item_key" });
    const key = keyOf(item);
    const own = key === undefined || used.has(key) ? undefined : stored.get(key);
    if (key === undefined || own === undefined) return { key, item, position };
    used.add(key);
    return { key, item: mergedItem(context, own, seen.get(key), item, at), position };
  });
  // Items that the earlier shape does not show stay behind the item that they were behind.
  const hidden = new Map<string | undefined, Item[]>();
  let anchor: string | undefined;
  for (const item of base) {
    const key = keyOf(item);
    if (key !== undefined && used.has(key)) anchor = key;
    else if (!seen.has(key)) {
      const behindAnchor = hidden.get(anchor) ?? [];
      behindAnchor.push(item);
      hidden.set(anchor, behindAnchor);
    }
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

/** Merges an item. The rights to its list do not matter here, because the list itself has been judged. */
function mergedItem(
  context: Overlaying,
  base: Item,
  before: Item | undefined,
  after: Item,
  place: Place,
): unknown {
  if (equal(before, after)) return base;
  if (equal(base, before)) return after;
  if (!isOtherBlock(base, after)) return mergedMap(context, base, before ?? {}, after, place);
  context.losses.push({ trail: place.trail, kind: "hidden_part" });
  return base;
}

const withKey = (items: readonly Item[], key: string | undefined): readonly Item[] =>
  items.map((item) => ({ ...item, [KEY]: key }));

const textOf = ({ [KEY]: _, ...members }: Item): string => canonical(members);

/** Items of one text, in their order. */
interface SameItems {
  items: Item[];
  next: number;
}

/** Gives items that were sent without keys the keys of the same items that the caller sees. */
class Keying {
  readonly #before: readonly Item[];
  /** Items that the caller sees, that no sent item names, and that no item has got yet. */
  readonly #free = new Set<Item>();
  readonly #byText = new Map<string, SameItems>();
  /** The free ones with values that the caller does not see. */
  readonly #partial = new Set<Item>();

  constructor(
    before: readonly Item[],
    after: readonly Item[],
    stored: ReadonlyMap<string | undefined, Item>,
  ) {
    this.#before = before;
    const sent = new Set(after.map(keyOf));
    for (const item of before) {
      const key = keyOf(item);
      if (key === undefined || sent.has(key)) continue;
      this.#free.add(item);
      if (!equal(stored.get(key), item)) this.#partial.add(item);
      const text = textOf(item);
      const same = this.#byText.get(text) ?? { items: [], next: 0 };
      this.#byText.set(text, same);
      same.items.push(item);
    }
  }

  /** Returns an item with the key of the same one that the caller sees, preferably in the same position. */
  keyed(item: Item, position: number): Item {
    if (keyOf(item) !== undefined) return item;
    const text = textOf(item);
    const here = this.#before[position];
    const isHere = here !== undefined && this.#free.has(here) && textOf(here) === text;
    const own = isHere ? here : this.#nextOf(this.#byText.get(text));
    if (own === undefined) return item;
    this.#free.delete(own);
    this.#partial.delete(own);
    return { ...item, [KEY]: keyOf(own) };
  }

  #nextOf(same: SameItems | undefined): Item | undefined {
    if (same === undefined) return undefined;
    for (; same.next < same.items.length; same.next++) {
      const item = same.items[same.next];
      if (item !== undefined && this.#free.has(item)) return item;
    }
    return undefined;
  }

  /**
   * Returns whether an item may be a new version of an item with values that the caller does not see. The caller must
   * then say so.
   */
  mayReplace(item: Item): boolean {
    return keyOf(item) === undefined && this.#partial.size > 0;
  }
}
