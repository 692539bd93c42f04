/** Converts the conditions of a query into ranges of ordered indexes. */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { homeKey } from "../../definition/document/index.ts";
import type { Json } from "../../definition/fields/index.ts";
import { type Area, areaIn, rangesOf } from "../../definition/fields/parts/index.ts";
import { AREAS } from "../../definition/types/index.ts";
import type { Deps } from "../../deps.ts";
import type { IndexEntry } from "../index/index.ts";
import { type OrbContext, type OrderedValue, SORTED_CHARACTERS, sortedText } from "../model/index.ts";
import {
  compareValues,
  type Edge,
  type OpenedIndex,
  type OrderedField,
  openIndex,
  pairsBetween,
  type Range,
  scanOrdered,
  tendIndex,
} from "../ordered/index.ts";
import { type Condition, isCondition, type SortKey, type Where } from "./parameters.ts";
import type { ListQuery } from "./query.ts";

/** The parts of a definition that are needed to read ordered indexes. */
export type OrderedContext = Pick<OrbContext, "orb" | "fence" | "pending">;

/** Returns whether the schema's indexes may be incomplete, because older entries are still being added. */
export function isWaiting({ home }: CompiledSchema, { pending }: OrderedContext): boolean {
  return pending?.some((one) => homeKey(one) === homeKey(home)) === true;
}

/**
 * Returns the ordered index of a field; undefined if the field has none, or if the index does not list all entries yet.
 */
export function orderedIndexOf(
  schema: CompiledSchema | undefined,
  context: OrderedContext | undefined,
  field: CompiledField | undefined,
): OrderedField | undefined {
  if (schema === undefined || context === undefined || field?.ordered !== true) return undefined;
  return isWaiting(schema, context) ? undefined : { orb: schema.orb, ...schema.home, field: field.indexName };
}

export function fieldOf({ subject }: Pick<SortKey, "subject">): CompiledField | undefined {
  return subject.kind === "field" ? subject.field : undefined;
}

/**
 * Returns the value as the index stores it. `whole` is false if the index stores only the beginning of a longer text.
 */
function operand(
  { sortKey }: CompiledField,
  value: Json | undefined,
): { value: OrderedValue; whole: boolean } {
  if (typeof value === "string") {
    const sorted = sortedText(value, sortKey);
    const { length } = sortKey === undefined ? value : sorted;
    return { value: sorted, whole: length < SORTED_CHARACTERS };
  }
  return { value: typeof value === "number" ? value : null, whole: true };
}

interface ConditionRange extends Range {
  /**
   * Whether every value in the range meets the condition. False for a long text: the index stores only its beginning,
   * so other texts may be in the range.
   */
  whole: boolean;
}

/** Returns the range of an ordered index that contains all entries which meet a condition. */
function rangeOf(field: CompiledField, { operator, values }: Condition): ConditionRange | undefined {
  const none: Edge = { value: null, inclusive: true };
  if (operator === "null") {
    return values[0] === true
      ? { low: none, high: none, whole: true }
      : { low: { value: null, inclusive: false }, whole: true };
  }
  const { value, whole } = operand(field, values[0]);
  // The index stores only the beginning of a long text, so the range also contains other texts with this beginning.
  const edge = (inclusive: boolean): Edge => ({ value, inclusive: inclusive || !whole });
  const some: Edge = { value: null, inclusive: false };
  switch (operator) {
    case "eq":
      // A unique field ignores differences in white space when it compares texts. Texts that it considers equal may be
      // far apart in the index, so no range contains all of them.
      if (field.unique && field.type.uniqueToken !== undefined) return undefined;
      // Different texts can have the same sort key.
      return { low: edge(true), high: edge(true), whole: whole && field.sortKey === undefined };
    case "gt":
      return { low: edge(false), whole };
    case "gte":
      return { low: edge(true), whole };
    case "lt":
      return { low: some, high: edge(false), whole };
    case "lte":
      return { low: some, high: edge(true), whole };
    default:
      return undefined;
  }
}

/** Returns the stricter of two ends of a range. */
function tighter(a: Edge | undefined, b: Edge | undefined, sign: 1 | -1): Edge | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  const order = compareValues(a.value, b.value) * sign;
  if (order !== 0) return order > 0 ? a : b;
  const isWhole = (edge: Edge) => !edge.inclusive && edge.id === undefined;
  if (isWhole(a) || isWhole(b)) return isWhole(a) ? a : b;
  return a.id === undefined ? b : a;
}

