/**
 * Reads a page in a sort order for which no index exists, so it must read all entries. If one request cannot read them
 * all, it returns an empty page. The cursor of that page contains the best entries so far, and the next request
 * continues there.
 */

import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { isToken, MODULE_TOKENS, parsedHome } from "../../store/subjects.ts";
import type { IndexEntry } from "../index/index.ts";
import { LONGEST_CURSOR, type Position, positionAt, refusedCursor, writeCursor } from "../model/index.ts";
import { fitting, hiddenPosition, type ListPage } from "./cut.ts";
import { compareRanked, type SortPosition, sortValues } from "./filter.ts";
import { type Collection, type Match, placesFor, readAll, readMatching, type Wanted } from "./matching.ts";
import type { ListQuery } from "./query.ts";

interface Ranked<T> extends Match<T> {
  rank: SortPosition;
}

/** Returns the name of an entry in a cursor. In a list of several schemas, the name includes the schema. */
function nameOf({ schema }: Collection<unknown>, { type, schema: name, id }: IndexEntry): string {
  return schema === undefined ? `${type}.${name}.${id}` : id;
}

/** @throws AppError malformed `invalid_cursor` if the name does not belong to this list */
function placeOf({ schema }: Collection<unknown>, name: string): IndexEntry {
  const [id = "", named = "", type = "", ...more] = name.split(".").reverse();
  const isNamed = MODULE_TOKENS.some((token) => token === type) && isToken(named);
  const fits = schema === undefined ? isNamed && more.length === 0 : name === id;
  if (!fits || !isToken(id)) throw refusedCursor();
  return { ...(schema?.home ?? parsedHome(type, named)), id, seq: 0 };
}

/** The entries read so far that come first in the sort order, at most one page. */
class Best<T> {
  readonly #list: Collection<T>;
  readonly #query: ListQuery;
  /** The page contains only entries after this position in the sort order. */
  readonly #from: SortPosition | undefined;
  /**
   * Position of the first entry that did not fit into the page. The page always ends before it. An entry of the page
   * may be deleted between two requests. A later entry must not fill the gap: the next page would start after that
   * entry, and skip the one at this position.
   */
  #bound: SortPosition | undefined;
  #items: Ranked<T>[] = [];

  constructor(list: Collection<T>, query: ListQuery, from?: SortPosition, bound?: SortPosition) {
    this.#list = list;
    this.#query = query;
    this.#from = from;
    this.#bound = bound;
  }

  get items(): readonly Ranked<T>[] {
    return this.#items;
  }

  add(found: readonly Match<T>[]): void {
    const { sort, limit } = this.#query;
    // An entry of the cursor may also be among the newly read ones. Then keep only the new copy.
    const again = new Set(found.map(({ place }) => nameOf(this.#list, place)));
    const all = this.#items.filter(({ place }) => !again.has(nameOf(this.#list, place)));
    for (const one of found) {
      const judged = this.#list.judged(one.item);
      const rank: SortPosition = { keys: sortValues(sort, judged, this.#list.choice), id: judged.id };
      if (this.#from !== undefined && compareRanked(sort, rank, this.#from) <= 0) continue;
      if (this.#bound === undefined || compareRanked(sort, rank, this.#bound) < 0) all.push({ ...one, rank });
    }
    all.sort((a, b) => compareRanked(sort, a.rank, b.rank));
    this.#cut(all, fitting(this.#list, limit, all));
  }

  #cut(all: Ranked<T>[], length: number): void {
    this.#bound = all[length]?.rank ?? this.#bound;
    this.#items = all.slice(0, length);
  }

  /** Returns the page. Call this when all entries have been read. */
  page(signed: string): ListPage<T> {
    const items = this.#items.map(({ item }) => item);
    if (this.#bound === undefined) return { items, nextCursor: null };
    const last = this.#items.at(-1)?.rank ?? this.#from;
    // If all of the best entries have changed, none is left. The next request then reads the list from the start.
    const next = last === undefined ? positionAt("set", { best: { names: [] } }) : positionAt("sorted", last);
    return { items, nextCursor: writeCursor(next, signed) };
  }

  /**
   * Returns a cursor that continues from a position and names the best entries so far. Names fewer entries if the
   * cursor would become too long.
   */
  cursor(at: Position, signed: string): string {
    for (;;) {
      const best: NonNullable<Position["best"]> = {
        names: this.#items.map(({ place }) => nameOf(this.#list, place)),
        ...(this.#from === undefined ? {} : { from: this.#from }),
        ...(this.#bound === undefined ? {} : { bound: this.#bound }),
      };
      const cursor = writeCursor({ ...at, best }, signed);
      if (cursor.length <= LONGEST_CURSOR) return cursor;
      if (this.#items.length < 2) throw tooLong();
      this.#cut(this.#items, this.#items.length - 1);
    }
  }
}

function tooLong(): AppError {
  const detail =
    "The values of the sort fields do not fit into a cursor. Sort by fewer fields, or add a filter.";
  return new AppError("invalid", "too_broad", detail, { data: { limit: LONGEST_CURSOR } });
}

/**
 * Reads a page in a sort order for which no index exists.
 * @param places the entries to read, if an index has already found them
 */
export async function pageOfSorted<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  after: Position | undefined,
  signed: string,
  places?: readonly IndexEntry[],
): Promise<ListPage<T>> {
  const { tally } = list;
  const before = after?.best;
  const last = after?.kind === "sorted" ? { keys: after.keys, id: after.id } : before?.from;
  const best = new Best(list, query, last, before?.bound);
  const from = before === undefined ? undefined : after;
  tally.order = "memory";
  const wanted: Wanted = await placesFor(deps, list, query, { from, places });
  tally.candidates = wanted.places.length;
  let total = 0;
  const read = await readAll(list, query, wanted.places, (found) => {
    total += found.length;
    best.add(found);
  });
  // The cursor names the best entries of earlier requests. Read them after the other entries. If they were read first
  // and are large, the request would not get to any other entry. They fit into one page, so comparing them is bounded.
  const named = (before?.names ?? []).map((name) => placeOf(list, name));
  for (let at = 0; at < named.length; ) {
    const next = await readMatching(list, query, named.slice(at), true);
    best.add(next.found);
    at += next.read;
  }
  const isComplete = wanted.complete && read === wanted.places.length;
  if (isComplete) {
    const page = best.page(signed);
    return query.count && before === undefined ? { ...page, total } : page;
  }
  const end = wanted.places[read - 1];
  const reached =
    wanted.kind === "set"
      ? positionAt("set", { id: end?.id ?? "" })
      : positionAt("index", { seq: read < wanted.places.length ? (end?.seq ?? 0) : wanted.reached });
  const isShown = best.items.some(({ place }) => place.id === end?.id);
  const nextCursor = best.cursor(await hiddenPosition(deps, reached, isShown), signed);
  return { items: [], nextCursor, read: { entries: tally.visible } };
}
