/** A page of a list: candidates, judged by what the caller sees of them, in order, from a cursor on. */
import type { Deps } from "../deps.ts";
import type { CompiledSchema } from "../orb/compile.ts";
import { TooMuch } from "../store/types.ts";
import { type Candidates, candidatesOf, type KeyedPlace, READ_LIMIT, tooBroad } from "./candidates.ts";
import { type Position, readCursor, writeCursor } from "./cursor.ts";
import { compareRanked, type Judged, matches, type Ranked, sortValues } from "./filter.ts";
import type { Choice } from "./localize.ts";
import { creationOrder, type ListQuery } from "./query.ts";
import { forwards, type Place, readPage, type Walk } from "./scan.ts";
import { type Step, stepsOfAll, stepsOfValue } from "./steps.ts";

/** What is listed, and how its entries are read and seen. */
export interface Collection<T> {
  orb: string;
  /** Names the list: cursors of another one are refused. */
  scope: string;
  /** Subject filter of its index. */
  index: string;
  /** The one schema of its entries; undefined where there are several. */
  schema: CompiledSchema | undefined;
  /**
   * Reads entries; undefined for those that the caller does not see or did not ask for.
   * @throws TooMuch when they are larger than {@link READ_BYTES} together
   */
  read(places: readonly Place[]): Promise<(T | undefined)[]>;
  judged(item: T): Judged;
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

export interface ListPage<T> {
  items: T[];
  nextCursor: string | null;
  total?: number;
}

/** Entries of one read: with their live copies, as many as one request of the broker takes. */
const CHUNK = 500;

/** Bytes of one read at most, as they are stored: a page of large entries ends early, so that it fits into a function. */
export const READ_BYTES = 2 * 1024 * 1024;

interface Found<T> {
  place: Place;
  item: T;
}

/** What one read found, and of how many places it was: the first ones, as many as could be taken at once. */
interface Read<T> {
  found: Found<T>[];
  read: number;
}

async function readMatching<T>(
  list: Collection<T>,
  query: ListQuery,
  wanted: readonly Place[],
): Promise<Read<T>> {
  const choice = list.localized ? list.choice : undefined;
  for (let size = wanted.length; ; size = Math.ceil(size / 2)) {
    const places = wanted.slice(0, size);
    try {
      const items = await list.read(places);
      const found = places.flatMap((place, i) => {
        const item = items[i];
        if (item === undefined || !matches(query.conditions, list.judged(item), choice)) return [];
        return [{ place, item }];
      });
      return { found, read: size };
    } catch (error) {
      if (!(error instanceof TooMuch) || size <= 1) throw error;
    }
  }
}

async function readAll<T>(
  list: Collection<T>,
  query: ListQuery,
  places: readonly Place[],
): Promise<Found<T>[]> {
  const found: Found<T>[] = [];
  const readPart = async (part: readonly Place[]) => {
    const own: Found<T>[] = [];
    for (let at = 0; at < part.length; ) {
      const next = await readMatching(list, query, part.slice(at));
      own.push(...next.found);
      at += next.read;
    }
    return own;
  };
  // Two at a time: enough to keep the broker busy, and bounded in memory.
  for (let i = 0; i < places.length; i += 2 * CHUNK) {
    const parts = [places.slice(i, i + CHUNK), places.slice(i + CHUNK, i + 2 * CHUNK)];
    for (const part of await Promise.all(parts.map(readPart))) found.push(...part);
  }
  return found;
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

/** Everything that a position in the list depends on, as text. */
function signature<T>(list: Collection<T>, query: ListQuery): string {
  const conditions = query.conditions.map(({ subject, operator, values }) => [
    subject.name,
    operator,
    values,
  ]);
  const sort = query.sort.map(({ subject, descending }) => [subject.name, descending]);
  const localized = [...query.conditions, ...query.sort].some(
    ({ subject }) => subject.kind === "field" && (subject.field.translatable || subject.field.marketSpecific),
  );
  return JSON.stringify([
    list.orb,
    list.scope,
    conditions,
    sort,
    localized ? [list.choice.languages, list.choice.markets] : null,
  ]);
}

/** The page's items out of those found, one more than asked for telling that there is a next page. */
function cut<T>(
  found: readonly Found<T>[],
  limit: number,
  position: (last: Found<T>) => Position,
  signed: string,
): ListPage<T> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  const more = found.length > limit && last !== undefined;
  return {
    items: items.map(({ item }) => item),
    nextCursor: more ? writeCursor(position(last), signed) : null,
  };
}

/** A page that is not full: it goes on behind the last place that was read. */
function endedEarly<T>(found: readonly Found<T>[], last: Position, signed: string): ListPage<T> {
  return { items: found.map(({ item }) => item), nextCursor: writeCursor(last, signed) };
}

/** In creation order, out of a set that is known. */
async function pageOfSet<T>(
  list: Collection<T>,
  query: ListQuery,
  places: readonly KeyedPlace[],
  after: Position | undefined,
  signed: string,
): Promise<ListPage<T>> {
  const descending = creationOrder(query) === "desc";
  const ordered = descending ? places.toReversed() : places;
  const from = after?.kind === "set" ? after.key : undefined;
  const rest = ordered.filter(({ key }) => from === undefined || (descending ? key < from : key > from));
  const position = ({ place }: Found<T>): Position => ({ kind: "set", key: (place as KeyedPlace).key });
  const found: Found<T>[] = [];
  let size = query.limit + 1;
  for (let at = 0; at < rest.length && found.length <= query.limit; size = CHUNK) {
    const part = rest.slice(at, at + size);
    const next = await readMatching(list, query, part);
    found.push(...next.found);
    at += next.read;
    const last = rest[at - 1];
    if (next.read === part.length || found.length === 0 || last === undefined) continue;
    if (found.length <= query.limit) return endedEarly(found, { kind: "set", key: last.key }, signed);
  }
  return cut(found, query.limit, position, signed);
}

/**
 * A page of all entries. The order also names entries that were deleted: where a first page would pass over too many
 * of them, the index, which does not, is walked instead.
 */
async function pageOfAll<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  after: Position | undefined,
  signed: string,
): Promise<ListPage<T>> {
  const byOrder = after === undefined ? list.schema !== undefined : after.kind === "order";
  if (byOrder) {
    const steps = stepsOfAll(deps, list, query, after, "order");
    const page = await pageOfSteps(list, query, steps, signed, after === undefined ? PASSED : READ_LIMIT);
    if (page !== undefined) return page;
  }
  const steps = stepsOfAll(deps, list, query, byOrder ? undefined : after, "index");
  const page = await pageOfSteps(list, query, steps, signed, READ_LIMIT);
  if (page === undefined) throw tooBroad(list.schema);
  return page;
}

