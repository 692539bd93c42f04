/**
 * Returns one page of a list: chooses an index, reads and filters entries in order, and encodes the cursor of the next
 * page.
 */
import type { Deps } from "../../deps.ts";
import { ReadBudget } from "../../store/budget.ts";
import { countList } from "../../usage/gather.ts";
import { type Position, refusedCursor } from "../model/index.ts";
import { aggregatePage } from "./aggregate-page.ts";
import { type Candidates, candidatesOf, hasIndex, idsTellTime, withTargets } from "./candidates.ts";
import { type ListPage, positionIn, signatureOf } from "./cut.ts";
import {
  type ListStep,
  pageOfSteps,
  scanAll,
  scanByValue,
  scanKnown,
  scanListed,
  scanPlaces,
  wholePage,
} from "./list-scan.ts";
import { type Collection, eachMatch, openListed } from "./matching.ts";
import { orderedPlan } from "./ordered.ts";
import {
  BY_CREATION,
  isGroup,
  isLacking,
  isRelated,
  isSearch,
  type Search,
  searchOf,
  type Where,
} from "./parameters.ts";
import { creationOrder, type ListQuery } from "./query.ts";
import { hasOtherRange } from "./ranges.ts";
import { rankedPlan } from "./ranked.ts";
import { relatedIn } from "./related.ts";
import { pageOfSorted } from "./sorted.ts";

const PASSED = 2000;

const NEWEST = { ...BY_CREATION, descending: true };

/**
 * Maximum number of entries to read in sort order at first, if another index could find the entries that match a filter
 * or a search. If these entries do not fill the page, the query uses the other index and sorts what it finds.
 */
const TRIED = 500;

/** Reads a page that is sorted by fields, from an ordered index if possible. */
async function pageInSortOrder<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  after: Position | undefined,
  signed: string,
): Promise<ListPage<T>> {
  const { schema, context, tally } = list;
  const walk = async (most?: number) => {
    const plan = await orderedPlan(deps, list, query, after);
    if (plan === undefined) return undefined;
    tally.by = { index: "ordered", fields: query.sort.map(({ subject }) => subject.name) };
    tally.order = "index";
    const limits = { repeats: true, ...(most === undefined ? {} : { most }) };
    return pageOfSteps(deps, plan.list, plan.query, plan.steps, signed, limits);
  };
  const { planned = query.conditions } = query;
  const narrows =
    schema !== undefined &&
    (hasIndex(planned) || hasOtherRange(query) || searchOf(query.conditions) !== undefined);
  const isContinued = after?.best !== undefined;
  const page = isContinued ? undefined : await walk(narrows ? TRIED : undefined);
  if (page !== undefined) return page;
  if (isContinued) return pageOfSorted(deps, list, query, after, signed);
  tally.visible = 0;
  const most = list.budget.entries;
  const plan = narrows ? await candidatesOf(deps, schema, planned, { most, context }) : undefined;
  if (plan?.kind !== "set") {
    const all = narrows ? await walk() : undefined;
    return all ?? pageOfSorted(deps, list, query, after, signed);
  }
  tally.by = plan.by;
  tally.candidates = plan.places.length;
  return pageOfSorted(deps, list, query, after, signed, plan.places);
}

/**
 * Reads a page in the order of a search: best matches first. If the search index cannot be used, the newest entries
 * come first.
 */
async function pageByRank<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  search: Search,
  after: Position | undefined,
  signed: string,
): Promise<ListPage<T>> {
  const isRanked = after?.kind === "ranked";
  const plan =
    isRanked || after === undefined ? await rankedPlan(deps, list, query, search, after) : undefined;
  if (plan !== undefined)
    return wholePage(deps, plan.list, plan.query, plan.steps, signed, { repeats: true });
  if (isRanked) throw refusedCursor();
  return pageInOrder(deps, list, { ...query, sort: [NEWEST] }, after, signed);
}

/**
 * Returns the total number of entries. Without filters, takes this number from the index. Otherwise, counts entries one
 * by one, up to the read limit of a request.
 */
async function countOf<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
): Promise<Pick<ListPage<T>, "total" | "totalExact">> {
  if (query.conditions.length === 0 && !list.narrowed && list.total !== undefined) {
    const total = await list.total();
    if (total !== undefined) return { total };
  }
  let total = 0;
  const complete = await eachMatch(deps, list, query, (found) => {
    total += found.length;
  });
  return complete ? { total } : { total, totalExact: false };
}

/**
 * A later page fails with an invalid cursor if the index now lists more than this many times as many entries as for the
 * first page.
 */
const GROWTH = 4;

/**
 * Reads a page in order of creation. The cursor records which index the first page used, because later pages must use
 * the same one.
 */
