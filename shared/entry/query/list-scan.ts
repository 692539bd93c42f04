import type { Deps } from "../../deps.ts";
import { manyOf } from "../../store/many.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import {
  type IndexEntry,
  type IndexScan,
  type IndexWindow,
  readPage,
  readSmall,
  type ScanStart,
  scanInOrder,
} from "../index/index.ts";
import { type Position, positionAt } from "../model/index.ts";
import type { ValueIndex } from "./candidates.ts";
import { cut, endedEarly, fitting, type ListPage } from "./cut.ts";
import { CHUNK, type Collection, type Listed, type Match, readMatching } from "./matching.ts";
import { creationOrder, type ListQuery } from "./query.ts";

async function newestOf(deps: Deps, { orb, filter }: IndexScan): Promise<ScanStart | undefined> {
  const stream = streams.orb(orb);
  // To find the last of many messages, the broker would look at all their subjects. A later message will do.
  const end = manyOf(stream, filter) === undefined ? filter : ">";
  const [last, page] = await Promise.all([
    nullIfMissing(deps.store.get(stream, end, { consistency: "stale" })),
    readPage(deps.store, orb, filter, { fromSeq: 1, limit: 1, roughly: true }),
  ]);
  const [first] = page.messages;
  if (last === null || first === undefined) return undefined;
  return { seq: last.seq + 1, density: (page.pending + 1) / (last.seq - first.seq + 1) };
}

/** One entry of a list, and the cursor that continues after it. */
export interface ListStep {
  place: IndexEntry;
  position: Position;
}

export async function* scanKnown(
  places: readonly IndexEntry[],
  query: ListQuery,
  after: Position | undefined,
  kind: "set" | "index",
): AsyncGenerator<ListStep[]> {
  const descending = creationOrder(query) === "desc";
  const isAfter = ({ id, seq }: IndexEntry, { id: lastId, seq: lastSeq }: Position) =>
    kind === "set" ? (descending ? id < lastId : id > lastId) : descending ? seq < lastSeq : seq > lastSeq;
  const ordered = descending ? places.toReversed() : places;
  const rest = after === undefined ? ordered : ordered.filter((place) => isAfter(place, after));
  yield rest.map((place) => ({ place, position: positionAt(kind, { id: place.id, seq: place.seq }) }));
}

/** Entries per step of {@link scanPlaces}. */
const WINDOW = 500;

/** Yields the entries of a list that does not use an index, in order of creation. */
export async function* scanPlaces(
  find: NonNullable<Collection<unknown>["places"]>,
  after: Position | undefined,
): AsyncGenerator<ListStep[]> {
  for (let from = after?.seq ?? 0; ; ) {
    const { places, complete, reached } = await find(from, WINDOW);
    yield places.map((place) => ({ place, position: positionAt("index", { seq: place.seq }) }));
    if (complete) return;
    from = reached;
  }
}

/** Yields the visible entries of a live index in order of creation. */
export async function* scanListed(
  listed: Listed,
  query: ListQuery,
  after: Position | undefined,
): AsyncGenerator<ListStep[]> {
  const first = query.conditions.length === 0 ? query.limit + 1 : undefined;
  for await (const places of listed(after?.seq, creationOrder(query) === "desc", first))
    yield places.map((place) => ({ place, position: positionAt("index", { seq: place.seq }) }));
}

/** Yields all entries in order of creation. */
export async function* scanAll<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  after: Position | undefined,
  kind: "index" | "order",
): AsyncGenerator<ListStep[]> {
  const { orb, schema } = list;
  const first = query.limit + 1;
  const home = schema?.home;
  const scan: IndexScan =
    kind === "order" && home !== undefined
      ? { orb, filter: subjects.schemaOrder({ orb, ...home }), home, literal: true, first }
      : { orb, filter: list.index, first };
  // Some callers never await `list.last`. Catch its error here, because Node.js would otherwise report an unhandled
  // rejection.
  list.last?.catch(() => undefined);
  const newest = async () => {
    const last = await list.last;
    return last === undefined ? newestOf(deps, scan) : { seq: last + 1, density: 0 };
  };
  const from = after?.kind === kind ? after : undefined;
  const windows = scanInOrder(deps.store, scan, creationOrder(query) === "desc", from, newest);
  for await (const { places, density } of windows) {
    yield places.map((place) => ({ place, position: positionAt(kind, { seq: place.seq, density }) }));
  }
}

/**
 * Yields the entries that have a certain value, in order of creation. The index lists entries in the order in which
 * they got the value. So this function first reads the ids of the entries that got the value after their creation. It
 * then inserts them into the index's list by id, because ids are in order of creation.
 * @returns undefined if more than `most` entries got the value after their creation
 */