/** Entries that a first page reads by the order before it goes by the index. */
const PASSED = 2000;

/** In creation order, step by step until the page is full; undefined when `most` (fewer than all) did not do. */
async function pageOfSteps<T>(
  list: Collection<T>,
  query: ListQuery,
  walk: AsyncGenerator<Step[]>,
  signed: string,
  most: number,
): Promise<ListPage<T> | undefined> {
  const found: Found<T>[] = [];
  const positions = new Map<Place, Position>();
  const wanted = query.limit + 1;
  let read = 0;
  let reached: Position | undefined;
  // Where nothing is filtered, the first read is as likely as not the page.
  let size = query.conditions.length === 0 ? wanted : CHUNK;
  // What was purged and written again under its id lies in the order twice.
  const seen = new Set<string>();
  for await (const steps of walk) {
    const window = steps.filter(({ place: { id } }) => !seen.has(id) && seen.add(id));
    for (let at = 0; at < window.length && found.length < wanted; size = CHUNK) {
      if (read >= most) {
        if (most < READ_LIMIT) return undefined;
        // So many entries and still no full page: a filter must be narrowed; what is merely hidden is passed over.
        if (query.conditions.length > 0 || list.narrowed || reached === undefined)
          throw tooBroad(list.schema);
        return endedEarly(found, reached, signed);
      }
      const chunk = window.slice(at, at + Math.min(size, most - read));
      for (const { place, position } of chunk) positions.set(place, position);
      const next = await readMatching(
        list,
        query,
        chunk.map(({ place }) => place),
      );
      found.push(...next.found);
      read += next.read;
      at += next.read;
      reached = window[at - 1]?.position;
      if (found.length >= wanted || reached === undefined || next.read === chunk.length) continue;
      if (found.length > 0) return endedEarly(found, reached, signed);
    }
    if (found.length >= wanted) break;
  }
  const position = ({ place }: Found<T>) =>
    positions.get(place) ?? { kind: "index", seq: place.seq, density: 0 };
  return cut(found, query.limit, position as (last: Found<T>) => Position, signed);
}

