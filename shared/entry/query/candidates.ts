/** Query planner: decides which entries to read for a query. Uses an index if possible. */

import type { CompiledSchema } from "../../definition/compile.ts";
import type { Json } from "../../definition/fields/index.ts";
import type { Deps } from "../../deps.ts";
import { REQUEST_ENTRIES, SMALL_BYTES } from "../../store/budget.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { type Home, streams, subjects } from "../../store/subjects.ts";
import { type IndexEntry, mostScattered, readPage, readWhole } from "../index/index.ts";
import { equalityToken, indexKind, isIndexed, listedForms, uniqueTokens } from "../model/index.ts";
import {
  type Condition,
  isGroup,
  isLacking,
  isRelated,
  isSearch,
  type Search,
  searchOf,
  type Where,
} from "./parameters.ts";
import { type OrderedContext, placesInRange } from "./ranges.ts";
import { searchIndex } from "./search-index.ts";

export const READ_LIMIT = REQUEST_ENTRIES;
/** Maximum number of `in` values that are looked up in an index. */
export const MAX_INDEXED_VALUES = 20;

/** How the query planner found the entries to read: with which index, and for which fields. */
export interface Found {
  index: "none" | "id" | "unique" | "reference" | "equality" | "ordered" | "search";
  fields: string[];
}

/** If a search finds at most this many entries, the plan reads all of them, and uses no index for the filters. */
const FEW = 500;

export function bySearch({ fields }: Search): Found {
  return { index: "search", fields: fields.map(({ name }) => name) };
}

/** Returns the entries that may match a search, or undefined if the index cannot list them. */
async function placesWith(
  deps: Deps,
  schema: CompiledSchema,
  context: OrderedContext | undefined,
  search: Search,
): Promise<IndexEntry[] | undefined> {
  const scores = await searchIndex(deps, schema, context, search);
  return scores === undefined ? undefined : [...scores.keys()].map((id) => placeOf(schema, id, 0));
}

const EVERYTHING: Found = { index: "none", fields: [] };

/** The query plan: which entries to read. */
export type Candidates = { by: Found } & (
  | { kind: "all" }
  | { kind: "set"; places: IndexEntry[] }
  | ({ kind: "value" } & ValueIndex)
);

/**
 * The index of one value, which lists the entries that have the value. `late` is a second list of those entries that
 * got the value only after their creation.
 */
export interface ValueIndex {
  filter: string;
  late: string;
  home: Home;
}

function placeOf(schema: CompiledSchema, id: string, seq: number): IndexEntry {
  return { ...schema.home, id, seq };
}

/**
 * Returns whether the ids of a schema's entries begin with their time of creation. Ids of settings and transaction
 * records do not.
 */
export function idsTellTime({ subjectType }: CompiledSchema): boolean {
  return subjectType !== "settings" && subjectType !== "transactions";
}

/**
 * Sorts by id, which begins with the time of creation. That time never changes, so an update cannot move an entry to
 * another page.
 */
function inOrder(places: IndexEntry[]): IndexEntry[] {
  const once = new Map(places.map((place) => [place.id, place]));
  return [...once.values()].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
}

const KINDS = ["id", "unique", "reference", "equality"] as const;

/** Returns the index that can find the entries that meet a condition, if there is one. */
function indexFor({ subject, operator, values }: Condition): (typeof KINDS)[number] | undefined {
  if (operator !== "eq" && operator !== "in") return undefined;
  if (subject.kind === "property") return subject.name === "id" ? "id" : undefined;
  if (values.length > MAX_INDEXED_VALUES) return undefined;
  if (!values.every((value) => isIndexed(subject.field, value))) return undefined;
  const kind = indexKind(subject.field);
  return kind === null ? undefined : kind === "uq" ? "unique" : kind === "ref" ? "reference" : "equality";
}

interface Cover {
  /** Every matching entry meets at least one of these conditions. */
  conditions: readonly Condition[];
  /** Position in `KINDS` of the weakest index that the conditions use. A higher position means more entries to read. */
  rank: number;
}

function coverOf(where: Where): Cover | undefined {
  if (isSearch(where) || isRelated(where) || isLacking(where)) return undefined;
  if (!isGroup(where)) {
    const index = indexFor(where);
    return index === undefined ? undefined : { conditions: [where], rank: KINDS.indexOf(index) };
  }
  if (where.join === "and") return best(where.of);
  if (where.join === "not") return undefined;
  const covers = where.of.map(coverOf);
  const known = covers.filter((cover) => cover !== undefined);
  if (known.length < covers.length) return undefined;
  return {
    conditions: known.flatMap(({ conditions }) => conditions),
    rank: Math.max(...known.map(({ rank }) => rank)),
  };
}

