/** Which entries a query has to look at: what an index answers is answered by it, everything else is walked. */
import type { Deps } from "../deps.ts";
import { AppError } from "../errors.ts";
import type { CompiledSchema } from "../orb/compile.ts";
import { streams, subjects } from "../store/subjects.ts";
import { equalityToken, indexKind, uniqueToken } from "./claims.ts";
import type { Condition } from "./query.ts";
import { orNull } from "./resolve.ts";
import { type Place, readPage } from "./scan.ts";

/** Most entries that one request reads to answer a query. */
export const READ_LIMIT = 10_000;
/** Index messages of the first look at a value. */
const FIRST_LOOK = 512;
/** Most values of `in` that an index answers. */
const MAX_INDEXED_VALUES = 20;

/** A place with its key in creation order: the time in the id, then the order of the index. */
export interface KeyedPlace extends Place {
  key: string;
}

/** What has to be looked at. */
export type Candidates =
  | { kind: "all" }
  /** These, in creation order. */
  | { kind: "set"; places: KeyedPlace[] }
  /** So many that walking everything finds a page sooner; `share` of all entries match. */
  | { kind: "dense"; share: number };

/** 422 that says what to do about it. */
export function tooBroad(schema: CompiledSchema | undefined): AppError {
  const indexed = ["id", ...(schema?.indexed.map((field) => field.name) ?? [])];
  return new AppError(
    "invalid",
    "too_broad",
    `Answering this would read more than ${READ_LIMIT} entries. Narrow it by equality on an indexed field (${indexed.join(", ")}), or leave out the sort order.`,
    { data: { limit: READ_LIMIT, indexed } },
  );
}

function keyed(schema: CompiledSchema, id: string, seq: number): KeyedPlace {
  const key = `${id.slice(0, 9)}${seq.toString(36).padStart(11, "0")}${id.slice(9)}`;
  return { type: schema.subjectType, schema: schema.id, id, seq, key };
}

function inOrder(places: KeyedPlace[]): KeyedPlace[] {
  const once = new Map(places.map((place) => [place.id, place]));
  return [...once.values()].sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
}

/** The condition that narrows most: an id, a unique value, then any other index. */
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

async function filterOf(
  schema: CompiledSchema,
  condition: Condition,
  value: unknown,
): Promise<string | undefined> {
  const { subject } = condition;
  if (subject.kind !== "field") return undefined;
  const address = { orb: schema.orb, type: schema.subjectType, schema: schema.id };
  if (indexKind(subject.field) === "ref") {
    return typeof value === "string" ? subjects.referencesBy(value, address, subject.name) : undefined;
  }
  const token = await equalityToken(subject.field, value as string | number | boolean);
  return token === null ? undefined : subjects.equalityOf(address, subject.name, token);
}

/** The entries that hold unique values: their claims name them. */
async function holders(deps: Deps, schema: CompiledSchema, condition: Condition): Promise<KeyedPlace[]> {
  const { subject, values } = condition;
  if (subject.kind !== "field") return [];
  const address = { orb: schema.orb, type: schema.subjectType, schema: schema.id };
  const tokens = await Promise.all(
    values.map((value) => uniqueToken(deps.config, schema, subject.field, value)),
  );
  const claims = tokens
    .filter((token) => token !== null)
    .map((token) => subjects.unique(address, subject.name, token));
  const found = await orNull(deps.store.getMany(streams.orb(schema.orb), claims, { consistency: "any" }));
  return [...(found?.values() ?? [])]
    .filter((message) => message.data.length > 0)
    .map((message) => keyed(schema, message.text(), message.seq));
}

/** All places under index filters; undefined when they are more than `most`. */
async function gather(
  deps: Deps,
  schema: CompiledSchema,
  filters: readonly string[],
  most: number,
): Promise<{ places: KeyedPlace[] | undefined; count: number }> {
  const places: KeyedPlace[] = [];
  const firsts = await Promise.all(
    filters.map((filter) => readPage(deps.store, schema.orb, filter, { fromSeq: 1, limit: FIRST_LOOK })),
  );
  const count = firsts.reduce((sum, page) => sum + page.messages.length + page.pending, 0);
  if (count > most) return { places: undefined, count };
  await Promise.all(
    firsts.map(async (first, i) => {
      for (let page = first; ; ) {
        for (const message of page.messages) {
          if (message.data.length === 0) continue;
          places.push(
            keyed(schema, message.subject.slice(message.subject.lastIndexOf(".") + 1), message.seq),
          );
        }
        const last = page.messages.at(-1);
        if (page.pending === 0 || last === undefined) return;
        page = await readPage(deps.store, schema.orb, filters[i] ?? "", {
          fromSeq: last.seq + 1,
          limit: page.pending,
        });
      }
    }),
  );
  return { places, count };
}

/**
 * Finds out what has to be looked at. What indexes say are hints: they remember drafts too, so every entry is judged
 * again by what the caller sees of it.
 * @param page how many entries are wanted in creation order; undefined when all of them are
 */
export async function candidatesOf(
  deps: Deps,
  schema: CompiledSchema,
  conditions: readonly Condition[],
  page: number | undefined,
): Promise<Candidates> {
  const condition = best(conditions);
  if (condition === undefined) return { kind: "all" };
  const { subject, values } = condition;
  if (subject.kind === "property") {
    return { kind: "set", places: inOrder(values.map((id) => keyed(schema, String(id), 0))) };
  }
  if (indexKind(subject.field) === "uq") {
    return { kind: "set", places: inOrder(await holders(deps, schema, condition)) };
  }
  const filters = (await Promise.all(values.map((value) => filterOf(schema, condition, value)))).filter(
    (filter) => filter !== undefined,
  );
  const all = subjects.schemaIndex({ orb: schema.orb, type: schema.subjectType, schema: schema.id });
  const simple = page !== undefined && conditions.length === 1;
  const [look, index] = await Promise.all([
    gather(deps, schema, filters, simple ? FIRST_LOOK : READ_LIMIT),
    simple ? readPage(deps.store, schema.orb, all, { fromSeq: 1, limit: 1 }) : undefined,
  ]);
  if (look.places !== undefined) return { kind: "set", places: inOrder(look.places) };
  const total = index === undefined ? 0 : index.messages.length + index.pending;
  const share = total === 0 ? 0 : Math.min(1, look.count / total);
  // A page out of everything reads page/share entries, each of which weighs as much as some six index messages.
  if (simple && look.count <= READ_LIMIT && look.count < (6 * page) / share) {
    const rest = await gather(deps, schema, filters, READ_LIMIT);
    if (rest.places !== undefined) return { kind: "set", places: inOrder(rest.places) };
  }
  return { kind: "dense", share };
}
