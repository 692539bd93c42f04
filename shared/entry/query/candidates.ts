/** Which entries a query has to look at: what an index answers is answered by it, everything else is walked. */
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { type Home, streams, subjects } from "../../store/subjects.ts";
import { type Place, readPage } from "../index/scan.ts";
import { equalityToken, indexKind, uniqueTokens } from "../model/claims.ts";
import { orNull } from "../model/resolve.ts";
import type { Condition } from "./parameters.ts";

/** Most entries that one request reads to answer a query. */
export const READ_LIMIT = 10_000;
/** Index messages of one request. */
const WINDOW = 2000;
/** Most values of `in` that an index answers. */
const MAX_INDEXED_VALUES = 20;

/** What has to be looked at. */
export type Candidates =
  | { kind: "all" }
  /** These, in the order of their ids. */
  | { kind: "set"; places: Place[] }
  /** What an index tells of one value. */
  | ({ kind: "value" } & ValueIndex);

/** The index of one value: who has it, and which of them took it later than at their creation. */
export interface ValueIndex {
  filter: string;
  late: string;
  home: Home;
}

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

function placeOf(schema: CompiledSchema, id: string, seq: number): Place {
  return { type: schema.subjectType, schema: schema.id, id, seq };
}

/** Whether ids tell when entries were created: those of settings, and of records with a key, follow from what they are of. */
export function idsTellTime({ subjectType }: CompiledSchema): boolean {
  return subjectType !== "settings" && subjectType !== "transactions";
}

/** By their ids, which begin with the time of creation: what an update changes must not move an entry across a cursor. */
function inOrder(places: Place[]): Place[] {
  const once = new Map(places.map((place) => [place.id, place]));
  return [...once.values()].sort((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
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

async function indexOf(
  schema: CompiledSchema,
  condition: Condition,
  value: unknown,
): Promise<ValueIndex | undefined> {
  const { subject } = condition;
  if (subject.kind !== "field") return undefined;
  const home = { type: schema.subjectType, schema: schema.id };
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

/** The entries that hold unique values: their claims name them. */
async function holders(deps: Deps, schema: CompiledSchema, condition: Condition): Promise<Place[]> {
  const { subject, values } = condition;
  if (subject.kind !== "field") return [];
  const address = { orb: schema.orb, type: schema.subjectType, schema: schema.id };
  const tokens = await Promise.all(
    values.map((value) => uniqueTokens(deps.config, schema, subject.field, value)),
  );
  const claims = tokens.flat().map((token) => subjects.unique(address, subject.name, token));
  const found = await orNull(
    deps.store.getMany(streams.orb(schema.orb), claims, { consistency: "any", maxBytes: SMALL_BYTES }),
  );
  return [...(found?.values() ?? [])]
    .filter((message) => message.size > 0)
    .map((message) => placeOf(schema, message.text(), message.seq));
}

/** All places under index filters; undefined when they are more than {@link READ_LIMIT}. */
export async function gather(
  deps: Pick<Deps, "store">,
  schema: CompiledSchema,
  filters: readonly string[],
): Promise<Place[] | undefined> {
  const places: Place[] = [];
  let count = 0;
  const one = async (filter: string): Promise<void> => {
    for (let fromSeq = 1; ; ) {
      const page = await readPage(deps.store, schema.orb, filter, { fromSeq, limit: WINDOW });
      count += page.messages.length;
      for (const message of page.messages) {
        if (message.size === 0) continue;
        places.push(
          placeOf(schema, message.subject.slice(message.subject.lastIndexOf(".") + 1), message.seq),
        );
      }
      const last = page.messages.at(-1);
      if (page.pending === 0 || last === undefined) return;
      if (count + page.pending > READ_LIMIT) {
        count = READ_LIMIT + 1;
        return;
      }
      fromSeq = last.seq + 1;
    }
  };
  await Promise.all(filters.map(one));
  return count > READ_LIMIT ? undefined : places;
}

/**
 * Finds out what has to be looked at. What indexes say are hints: they remember drafts too, so every entry is judged
 * again by what the caller sees of it.
 * @param walking whether a page in creation order is wanted, so that the index of a value can be walked
 */
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
  const places = await gather(
    deps,
    schema,
    indexes.map(({ filter }) => filter),
  );
  return places === undefined ? { kind: "all" } : { kind: "set", places: inOrder(places) };
}