export async function scanByValue<T>(
  deps: Deps,
  list: Collection<T>,
  index: ValueIndex,
  query: ListQuery,
  { after, most }: { after: Position | undefined; most: number },
): Promise<AsyncGenerator<ListStep[]> | undefined> {
  const descending = creationOrder(query) === "desc";
  const from = after?.kind === "value" ? after : undefined;
  const scan: IndexScan = {
    orb: list.orb,
    filter: index.filter,
    home: index.home,
    first: query.limit + 1,
  };
  const late = { orb: list.orb, home: index.home, filter: index.late, most };
  const walked = scanInOrder(deps.store, scan, descending, from, () => newestOf(deps, scan));
  const [first, marked] = await Promise.all([walked.next(), readSmall(deps, late)]);
  return marked === undefined ? undefined : mergeLate({ first, walked, marked, from, descending });
}

async function* mergeLate({
  first,
  walked,
  marked,
  from,
  descending,
}: {
  first: IteratorResult<IndexWindow, unknown>;
  walked: AsyncGenerator<IndexWindow>;
  marked: readonly IndexEntry[];
  from: Position | undefined;
  descending: boolean;
}): AsyncGenerator<ListStep[]> {
  const passed = (a: string, b: string) => (descending ? a > b : a < b);
  const lateIds = new Set(marked.map(({ id }) => id));
  const late = marked
    .filter(({ id }) => from === undefined || passed(from.id, id))
    .sort((a, b) => (passed(a.id, b.id) ? -1 : 1));
  let next = 0;
  let at = { seq: from?.seq ?? 0, density: from?.density ?? 0, id: from?.id ?? "" };
  const step = (place: IndexEntry, seq: number, density: number): ListStep => {
    at = { seq, density, id: at.id === "" || passed(at.id, place.id) ? place.id : at.id };
    return { place, position: positionAt("value", at) };
  };
  for (let window = first; window.done !== true; window = await walked.next()) {
    const { places, density } = window.value;
    const steps: ListStep[] = [];
    for (const place of places) {
      if (lateIds.has(place.id)) continue;
      const seqBefore = at.seq === 0 ? place.seq + (descending ? 1 : -1) : at.seq;
      for (let other = late[next]; other !== undefined && passed(other.id, place.id); other = late[++next]) {
        steps.push(step(other, seqBefore, density));
      }
      steps.push(step(place, place.seq, density));
    }
    yield steps;
  }
  const end = at.seq === 0 && descending ? 1 : at.seq;
  yield late.slice(next).map((place) => step(place, end, at.density));
}

interface StepLimits {
  most?: number;
  known?: boolean;
  repeats?: boolean;
}

/**
 * Reads entries in order of creation until the page is full. Ends the page early when the request has reached its read
 * limit.
 * @param options.most maximum entries to read; if they do not fill the page, the result is undefined
 * @param options.known whether the scan yields all its entries in a single array
 * @param options.repeats whether `list` removes entries that the scan yields twice
 */
export async function pageOfSteps<T>(
  deps: Pick<Deps, "config">,
  list: Collection<T>,
  query: ListQuery,
  scan: AsyncGenerator<ListStep[]>,
  signed: string,
  { most = Number.POSITIVE_INFINITY, known = false, repeats = false }: StepLimits = {},
): Promise<ListPage<T> | undefined> {
  const found: Match<T>[] = [];
  const positions = new Map<IndexEntry, Position>();
  const wanted = query.limit + 1;
  const full = () => fitting(list, query.limit, found) < found.length;
  const limit = Math.min(most, list.budget.entries);
  let read = 0;
  let reached: Position | undefined;
  let size = known || query.conditions.length === 0 ? wanted : CHUNK;
  // The scan yields an entry twice if it was purged and then created again with the same id.
  const seen = new Set<string>();
  for await (const steps of scan) {
    const window = repeats ? steps : steps.filter(({ place: { id } }) => !seen.has(id) && seen.add(id));
    for (let at = 0; at < window.length && !full(); ) {
      if (read >= limit && reached !== undefined) {
        if (!known && most <= limit) return undefined;
        return endedEarly(deps, list, found, reached, signed);
      }
      const chunk = window.slice(at, at + Math.min(size, limit - read));
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
      // As long as every entry matches, read only as many as the page still needs.
      size = found.length === read ? wanted - found.length : CHUNK;
      if (full() || reached === undefined || (known && at === window.length)) continue;
      const cutOff = (next.read < chunk.length && found.length > 0) || list.budget.over;
      if (cutOff) return endedEarly(deps, list, found, reached, signed);
    }
    if (full()) break;
  }
  const position = ({ place }: Match<T>): Position =>
    positions.get(place) ?? positionAt("index", { seq: place.seq });
  return cut(list, found, query.limit, position, signed);
}

/** Reads a page until it is full, or until the request has reached its read limit. */
export async function wholePage<T>(
  ...[deps, list, query, scan, signed, limits]: Parameters<typeof pageOfSteps<T>>
): Promise<ListPage<T>> {
  const page = await pageOfSteps(deps, list, query, scan, signed, limits);
  if (page === undefined) throw new Error("A page without its own limit must not end without a result.");
  return page;
}
