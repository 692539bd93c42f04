import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import type { ReadBudget } from "../../store/budget.ts";
import { type IndexEntry, inBatches, readPlaces } from "../index/index.ts";
import { isCounted, openLiveTended, scanLive, tendPassed } from "../listed/index.ts";
import type { Choice, Position } from "../model/index.ts";
import type { OrderedField } from "../ordered/index.ts";
import { candidatesOf, type Tally } from "./candidates.ts";
import { type FilterInput, matches } from "./filter.ts";
import type { ListQuery } from "./query.ts";
import type { OrderedContext } from "./ranges.ts";
import type { Targets } from "./related.ts";

/** Describes a list of entries: which index it uses, and how entries are read and shown. */
export interface Collection<T> {
  orb: string;
  budget: ReadBudget;
  tally: Tally;
  /** Name of the list. A cursor of one list is rejected by lists with another name. */
  scope: string;
  index: string;
  /**
   * Finds entries in order of creation, if the list does not use an index.
   * @param after sequence number of the last entry that was already read
   */
  places?: (after: number, most: number) => Promise<Places>;
  /**
   * The index of published entries, if the list shows no others. The list then reads nothing of drafts, archived and
   * expired entries.
   */
  live?: OrderedField | undefined;
  /** Whether the list shows published entries that become visible later, too. */
  upcoming?: boolean;
  /** Undefined if the list has several schemas. */
  schema: CompiledSchema | undefined;
  /** The application's definition. Present if the list may use ordered indexes. */
  context?: OrderedContext;
  /**
   * Reads entries. The result contains undefined for each entry that the caller may not see or that is not part of the
   * list.
   */
  read(places: readonly IndexEntry[], maxBytes: number): Promise<(T | undefined)[]>;
  judged(item: T): FilterInput;
  bytes(item: T): number;
  choice: Choice;
  /**
   * Whether filters compare only the value in the response's language and market. Otherwise, they compare the values in
   * all of them.
   */
  localized: boolean;
  /** Whether the list omits some entries of its index. The total must then be counted entry by entry. */
  narrowed: boolean;
  /** Returns the exact number of entries without filters. Undefined means that they must be counted one by one. */
  total?: () => Promise<number | undefined>;
  last?: Promise<number | undefined> | undefined;
  /** Reads referenced entries. Present if filters have conditions on fields of referenced entries. */
  targets?: Targets;
}

/** A live index, opened for a list. */
export type Listed = (
  from: number | undefined,
  descending: boolean,
  first?: number,
) => AsyncGenerator<IndexEntry[]>;

/**
 * Opens the index of published entries, if the list has one.
 * @returns a function that yields the visible entries in order of creation, after a position of the creation order
 */
export async function openListed<T>(
  deps: Deps,
  { live, context, upcoming }: Pick<Collection<T>, "live" | "context" | "upcoming">,
): Promise<Listed | undefined> {
  if (live === undefined || context === undefined) return undefined;
  const state = await openLiveTended(deps, context, live);
  if (state === undefined) return undefined;
  const now = deps.clock.now();
  // Pages in which a `validFrom` or `validTo` has passed must be read, even if all of their entries are hidden.
  tendPassed(deps, context, live, state.root.pages.filter((page) => !isCounted(page, now)).length);
  const { type, schema } = live;
  return async function* (from, descending, first) {
    for await (const places of scanLive(deps.store, live, state, {
      descending,
      now,
      upcoming,
      first,
      from,
      onEdge: deps.expires,
    }))
      yield places.map(({ id, seq }) => ({ type, schema, id, seq }));
  };
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
  whole = false,
): AsyncGenerator<Read<T>> {
  const choice = list.localized ? list.choice : undefined;
  const { conditions } = query;
  const related = list.targets?.test(choice);
  for await (const { wanted: places, result } of inBatches(list.budget, wanted, list.read)) {
    const shown = result.filter((item) => item !== undefined).map(list.judged);
    await list.targets?.load(conditions, { entries: shown, budget: list.budget, choice, whole });
    const found: Match<T>[] = [];
    let read = 0;
    // At least one entry is compared, so that a list always proceeds.
    for (; read < places.length && (read === 0 || whole || !list.budget.exhausted); read++) {
      const [place, item] = [places[read], result[read]];
      if (place === undefined || item === undefined) continue;
      const entry = list.judged(item);
      if (list.budget.over && list.targets?.knows(conditions, entry, choice) === false) {
        if (read > 0) break;
        await list.targets.load(conditions, { entries: [entry], budget: list.budget, choice, whole: true });
      }
      if (matches(conditions, entry, choice, related, list.budget)) found.push({ place, item });
      await list.budget.breathe();
    }
    list.tally.add(read, result.slice(0, read), found.length);
    yield { found, read };
    if (read < places.length) return;
  }
}

