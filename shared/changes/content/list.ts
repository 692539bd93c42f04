/**
 * Lists within a change set. The indexes of the orb know nothing of the set, so a list leaves out the entries of the
 * set, and merges them in by the same order. A set has at most 1,000 entries, so they are compared in memory.
 */
import { base64url } from "jose";
import { homeKey } from "../../definition/document/index.ts";
import type { Deps } from "../../deps.ts";
import { type IndexEntry, inBatches } from "../../entry/index/index.ts";
import { CURSOR_FORM, refusedCursor } from "../../entry/model/index.ts";
import {
  BY_CREATION,
  type Collection,
  compareRanked,
  creationOrder,
  type ListPage,
  type ListQuery,
  readAll,
  readListPage,
  relatedIn,
  type SortPosition,
  searchOf,
  sortValues,
} from "../../entry/query/index.ts";
import { compareFound, ranked, readFound } from "../../entry/read/index.ts";
import { type Fault, invalidParameters } from "../../kernel/errors.ts";
import { fingerprint } from "../../kernel/tags.ts";
import { ReadBudget } from "../../store/budget.ts";
import { type Item, SHOWN_BYTES } from "./content.ts";
import type { SetView } from "./view.ts";

/** Where an entry of the set belongs in a list. New entries come after all others in the order of creation. */
interface Rank extends SortPosition {
  isNew: boolean;
}

/** An entry of the set that belongs to a list. Its values are read again for the page that shows it. */
interface Ranked {
  place: IndexEntry;
  rank: Rank;
}

/** An item of a page: one of the other entries, or an entry of the set. */
type Shown<T> = { other: T } | { place: IndexEntry };

/** Where a page begins: in the list of the other entries, and among the entries of the set. */
interface Place {
  /** Cursor in the list of the other entries; null at its start. */
  others: string | null;
  /** Whether the list of the other entries is over. */
  isOver: boolean;
  /** The last entry of the set that earlier pages have shown. */
  after: Rank | null;
}

const SMALLER = "Use a narrower filter, or divide the change set into smaller ones.";

const START: Place = { others: null, isOver: false, after: null };

/** Returns a function that reads pages of lists as {@link readListPage} does, within a set. */
export function pagesIn(view: SetView): typeof readListPage {
  return async <T>(
    deps: Deps,
    listWith: (budget: ReadBudget) => Collection<T>,
    given: ListQuery,
    budget: () => ReadBudget = () => new ReadBudget(),
  ): Promise<ListPage<T>> => {
    const whole = listWith(new ReadBudget(2 * SHOWN_BYTES));
    requireMergeable(view, whole, given);
    const isSearch = searchOf(given.conditions) !== undefined && given.sort.length === 0;
    // The rank of a search result depends on all entries. So within a set, the newest entries come first.
    const query = isSearch ? { ...given, sort: [{ ...BY_CREATION, descending: true }] } : given;
    const mine = await rankedOf(view, whole, query);
    const others = (some: ReadBudget) => withoutSet(view, listWith(some));
    const signed = signatureOf(view, whole, query);
    const from = query.cursor === undefined ? START : placeIn(query.cursor, signed);
    const read = (limit: number, cursor: string | null) =>
      readListPage(deps, others, { ...query, limit, count: false, cursor: cursor ?? undefined }, budget);
    const page = from.isOver ? { items: [], nextCursor: null } : await read(query.limit, from.others);
    const merged = mergedPage(whole, query, page, mine, from);
    const items = await shownItems(listWith(new ReadBudget(2 * SHOWN_BYTES)), merged.items);
    const { taken, last } = merged;
    const isAll = taken === page.items.length;
    const next: Place = {
      others: isAll
        ? page.nextCursor
        : taken === 0
          ? from.others
          : (await read(taken, from.others)).nextCursor,
      isOver: isAll && page.nextCursor === null,
      after: last ?? from.after,
    };
    const rest = mine.filter(({ rank }) => next.after === null || compare(query, rank, next.after) > 0);
    const isEnd = next.isOver && rest.length === 0;
    const total = query.count
      ? await readListPage(deps, others, { ...query, limit: 1, cursor: undefined }, budget)
      : undefined;
    return {
      items,
      nextCursor: isEnd ? null : cursorOf(next, signed),
      ...(page.read === undefined ? {} : { read: page.read }),
      ...(total?.total === undefined ? {} : { total: total.total + mine.length }),
      ...(total?.totalExact === undefined ? {} : { totalExact: total.totalExact }),
    };
  };
}

/** Returns a function that finds entries by words as {@link readFound} does, within a set. */
export function findingIn(view: SetView): typeof readFound {
  return async (deps, list, query) => {
    const { schema } = list;
    // Reads of single entries are within the set anyway.
    if (schema === undefined || query.id !== undefined) return readFound(deps, list, query);
    const places = [...view.items.values()]
      .filter((item) => homeKey(item) === homeKey(schema.home))
      .map(({ type, schema, id }) => ({ place: { type, schema, id, seq: 0 } }));
    const whole = { ...list, budget: new ReadBudget(2 * SHOWN_BYTES) };
    const found = await ranked(whole, query, await shownItems(whole, places));
    const others = await readFound(deps, withoutSet(view, list), query);
    return { ...others, found: [...found, ...others.found].sort((a, b) => compareFound(a.rank, b.rank)) };
  };
}

