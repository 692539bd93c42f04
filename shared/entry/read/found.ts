/**
 * Finds entries of one schema by their words, in an order that is the same for all schemas. So the results of several
 * schemas can be merged, and continued from one position.
 */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { titleAmong } from "../../definition/types/index.ts";
import type { Deps } from "../../deps.ts";
import { PAIR_BYTES } from "../../store/budget.ts";
import { type Position, positionAt } from "../model/index.ts";
import {
  BY_CREATION,
  type Collection,
  type ListQuery,
  PAGE_SIZE,
  positionIn,
  rankedPlan,
  rankOf,
  readListPage,
  type Search,
  wholePage,
} from "../query/index.ts";

/** Entries of a schema that are compared if its index of words does not serve a search. */
export const NEWEST_COMPARED = 500;
/** Points of an entry whose id was searched for. More than any words give. */
const OF_ID = 1_000_000;

/** Where an entry belongs among all that were found: more points first, then newer ids first. */
export interface FoundRank {
  points: number;
  id: string;
}

export interface FoundEntry<T> {
  item: T;
  rank: FoundRank;
}

export interface FoundPage<T> {
  /** In the order of their ranks. */
  found: FoundEntry<T>[];
  /** Entries after this rank are unknown. Undefined if all that the search finds are in `found`. */
  until: FoundRank | undefined;
  /** False if only the newest entries of the schema were compared, and it has others. */
  complete: boolean;
}

/** What to find in one schema. */
export interface FindQuery {
  search: Search;
  /** Whether the index of words has all fields of the search. */
  indexed: boolean;
  /** Fields of another look: entries that it finds are left out. */
  except?: readonly CompiledField[];
  /** Id of an entry, if the search is one. Nothing else is then found. */
  id: string | undefined;
  limit: number;
  after: FoundRank | undefined;
}

export function compareFound(a: FoundRank, b: FoundRank): number {
  return b.points - a.points || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);
}

export const positionOf = ({ points, id }: FoundRank): Position =>
  positionAt("ranked", { keys: [points], id });

/** Returns the rank at a position of {@link positionOf}. */
export function rankAt({ keys: [points], id }: Position): FoundRank {
  return { points: typeof points === "number" ? points : 0, id };
}

/** Where a search of all schemas looks in one schema. */
export type Look = Pick<FindQuery, "indexed" | "except"> & Pick<Search, "fields">;

/**
 * Returns where to look in a schema: with the index of words in the fields with `search: true`, and among the newest
 * entries in the field that names them, if it is not one of these.
 * @param schema reduced to the fields that the caller may compare
 */
export function looksIn({ searched, fields }: Pick<CompiledSchema, "searched" | "fields">): Look[] {
  const indexed = searched.length === 0 ? [] : [{ indexed: true, fields: searched }];
  const title = titleFieldOf(fields);
  if (title === undefined || searched.includes(title)) return indexed;
  return [...indexed, { indexed: false, fields: [...searched, title], except: searched }];
}

/** Returns the field that names the entries. */
export function titleFieldOf(fields: CompiledSchema["fields"]): CompiledField | undefined {
  const named = [...fields.values()].map((field) => ({
    field,
    ...{ name: field.name, type: field.definition.type, list: field.list, sensitive: field.sensitive },
  }));
  return titleAmong(named)?.field;
}

const EVERYTHING: ListQuery = {
  limit: PAGE_SIZE.max,
  cursor: undefined,
  conditions: [],
  sort: [{ ...BY_CREATION, descending: true }],
  fields: undefined,
  expand: [],
  count: false,
  explain: false,
  aggregation: undefined,
  extra: {},
};
/** Text with which the cursors within one request are signed. */
const WITHIN = "found";

/** Returns the items that the search finds, in the order of their ranks, without those that earlier pages had. */
export async function ranked<T>(
  list: Collection<T>,
  { search, after, except = [] }: Pick<FindQuery, "search" | "after" | "except">,
  items: readonly T[],
): Promise<FoundEntry<T>[]> {
  const choice = list.localized ? list.choice : undefined;
  const found: FoundEntry<T>[] = [];
  for (const item of items) {
    const entry = list.judged(item);
    const rank = { id: entry.id, points: rankOf(search, entry, choice, list.budget) };
    const isNext = rank.points > 0 && (after === undefined || compareFound(rank, after) > 0);
    const others = { words: search.words, fields: except };
    if (isNext && rankOf(others, entry, choice, list.budget) === 0) found.push({ item, rank });
    await list.budget.breathe();
  }
  return found.sort((a, b) => compareFound(a.rank, b.rank));
}

/** Reads a page of the entries of one schema that a search finds. */
export async function readFound<T>(deps: Deps, list: Collection<T>, query: FindQuery): Promise<FoundPage<T>> {
  const { search, limit, after, id } = query;
  if (id !== undefined) return { found: await byId(list, id, after), until: undefined, complete: true };
  const asked = { ...EVERYTHING, limit, conditions: [search] };
  const plan = query.indexed
    ? await rankedPlan(deps, list, asked, search, after && positionOf(after))
    : undefined;
  if (plan === undefined) {
    const { items, complete } = await newestOf(deps, list);
    return { found: await ranked(list, query, items), until: undefined, complete };
  }
  const { items, nextCursor } = await wholePage(deps, plan.list, plan.query, plan.steps, WITHIN, {
    repeats: true,
  });
  const until = nextCursor === null ? undefined : rankAt(await positionIn(deps, nextCursor, WITHIN));
  return { found: await ranked(list, query, items), until, complete: true };
}

/** Entries of a page of {@link newestOf}. More would not fit into one request to the broker with their live copies. */
const PAGE = 250;

/** Reads the newest entries of a list. @returns whether it has no others */
async function newestOf<T>(deps: Deps, list: Collection<T>): Promise<{ items: T[]; complete: boolean }> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const limit = Math.min(PAGE, NEWEST_COMPARED - items.length);
    const page = await readListPage(deps, () => list, { ...EVERYTHING, limit, cursor });
    items.push(...page.items);
    if (page.nextCursor === null) return { items, complete: true };
    cursor = page.nextCursor;
  } while (items.length < NEWEST_COMPARED && !list.budget.over);
  return { items, complete: false };
}

async function byId<T>(
  list: Collection<T>,
  id: string,
  after: FoundRank | undefined,
): Promise<FoundEntry<T>[]> {
  if (list.schema === undefined || after !== undefined) return [];
  const [item] = await list.read([{ ...list.schema.home, id, seq: 0 }], PAIR_BYTES);
  return item === undefined ? [] : [{ item, rank: { id, points: OF_ID } }];
}