/**
 * Reads the first batch of entries.
 * @param whole whether to compare the whole batch, even if the request has done all the work that it may do
 */
export async function readMatching<T>(
  list: Collection<T>,
  query: ListQuery,
  wanted: readonly IndexEntry[],
  whole = false,
): Promise<Read<T>> {
  for await (const part of matchingParts(list, query, wanted, whole)) return part;
  return { found: [], read: 0 };
}

/**
 * Reads many entries in batches, with at most two batches in memory.
 * @returns the length of the first part of `places` that was read completely. If the request reaches its read limit,
 *   `each` may have received some later entries too.
 */
export async function readAll<T>(
  list: Collection<T>,
  query: ListQuery,
  places: readonly IndexEntry[],
  each: (found: readonly Match<T>[]) => void,
): Promise<number> {
  const { budget } = list;
  let done = 0;
  const readPart = async (part: readonly IndexEntry[]) => {
    let read = 0;
    for await (const { found, read: some } of matchingParts(list, query, part)) {
      each(found);
      read += some;
      if (budget.over) break;
    }
    return read;
  };
  // Read two batches at the same time. This keeps the broker busy and still limits the memory.
  for (let i = 0; i < places.length && (i === 0 || !budget.over); i += 2 * CHUNK) {
    const parts = [places.slice(i, i + CHUNK), places.slice(i + CHUNK, i + 2 * CHUNK)];
    const [first = 0, second = 0] = await Promise.all(parts.map(readPart));
    done += first < (parts[0]?.length ?? 0) ? first : first + second;
  }
  return done;
}

export interface Places {
  places: readonly IndexEntry[];
  complete: boolean;
  /** Sequence number of the last index message that was read, if `complete` is false. */
  reached: number;
}

/** The entries that may match a query, in the order in which they are read. */
export interface Wanted extends Places {
  /**
   * `set`: only the candidates that a filter or a search found, in order of their ids. `index`: all entries of the
   * list, in order of creation.
   */
  kind: "set" | "index";
}

/**
 * A later request fails if the query now has more than this many times as many candidate entries as at the first
 * request.
 */
const GROWTH = 4;

/**
 * Returns the entries to read for a query, up to the read limit of a request.
 * @param options.from position at which an earlier request stopped; if the query now uses another index, all entries
 *   are read again
 * @param options.places entries that an index has already found
 */
export async function placesFor<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  { from, places: known }: { from?: Position | undefined; places?: readonly IndexEntry[] | undefined } = {},
): Promise<Wanted> {
  const { orb, index, schema, tally, context, budget } = list;
  const ofSet = (found: readonly IndexEntry[]): Wanted => {
    const places = from?.kind === "set" ? found.filter(({ id }) => id > from.id) : found;
    return { kind: "set", places, complete: true, reached: 0 };
  };
  if (known !== undefined) return ofSet(known);
  const most = budget.entries;
  const after = from?.kind === "index" ? from.seq : 0;
  if (list.places !== undefined) return { kind: "index", ...(await list.places(after, most)) };
  if (schema !== undefined && from?.kind !== "index") {
    const limits = { most: from === undefined ? most : GROWTH * most, context };
    const plan = await candidatesOf(deps, schema, query.planned ?? query.conditions, limits);
    tally.by = plan.by;
    if (plan.kind === "set") return ofSet(plan.places);
  }
  const listed = await openListed(deps, list);
  const { places, complete, reached } =
    listed === undefined
      ? await readPlaces(deps.store, [{ orb, filter: index, first: most + 1, after }], most)
      : await collected(listed(after, false), most);
  const last = places[most - 1];
  const cut = places.length > most && last !== undefined;
  return { kind: "index", places: places.slice(0, most), complete, reached: cut ? last.seq : reached };
}

/** Reads up to one entry more than `most`. */
async function collected(listed: AsyncGenerator<IndexEntry[]>, most: number): Promise<Places> {
  const places: IndexEntry[] = [];
  for await (const some of listed) {
    places.push(...some);
    if (places.length > most) break;
  }
  return { places, complete: places.length <= most, reached: places.at(-1)?.seq ?? 0 };
}

/**
 * Calls `each` for the entries that match a query.
 * @returns false if some entries are missing, because the request has reached its read limit
 */
export async function eachMatch<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  each: (found: readonly Match<T>[]) => void,
): Promise<boolean> {
  const { places, complete } = await placesFor(deps, list, query);
  list.tally.candidates = places.length;
  return (await readAll(list, query, places, each)) === places.length && complete;
}