/** Throws 400 if a list cannot be answered within the set. */
function requireMergeable(view: SetView, { places }: Collection<unknown>, query: ListQuery): void {
  const faults: Fault[] = [];
  const refuse = (name: string) =>
    faults.push({
      path: `/${name}`,
      code: "not_applicable",
      message: "must not be used together with change",
    });
  if (query.aggregation !== undefined) refuse("aggregate");
  if (query.explain) refuse("explain");
  if (places !== undefined) refuse("at");
  const homes = new Set([...view.items.values()].map(homeKey));
  if (relatedIn(query.conditions).some(({ target }) => homes.has(homeKey(target.home))))
    faults.push({
      path: "/filter",
      code: "not_applicable",
      message:
        "must not compare fields of referenced entries together with change, because the set contains such entries",
    });
  if (faults.length > 0) throw invalidParameters(faults);
}

function withoutSet<T>(view: SetView, list: Collection<T>): Collection<T> {
  return {
    ...list,
    narrowed: true,
    async read(places, maxBytes) {
      const others = places.filter(({ id }) => !view.items.has(id));
      const found = others.length === 0 ? [] : await list.read(others, maxBytes);
      let next = 0;
      return places.map(({ id }) => (view.items.has(id) ? undefined : found[next++]));
    },
  };
}

/** Returns the entries of the set that belong to a list, in its order. */
async function rankedOf<T>(view: SetView, list: Collection<T>, query: ListQuery): Promise<Ranked[]> {
  const { schema } = list;
  const here = (item: Item) => schema === undefined || homeKey(item) === homeKey(schema.home);
  const places = [...view.items.values()]
    .filter(here)
    .map(({ type, schema, id }) => ({ type, schema, id, seq: 0 }));
  const found: Ranked[] = [];
  const read = await readAll(list, query, places, (matches) => {
    for (const { item, place } of matches) {
      const judged = list.judged(item);
      const keys = creationOrder(query) === undefined ? sortValues(query.sort, judged, list.choice) : [];
      found.push({ place, rank: { keys, id: place.id, isNew: view.creates(place.id) } });
    }
  });
  if (read < places.length) list.budget.require(SMALLER);
  return found.sort((a, b) => compare(query, a.rank, b.rank));
}

/** Reads the entries of the set on a page. An entry that was deleted meanwhile is left out. */
async function shownItems<T>(list: Collection<T>, items: readonly Shown<T>[]): Promise<T[]> {
  const wanted = items.flatMap((one) => ("place" in one ? [one.place] : []));
  const found = new Map<string, T>();
  for await (const { wanted: places, result } of inBatches(list.budget, wanted, list.read))
    places.forEach(({ id }, at) => {
      const item = result[at];
      if (item !== undefined) found.set(id, item);
    });
  return items.flatMap((one): T[] => {
    if ("other" in one) return [one.other];
    const item = found.get(one.place.id);
    return item === undefined ? [] : [item];
  });
}

function compare(query: ListQuery, a: Rank, b: Rank): number {
  const direction = creationOrder(query);
  if (direction === undefined) return compareRanked(query.sort, a, b);
  const order = a.isNew !== b.isNew ? (a.isNew ? 1 : -1) : a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
  return direction === "desc" ? -order : order;
}

/** Merges a page of the other entries with the entries of the set that follow `from`. */
function mergedPage<T>(
  list: Collection<T>,
  query: ListQuery,
  page: ListPage<T>,
  mine: readonly Ranked[],
  { after }: Place,
): { items: Shown<T>[]; taken: number; last: Rank | undefined } {
  const own = mine.filter(({ rank }) => after === null || compare(query, rank, after) > 0);
  const rankOf = (item: T): Rank => {
    const judged = list.judged(item);
    const keys = creationOrder(query) === undefined ? sortValues(query.sort, judged, list.choice) : [];
    return { keys, id: judged.id, isNew: false };
  };
  const items: Shown<T>[] = [];
  let taken = 0;
  let used = 0;
  while (items.length < query.limit) {
    const other = page.items[taken];
    const next = own[used];
    // Without the next of the other entries, it is not known whether the one of the set comes first.
    if (other === undefined && (page.nextCursor !== null || next === undefined)) break;
    if (next !== undefined && (other === undefined || compare(query, next.rank, rankOf(other)) < 0)) {
      items.push({ place: next.place });
      used++;
    } else if (other !== undefined) {
      items.push({ other });
      taken++;
    }
  }
  return { items, taken, last: own[used - 1]?.rank };
}

function signatureOf(view: SetView, list: Collection<unknown>, query: ListQuery): string {
  const sort = query.sort.map(({ subject, descending }) => [subject.name, descending]);
  return JSON.stringify(["change", view.id, list.scope, sort]);
}

function cursorOf(place: Place, signed: string): string {
  const text = JSON.stringify([place.others, place.isOver, place.after]);
  return base64url.encode(`${fingerprint(`${signed}\n${text}`)}.${text}`);
}

function placeIn(cursor: string, signed: string): Place {
  if (!CURSOR_FORM.test(cursor)) throw refusedCursor();
  const decoded = new TextDecoder().decode(base64url.decode(cursor));
  const dot = decoded.indexOf(".");
  const text = decoded.slice(dot + 1);
  if (dot < 1 || decoded.slice(0, dot) !== fingerprint(`${signed}\n${text}`)) throw refusedCursor();
  const [others, isOver, after] = JSON.parse(text) as [string | null, boolean, Rank | null];
  return { others, isOver, after };
}
