/**
 * Reads lists in the order of a search: entries with the most points in the ranking first. Among equal points, the
 * newest entries come first.
 */
import type { Deps } from "../../deps.ts";
import type { IndexEntry } from "../index/index.ts";
import { type Position, positionAt } from "../model/index.ts";
import { bySearch, candidatesOf, hasIndex } from "./candidates.ts";
import { rankOf } from "./filter.ts";
import type { ListStep } from "./list-scan.ts";
import type { Collection } from "./matching.ts";
import { isSearch, type Search } from "./parameters.ts";
import type { ListQuery } from "./query.ts";
import { searchIndex } from "./search-index.ts";

/**
 * Number of entries per step. The points of an entry are known only after it has been read, and each step uses the
 * points from earlier steps.
 */
const STEP = 250;

interface RankedPlace extends IndexEntry {
  points: number;
}

/**
 * Points (relevance) of the entries that this request has read. 0 if the entry does not match, or if the caller cannot
 * see it.
 */
type KnownPoints = Map<string, number>;

export interface RankedPlan<T> {
  /**
   * The entries of the list. The index tells only the maximum points of an entry. The list returns each entry at the
   * place of its real points.
   */
  list: Collection<T>;
  /** The query without the search. */
  query: ListQuery;
  steps: AsyncGenerator<ListStep[]>;
}

/** Returns how to read a list in the order of a search. Undefined if the word index cannot be used. */
export async function rankedPlan<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  search: Search,
  after: Position | undefined,
): Promise<RankedPlan<T> | undefined> {
  const { schema, context, tally } = list;
  if (schema === undefined || list.places !== undefined) return undefined;
  const scores = await searchIndex(deps, schema, context, search);
  if (scores === undefined) return undefined;
  const others = query.conditions.filter((condition) => !isSearch(condition));
  const found = await narrowed(deps, list, query.planned ?? others, scores);
  tally.by = bySearch(search);
  tally.order = "rank";
  tally.candidates = found.size;
  const known: KnownPoints = new Map();
  return {
    list: onlyRanked(list, search, known),
    query: { ...query, conditions: others },
    steps: stepsOf(found, known, schema.home, after),
  };
}

/** Removes the entries that cannot meet the query's other conditions, if an index can tell. */
async function narrowed<T>(
  deps: Deps,
  { schema, budget }: Collection<T>,
  conditions: ListQuery["conditions"],
  scores: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, number>> {
  if (schema === undefined || scores.size <= STEP || !hasIndex(conditions)) return scores;
  const others = conditions.filter((condition) => !isSearch(condition));
  const plan = await candidatesOf(deps, schema, others, { most: budget.entries });
  if (plan.kind !== "set") return scores;
  return new Map(
    plan.places.flatMap(({ id }) => {
      const points = scores.get(id);
      return points === undefined ? [] : [[id, points]];
    }),
  );
}

/**
 * Yields the candidates, those with the most points in the ranking first. The points in the index are a maximum. An
 * entry has fewer points if, for example, only its unpublished draft contains a word. So an entry is yielded again at
 * lower and lower points, until its real points are known.
 */
async function* stepsOf(
  scores: ReadonlyMap<string, number>,
  known: KnownPoints,
  home: Pick<IndexEntry, "type" | "schema">,
  after: Position | undefined,
): AsyncGenerator<ListStep[]> {
  const [last] = after?.keys ?? [];
  const from = typeof last === "number" ? last : Number.POSITIVE_INFINITY;
  const levels = new Map<number, string[]>();
  const propose = (id: string, points: number) => {
    const level = levels.get(points);
    if (level === undefined) levels.set(points, [id]);
    else level.push(id);
  };
  for (const [id, score] of scores) propose(id, Math.min(score, from));
  for (let points = Math.max(0, ...levels.keys()); points > 0; points--) {
    const ids = (levels.get(points) ?? []).sort().reverse();
    levels.delete(points);
    for (let at = 0; at < ids.length; at += STEP) {
      const step = ids.slice(at, at + STEP);
      // An earlier page has gone past these entries, unless they have fewer points than the index says.
      const isPast = (id: string) => points === from && after !== undefined && id >= after.id;
      const next = step.filter((id) => !isPast(id));
      if (next.length > 0) {
        yield next.map((id) => {
          const place: RankedPlace = { ...home, id, seq: 0, points };
          return { place, position: positionAt("ranked", { keys: [points], id }) };
        });
      }
      for (const id of step) {
        const real = known.get(id) ?? points - 1;
        if (real < points) propose(id, real);
      }
    }
  }
}

/**
 * Returns the list without the entries that {@link stepsOf} proposed too early. Such an entry has fewer points than the
 * index says. It is proposed again when its real points are reached.
 */
function onlyRanked<T>(list: Collection<T>, search: Search, known: KnownPoints): Collection<T> {
  const choice = list.localized ? list.choice : undefined;
  return {
    ...list,
    async read(places, maxBytes) {
      const items = await list.read(places, maxBytes);
      const shown: (T | undefined)[] = [];
      for (const [at, item] of items.entries()) {
        const { id, points } = places[at] as RankedPlace;
        const found = item === undefined ? 0 : rankOf(search, list.judged(item), choice, list.budget);
        known.set(id, found);
        shown.push(found === points ? item : undefined);
        await list.budget.breathe();
      }
      return shown;
    },
  };
}
