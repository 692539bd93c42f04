/** Reads lists in the order of a field that has an ordered index. */

import { distance, type Point, pointInText, ring } from "../../definition/fields/parts/index.ts";
import type { Deps } from "../../deps.ts";
import type { IndexEntry } from "../index/index.ts";
import { type OrderedValue, type Position, positionAt } from "../model/index.ts";
import { type Edge, type OpenedIndex, type OrderedField, type Range, scanOrdered } from "../ordered/index.ts";
import { sortValues } from "./filter.ts";
import type { ListStep } from "./list-scan.ts";
import { CHUNK, type Collection } from "./matching.ts";
import { nearOf, type SortKey } from "./parameters.ts";
import type { ListQuery } from "./query.ts";
import {
  fieldOf,
  fieldRange,
  joinedRange,
  openTended,
  orderedIndexOf,
  pairsInRanges,
  rangesIn,
} from "./ranges.ts";

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
  if (key.from !== undefined) {
    const steps = distanceSteps(deps, index, state, query, key.from, after);
    return { list: onlyPresent(list, key), query, steps };
  }
  if (!field.sortable) return undefined;
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
  index: OrderedField,
  first: number,
): AsyncGenerator<ListStep[]> {
  const steps = new Steps(index, first);
  for await (const pairs of scan) for (const pair of pairs) yield* steps.add(pair);
  yield* steps.rest();
}

/** Maximum pairs of the index to sort at once, apart from those at the edges of the area. */
const MOST_PAIRS = 4_000;
/** A ring of this many metres is not divided further. */
const NARROW = 1;

/**
 * Yields the entries around a point, the nearest ones first. Reads rings, each so narrow that it has few entries, so the
 * cost follows the entries that the page needs.
 */
async function* distanceSteps(
  deps: Deps,
  index: OrderedField,
  state: OpenedIndex,
  { conditions, limit }: ListQuery,
  centre: Point,
  after: Position | undefined,
): AsyncGenerator<ListStep[]> {
  const around = conditions.flatMap((condition) => nearOf(condition) ?? []);
  const most = Math.min(
    ...around.flatMap(({ lat, lon, metres }) => (lat === centre.lat && lon === centre.lon ? [metres] : [])),
  );
  const [last] = after?.kind === "sorted" ? after.keys : [];
  const passed = typeof last === "number" ? { value: last, id: after?.id ?? "" } : undefined;
  const isPassed = ({ value, id }: { value: number; id: string }) =>
    passed !== undefined && (value < passed.value || (value === passed.value && id <= passed.id));
  const steps = new Steps(index, conditions.length > 1 ? CHUNK : limit + 1);
  for (let from = passed?.value ?? 0, isFirst = true; from < most || isFirst; isFirst = false) {
    let to = most;
    let ranges = rangesIn(ring(centre, from, to));
    while (to - from > NARROW && pairsInRanges(state, ranges) > MOST_PAIRS) {
      to = from + (to - from) / 2;
      ranges = rangesIn(ring(centre, from, to));
    }
    const found: { value: number; id: string }[] = [];
    for (const range of ranges)
      for await (const pairs of scanOrdered(deps.store, index, state, range, false))
        for (const { value, id } of pairs) {
          const point = typeof value === "string" ? pointInText(value) : undefined;
          const away = point === undefined ? Number.NaN : distance(centre, point);
          const isHere = (away > from || (isFirst && away === from)) && away <= to;
          if (isHere && !isPassed({ value: away, id })) found.push({ value: away, id });
        }
    found.sort((a, b) => a.value - b.value || (a.id < b.id ? -1 : 1));
    for (const pair of found) yield* steps.add(pair);
    from = to;
  }
  yield* steps.rest();
}

/** Groups pairs of an index into steps. */
class Steps {
  readonly #home: Pick<IndexEntry, "type" | "schema">;
  #size: number;
  #steps: ListStep[] = [];

  /** @param first entries of the first step */
  constructor({ type, schema }: OrderedField, first: number) {
    this.#home = { type, schema };
    this.#size = first;
  }

  *add({ value, id }: { value: OrderedValue; id: string }): Generator<ListStep[]> {
    const place: OrderedPlace = { ...this.#home, id, seq: 0, value };
    this.#steps.push({ place, position: positionAt("sorted", { keys: [value], id }) });
    if (this.#steps.length < this.#size) return;
    yield* this.rest();
    this.#size = CHUNK;
  }

  *rest(): Generator<ListStep[]> {
    const steps = this.#steps;
    this.#steps = [];
    if (steps.length > 0) yield steps;
  }
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
        if (sortValues([key], list.judged(item), list.choice)[0] !== place.value) return undefined;
        // If an entry changes while the page is read, the index may list it twice. Return it only once.
        met.add(place.id);
        return item;
      });
    },
  };
}