export function joinedRange(a: Range, b: Range): Range {
  return { low: tighter(a.low, b.low, 1), high: tighter(a.high, b.high, -1) };
}

/**
 * Returns the range of values that meet all conditions on a field. Also returns the conditions that every entry in
 * this range meets.
 */
export function fieldRange(field: CompiledField, conditions: readonly Where[]) {
  const covered = new Set<Where>();
  let range: Range = {};
  let narrows = false;
  for (const condition of conditions) {
    if (!isCondition(condition) || fieldOf(condition)?.name !== field.name) continue;
    const one = rangeOf(field, condition);
    if (one === undefined) continue;
    narrows = true;
    range = joinedRange(range, one);
    if (one.whole) covered.add(condition);
  }
  return { range, covered, narrows };
}

/**
 * Returns whether the query has a condition on a field with an ordered index. Ignores the field by which the list is
 * sorted.
 */
export function hasOtherRange({ conditions, sort: [key] }: Pick<ListQuery, "conditions" | "sort">): boolean {
  return conditions.some(
    (one) =>
      isCondition(one) &&
      fieldOf(one)?.ordered === true &&
      (one.subject.name !== key?.subject.name || AREAS.has(one.operator)),
  );
}

export async function openTended(
  deps: Deps,
  context: OrderedContext,
  index: OrderedField,
): Promise<OpenedIndex | undefined> {
  const state = await openIndex(deps.store, index);
  tendIndex(deps, context, index, state?.logged);
  return state;
}

/** Returns the ranges of a field's index that contain all entries in an area. Undefined without such a condition. */
function areaRanges(field: CompiledField, conditions: readonly Where[]): Range[] | undefined {
  const one = conditions.find(
    (where) => isCondition(where) && AREAS.has(where.operator) && fieldOf(where)?.name === field.name,
  );
  if (one === undefined || !isCondition(one)) return undefined;
  const area = areaIn(one.values[0]);
  return area && rangesIn(area);
}

/** Returns the ranges of the index of points that contain all points of an area. */
export function rangesIn(area: Area): Range[] {
  return rangesOf(area).map(({ from, to }) => ({
    low: { value: from, inclusive: true },
    high: { value: to, inclusive: false },
  }));
}

export function pairsInRanges(state: OpenedIndex, ranges: readonly Range[]): number {
  return ranges.reduce((sum, range) => sum + pairsBetween(state, range), 0);
}

/** Returns the ranges of an ordered index that have the fewest entries which may meet the query's conditions. */
async function narrowestRange(
  deps: Deps,
  schema: CompiledSchema,
  context: OrderedContext,
  conditions: readonly Where[],
) {
  const ranges = schema.ordered.flatMap((field) => {
    const { range, narrows } = fieldRange(field, conditions);
    const ranges = areaRanges(field, conditions) ?? (narrows ? [range] : undefined);
    const index = orderedIndexOf(schema, context, field);
    return ranges !== undefined && index !== undefined ? [{ field, index, ranges }] : [];
  });
  const states = await Promise.all(
    ranges.map(async (one) => ({ ...one, state: await openTended(deps, context, one.index) })),
  );
  const [best] = states
    .flatMap(({ state, ...one }) =>
      state === undefined ? [] : [{ ...one, state, pairs: pairsInRanges(state, one.ranges) }],
    )
    .sort((a, b) => a.pairs - b.pairs);
  return best;
}

/**
 * Chooses a field with an ordered index, and returns the entries that may meet the query's conditions on this field.
 * Returns undefined if there is no such field, or if there are more than `most` entries.
 */
export async function placesInRange(
  deps: Deps,
  schema: CompiledSchema,
  context: OrderedContext | undefined,
  conditions: readonly Where[],
  most: number,
): Promise<{ field: string; places: IndexEntry[] } | undefined> {
  if (context === undefined) return undefined;
  const best = await narrowestRange(deps, schema, context, conditions);
  if (best === undefined || best.pairs > most) return undefined;
  const places: IndexEntry[] = [];
  for (const range of best.ranges)
    for await (const pairs of scanOrdered(deps.store, best.index, best.state, range, false)) {
      places.push(...pairs.map(({ id }) => ({ ...schema.home, id, seq: 0 })));
      if (places.length > most) return undefined;
    }
  return { field: best.field.name, places };
}
