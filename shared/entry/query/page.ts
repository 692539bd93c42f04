/** A page of a list: candidates, judged by what the caller sees of them, in order, from a cursor on. */
import type { Deps } from "../../deps.ts";
import { READ_BYTES, ReadBudget } from "../../store/budget.ts";
import { type Place, readPage } from "../index/scan.ts";
import { type Position, readCursor, writeCursor } from "../model/cursor.ts";
import { type Candidates, candidatesOf, idsTellTime, READ_LIMIT, tooBroad } from "./candidates.ts";
import { compareRanked, type Ranked, sortValues } from "./filter.ts";
import { CHUNK, type Collection, eachMatch, type Found, readAll, readMatching } from "./matching.ts";
import { BY_CREATION, creationOrder, type ListQuery } from "./query.ts";
import { type Step, stepsOfAll, stepsOfValue } from "./steps.ts";

export interface ListPage<T> {
  items: T[];
  nextCursor: string | null;
  total?: number;
}

/** Everything that a position in the list depends on, as text. */
export function signatureOf(
  list: Pick<Collection<unknown>, "orb" | "scope" | "choice">,
  query: ListQuery,
): string {
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

/** How many of those found are on the page, as far as that is known: they are few and small enough. */
function fitting<T>(list: Collection<T>, limit: number, found: readonly Found<T>[]): number {
  let bytes = 0;
  for (const [at, { item }] of found.entries()) {
    bytes += list.bytes(item);
    if (at === limit || (at > 0 && bytes > READ_BYTES)) return at;
  }
  return found.length;
}

/** The page's items out of those found, one more than fit telling that there is a next page. */
function cut<T, F extends Found<T>>(
  list: Collection<T>,
  found: readonly F[],
  limit: number,
  position: (last: F) => Position,
  signed: string,
): ListPage<T> {
  const items = found.slice(0, fitting(list, limit, found));
  const last = items.at(-1);
  const more = found.length > items.length && last !== undefined;
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
  places: readonly Place[],
  after: Position | undefined,
  signed: string,
): Promise<ListPage<T>> {
  const descending = creationOrder(query) === "desc";
  const ordered = descending ? places.toReversed() : places;
  const from = after?.kind === "set" ? after.key : undefined;
  const rest = ordered.filter(({ id }) => from === undefined || (descending ? id < from : id > from));
  const position = ({ place }: Found<T>): Position => ({ kind: "set", key: place.id });
  const found: Found<T>[] = [];
  let size = query.limit + 1;
  const full = () => fitting(list, query.limit, found) < found.length;
  for (let at = 0; at < rest.length && !full(); size = CHUNK) {
    const part = rest.slice(at, at + size);
    const next = await readMatching(list, query, part);
    found.push(...next.found);
    at += next.read;
    const last = rest[at - 1];
    const cutOff = (next.read < part.length && found.length > 0) || list.budget.over;
    if (!cutOff || last === undefined || at === rest.length || full()) continue;
    return endedEarly(found, { kind: "set", key: last.id }, signed);
  }
  return cut(list, found, query.limit, position, signed);
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
  // Settings that were purged and set again stand in the order twice, at both of their times.
  const { schema } = list;
  const hasOrder = schema !== undefined && schema.subjectType !== "settings";
  const byOrder = after === undefined ? hasOrder : after.kind === "order";
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
  const full = () => fitting(list, query.limit, found) < found.length;
  let read = 0;
  let reached: Position | undefined;
  // Where nothing is filtered, the first read is as likely as not the page.
  let size = query.conditions.length === 0 ? wanted : CHUNK;
  // What was purged and written again under its id lies in the order twice.
  const seen = new Set<string>();
  for await (const steps of walk) {
    const window = steps.filter(({ place: { id } }) => !seen.has(id) && seen.add(id));
    for (let at = 0; at < window.length && !full(); size = CHUNK) {
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
      if (full() || reached === undefined) continue;
      const cutOff = (next.read < chunk.length && found.length > 0) || list.budget.over;
      if (cutOff) return endedEarly(found, reached, signed);
    }
    if (full()) break;
  }
  const position = ({ place }: Found<T>): Position =>
    positions.get(place) ?? { kind: "index", seq: place.seq, density: 0 };
  return cut(list, found, query.limit, position, signed);
}

interface RankedFound<T> extends Found<T> {
  rank: Ranked;
}

/**
 * In any other order everything is looked at, so there must not be too much of it; only what may be on the page is kept.
 * @param places what has to be looked at, where that is known already
 */
async function pageOfSorted<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  after: Position | undefined,
  signed: string,
  places?: readonly Place[],
): Promise<ListPage<T>> {
  const from = after?.kind === "sorted" ? after : undefined;
  let total = 0;
  let first: RankedFound<T>[] = [];
  const each = (found: readonly Found<T>[]) => {
    total += found.length;
    for (const one of found) {
      const judged = list.judged(one.item);
      const rank: Ranked = { keys: sortValues(query.sort, judged, list.choice), id: judged.id };
      if (from === undefined || compareRanked(query.sort, rank, from) > 0) first.push({ ...one, rank });
    }
    first.sort((a, b) => compareRanked(query.sort, a.rank, b.rank));
    first = first.slice(0, fitting(list, query.limit, first) + 1);
  };
  await (places === undefined ? eachMatch(deps, list, query, each) : readAll(list, query, places, each));
  const page = cut<T, RankedFound<T>>(
    list,
    first,
    query.limit,
    ({ rank }) => ({ kind: "sorted", ...rank }),
    signed,
  );
  return query.count ? { ...page, total } : page;
}