/** In any other order: everything is read and ordered, so there must not be too much of it. */
function pageOfSorted<T>(
  list: Collection<T>,
  query: ListQuery,
  all: readonly Found<T>[],
  after: Position | undefined,
  signed: string,
): ListPage<T> {
  const ranked = all.map((found) => {
    const judged = list.judged(found.item);
    const rank: Ranked = { keys: sortValues(query.sort, judged, list.choice), id: judged.id };
    return { ...found, rank };
  });
  ranked.sort((a, b) => compareRanked(query.sort, a.rank, b.rank));
  const from = after?.kind === "sorted" ? after : undefined;
  const rest =
    from === undefined ? ranked : ranked.filter(({ rank }) => compareRanked(query.sort, rank, from) > 0);
  const ranks = new Map<Place, Ranked>(rest.map(({ place, rank }) => [place, rank]));
  return cut(
    rest,
    query.limit,
    ({ place }) => {
      const rank = ranks.get(place) ?? { keys: [], id: place.id };
      return { kind: "sorted", keys: rank.keys, id: rank.id };
    },
    signed,
  );
}

/** The total: told by the broker where nothing narrows the list, counted where entries have to be looked at. */
async function countOf<T>(deps: Deps, list: Collection<T>, query: ListQuery): Promise<number> {
  if (query.conditions.length === 0 && !list.narrowed && list.total !== undefined) {
    const index = await readPage(deps.store, list.orb, list.index, { fromSeq: 1, limit: 1 });
    const total = await list.total(index.messages.length + index.pending);
    if (total !== undefined) return total;
  }
  return (await everyMatch(deps, list, query)).length;
}

/** Everything that matches, of as few entries as indexes leave to look at. */
async function everyMatch<T>(deps: Deps, list: Collection<T>, query: ListQuery): Promise<Found<T>[]> {
  const found: Candidates =
    list.schema === undefined
      ? { kind: "all" }
      : await candidatesOf(deps, list.schema, query.conditions, false);
  return readAll(list, query, found.kind === "set" ? found.places : await everyPlace(deps, list));
}

/** A page in creation order. A list that was begun in one way is continued in it, whatever was written since. */
async function pageInOrder<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  after: Position | undefined,
  signed: string,
): Promise<ListPage<T>> {
  const { schema } = list;
  const found: Candidates =
    schema === undefined || after?.kind === "index" || after?.kind === "order"
      ? { kind: "all" }
      : await candidatesOf(deps, schema, query.conditions, after?.kind !== "set");
  if (found.kind === "set") return pageOfSet(list, query, found.places, after, signed);
  if (after?.kind === "set") throw tooBroad(schema);
  if (found.kind !== "value" || schema === undefined) return pageOfAll(deps, list, query, after, signed);
  const steps = stepsOfValue(deps, list, schema, found, query, after);
  const page = await pageOfSteps(list, query, steps, signed, READ_LIMIT);
  if (page === undefined) throw tooBroad(schema);
  return page;
}

/**
 * Reads a page of a list.
 * @throws AppError malformed `invalid_cursor`; invalid `too_broad` when more than {@link READ_LIMIT} entries would be read
 */
export async function readListPage<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
): Promise<ListPage<T>> {
  const signed = signature(list, query);
  const after = query.cursor === undefined ? undefined : readCursor(query.cursor, signed);
  if (creationOrder(query) === undefined) {
    const found = await everyMatch(deps, list, query);
    const page = pageOfSorted(list, query, found, after, signed);
    return query.count ? { ...page, total: found.length } : page;
  }
  const [page, total] = await Promise.all([
    pageInOrder(deps, list, query, after, signed),
    query.count ? countOf(deps, list, query) : undefined,
  ]);
  return total === undefined ? page : { ...page, total };
}