/**
 * Returns the indexed conditions that probably leave the fewest entries to read. Prefers ids, then unique values, then
 * references. With indexes of the same kind, prefers fewer conditions.
 */
function best(conditions: readonly Where[]): Cover | undefined {
  return conditions
    .map(coverOf)
    .filter((cover) => cover !== undefined)
    .sort((a, b) => a.rank - b.rank || a.conditions.length - b.conditions.length)[0];
}

/** Returns whether an index can find the entries of a query. Does not consider ordered indexes. */
export function hasIndex(conditions: readonly Where[]): boolean {
  return best(conditions) !== undefined;
}

async function indexOf(
  schema: CompiledSchema,
  condition: Condition,
  value: unknown,
): Promise<ValueIndex | undefined> {
  const { subject } = condition;
  if (subject.kind !== "field") return undefined;
  const home = schema.home;
  const address = { orb: schema.orb, ...home };
  const { field } = subject;
  const isReference = indexKind(field) === "ref";
  const token = isReference ? String(value) : await equalityToken(field, value as string | number | boolean);
  if (token === null) return undefined;
  const filter = isReference
    ? subjects.referencesBy(token, address, field.token)
    : subjects.equalityOf(address, field.token, token);
  return { filter, late: subjects.lateOf(address, field.token, token), home };
}

function formsOf({ subject, values }: Condition): Json[] {
  return subject.kind === "field" ? values.flatMap((value) => listedForms(subject.field, value)) : values;
}

/**
 * Returns how many entries an index lists for a condition, also those that are not published. Returns undefined if no
 * index can find the entries. Does not consider ordered indexes.
 */
