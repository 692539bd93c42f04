/**
 * Reads the entries of an aggregation. If one request cannot read all of them, the cursor contains the intermediate
 * results, and the next request continues from there.
 */
import type { Deps } from "../../deps.ts";
import { LONGEST_CURSOR, type Position, positionAt, refusedCursor, writeCursor } from "../model/index.ts";
import { type Aggregation, Totals, tooManyGroups } from "./aggregate.ts";
import { candidatesOf } from "./candidates.ts";
import { hiddenPosition, type ListPage } from "./cut.ts";
import { type ListStep, scanAll, scanKnown, scanListed, scanPlaces } from "./list-scan.ts";
import { CHUNK, type Collection, openListed, readMatching } from "./matching.ts";
import type { ListQuery } from "./query.ts";

/** Number of index messages per read. */
const WINDOW = 500;
/**
 * A later request fails if the query now has more than this many times as many candidate entries as at the first
 * request.
 */
const GROWTH = 4;

async function stepsOf<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  after: Position | undefined,
): Promise<AsyncGenerator<ListStep[]>> {
  if (list.places !== undefined) return scanPlaces(list.places, after);
  if (list.schema !== undefined && after?.kind !== "index") {
    const most = list.budget.entries * (after === undefined ? 1 : GROWTH);
    const plan = await candidatesOf(deps, list.schema, query.planned ?? query.conditions, { most });
    if (plan.kind === "set") {
      list.tally.by = plan.by;
      list.tally.candidates = plan.places.length;
      return scanKnown(plan.places, query, after, "set");
    }
  }
  if (after !== undefined && after.kind !== "index") throw refusedCursor();
  const listed = await openListed(deps, list);
  if (listed !== undefined) return scanListed(listed, { ...query, sort: [] }, after);
  // Read the index, because it lists each entry once. The log of entries by creation time may list one twice.
  return scanAll(deps, list, { ...query, limit: WINDOW - 1 }, after, "index");
}

/**
 * Aggregates part of a list.
 * @returns the results so far, and `nextCursor` if there are more entries
 */
export async function aggregatePage<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  of: Aggregation,
  { after, signed }: { after: Position | undefined; signed: string },
): Promise<ListPage<T>> {
  const totals = new Totals(of, list.choice);
  if (after !== undefined && !totals.restore(after.keys)) throw refusedCursor();
  const { budget } = list;
  let read = 0;
  let reached: { position: Position; shown: boolean } | undefined;
  for await (const steps of await stepsOf(deps, list, query, after)) {
    for (let at = 0; at < steps.length; ) {
      if (reached !== undefined && (budget.over || read >= budget.entries)) {
        const { position, shown } = reached;
        const hidden = await hiddenPosition(deps, position, shown);
        const nextCursor = writeCursor(positionAt(hidden.kind, { ...hidden, keys: totals.state() }), signed);
        if (nextCursor.length > LONGEST_CURSOR) throw tooManyGroups();
        return { items: [], nextCursor, groups: totals.results(), complete: false };
      }
      const chunk = steps.slice(at, at + Math.min(CHUNK, budget.entries - read));
      const next = await readMatching(
        list,
        query,
        chunk.map(({ place }) => place),
      );
      for (const { item } of next.found) totals.add(list.judged(item));
      read += next.read;
      at += next.read;
      const last = chunk[next.read - 1];
      if (last === undefined) break;
      reached = { position: last.position, shown: next.found.at(-1)?.place === last.place };
    }
  }
  return { items: [], nextCursor: null, groups: totals.results(), complete: true };
}
