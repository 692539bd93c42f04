/** Fills one page of a list with the entries that a scan yields. */
import type { Deps } from "../../deps.ts";
import type { IndexEntry } from "../index/scan.ts";
import { type Position, positionAt } from "../model/cursor.ts";
import { cut, endedEarly, fitting, type ListPage } from "./cut.ts";
import type { ListStep } from "./list-scan.ts";
import { CHUNK, type Collection, type Match, readMatching } from "./matching.ts";
import type { ListQuery } from "./query.ts";

interface StepLimits {
  most?: number;
  known?: boolean;
  repeats?: boolean;
}

/**
 * Reads entries in order of creation until the page is full. Ends the page early after as many entries as the budget
 * allows.
 * @param options.most the result is undefined if reading this many entries does not fill the page
 * @param options.known whether the scan yields all entries at once
 * @param options.repeats whether the list itself drops entries that the scan yields twice
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
  // An entry that was purged and created again with the same id is in the list twice.
  const seen = new Set<string>();
  for await (const steps of scan) {
    const window = repeats ? steps : steps.filter(({ place: { id } }) => !seen.has(id) && seen.add(id));
    for (let at = 0; at < window.length && !full(); size = CHUNK) {
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

/** Reads a page that no limit of its own ends. */
export async function wholePage<T>(
  ...[deps, list, query, scan, signed, limits]: Parameters<typeof pageOfSteps<T>>
): Promise<ListPage<T>> {
  const page = await pageOfSteps(deps, list, query, scan, signed, limits);
  if (page === undefined) throw new Error("A page without its own limit must not end without a result.");
  return page;
}
