/** Reads lists in the order of a field that has an ordered index. */
import type { Deps } from "../../deps.ts";
import type { IndexEntry } from "../index/scan.ts";
import { type Position, positionAt } from "../model/cursor.ts";
import type { OrderedValue } from "../model/ordered-value.ts";
import type { OrderedField } from "../ordered/pages.ts";
import { type Edge, type Range, scanOrdered } from "../ordered/scan.ts";
import { sortValues } from "./filter.ts";
import type { ListStep } from "./list-scan.ts";
import { CHUNK, type Collection } from "./matching.ts";
import type { SortKey } from "./parameters.ts";
import type { ListQuery } from "./query.ts";
import { fieldOf, fieldRange, joinedRange, openTended, orderedIndexOf } from "./ranges.ts";

interface OrderedPlace extends IndexEntry {
  value: OrderedValue;
}

export interface OrderedPlan<T> {
  /** The list, but only with index pairs (a value and an entry id) that are still true. So no entry appears twice. */
  list: Collection<T>;
  /** The query without the conditions that the range of the index already ensures. */
  query: ListQuery;
  steps: AsyncGenerator<ListStep[]>;
}

/** Returns the plan to read a list from an ordered index, or undefined if there is no such index. */
export async function orderedPlan<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  after: Position | undefined,
): Promise<OrderedPlan<T> | undefined> {
  const [key, more] = query.sort;
  const field = key === undefined ? undefined : fieldOf(key);
  const index = orderedIndexOf(list.schema, list.context, field);
  if (key === undefined || field === undefined || index === undefined || more !== undefined) return undefined;
  if (list.context === undefined || list.places !== undefined) return undefined;
  const state = await openTended(deps, list.context, index);
  if (state === undefined) return undefined;
  const { range, covered } = fieldRange(field, query.conditions);
  const rest = joinedRange(range, cursorRange(after, key.descending));
  const conditions = query.conditions.filter((condition) => !covered.has(condition));
  const first = conditions.length === 0 ? query.limit + 1 : CHUNK;
  return {
    list: onlyPresent(list, key),
    query: { ...query, conditions },
    steps: stepsOf(scanOrdered(deps.store, index, state, rest, key.descending), index, first),
  };
}

/** Returns the range of the index that a later page must read: everything after the cursor's position. */
function cursorRange(after: Position | undefined, descending: boolean): Range {
  if (after?.kind !== "sorted") return {};
  const [value = null] = after.keys;
  const edge: Edge = { value: typeof value === "boolean" ? null : value, id: after.id, inclusive: false };
  return descending ? { high: edge } : { low: edge };
}

/**
 * @param first entries of the first step. One page of the index may have more entries than a request needs, so the
 *   first step takes few. Later steps are larger, because each causes a read.
 */
async function* stepsOf(
  scan: ReturnType<typeof scanOrdered>,
  { type, schema }: OrderedField,
  first: number,
): AsyncGenerator<ListStep[]> {
  let size = first;
  let steps: ListStep[] = [];
  for await (const pairs of scan) {
    for (const { value, id } of pairs) {
      const place: OrderedPlace = { type, schema, id, seq: 0, value };
      steps.push({ place, position: positionAt("sorted", { keys: [value], id }) });
      if (steps.length < size) continue;
      yield steps;
      steps = [];
      size = CHUNK;
    }
  }
  if (steps.length > 0) yield steps;
}

/** Returns the list without the entries whose value has changed since the index listed them. */
function onlyPresent<T>(list: Collection<T>, key: SortKey): Collection<T> {
  const met = new Set<string>();
  return {
    ...list,
    async read(places, maxBytes) {
      const items = await list.read(places, maxBytes);
      return items.map((item, at) => {
        const place = places[at] as OrderedPlace | undefined;
        if (item === undefined || place === undefined || met.has(place.id)) return undefined;
        const [value] = sortValues([key], list.judged(item), list.choice);
        if (value !== place.value) return undefined;
        // If an entry changes while the page is read, the index may list it twice. Return it only once.
        met.add(place.id);
        return item;
      });
    },
  };
}
