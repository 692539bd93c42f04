/**
 * Returns one page of a list: chooses an index, reads and filters entries in order, and encodes the cursor of the next
 * page.
 */
import type { Deps } from "../../deps.ts";
import { READ_BYTES, ReadBudget } from "../../store/budget.ts";
import { type IndexEntry, readPage } from "../index/scan.ts";
import { type Position, positionAt, readCursor, writeCursor } from "../model/cursor.ts";
import { type Candidates, candidatesOf, idsTellTime, READ_LIMIT, tooBroad } from "./candidates.ts";
import { compareRanked, type SortPosition, sortValues } from "./filter.ts";
import { type ListStep, scanAll, scanByValue, scanKnown } from "./list-scan.ts";
import { CHUNK, type Collection, eachMatch, type Match, readAll, readMatching } from "./matching.ts";
import { BY_CREATION } from "./parameters.ts";
import { creationOrder, type ListQuery } from "./query.ts";

export interface ListPage<T> {
  items: T[];
  nextCursor: string | null;
  total?: number;
}

/** Returns a text with everything that a cursor depends on, such as filters and sort order. */
function signatureOf(list: Collection<unknown>, query: ListQuery): string {
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

function fitting<T>(list: Collection<T>, limit: number, found: readonly Match<T>[]): number {
  let bytes = 0;
  for (const [at, { item }] of found.entries()) {
    bytes += list.bytes(item);
    if (at === limit || (at > 0 && bytes > READ_BYTES)) return at;
  }
  return found.length;
}

/** Builds a page from the matches. If more matches were found than fit, adds the cursor of the next page. */
function cut<T, F extends Match<T>>(
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

function endedEarly<T>(found: readonly Match<T>[], last: Position, signed: string): ListPage<T> {
  return { items: found.map(({ item }) => item), nextCursor: writeCursor(last, signed) };
}

const PASSED = 2000;

/**
 * Reads entries in order of creation until the page is full.
 * @param options.most maximum number of entries to read; the result is undefined if that many entries do not fill the
 * page
 * @param options.known whether the scan yields all entries at once
 */
async function pageOfSteps<T>(
  list: Collection<T>,
  query: ListQuery,
  scan: AsyncGenerator<ListStep[]>,
  signed: string,
  { most = READ_LIMIT, known = false }: { most?: number; known?: boolean } = {},
): Promise<ListPage<T> | undefined> {
  const found: Match<T>[] = [];
  const positions = new Map<IndexEntry, Position>();
  const wanted = query.limit + 1;
  const full = () => fitting(list, query.limit, found) < found.length;
  let read = 0;
  let reached: Position | undefined;
  let size = known || query.conditions.length === 0 ? wanted : CHUNK;
  // An entry that was purged and created again with the same id is in the list twice.
  const seen = new Set<string>();
  for await (const steps of scan) {
    const window = steps.filter(({ place: { id } }) => !seen.has(id) && seen.add(id));
    for (let at = 0; at < window.length && !full(); size = CHUNK) {
      if (!known && read >= most) {
        if (most < READ_LIMIT) return undefined;
        // A filter that reads too many entries is an error. If entries are missing only because the caller may not see
        // them, end the page early.
        if (query.conditions.length > 0 || list.narrowed || reached === undefined)
          throw tooBroad(list.schema);
        return endedEarly(found, reached, signed);
      }
      const chunk = window.slice(at, at + (known ? size : Math.min(size, most - read)));
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
      if (full() || reached === undefined || (known && at === window.length)) continue;
      const cutOff = (next.read < chunk.length && found.length > 0) || list.budget.over;
      if (cutOff) return endedEarly(found, reached, signed);
    }
    if (full()) break;
  }
  const position = ({ place }: Match<T>): Position =>
    positions.get(place) ?? positionAt("index", { seq: place.seq });
  return cut(list, found, query.limit, position, signed);
}

interface RankedFound<T> extends Match<T> {
  rank: SortPosition;
}

/** Reads a page in a sort order other than by creation. Must read all entries, but keeps only one page in memory. */
async function pageOfSorted<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  after: Position | undefined,
  signed: string,
  places?: readonly IndexEntry[],
): Promise<ListPage<T>> {
  const from = after?.kind === "sorted" ? after : undefined;
  let total = 0;
  let first: RankedFound<T>[] = [];
  const each = (found: readonly Match<T>[]) => {
    total += found.length;
    for (const one of found) {
      const judged = list.judged(one.item);
      const rank: SortPosition = { keys: sortValues(query.sort, judged, list.choice), id: judged.id };
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
    ({ rank }) => positionAt("sorted", rank),
    signed,
  );
  return query.count ? { ...page, total } : page;
}

/** Returns the total number of entries. Without filters, the index tells it; otherwise they are counted one by one. */
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

/** Reads a page in order of creation. The cursor says which index the first page used, and later pages use it too. */
async function pageInOrder<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  after: Position | undefined,
  signed: string,
): Promise<ListPage<T>> {
  const { schema } = list;
  const pageOf = async (steps: AsyncGenerator<ListStep[]>, known = false) => {
    const page = await pageOfSteps(list, query, steps, signed, { known });
    if (page === undefined) throw tooBroad(schema);
    return page;
  };
  if (list.places !== undefined) return pageOf(scanKnown(list.places, query, after, "index"), true);
  const ofSet = after?.kind === "set" || after?.kind === "sorted";
  const plan: Candidates =
    schema === undefined || after?.kind === "index" || after?.kind === "order"
      ? { kind: "all" }
      : await candidatesOf(deps, schema, query.conditions, !ofSet);
  if (plan.kind === "set" && schema !== undefined && !idsTellTime(schema)) {
    const [sort = BY_CREATION] = query.sort;
    return pageOfSorted(deps, list, { ...query, sort: [sort], count: false }, after, signed, plan.places);
  }
  if (plan.kind === "set") return pageOf(scanKnown(plan.places, query, after, "set"), true);
  if (ofSet) throw tooBroad(schema);
  if (plan.kind === "value" && schema !== undefined) {
    return pageOf(scanByValue(deps, list, schema, plan, query, after));
  }
  if (after?.kind === "order") return pageOf(scanAll(deps, list, query, after, "order"));
  // Read the ids in order of creation. They include deleted entries. If there are too many of those, use the index
  // instead.
  if (after === undefined && schema !== undefined && schema.subjectType !== "settings") {
    const steps = scanAll(deps, list, query, after, "order");
    const page = await pageOfSteps(list, query, steps, signed, { most: PASSED });
    if (page !== undefined) return page;
  }
  return pageOf(scanAll(deps, list, query, after, "index"));
}

/**
 * Reads a page of a list. If the request has read its maximum number of bytes, the page is shorter than `limit` and has
 * a cursor.
 * @param open opens the list with a read budget; counting the total uses a separate budget
 * @throws AppError invalid `too_broad` if the query would read too much
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
