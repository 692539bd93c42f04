import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import type { ReadBudget } from "../../store/budget.ts";
import { inBatches } from "../index/batches.ts";
import { type IndexEntry, readPlaces } from "../index/scan.ts";
import type { Choice } from "../model/localize.ts";
import { candidatesOf, READ_LIMIT, tooBroad } from "./candidates.ts";
import { type FilterInput, matches } from "./filter.ts";
import type { ListQuery } from "./query.ts";

/** Describes a list of entries: which index it uses, and how entries are read and shown. */
export interface Collection<T> {
  orb: string;
  budget: ReadBudget;
  /** Name of the list. A cursor of one list is rejected by lists with another name. */
  scope: string;
  index: string;
  /** All entries in order of creation, if the list does not use an index. */
  places?: readonly IndexEntry[];
  /** Undefined if the list has several schemas. */
  schema: CompiledSchema | undefined;
  /**
   * Reads entries. The result contains undefined for each entry that the caller may not see or that is not part of the
   * list.
   */
  read(places: readonly IndexEntry[], maxBytes: number): Promise<(T | undefined)[]>;
  judged(item: T): FilterInput;
  bytes(item: T): number;
  choice: Choice;
  /** Whether filters compare only values in the response's language and market, and not in all. */
  localized: boolean;
  /** Whether the list omits some entries of its index. The entries must then be counted one by one. */
  narrowed: boolean;
  /** Returns the total number of entries if there are no filters, or undefined if they must be counted one by one. */
  total?: (indexed: number) => Promise<number | undefined>;
  last?: Promise<number | undefined> | undefined;
}

/** Number of entries per read. With their published copies, this many fit into one request to the broker. */
export const CHUNK = 500;

export interface Match<T> {
  place: IndexEntry;
  item: T;
}

interface Read<T> {
  found: Match<T>[];
  read: number;
}

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

export async function readMatching<T>(
  list: Collection<T>,
  query: ListQuery,
  wanted: readonly IndexEntry[],
): Promise<Read<T>> {
  for await (const part of matchingParts(list, query, wanted)) return part;
  return { found: [], read: 0 };
}

/** Reads many entries in batches, and keeps only the current batches in memory. */
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
  // Read two batches at the same time. This keeps the broker busy and still limits the memory.
  for (let i = 0; i < places.length; i += 2 * CHUNK) {
    const parts = [places.slice(i, i + CHUNK), places.slice(i + CHUNK, i + 2 * CHUNK)];
    await Promise.all(parts.map(readPart));
  }
}

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

export async function eachMatch<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  each: (found: readonly Match<T>[]) => void,
): Promise<void> {
  await readAll(list, query, await placesFor(deps, list, query), each);
}
