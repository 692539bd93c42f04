/** Query planner: decides which entries to read for a query. Uses an index if possible. */
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { type Home, streams, subjects } from "../../store/subjects.ts";
import { type IndexEntry, readPlaces } from "../index/scan.ts";
import { equalityToken, indexKind, uniqueTokens } from "../model/index-keys.ts";
import { nullIfMissing } from "../model/resolve.ts";
import type { Condition } from "./parameters.ts";

/** Maximum number of entries that one request reads to answer a query. */
export const READ_LIMIT = 10_000;
const WINDOW = 2000;
/** Maximum number of `in` values that are looked up in an index. */
const MAX_INDEXED_VALUES = 20;

/** The query plan: which entries to read. */
export type Candidates =
  | { kind: "all" }
  | { kind: "set"; places: IndexEntry[] }
  | ({ kind: "value" } & ValueIndex);

/** Index of the entries that have one value. Entries that got it after their creation are marked. */
export interface ValueIndex {
  filter: string;
  late: string;
  home: Home;
}

/** Error 422: the query would read too many entries. Its text says which filters would narrow the query. */
export function tooBroad(schema: CompiledSchema | undefined): AppError {
  const indexed = ["id", ...(schema?.indexed.map((field) => field.name) ?? [])];
  return new AppError(
    "invalid",
    "too_broad",
    `This query would read more than ${READ_LIMIT} entries. Add an equality filter on an indexed field (${indexed.join(", ")}), or remove the sort order.`,
    { data: { limit: READ_LIMIT, indexed } },
  );
}

function placeOf(schema: CompiledSchema, id: string, seq: number): IndexEntry {
  return { ...schema.home, id, seq };
}

/** Returns whether ids contain the time of creation. Ids of settings and transaction records do not. */
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

/**
 * Returns the filter that leaves the fewest entries to read. Prefers a filter by id, then one by a unique value, then one
 * by another index.
 */
function best(conditions: readonly Condition[]): Condition | undefined {
  const equality = conditions.filter(
    ({ operator, values }) => (operator === "eq" || operator === "in") && values.length <= MAX_INDEXED_VALUES,
  );
  const byKind = (kind: "uq" | "ref" | "eq") =>
    equality.find(({ subject }) => subject.kind === "field" && indexKind(subject.field) === kind);
  return (
    conditions.find(({ subject, operator }) => subject.name === "id" && operator !== "ne") ??
    byKind("uq") ??
    byKind("ref") ??
    byKind("eq")
  );
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
  const { name, field } = subject;
  const isReference = indexKind(field) === "ref";
  const token = isReference ? String(value) : await equalityToken(field, value as string | number | boolean);
  if (token === null) return undefined;
  const filter = isReference
    ? subjects.referencesBy(token, address, name)
    : subjects.equalityOf(address, name, token);
  return { filter, late: subjects.lateOf(address, name, token), home };
}

async function holders(deps: Deps, schema: CompiledSchema, condition: Condition): Promise<IndexEntry[]> {
  const { subject, values } = condition;
  if (subject.kind !== "field") return [];
  const address = { orb: schema.orb, ...schema.home };
  const tokens = await Promise.all(
    values.map((value) => uniqueTokens(deps.config, schema, subject.field, value)),
  );
  const claims = tokens.flat().map((token) => subjects.unique(address, subject.name, token));
  const found = await nullIfMissing(
    deps.store.getMany(streams.orb(schema.orb), claims, { consistency: "stale", maxBytes: SMALL_BYTES }),
  );
  return [...(found?.values() ?? [])]
    .filter((message) => message.size > 0)
    .map((message) => placeOf(schema, message.text(), message.seq));
}

export function readIndexes(
  deps: Pick<Deps, "store">,
  { orb, home }: CompiledSchema,
  filters: readonly string[],
): Promise<IndexEntry[] | undefined> {
  const scans = filters.map((filter) => ({ orb, filter, home, first: WINDOW }));
  return readPlaces(deps.store, scans, READ_LIMIT);
}

/** Returns the plan of a query. Indexes may be outdated and include drafts, so the caller must check every entry. */
export async function candidatesOf(
  deps: Deps,
  schema: CompiledSchema,
  conditions: readonly Condition[],
  walking: boolean,
): Promise<Candidates> {
  const condition = best(conditions);
  if (condition === undefined) return { kind: "all" };
  const { subject, values } = condition;
  if (subject.kind === "property") {
    return { kind: "set", places: inOrder(values.map((id) => placeOf(schema, String(id), 0))) };
  }
  if (indexKind(subject.field) === "uq") {
    return { kind: "set", places: inOrder(await holders(deps, schema, condition)) };
  }
  const indexes = (await Promise.all(values.map((value) => indexOf(schema, condition, value)))).filter(
    (index) => index !== undefined,
  );
  const [only] = indexes;
  if (walking && only !== undefined && indexes.length === 1) return { kind: "value", ...only };
  const places = await readIndexes(
    deps,
    schema,
    indexes.map(({ filter }) => filter),
  );
  return places === undefined ? { kind: "all" } : { kind: "set", places: inOrder(places) };
}
