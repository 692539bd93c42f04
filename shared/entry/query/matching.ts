/** Reads the entries of a list in batches, and filters them by what the caller may see. */
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import type { ReadBudget } from "../../store/budget.ts";
import { inBatches } from "../index/batches.ts";
import { type IndexEntry, readPlaces } from "../index/scan.ts";
import type { Choice } from "../model/localize.ts";
import { candidatesOf, READ_LIMIT, tooBroad } from "./candidates.ts";
import { type FilterInput, matches } from "./filter.ts";
import type { ListQuery } from "./query.ts";

/** A list: its index, and how its entries are read and shown. */
export interface Collection<T> {
  orb: string;
  /** Limits the bytes that the request may read. */
  budget: ReadBudget;
  /** Identifies the list, so that cursors of other lists are rejected. */
  scope: string;
  /** Subject filter of the list's index. */
  index: string;
  /** All entries in order of creation, if they are known without an index. */
  places?: readonly IndexEntry[];
  /** The schema of the entries; undefined if there are several. */
  schema: CompiledSchema | undefined;
  /**
   * Reads entries. The result has undefined for entries that the caller may not see or did not request.
   * @throws TooMuch if the entries together exceed `maxBytes`
   */
  read(places: readonly IndexEntry[], maxBytes: number): Promise<(T | undefined)[]>;
  judged(item: T): FilterInput;
  /** Stored bytes that were read for an entry. */
  bytes(item: T): number;
  /** Language and market of the sort order. */
  choice: Choice;
  /** Whether filters apply to this language and market only. */
  localized: boolean;
  /** Whether `read` omits entries that were not requested, so that no index knows the total. */
  narrowed: boolean;
  /** Number of entries in the unfiltered list, or undefined if they must be counted one by one. */
  total?: (indexed: number) => Promise<number | undefined>;
  /** Upper bound of the index's sequences, if it was read in advance. */
  last?: Promise<number | undefined> | undefined;
}

/** Entries per read. One broker request can include their published copies too. */
export const CHUNK = 500;

export interface Match<T> {
  place: IndexEntry;
  item: T;
}

/** Matches of one read, and the number of index messages that it covered. */
interface Read<T> {
  found: Match<T>[];
  read: number;
}

/** Reads entries in batches and yields those that match. */
async function* matchingParts<T>(
  list: Collection<T>,
  query: ListQuery,
  wanted: readonly IndexEntry[],
): AsyncGenerator<Read<T>> {
  const choice = list.localized ? list.choice : undefined;
  for await (const { wanted: places, result } of inBatches(list.budget, wanted, list.read)) {
    const found = places.flatMap((place, i) => {
      const item = result[i];
      if (item === undefined || !matches(query.conditions, list.judged(item), choice)) return [];
      return [{ place, item }];
    });
    yield { found, read: places.length };
  }
}

/** Reads the first entries, as many as fit into one batch, and returns those that match. */
export async function readMatching<T>(
  list: Collection<T>,
  query: ListQuery,
  wanted: readonly IndexEntry[],
): Promise<Read<T>> {
  for await (const part of matchingParts(list, query, wanted)) return part;
  return { found: [], read: 0 };
}

/**
 * Reads many entries, keeping only one batch in memory.
 * @throws AppError invalid `too_broad` if they exceed the request's read budget
 */
export async function readAll<T>(
  list: Collection<T>,
  query: ListQuery,
  places: readonly IndexEntry[],
  each: (found: readonly Match<T>[]) => void,
): Promise<void> {
  const readPart = async (part: readonly IndexEntry[]) => {
    for await (const { found } of matchingParts(list, query, part)) {
      each(found);
      list.budget.require();
    }
  };
  // Two batches at a time keep the broker busy, with bounded memory.
  for (let i = 0; i < places.length; i += 2 * CHUNK) {
    const parts = [places.slice(i, i + CHUNK), places.slice(i + CHUNK, i + 2 * CHUNK)];
    await Promise.all(parts.map(readPart));
  }
}

/**
 * Returns the entries that a query must read, from indexes if possible.
 * @throws AppError invalid `too_broad`
 */
async function placesFor<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
): Promise<readonly IndexEntry[]> {
  const { orb, index, schema } = list;
  if (list.places !== undefined) return list.places;
  const plan = schema === undefined ? undefined : await candidatesOf(deps, schema, query.conditions, false);
  if (plan?.kind === "set") return plan.places;
  const places = await readPlaces(deps.store, [{ orb, filter: index, first: READ_LIMIT + 1 }], READ_LIMIT);
  if (places === undefined) throw tooBroad(schema);
  return places;
}

/** Calls `each` with all matches, in no particular order. */
export async function eachMatch<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  each: (found: readonly Match<T>[]) => void,
): Promise<void> {
  await readAll(list, query, await placesFor(deps, list, query), each);
}
