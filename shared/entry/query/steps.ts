/** Walks lists in creation order, place by place, each with the position that a cursor would carry behind it. */
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { backwards, forwards, type Place, readPage, type Walk } from "../index/scan.ts";
import type { Position } from "../model/cursor.ts";
import { orNull } from "../model/resolve.ts";
import { gather, tooBroad, type ValueIndex } from "./candidates.ts";
import type { Collection } from "./matching.ts";
import { creationOrder, type ListQuery } from "./query.ts";

/** Where a list is walked. */
interface Route {
  walk: Walk;
  after: { seq: number; density: number } | undefined;
  descending: boolean;
  /** Where a walk backwards begins, when that was looked up beforehand. */
  start?: Promise<Edge | undefined> | undefined;
}

/** The end of an index, and how densely its messages lie (0: not known). */
interface Edge {
  last: number;
  density: number;
}

/** Two requests side by side. */
async function edgeOf(deps: Deps, orb: string, filter: string): Promise<Edge | undefined> {
  const [last, page] = await Promise.all([
    orNull(deps.store.get(streams.orb(orb), filter, { consistency: "any" })),
    readPage(deps.store, orb, filter, { fromSeq: 1, limit: 1 }),
  ]);
  const [first] = page.messages;
  if (last === null || first === undefined) return undefined;
  return { last: last.seq, density: (page.pending + 1) / (last.seq - first.seq + 1) };
}

/** Windows of an index in the list's direction. */
async function* windows(deps: Deps, route: Route): AsyncGenerator<{ places: Place[]; density: number }> {
  const { walk, after } = route;
  if (!route.descending) {
    for await (const places of forwards(deps.store, walk, after?.seq ?? 0)) yield { places, density: 0 };
    return;
  }
  if (after !== undefined) {
    yield* backwards(deps.store, walk, after.seq, after.density === 0 ? undefined : after.density);
    return;
  }
  const edge = (await route.start) ?? (await edgeOf(deps, walk.orb, walk.filter));
  if (edge === undefined) return;
  yield* backwards(deps.store, walk, edge.last + 1, edge.density === 0 ? undefined : edge.density);
}

/** A place, and where the list stands when it has passed it. */
export interface Step {
  place: Place;
  position: Position;
}

/** All entries in creation order: by the index, or by the order's single subject where a schema has one. */
export async function* stepsOfAll<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  after: Position | undefined,
  kind: "index" | "order",
): AsyncGenerator<Step[]> {
  const { orb, schema } = list;
  const first = query.limit + 1;
  const start = list.last?.then((last) => (last === undefined ? undefined : { last, density: 0 }));
  // Not every walk begins there.
  start?.catch(() => undefined);
  const home = schema === undefined ? undefined : { type: schema.subjectType, schema: schema.id };
  const route: Route = {
    walk:
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
 * The entries with one value in creation order: its index as it lies, and in between, by their ids, those that took the
 * value later and lie out of order.
 */
export async function* stepsOfValue<T>(
  deps: Deps,
  list: Collection<T>,
  schema: CompiledSchema,
  index: ValueIndex,
  query: ListQuery,
  after: Position | undefined,
): AsyncGenerator<Step[]> {
  const descending = creationOrder(query) === "desc";
  const from = after?.kind === "value" ? after : undefined;
  const route: Route = {
    walk: { orb: list.orb, filter: index.filter, home: index.home, first: query.limit + 1 },
    after: from,
    descending,
  };
  if (descending && from === undefined) route.start = edgeOf(deps, list.orb, index.filter);
  const walked = windows(deps, route);
  // The first window and the marks are asked for side by side.
  const [first, marked] = await Promise.all([walked.next(), gather(deps, schema, [index.late])]);
  if (marked === undefined) throw tooBroad(list.schema);
  const passed = (a: string, b: string) => (descending ? a > b : a < b);
  const lateIds = new Set(marked.map(({ id }) => id));
  const late = marked
    .filter(({ id }) => from === undefined || passed(from.id, id))
    .sort((a, b) => (passed(a.id, b.id) ? -1 : 1));
  let next = 0;
  let at = { seq: from?.seq ?? 0, density: from?.density ?? 0, id: from?.id ?? "" };
  const step = (place: Place, seq: number, density: number): Step => {
    at = { seq, density, id: at.id === "" || passed(at.id, place.id) ? place.id : at.id };
    return { place, position: { kind: "value", ...at } };
  };
  for (let window = first; window.done !== true; window = await walked.next()) {
    const { places, density } = window.value;
    const steps: Step[] = [];
    for (const place of places) {
      if (lateIds.has(place.id)) continue;
      // Newest first, a place not yet passed is one behind: the window begins before it.
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
