/** A page of a list: candidates, judged by what the caller sees of them, in order, from a cursor on. */
import type { Deps } from "../deps.ts";
import type { CompiledSchema } from "../orb/compile.ts";
import { streams } from "../store/subjects.ts";
import { type Candidates, candidatesOf, type KeyedPlace, READ_LIMIT, tooBroad } from "./candidates.ts";
import { type Position, readCursor, writeCursor } from "./cursor.ts";
import { compareRanked, type Judged, matches, type Ranked, sortValues } from "./filter.ts";
import type { Choice } from "./localize.ts";
import { creationOrder, type ListQuery } from "./query.ts";
import { orNull } from "./resolve.ts";
import { backwards, forwards, type Place, readPage, type Walk } from "./scan.ts";

/** What is listed, and how its entries are read and seen. */
export interface Collection<T> {
  orb: string;
  /** Names the list: cursors of another one are refused. */
  scope: string;
  /** Subject filter of its index. */
  index: string;
  /** The one schema of its entries; undefined where there are several. */
  schema: CompiledSchema | undefined;
  /** Reads entries; undefined for those that the caller does not see or did not ask for. */
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

interface Found<T> {
  place: Place;
  item: T;
}

async function readMatching<T>(
  list: Collection<T>,
  query: ListQuery,
  places: readonly Place[],
): Promise<Found<T>[]> {
  const items = await list.read(places);
  const choice = list.localized ? list.choice : undefined;
  return places.flatMap((place, i) => {
    const item = items[i];
    if (item === undefined || !matches(query.conditions, list.judged(item), choice)) return [];
    return [{ place, item }];
  });
}

async function readAll<T>(
  list: Collection<T>,
  query: ListQuery,
  places: readonly Place[],
): Promise<Found<T>[]> {
  const chunks: Place[][] = [];
  for (let i = 0; i < places.length; i += CHUNK) chunks.push(places.slice(i, i + CHUNK));
  const found: Found<T>[] = [];
  // Two at a time: enough to keep the broker busy, and bounded in memory.
  for (let i = 0; i < chunks.length; i += 2) {
    const pair = await Promise.all(chunks.slice(i, i + 2).map((chunk) => readMatching(list, query, chunk)));
    for (const part of pair) found.push(...part);
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
  if (query.count) {
    const all = await readAll(list, query, ordered);
    const keys = new Set<Place>(rest);
    const page = cut(
      all.filter(({ place }) => keys.has(place)),
      query.limit,
      position,
      signed,
    );
    return { ...page, total: all.length };
  }
  const found: Found<T>[] = [];
  let size = query.limit + 1;
  for (let i = 0; i < rest.length && found.length <= query.limit; i += size, size = CHUNK) {
    found.push(...(await readMatching(list, query, rest.slice(i, i + size))));
  }
  return cut(found, query.limit, position, signed);
}

/** Windows of the index in the list's direction, with the place where each ends. */
async function* windows<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  first: number,
  after: Position | undefined,
): AsyncGenerator<{ places: Place[]; density: number }> {
  const walk: Walk = { orb: list.orb, filter: list.index, first };
  const from = after?.kind === "index" ? after : undefined;
  if (creationOrder(query) === "asc") {
    for await (const places of forwards(deps.store, walk, from?.seq ?? 0)) yield { places, density: 0 };
    return;
  }
  let before = from?.seq;
  if (before === undefined) {
    const known = await list.last;
    const last =
      known ?? (await orNull(deps.store.get(streams.orb(list.orb), list.index, { consistency: "any" })))?.seq;
    if (last === undefined) return;
    before = last + 1;
  }
  yield* backwards(deps.store, walk, before, from?.density);
}

/** In creation order, walking the index until the page is full. */
async function pageOfIndex<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  share: number,
  after: Position | undefined,
  signed: string,
): Promise<ListPage<T>> {
  const found: Found<T>[] = [];
  const wanted = query.limit + 1;
  const first = share > 0 ? Math.min(CHUNK, Math.ceil((wanted * 1.1) / share)) : wanted;
  let read = 0;
  let density = 0;
  for await (const window of windows(deps, list, query, first, after)) {
    density = window.density;
    for (let i = 0; i < window.places.length && found.length < wanted; i += CHUNK) {
      const chunk = window.places.slice(i, i + CHUNK);
      found.push(...(await readMatching(list, query, chunk)));
      read += chunk.length;
      const last = chunk.at(-1);
      if (found.length >= wanted || read + CHUNK <= READ_LIMIT || last === undefined) continue;
      // So many entries and still no full page: a filter must be narrowed; what is merely hidden is passed over.
      if (query.conditions.length > 0 || list.narrowed) throw tooBroad(list.schema);
      const cursor = writeCursor({ kind: "index", seq: last.seq, density }, signed);
      return { items: found.map(({ item }) => item), nextCursor: cursor };
    }
    if (found.length >= wanted) break;
  }
  return cut(found, query.limit, ({ place }) => ({ kind: "index", seq: place.seq, density }), signed);
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

/** The total of a list that nothing narrows, or of one whose entries have to be looked at. */
async function countOf<T>(deps: Deps, list: Collection<T>, query: ListQuery): Promise<number> {
  if (query.conditions.length === 0 && !list.narrowed && list.total !== undefined) {
    const index = await readPage(deps.store, list.orb, list.index, { fromSeq: 1, limit: 1 });
    const total = await list.total(index.messages.length + index.pending);
    if (total !== undefined) return total;
  }
  return (await readAll(list, query, await everyPlace(deps, list))).length;
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
  const order = creationOrder(query);
  // A list that was begun in one way is continued in it, whatever has been written since.
  const began = after?.kind === "index" ? "dense" : undefined;
  const all: Candidates = { kind: "all" };
  const candidates: Candidates =
    list.schema === undefined || query.conditions.length === 0
      ? all
      : began !== undefined && !query.count
        ? { kind: "dense", share: 0 }
        : await candidatesOf(
            deps,
            list.schema,
            query.conditions,
            order === undefined || query.count || after?.kind === "set" ? undefined : query.limit + 1,
          );
  if (order === undefined) {
    const places = candidates.kind === "set" ? candidates.places : await everyPlace(deps, list);
    const found = await readAll(list, query, places);
    const page = pageOfSorted(list, query, found, after, signed);
    return query.count ? { ...page, total: found.length } : page;
  }
  if (candidates.kind === "set" && began === undefined) {
    return pageOfSet(list, query, candidates.places, after, signed);
  }
  if (after?.kind === "set") throw tooBroad(list.schema);
  const share = candidates.kind === "dense" ? candidates.share : 0;
  const [page, total] = await Promise.all([
    pageOfIndex(deps, list, query, share, after, signed),
    query.count ? countOf(deps, list, query) : undefined,
  ]);
  return total === undefined ? page : { ...page, total };
}