/** The total: told by the broker where nothing narrows the list, counted where entries have to be looked at. */
async function countOf<T>(deps: Deps, list: Collection<T>, query: ListQuery): Promise<number> {
  if (query.conditions.length === 0 && !list.narrowed && list.total !== undefined) {
    const index = await readPage(deps.store, list.orb, list.index, { fromSeq: 1, limit: 1 });
    const total = await list.total(index.messages.length + index.pending);
    if (total !== undefined) return total;
  }
  let total = 0;
  await eachMatch(deps, list, query, (found) => {
    total += found.length;
  });
  return total;
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
  const ofSet = after?.kind === "set" || after?.kind === "sorted";
  const found: Candidates =
    schema === undefined || after?.kind === "index" || after?.kind === "order"
      ? { kind: "all" }
      : await candidatesOf(deps, schema, query.conditions, !ofSet);
  if (found.kind === "set" && schema !== undefined && !idsTellTime(schema)) {
    const [sort = BY_CREATION] = query.sort;
    return pageOfSorted(deps, list, { ...query, sort: [sort], count: false }, after, signed, found.places);
  }
  if (found.kind === "set") return pageOfSet(list, query, found.places, after, signed);
  if (ofSet) throw tooBroad(schema);
  if (found.kind !== "value" || schema === undefined) return pageOfAll(deps, list, query, after, signed);
  const steps = stepsOfValue(deps, list, schema, found, query, after);
  const page = await pageOfSteps(list, query, steps, signed, READ_LIMIT);
  if (page === undefined) throw tooBroad(schema);
  return page;
}

/**
 * Reads a page of a list. It may be shorter than `limit`, even empty, and have a next one: it ends when its budget is spent.
 * @param open the list, read within a budget: a total has one of its own, or it would make the page shorter
 * @throws AppError malformed `invalid_cursor`; invalid `too_broad` when more than {@link READ_LIMIT} entries would be read, or
 * more bytes than a request may read
 */
export async function readListPage<T>(
  deps: Deps,
  open: (budget: ReadBudget) => Collection<T>,
  query: ListQuery,
): Promise<ListPage<T>> {
  const list = open(new ReadBudget());
  const signed = signatureOf(list, query);
  const after = query.cursor === undefined ? undefined : readCursor(query.cursor, signed);
  if (creationOrder(query) === undefined) return pageOfSorted(deps, list, query, after, signed);
  const [page, total] = await Promise.all([
    pageInOrder(deps, list, query, after, signed),
    query.count ? countOf(deps, open(new ReadBudget()), query) : undefined,
  ]);
  return total === undefined ? page : { ...page, total };
}
