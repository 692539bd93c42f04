/** What matches among the entries of a list: read in parts, and judged by what the caller sees of them. */
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import type { ReadBudget } from "../../store/budget.ts";
import { inParts } from "../index/parts.ts";
import { forwards, type Place, type Walk } from "../index/scan.ts";
import type { Choice } from "../model/localize.ts";
import { type Candidates, candidatesOf, READ_LIMIT, tooBroad } from "./candidates.ts";
import { type Judged, matches } from "./filter.ts";
import type { ListQuery } from "./query.ts";

/** What is listed, and how its entries are read and seen. */
export interface Collection<T> {
  orb: string;
  /** Bounds the bytes of the request; `read` charges it. */
  budget: ReadBudget;
  /** Names the list: cursors of another one are refused. */
  scope: string;
  /** Subject filter of its index. */
  index: string;
  /** The one schema of its entries; undefined where there are several. */
  schema: CompiledSchema | undefined;
  /**
   * Reads entries; undefined for those that the caller does not see or did not ask for.
   * @throws TooMuch when they are larger than `maxBytes` together
   */
  read(places: readonly Place[], maxBytes: number): Promise<(T | undefined)[]>;
  judged(item: T): Judged;
  /** What was read of an entry, in bytes as they are stored. */
  bytes(item: T): number;
  /** Language and market that sort orders go by. */
  choice: Choice;
  /** Whether conditions look at that language and market only, and not at all of them. */
  localized: boolean;
  /** Whether `read` leaves out what the request did not ask for: then no index knows the total. */
  narrowed: boolean;
  /** How many entries the list has when nothing narrows it; undefined when they must be counted one by one. */
  total?: (indexed: number) => Promise<number | undefined>;
  /** Sequence of the index's last message, where it was looked up beforehand. */
  last?: Promise<number | undefined> | undefined;
}

/** Entries of one read: with their live copies, as many as one request of the broker takes. */
export const CHUNK = 500;

/** An entry that matches, and where it stands. */
export interface Found<T> {
  place: Place;
  item: T;
}

/** What one read found, and of how many places it was: the first ones, as many as could be taken at once. */
interface Read<T> {
  found: Found<T>[];
  read: number;
}

/** Judges what is read of some places, in parts. */
async function* matchingParts<T>(
  list: Collection<T>,
  query: ListQuery,
  wanted: readonly Place[],
): AsyncGenerator<Read<T>> {
  const choice = list.localized ? list.choice : undefined;
  for await (const { wanted: places, result } of inParts(list.budget, wanted, list.read)) {
    const found = places.flatMap((place, i) => {
      const item = result[i];
      if (item === undefined || !matches(query.conditions, list.judged(item), choice)) return [];
      return [{ place, item }];
    });
    yield { found, read: places.length };
  }
}

/** Reads what matches among the first of some places. */
export async function readMatching<T>(
  list: Collection<T>,
  query: ListQuery,
  wanted: readonly Place[],
): Promise<Read<T>> {
  for await (const part of matchingParts(list, query, wanted)) return part;
  return { found: [], read: 0 };
}

/**
 * Reads all matching entries out of many places, and holds one part at a time.
 * @throws AppError invalid `too_broad` when that is more than the request may read
 */
export async function readAll<T>(
  list: Collection<T>,
  query: ListQuery,
  places: readonly Place[],
  each: (found: readonly Found<T>[]) => void,
): Promise<void> {
  const readPart = async (part: readonly Place[]) => {
    for await (const { found } of matchingParts(list, query, part)) {
      each(found);
      list.budget.require();
    }
  };
  // Two at a time: enough to keep the broker busy, and bounded in memory.
  for (let i = 0; i < places.length; i += 2 * CHUNK) {
    const parts = [places.slice(i, i + CHUNK), places.slice(i + CHUNK, i + 2 * CHUNK)];
    await Promise.all(parts.map(readPart));
  }
}

/** Every place of the list. @throws AppError invalid `too_broad` when they are too many to read */
async function everyPlace<T>(deps: Deps, list: Collection<T>): Promise<Place[]> {
  const places: Place[] = [];
  const walk: Walk = { orb: list.orb, filter: list.index, first: READ_LIMIT + 1 };
  for await (const window of forwards(deps.store, walk, 0)) {
    places.push(...window);
    if (places.length > READ_LIMIT) throw tooBroad(list.schema);
  }
  return places;
}

/** Tells all that matches, in no order, of as few entries as indexes leave to look at. */
export async function eachMatch<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  each: (found: readonly Found<T>[]) => void,
): Promise<void> {
  const found: Candidates =
    list.schema === undefined
      ? { kind: "all" }
      : await candidatesOf(deps, list.schema, query.conditions, false);
  await readAll(list, query, found.kind === "set" ? found.places : await everyPlace(deps, list), each);
}