async function pageInOrder<T>(
  deps: Deps,
  list: Collection<T>,
  query: ListQuery,
  after: Position | undefined,
  signed: string,
): Promise<ListPage<T>> {
  const { schema, tally } = list;
  const pageOf = (steps: AsyncGenerator<ListStep[]>, known = false) =>
    wholePage(deps, list, query, steps, signed, { known });
  if (list.places !== undefined) {
    if (creationOrder(query) === "desc") return pageOfSorted(deps, list, query, after, signed);
    const steps = scanPlaces(list.places, after);
    return wholePage(deps, list, query, steps, signed, { repeats: true });
  }
  const ofSet = after?.kind === "set" || after?.kind === "sorted";
  const ofIndex = ofSet || after?.kind === "value";
  const isFixed = query.planned === undefined || query.isPlanFixed === true;
  const most = list.budget.entries * (ofIndex ? GROWTH : 1);
  const plan: Candidates | undefined =
    schema === undefined || after?.kind === "index" || after?.kind === "order"
      ? undefined
      : await candidatesOf(deps, schema, query.planned ?? query.conditions, {
          walking: ofSet || !isFixed ? undefined : after?.kind === "value" ? "continues" : "begins",
          most,
          context: list.context,
        });
  if (plan?.kind === "set" && schema !== undefined) {
    tally.by = plan.by;
    tally.candidates = plan.places.length;
    if (idsTellTime(schema)) return pageOf(scanKnown(plan.places, query, after, "set"), true);
    const [sort = BY_CREATION] = query.sort;
    return pageOfSorted(deps, list, { ...query, sort: [sort], count: false }, after, signed, plan.places);
  }
  if (plan?.kind === "value" && schema !== undefined) {
    const steps = await scanByValue(deps, list, plan, query, { after, most });
    if (steps !== undefined) {
      tally.by = plan.by;
      return pageOf(steps);
    }
  }
  if (ofIndex) throw refusedCursor();
  const listed = after?.kind === "order" ? undefined : await openListed(deps, list);
  if (listed !== undefined) return pageOf(scanListed(listed, query, after));
  if (after?.kind === "order") return pageOf(scanAll(deps, list, query, after, "order"));
  // The log of created entries is read first. It also lists deleted entries, so if too many are deleted, read the index
  // instead.
  if (after === undefined && schema !== undefined && schema.subjectType !== "settings") {
    const steps = scanAll(deps, list, query, after, "order");
    const page = await pageOfSteps(deps, list, query, steps, signed, { most: PASSED });
    if (page !== undefined) return page;
    tally.visible = 0;
  }
  return pageOf(scanAll(deps, list, query, after, "index"));
}

/**
 * A condition on referenced entries, such as `filter[venue.city]=Oslo`, can use an index only if few referenced entries
 * match. These are the limits for the first page and for later pages.
 */
const TARGETS = { first: 10, later: 20 };

/** If the query has conditions on referenced entries, adds conditions that an index can answer. */
async function withPlan<T>(
  deps: Deps,
  { schema, context }: Collection<T>,
  query: ListQuery,
  after: Position | undefined,
): Promise<ListQuery> {
  if (schema === undefined || relatedIn(query.conditions).length === 0) return query;
  const most = after === undefined ? TARGETS.first : TARGETS.later;
  return { ...query, planned: await withTargets(deps, context, query.conditions, most) };
}

/** Lists that read fewer entries than this are fast without an index. */
const MANY = 200;

interface Named {
  field: string;
  operator: string;
}

/** Names the fields and operators of conditions. The parameter `missing` is left out, because no index helps it. */
function namesIn(all: readonly Where[], before = ""): Named[] {
  return all.flatMap((where): Named[] => {
    if (isGroup(where)) return namesIn(where.of, before);
    if (isLacking(where)) return [];
    if (isSearch(where))
      return [{ field: where.fields.map(({ name }) => name).join(","), operator: "search" }];
    if (isRelated(where)) return namesIn([where.condition], `${before}${where.via.name}.`);
    return [{ field: before + where.subject.name, operator: where.operator }];
  });
}

/** Counts a list that has read many entries, for lack of an index for its conditions or its order. */
function countScan(
  deps: Pick<Deps, "config" | "clock">,
  { orb, schema, tally }: Pick<Collection<unknown>, "orb" | "schema" | "tally">,
  query: ListQuery,
): void {
  const { index, read, order } = tally.explain();
  if (schema === undefined || index !== "none" || read < MANY) return;
  const names = namesIn(query.conditions);
  const isSorted = order === "memory" && creationOrder(query) === undefined;
  if (names.length === 0 && !isSorted) return;
  const conditions = [...new Map(names.map((one) => [`${one.field} ${one.operator}`, one])).values()];
  const sort = isSorted
    ? query.sort.map(({ subject, descending }) => `${descending ? "-" : ""}${subject.name}`)
    : [];
  const { module, id } = schema;
  countList(deps.config, { orb, now: deps.clock.now(), module, schema: id, conditions, sort, read });
}

/**
 * Reads a page of a list. Ends the page early, with a cursor, when the request has reached its read limit.
 * @param listWith opens the list with a read budget (a limit of bytes and entries); counting the total has a separate
 *   budget
 */
export async function readListPage<T>(
  deps: Deps,
  listWith: (budget: ReadBudget) => Collection<T>,
  given: ListQuery,
  budget: () => ReadBudget = () => new ReadBudget(),
): Promise<ListPage<T>> {
  const list = listWith(budget());
  const signed = signatureOf(list, given);
  const after = given.cursor === undefined ? undefined : await positionIn(deps, given.cursor, signed);
  const query = await withPlan(deps, list, given, after);
  const read = async (): Promise<ListPage<T>> => {
    const { aggregation } = query;
    if (aggregation !== undefined) return aggregatePage(deps, list, query, aggregation, { after, signed });
    const total = () => (query.count ? countOf(deps, listWith(budget()), query) : {});
    const search = searchOf(query.conditions);
    const byRank = search !== undefined && query.sort.length === 0;
    if (!byRank && creationOrder(query) === undefined) {
      const page = await pageInSortOrder(deps, list, query, after, signed);
      return page.total === undefined ? { ...page, ...(await total()) } : page;
    }
    const first = byRank
      ? pageByRank(deps, list, query, search, after, signed)
      : pageInOrder(deps, list, query, after, signed);
    const [page, counted] = await Promise.all([first, total()]);
    return { ...page, ...counted };
  };
  const page = await read();
  countScan(deps, list, given);
  return query.explain ? { ...page, explain: list.tally.explain() } : page;
}
