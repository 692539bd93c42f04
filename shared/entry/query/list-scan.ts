/** Scans lists in creation order. Each index entry comes with the cursor position after it. */
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type IndexEntry, type IndexScan, readPage, scanBackwards, scanForwards } from "../index/scan.ts";
import type { Position } from "../model/cursor.ts";
import { nullIfMissing } from "../model/resolve.ts";
import { readIndexes, tooBroad, type ValueIndex } from "./candidates.ts";
import type { Collection } from "./matching.ts";
import { creationOrder, type ListQuery } from "./query.ts";

/** How a list is scanned. */
interface Route {
  scan: IndexScan;
  after: { seq: number; density: number } | undefined;
  descending: boolean;
  /** Where a backward scan begins, if it was read in advance. */
  start?: Promise<Edge | undefined> | undefined;
}

/** An upper bound of an index's sequences, and the index's density (0: unknown). */
interface Edge {
  last: number;
  density: number;
}

/** Reads the end of an index. Two concurrent requests. */
async function edgeOf(deps: Deps, orb: string, filter: string): Promise<Edge | undefined> {
  const [last, page] = await Promise.all([
    nullIfMissing(deps.store.get(streams.orb(orb), filter, { consistency: "stale" })),
    readPage(deps.store, orb, filter, { fromSeq: 1, limit: 1 }),
  ]);
  const [first] = page.messages;
  if (last === null || first === undefined) return undefined;
  return { last: last.seq, density: (page.pending + 1) / (last.seq - first.seq + 1) };
}

/** Yields windows of an index in the list's direction. */
async function* windows(deps: Deps, route: Route): AsyncGenerator<{ places: IndexEntry[]; density: number }> {
  const { scan, after } = route;
  if (!route.descending) {
    for await (const places of scanForwards(deps.store, scan, after?.seq ?? 0)) yield { places, density: 0 };
    return;
  }
  if (after !== undefined) {
    yield* scanBackwards(deps.store, scan, after.seq, after.density === 0 ? undefined : after.density);
    return;
  }
  const edge = (await route.start) ?? (await edgeOf(deps, scan.orb, scan.filter));
  if (edge === undefined) return;
  yield* scanBackwards(deps.store, scan, edge.last + 1, edge.density === 0 ? undefined : edge.density);
}

/** An index entry, and the cursor position after it. */
export interface ListStep {
  place: IndexEntry;
  position: Position;
}

/** Yields all entries in creation order: from the index, or from the schema's single order subject. */
export async function* scanAll<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  after: Position | undefined,
  kind: "index" | "order",
): AsyncGenerator<ListStep[]> {
  const { orb, schema } = list;
  const first = query.limit + 1;
  const start = list.last?.then((last) => (last === undefined ? undefined : { last, density: 0 }));
  // Prevents an unhandled rejection: not every scan awaits it.
  start?.catch(() => undefined);
  const home = schema === undefined ? undefined : { type: schema.subjectType, schema: schema.id };
  const route: Route = {
    scan:
      kind === "order" && home !== undefined
        ? { orb, filter: subjects.schemaOrder({ orb, ...home }), home, literal: true, first }
        : { orb, filter: list.index, first },
    after: after?.kind === kind ? after : undefined,
    descending: creationOrder(query) === "desc",
    start,
  };
  for await (const { places, density } of windows(deps, route)) {
    yield places.map((place) => ({ place, position: { kind, seq: place.seq, density } }));
  }
}

/**
 * Yields the entries with one value in creation order. Merges the value's index, which is ordered by when entries got
 * the value, with the marks of entries that got it after their creation, ordered by id.
 */
export async function* scanByValue<T>(
  deps: Deps,
  list: Collection<T>,
  schema: CompiledSchema,
  index: ValueIndex,
  query: ListQuery,
  after: Position | undefined,
): AsyncGenerator<ListStep[]> {
  const descending = creationOrder(query) === "desc";
  const from = after?.kind === "value" ? after : undefined;
  const route: Route = {
    scan: { orb: list.orb, filter: index.filter, home: index.home, first: query.limit + 1 },
    after: from,
    descending,
  };
  if (descending && from === undefined) route.start = edgeOf(deps, list.orb, index.filter);
  const walked = windows(deps, route);
  // Read the first window and the marks concurrently.
  const [first, marked] = await Promise.all([walked.next(), readIndexes(deps, schema, [index.late])]);
  if (marked === undefined) throw tooBroad(list.schema);
  const passed = (a: string, b: string) => (descending ? a > b : a < b);
  const lateIds = new Set(marked.map(({ id }) => id));
  const late = marked
    .filter(({ id }) => from === undefined || passed(from.id, id))
    .sort((a, b) => (passed(a.id, b.id) ? -1 : 1));
  let next = 0;
  let at = { seq: from?.seq ?? 0, density: from?.density ?? 0, id: from?.id ?? "" };
  const step = (place: IndexEntry, seq: number, density: number): ListStep => {
    at = { seq, density, id: at.id === "" || passed(at.id, place.id) ? place.id : at.id };
    return { place, position: { kind: "value", ...at } };
  };
  for (let window = first; window.done !== true; window = await walked.next()) {
    const { places, density } = window.value;
    const steps: ListStep[] = [];
    for (const place of places) {
      if (lateIds.has(place.id)) continue;
      // Before the first step of the scan, the position is directly before this index entry, in the list's direction.
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