export async function countByIndex(
  { store }: Pick<Deps, "store">,
  schema: CompiledSchema,
  condition: Condition,
): Promise<number | undefined> {
  const kind = indexFor(condition);
  if (kind === undefined || kind === "id" || kind === "unique") return kind && condition.values.length;
  const indexes = await Promise.all(formsOf(condition).map((value) => indexOf(schema, condition, value)));
  const counts = indexes.map(async (index) => {
    if (index === undefined) return 0;
    const page = await readPage(store, schema.orb, index.filter, { fromSeq: 1, limit: 1 });
    return page.messages.length + page.pending;
  });
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

async function holders(deps: Deps, schema: CompiledSchema, condition: Condition): Promise<IndexEntry[]> {
  const { subject, values } = condition;
  if (subject.kind !== "field") return [];
  const address = { orb: schema.orb, ...schema.home };
  const tokens = await Promise.all(
    values.map((value) => uniqueTokens(deps.config, schema, subject.field, value)),
  );
  const claims = tokens.flat().map((token) => subjects.unique(address, subject.field.token, token));
  const found = await nullIfMissing(
    deps.store.getMany(streams.orb(schema.orb), claims, { consistency: "stale", maxBytes: SMALL_BYTES }),
  );
  return [...(found?.values() ?? [])]
    .filter((message) => message.size > 0)
    .map((message) => placeOf(schema, message.text(), message.seq));
}

interface CandidateOptions {
  walking?: "begins" | "continues" | undefined;
  most?: number;
  context?: OrderedContext | undefined;
}

/**
 * Returns the plan of a query. Indexes may be outdated and include drafts, so the caller must check every entry.
 * @param walking set if the plan may read the entries with a certain value from the index step by step, in order of
 *   creation. A list that begins does so unless the index has few entries, far apart; a list that continues always does
 * @param most maximum number of candidates; if there are more, the plan is to read all entries
 * @param context the application's definition; without it, the plan uses no ordered indexes
 */
export async function candidatesOf(
  deps: Deps,
  schema: CompiledSchema,
  wanted: readonly Where[],
  { walking, most = READ_LIMIT, context }: CandidateOptions = {},
): Promise<Candidates> {
  const cover = best(wanted);
  const search = searchOf(wanted);
  if (search !== undefined) {
    const found = await placesWith(deps, schema, context, search);
    const isBest = found !== undefined && found.length <= (cover === undefined ? most : FEW);
    if (isBest) return { kind: "set", by: bySearch(search), places: inOrder(found) };
  }
  const inRange = async (): Promise<Candidates> => {
    const found = await placesInRange(deps, schema, context, wanted, most);
    if (found === undefined) return { kind: "all", by: EVERYTHING };
    return { kind: "set", by: { index: "ordered", fields: [found.field] }, places: inOrder(found.places) };
  };
  if (cover === undefined) return inRange();
  const { conditions, rank } = cover;
  const names = new Set(conditions.map(({ subject }) => subject.name));
  const by: Found = { index: KINDS[rank] ?? "none", fields: [...names] };
  const byIndex = (kind: (typeof KINDS)[number]) => conditions.filter((one) => indexFor(one) === kind);
  const listed = [...byIndex("reference"), ...byIndex("equality")];
  const indexes = (
    await Promise.all(listed.flatMap((one) => formsOf(one).map((value) => indexOf(schema, one, value))))
  ).filter((index) => index !== undefined);
  const [only] = indexes;
  const { orb, home } = schema;
  if (
    walking !== undefined &&
    only !== undefined &&
    indexes.length === 1 &&
    listed.length === conditions.length
  ) {
    const scattered = walking === "begins" ? Math.min(most, mostScattered(deps, orb)) : 0;
    const few =
      scattered > 0 && (await readWhole(deps, { orb, home, filters: [only.filter], most: scattered }));
    return few ? { kind: "set", by, places: inOrder(few) } : { kind: "value", by, ...only };
  }
  const [owned, places] = await Promise.all([
    Promise.all(byIndex("unique").map((one) => holders(deps, schema, one))),
    readWhole(deps, { orb, home, filters: [...new Set(indexes.map(({ filter }) => filter))], most }),
  ]);
  if (places === undefined) return inRange();
  const named = byIndex("id").flatMap(({ values }) => values.map((id) => placeOf(schema, String(id), 0)));
  return { kind: "set", by, places: inOrder([...named, ...owned.flat(), ...places]) };
}

/**
 * Prepares conditions on referenced entries, such as `filter[venue.city]=Oslo`. Looks up the entries that meet the
 * condition, here the venues, and adds a condition on their ids. An index can then find the entries that refer to them.
 * A condition through two references, such as `filter[venue.country.name]=Norway`, takes two such steps.
 * @param most maximum number of ids; if more entries meet a condition, nothing is added for it
 */
export async function withTargets(
  deps: Deps,
  context: OrderedContext | undefined,
  conditions: readonly Where[],
  most: number,
): Promise<Where[]> {
  const one = async (where: Where): Promise<Where> => {
    if (isGroup(where)) {
      const { join, of } = where;
      return join === "not" ? where : { join, of: await withTargets(deps, context, of, most) };
    }
    if (!isRelated(where) || indexKind(where.via) !== "ref") return where;
    const { via, target, condition } = where;
    const inner = await withTargets(deps, context, [condition], most);
    const plan = await candidatesOf(deps, target, inner, { most, context });
    if (plan.kind !== "set" || plan.places.length > most) return where;
    const subject = { kind: "field", name: via.name, type: via.type, field: via } as const;
    const named: Condition = { subject, operator: "in", values: plan.places.map(({ id }) => id) };
    return { join: "and", of: [named, where] };
  };
  return Promise.all(conditions.map(one));
}

/** Explains how a list was read. Only callers who may see every entry of the schema get this. */
export interface Explanation {
  index: Found["index"];
  /** Fields whose index was used. */
  fields: string[];
  order: "creation" | "memory" | "index" | "rank";
  /** Number of entries that the index listed. Null if entries were read in order until the page was full. */
  candidates: number | null;
  read: number;
  /** Number of entries that were read but are not part of the list: deleted, not visible, or not matching. */
  dropped: number;
}

/** Counts what a list reads. */
export class Tally {
  by: Found = { index: "none", fields: [] };
  order: Explanation["order"] = "creation";
  candidates: number | null = null;
  /** Number of entries read so far that the caller may see. */
  visible = 0;
  #read = 0;
  #matched = 0;

  add(read: number, result: readonly unknown[], matched: number): void {
    this.#read += read;
    this.#matched += matched;
    for (const item of result) if (item !== undefined) this.visible++;
  }

  explain(): Explanation {
    const { by, order, candidates } = this;
    return { ...by, order, candidates, read: this.#read, dropped: this.#read - this.#matched };
  }
}
