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
  budget: ReadBudget;
  /** Identifies the list, so that it rejects cursors of other lists. */
  scope: string;
  index: string;
  /** All entries in order of creation, if the list does not use an index. */
  places?: readonly IndexEntry[];
  /** Undefined if the list has several schemas. */
  schema: CompiledSchema | undefined;
  /** Reads entries. The result has undefined for entries that the caller may not see or did not request. */
  read(places: readonly IndexEntry[], maxBytes: number): Promise<(T | undefined)[]>;
  judged(item: T): FilterInput;
  bytes(item: T): number;
  choice: Choice;
  /** Whether filters apply to the response's language and market only. */
  localized: boolean;
  /** Whether the list omits some entries of its index, so that their number must be counted. */
  narrowed: boolean;
  /** Returns the number of entries without filters, or undefined if they must be counted one by one. */
  total?: (indexed: number) => Promise<number | undefined>;
  last?: Promise<number | undefined> | undefined;
}

/** Entries per read. Together with their published copies, they fit into one request to the broker. */
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

/** Reads many entries, keeping only one batch in memory. */
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
  // Two batches at a time keep the broker busy and limit the memory.
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
