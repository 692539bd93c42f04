/** Random queries of callers with different rights, compared with a model in memory. */
import { beforeAll, describe, expect, test } from "vitest";
import { type Actor, anonymous } from "../../shared/access/actor.ts";
import { principalIn } from "../../shared/access/authorize.ts";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import type { OrbDocumentInput } from "../../shared/definition/document/document.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { createEntry, deleteEntry, unpublishEntry, updateEntry } from "../../shared/entry/index.ts";
import { comparableBy, comparableTargets, readableBy } from "../../shared/entry/model/fields.ts";
import { choose } from "../../shared/entry/model/localize.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { listEntries } from "../../shared/entry/read/list.ts";
import { listManaged } from "../../shared/entry/read/managed.ts";
import { Reading } from "../../shared/entry/read/reading.ts";
import { ReadBudget } from "../../shared/store/budget.ts";
import { openCachedStore } from "../../shared/store/cache/cached-store.ts";
import { fileBroker } from "../support/broker.ts";
import { admin, failureOf, installOrb, type TestDeps, testDeps, user } from "../support/entries.ts";
import { type Random, rounds, testRandom } from "../support/random.ts";

const STATES = ["new", "open", "done"] as const;
const CITIES = ["Bern", "Oslo", "Rome"] as const;
const WORDS = ["Oak", "oak", "pine", "Fir"] as const;
const DOCUMENT: OrbDocumentInput = {
  id: "model",
  languages: ["en", "de"],
  modules: [
    {
      id: "work",
      type: "CONTENT",
      schemas: [
        ...["place", "den"].map((id) => ({
          id,
          access: {
            read: [id === "den" ? "own" : "public"],
            create: ["user"],
            update: ["own"],
            publish: ["own"],
          },
          fields: [
            { name: "city", type: "string" as const, enum: [...CITIES] },
            { name: "seats", type: "integer" as const },
            { name: "secret", type: "string" as const, access: { read: ["admin"] } },
            { name: "near", type: "reference" as const, ref: "model/work/place" },
            {
              name: "vault",
              type: "reference" as const,
              ref: "model/work/place",
              access: { read: ["admin"] },
            },
            { name: "dens", type: "reference" as const, ref: "model/work/den", list: true },
          ],
        })),
        ...["task", "mine"].map((id) => ({
          id,
          access: {
            read: id === "mine" ? ["own"] : ["public"],
            create: ["user"],
            update: ["own"],
            publish: ["own"],
            delete: ["admin"],
          },
          fields: [
            { name: "state", type: "string" as const, enum: [...STATES] },
            { name: "hot", type: "boolean" as const },
            { name: "rank", type: "integer" as const },
            { name: "code", type: "string" as const, unique: true },
            { name: "title", type: "string" as const, translatable: true, search: true },
            { name: "tags", type: "string" as const, list: true, search: true },
            {
              name: "secret",
              type: "string" as const,
              enum: [...STATES],
              access: { read: ["admin"] },
              search: true,
            },
            { name: "own", type: "integer" as const, access: { read: ["own"] } },
            { name: "place", type: "reference" as const, ref: "model/work/place" },
            { name: "dens", type: "reference" as const, ref: "model/work/den", list: true },
          ],
        })),
      ],
    },
  ],
};

const ann = user("ann");
const bob = user("bob");
const boss = user("boss", "admin");

interface Version {
  state?: string;
  hot?: boolean;
  rank?: number;
  code?: string;
  title?: { en?: string; de?: string };
  tags?: string[];
  secret?: string;
  own?: number;
  place?: string;
  dens?: string[];
}

/** A referenced entry. */
interface Site {
  schema: "place" | "den";
  by: string;
  /** Undefined if the entry is not published. */
  live: { city?: string; seats?: number; near?: string; dens?: string[] } | undefined;
}

interface Doc {
  id: string;
  schema: string;
  by: string;
  newest: Version;
  live: Version | undefined;
}

const chance = (random: Random, one: number) => random.below(one) === 0;

function version(random: Random, code: string, by: string): Version {
  const all: Version = {
    state: random.pick(STATES),
    hot: chance(random, 2),
    rank: random.below(6),
    code,
    title: { en: random.pick(WORDS), ...(chance(random, 2) ? { de: random.pick(WORDS) } : {}) },
    tags: WORDS.filter(() => chance(random, 3)),
    secret: random.pick(STATES),
    own: random.below(3),
    place: random.pick(sitesOf("place")),
    // Writers can only refer to entries that they may read.
    dens: sitesOf("den").filter((id) => sites.get(id)?.by === by && chance(random, 3)),
  };
  return Object.fromEntries(
    Object.entries(all).filter(([name]) => name === "code" || !chance(random, 4)),
  ) as Version;
}

type Node =
  | { field: string; op: string; values: (string | number | boolean)[] }
  | { join: "and" | "or" | "not"; of: Node[] };

function node(random: Random, depth: number, codes: readonly string[], fields: readonly string[]): Node {
  const kind = depth === 0 ? 3 : random.below(6);
  if (kind < 3) {
    const join = (["and", "or", "not"] as const)[kind] ?? "and";
    const length = join === "not" ? 1 : 1 + random.below(3);
    const below = join === "not" ? 0 : depth - 1;
    return { join, of: Array.from({ length }, () => node(random, below, codes, fields)) };
  }
  const field = random.pick(fields);
  const pick = (op: string, value: () => string | number | boolean, several = 1) => ({
    field,
    op,
    values: Array.from({ length: op === "in" ? several : 1 }, value),
  });
  if (field !== "tags" && field !== "place" && chance(random, 8))
    return pick("null", () => chance(random, 2));
  switch (field) {
    case "state":
    case "secret":
      return pick(random.pick(["eq", "ne", "in"]), () => random.pick(STATES), 2);
    case "hot":
      return pick(random.pick(["eq", "ne"]), () => chance(random, 2));
    case "rank":
    case "own":
      return pick(random.pick(["eq", "ne", "in", "gt", "gte", "lt", "lte"]), () => random.below(6), 3);
    case "code":
      return pick(random.pick(["eq", "in", "startsWith"]), () => random.pick(codes), 3);
    case "place.city":
    case "dens.city":
    case "place.near.city":
    case "place.dens.city":
    case "dens.near.city":
      return pick(random.pick(["eq", "ne", "in"]), () => random.pick(CITIES), 2);
    case "place.seats":
    case "dens.near.seats":
      return pick(random.pick(["eq", "gt", "lte"]), () => random.below(6));
    case "place":
      return pick(random.pick(["eq", "ne"]), () => random.pick(sitesOf("place")));
    case "tags":
      return pick("contains", () => random.pick(WORDS));
    default:
      return pick(random.pick(["eq", "ne", "contains", "startsWith"]), () => random.pick(WORDS));
  }
}

/** Writes a tree as query parameters. */
function written(all: readonly Node[], path = "filter"): [string, string][] {
  let number = 0;
  return all.flatMap((one): [string, string][] => {
    if ("field" in one)
      // A second condition on the same field and operator needs a group of its own.
      return [[`${path}[and][${100 + number++}][${one.field}][${one.op}]`, one.values.join()]];
    if (one.join === "and") return written([...one.of], `${path}[and][${number++}]`);
    if (one.join === "not") return written(one.of, `${path}[and][${number++}][not]`);
    const at = number++;
    return one.of.flatMap((member, i) => written([member], `${path}[and][${at}][or][${i}]`));
  });
}

function compare(op: string, value: unknown, wanted: readonly unknown[]): boolean {
  const [first] = wanted;
  const low = (text: unknown) => String(text).toLowerCase();
  switch (op) {
    case "ne":
      return value !== first;
    case "null":
      return (value === undefined) === first;
    case "in":
      return wanted.includes(value);
    case "gt":
      return typeof value === "number" && value > Number(first);
    case "gte":
      return typeof value === "number" && value >= Number(first);
    case "lt":
      return typeof value === "number" && value < Number(first);
    case "lte":
      return typeof value === "number" && value <= Number(first);
    case "contains":
      if (Array.isArray(value)) return value.includes(first);
      return value !== undefined && low(value).includes(low(first));
    case "startsWith":
      return value !== undefined && low(value).startsWith(low(first));
    default:
      return value === first;
  }
}

/** Returns whether one of the referenced entries that the caller may read meets a condition. */
function leadsTo(
  one: Exclude<Node, { join: string }>,
  ids: readonly string[],
  [name = "", ...rest]: readonly string[],
  actor: Actor,
): boolean {
  return ids.some((id) => {
    const site = sites.get(id);
    if (site?.live === undefined) return false;
    const sub = "sub" in actor ? actor.sub : "";
    const mayRead = site.schema === "place" || actor === boss || actor === admin || site.by === sub;
    const value = site.live[name as "city" | "seats" | "near" | "dens"];
    if (!mayRead || rest.length === 0) return mayRead && compare(one.op, value, one.values);
    return leadsTo(one, [value ?? []].flat().map(String), rest, actor);
  });
}

function fits(one: Node, values: Version, actor: Actor): boolean {
  if ("join" in one) {
    if (one.join === "or") return one.of.some((member) => fits(member, values, actor));
    return one.of.every((member) => fits(member, values, actor)) === (one.join === "and");
  }
  const [reference = "", ...rest] = one.field.split(".");
  if (rest.length > 0) return leadsTo(one, [values[reference as "place" | "dens"] ?? []].flat(), rest, actor);
  const stored = values[one.field as keyof Version];
  return compare(one.op, one.field === "title" ? (stored as Version["title"])?.en : stored, one.values);
}

const SEARCHES = ["oak", "OA", "fir oak", "oak pi", "f", "new", "o", "fir do", "?"] as const;

/** Returns how well the shown values match a search. */
function points({ title, tags = [], secret }: Version, search: string): number {
  const words = search.toLowerCase().match(/[a-z]+/g) ?? [];
  const own = [title?.en, ...tags, secret].flatMap((text) => text?.toLowerCase() ?? []);
  const each = words.map((word, at) => {
    if (own.includes(word)) return 4;
    return at === words.length - 1 && own.some((one) => one.startsWith(word)) ? 2 : 0;
  });
  return each.length === 0 || each.includes(0) ? 0 : each.reduce((sum: number, one) => sum + one, 0);
}

const ORDERS = ["rank", "-rank", "title", "-title", "state,-rank", "hot,-title,rank"] as const;

/** Compares two shown entries like the parameter `sort`. */
function inOrderOf(
  sort: string,
  a: { id: string; values: Version },
  b: { id: string; values: Version },
): number {
  const keyOf = ({ title, ...values }: Version, name: string) => {
    const value = name === "title" ? title?.en : values[name as "rank" | "state" | "hot"];
    return typeof value === "boolean" ? Number(value) : value;
  };
  for (const key of sort.split(",")) {
    const name = key.replace("-", "");
    const [x, y] = key === name ? [a, b] : [b, a];
    const [first, second] = [keyOf(x.values, name), keyOf(y.values, name)];
    if (first === second) continue;
    return first === undefined || (second !== undefined && first < second) ? -1 : 1;
  }
  return a.id < b.id === !sort.startsWith("-") ? -1 : 1;
}

const broker = await fileBroker();
const plain = testDeps(broker.store("operator"));
const cached = openCachedStore({ ...broker.access(), replicas: 1 });
const docs: Doc[] = [];
const sites = new Map<string, Site>();
const sitesOf = (schema: Site["schema"]) =>
  [...sites].filter(([, site]) => site.schema === schema).map(([id]) => id);
let orb: LiveOrb;

beforeAll(() => () => cached.close());

async function fill(random: Random): Promise<void> {
  orb = await installOrb(plain.store, DOCUMENT);
  for (let i = 0; i < 24; i++) {
    const by = random.pick([ann, bob]) as Actor & { sub: string };
    const schema = chance(random, 2) ? "place" : "den";
    const live = {
      ...(chance(random, 5) ? {} : { city: random.pick(CITIES) }),
      ...(chance(random, 5) ? {} : { seats: random.below(6) }),
      ...(sitesOf("place").length === 0 || chance(random, 4) ? {} : { near: random.pick(sitesOf("place")) }),
      dens: sitesOf("den").filter((id) => sites.get(id)?.by === by.sub && chance(random, 3)),
    };
    const at = { orbId: "model", orb };
    const values = { ...live, secret: "x" };
    const made = await createEntry(plain, by, { ...at, module: "work", schema, values, publish: true });
    sites.set(made.snapshot.id, { schema, by: by.sub, live });
  }
  for (let i = 0; i < 90; i++) {
    const by = random.pick([ann, bob]) as Actor & { sub: string };
    const schema = chance(random, 4) ? "mine" : "task";
    const at = { orbId: "model", orb };
    let values = version(random, `c${i}`, by.sub);
    const publish = chance(random, 2) || chance(random, 2);
    const made = await createEntry(plain, by, { ...at, module: "work", schema, values, publish });
    const { id } = made.snapshot;
    const doc: Doc = { id, schema, by: by.sub, newest: values, live: publish ? values : undefined };
    if (chance(random, 3)) {
      values = version(random, `c${i}`, by.sub);
      const again = chance(random, 2);
      // Null removes a value.
      const all = Object.fromEntries(Object.keys(version(random, "", by.sub)).map((name) => [name, null]));
      await updateEntry(plain, admin, {
        ...at,
        id,
        values: { ...all, ...Object.fromEntries(NAMES.map((name) => [name, values[name] ?? null])) },
        publish: again,
      });
      doc.newest = values;
      if (again) doc.live = values;
    }
    if (chance(random, 12)) await deleteEntry(plain, admin, { ...at, id });
    else docs.push(doc);
  }
  for (const [id, site] of sites) {
    if (!chance(random, 5)) continue;
    await unpublishEntry(plain, admin, { orbId: "model", orb, id });
    site.live = undefined;
  }
}

const NAMES = ["state", "hot", "rank", "code", "title", "tags", "secret", "own", "place", "dens"] as const;
/** Fields of referenced entries. */
const RELATED = [
  "place.city",
  "place.seats",
  "dens.city",
  "place.near.city",
  "place.dens.city",
  "dens.near.city",
  "dens.near.seats",
] as const;

/** Returns an entry as a caller sees it in a list. A second implementation, to compare the platform with. */
function shownTo(actor: Actor, doc: Doc, latest: boolean): Version | undefined {
  const sub = "sub" in actor ? actor.sub : "";
  const isBoss = sub === "boss" || actor.kind === "platform";
  if (doc.schema === "mine" && !isBoss && doc.by !== sub) return undefined;
  const shown = latest && (isBoss || doc.by === sub) ? doc.newest : doc.live;
  if (shown === undefined || isBoss) return shown;
  const { secret: _, ...rest } = shown;
  if (doc.by === sub) return rest;
  const { own: __, ...others } = rest;
  return others;
}

function schemaOf(id: string): CompiledSchema {
  const schema = orb.compiled.schema("work", id);
  if (schema === undefined) throw new Error(`no schema ${id}`);
  return schema;
}

async function page(
  deps: TestDeps,
  actor: Actor,
  id: string,
  parameters: [string, string][],
  { latest, budget }: { latest: boolean; budget: () => ReadBudget },
) {
  const schema = schemaOf(id);
  const caller = principalIn(actor, "model", orb.compiled);
  const query = parseListQuery(
    parameters,
    readableBy(schema, caller, true),
    [],
    comparableBy(schema, caller),
    comparableTargets(orb.compiled, caller),
  );
  return listEntries(deps, {
    reading: Reading.of(caller, orb, schema, latest),
    choice: choose(schema, {}),
    query,
    budget,
  });
}

describe.each([
  ["the broker", () => plain],
  ["the cache", () => testDeps(cached)],
] as const)("random queries over %s", (_, open) => {
  test("return what the model returns, in pages of any size and with any budget", async () => {
    const random = testRandom();
    if (docs.length === 0) await fill(random);
    const deps = open();
    const indexes = new Set<string>();
    // Rarely, the first rounds use no index of unique values.
    for (let round = 0; round < rounds(24) || (indexes.size < 5 && round < 1_000); round++) {
      const actor = random.pick([anonymous, ann, bob, boss, admin]);
      const isBoss = actor === boss || actor === admin;
      const schema = actor === anonymous || chance(random, 3) === false ? "task" : "mine";
      const latest = actor !== anonymous && chance(random, 3);
      const fields = [...NAMES, ...RELATED].filter(
        (name) => name !== "dens" && (isBoss || (name !== "secret" && (name !== "own" || schema === "mine"))),
      );
      const codes = docs.map(({ newest }) => newest.code ?? "");
      const tree = Array.from({ length: random.below(3) }, () => node(random, 2, codes, fields));
      const filter = written(tree);
      if (filter.length > 20) continue;
      const seen = docs
        .filter((doc) => doc.schema === schema)
        .flatMap((doc) => {
          const values = shownTo(actor, doc, latest);
          return values === undefined ? [] : [{ id: doc.id, values }];
        });
      const search = chance(random, 3) ? random.pick(SEARCHES) : undefined;
      const rank = ({ values }: { values: Version }) => (search === undefined ? 1 : points(values, search));
      const wanted = seen.filter(
        (one) => rank(one) > 0 && tree.every((node) => fits(node, one.values, actor)),
      );
      const sort = random.pick(["", "-createdAt", ...ORDERS]);
      if (search !== undefined && sort === "")
        wanted.sort((a, b) => rank(b) - rank(a) || (a.id < b.id ? 1 : -1));
      else if (sort === "-createdAt") wanted.reverse();
      else if (sort !== "") wanted.sort((a, b) => inOrderOf(sort, a, b));
      const ids = wanted.map(({ id }) => id);
      const small = random.pick(["entries", "bytes", undefined]);
      const budget = () =>
        new ReadBudget(
          small === "bytes" ? 4_000 + random.below(20_000) : undefined,
          small === "entries" ? 5 + random.below(20) : undefined,
        );
      const found: string[] = [];
      const why = JSON.stringify({ round, filter, search, sort, small, latest, actor });
      const hidden = docs.filter((doc) => !seen.some(({ id }) => id === doc.id));
      for (let cursor: string | null = ""; cursor !== null; ) {
        const parameters: [string, string][] = [
          ...filter,
          ["limit", String(1 + random.below(20))],
          ["count", "true"],
          ...(search === undefined ? [] : ([["search", search]] as [string, string][])),
          ...(sort === "" ? [] : ([["sort", sort]] as [string, string][])),
          ...(cursor === "" ? [] : ([["cursor", cursor]] as [string, string][])),
          ...(isBoss ? ([["explain", "true"]] as [string, string][]) : []),
        ];
        const got = await page(deps, actor, schema, parameters, { latest, budget });
        if (got.explain !== undefined) indexes.add(got.explain.index);
        found.push(...got.items.map(({ id }) => id));
        expect(got.read?.entries ?? 0, why).toBeLessThanOrEqual(seen.length);
        if (got.totalExact === false) expect(got.total, why).toBeLessThanOrEqual(ids.length);
        else expect(got.total, why).toBe(ids.length);
        cursor = got.nextCursor;
        const told = cursor === null ? "" : Buffer.from(cursor, "base64url").toString();
        for (const { id } of hidden) expect(told, why).not.toContain(id);
      }
      expect(found, why).toEqual(ids);
    }
    expect(indexes).toEqual(new Set(["none", "unique", "equality", "reference", "search"]));
  });
});

describe.each([
  ["the broker", () => plain],
  ["the cache", () => testDeps(cached)],
] as const)("random aggregates over %s", (_, open) => {
  test("return what the model returns, in any number of requests", async () => {
    const random = testRandom();
    const deps = open();
    for (let round = 0; round < rounds(15); round++) {
      const actor = random.pick([anonymous, ann, bob, boss]);
      const schema = actor === anonymous || chance(random, 2) ? "task" : "mine";
      const latest = actor !== anonymous && chance(random, 3);
      const codes = docs.map(({ newest }) => newest.code ?? "");
      const tree = chance(random, 2)
        ? [node(random, 1, codes, ["state", "hot", "rank", "title", ...RELATED])]
        : [];
      const group = random.pick([[], ["state"], ["hot"], ["hot", "state"]] as const);
      const search = chance(random, 3) ? random.pick(SEARCHES) : undefined;
      const wanted = new Map<string, Version[]>(group.length === 0 ? [["[]", []]] : []);
      for (const doc of docs) {
        const values = doc.schema === schema ? shownTo(actor, doc, latest) : undefined;
        if (values === undefined || !tree.every((one) => fits(one, values, actor))) continue;
        if (search !== undefined && points(values, search) === 0) continue;
        const key = JSON.stringify(group.map((name) => values[name] ?? null));
        wanted.set(key, [...(wanted.get(key) ?? []), values]);
      }
      const model = [...wanted]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, all]) => {
          const ranks = all.map(({ rank }) => rank).filter((rank) => rank !== undefined);
          const sum = ranks.reduce((a, b) => a + b, 0);
          const days = all.map(({ title }) => title?.en).filter((text) => text !== undefined);
          return {
            key: Object.fromEntries(group.map((name, at) => [name, (JSON.parse(key) as unknown[])[at]])),
            values: {
              n: all.length,
              ranked: ranks.length,
              sum,
              avg: ranks.length === 0 ? null : sum / ranks.length,
              min: ranks.length === 0 ? null : Math.min(...ranks),
              last: days.sort().at(-1) ?? null,
            },
          };
        });
      const budget = () => new ReadBudget(undefined, chance(random, 2) ? 5 + random.below(20) : undefined);
      const parameters: [string, string][] = [
        ...written(tree),
        ...(search === undefined ? [] : ([["search", search]] as [string, string][])),
        ["aggregate[n]", "count"],
        ["aggregate[ranked]", "count(rank)"],
        ["aggregate[sum]", "sum(rank)"],
        ["aggregate[avg]", "avg(rank)"],
        ["aggregate[min]", "min(rank)"],
        ["aggregate[last]", "max(title)"],
        ...(group.length === 0 ? [] : ([["group", group.join()]] as [string, string][])),
      ];
      const why = JSON.stringify({ round, parameters, latest, actor });
      for (let cursor: string | undefined; ; ) {
        const more: [string, string][] = cursor === undefined ? [] : [["cursor", cursor]];
        const got = await page(deps, actor, schema, [...parameters, ...more], { latest, budget });
        expect([got.items, got.complete], why).toEqual([[], got.nextCursor === null]);
        if (got.nextCursor === null) {
          expect(got.groups, why).toEqual(model);
          break;
        }
        cursor = got.nextCursor;
      }
    }
  });
});

test("a list without an index for its order has each entry that does not change once, whatever the others do", async () => {
  const random = testRandom();
  const at = { orbId: "model", orb };
  for (let round = 0; round < rounds(2); round++) {
    const sort = random.pick(["rank,title", "-rank,title", "-updatedAt"]);
    const busy = docs.filter(
      ({ schema, live }) => schema === "task" && live !== undefined && chance(random, 2),
    );
    const found: string[] = [];
    let asked = 0;
    for (let cursor: string | null = ""; cursor !== null; asked++) {
      const parameters: [string, string][] = [
        ["sort", sort],
        ["limit", String(1 + random.below(8))],
        ...(cursor === "" ? [] : ([["cursor", cursor]] as [string, string][])),
      ];
      const budget = () => new ReadBudget(undefined, 10 + random.below(30));
      const got = await page(plain, boss, "task", parameters, { latest: false, budget });
      found.push(...got.items.map(({ id }) => id));
      cursor = got.nextCursor;
      if (asked > 300) throw new Error(`the list does not end: ${sort}`);
      const doc = busy.length === 0 || asked > 100 ? undefined : random.pick(busy);
      if (doc === undefined) continue;
      const values = { rank: random.below(6), title: { en: random.pick(WORDS) } };
      await updateEntry(plain, admin, { ...at, id: doc.id, values, publish: true });
      Object.assign(doc.newest, values);
      Object.assign(doc.live ?? {}, values);
    }
    const isSame = ({ id }: Doc) => !busy.some((one) => one.id === id);
    const wanted = docs.filter((doc) => doc.schema === "task" && doc.live !== undefined && isSame(doc));
    const still = found.filter((id) => wanted.some((doc) => doc.id === id));
    expect(still.toSorted(), sort).toEqual(wanted.map(({ id }) => id).toSorted());
  }
});

test("refuses aggregates of fields that the caller may not read, and running totals of another query", async () => {
  const options = { latest: false, budget: () => new ReadBudget(undefined, 5) };
  const failed = async (...parameters: [string, string][]) =>
    (await failureOf(page(plain, ann, "task", parameters, options))).errors?.[0]?.code;
  expect(await failed(["aggregate[a]", "max(secret)"])).toBe("unknown_field");
  expect(await failed(["aggregate[a]", "count"], ["group", "secret"])).toBe("unknown_field");
  expect(await failed(["aggregate[a]", "count"], ["group", "rank"])).toBe("not_groupable");
  expect(await failed(["aggregate[a]", "sum(title)"])).toBe("unknown_operator");
  expect(await failed(["aggregate[a]", "sum"])).toBe("invalid_value");
  expect(await failed(["aggregate[a]", "count"], ["sort", "rank"])).toBe("not_applicable");
  const { nextCursor } = await page(plain, ann, "task", [["aggregate[a]", "count"]], options);
  expect(await failed(["aggregate[a]", "sum(rank)"], ["cursor", String(nextCursor)])).toBe("invalid_cursor");
});

test("explains only to callers who may read every draft", async () => {
  const explain: [string, string][] = [["explain", "true"]];
  const options = { latest: false, budget: () => new ReadBudget() };
  expect((await failureOf(page(plain, anonymous, "task", explain, options))).code).toBe(
    "authentication_required",
  );
  expect((await failureOf(page(plain, ann, "task", explain, options))).code).toBe("forbidden");
  const told = await page(plain, boss, "task", [...explain, ["filter[state]", "new"]], options);
  expect(told.explain).toMatchObject({ index: "equality", fields: ["state"], order: "creation" });
  const managed = await listManaged(plain, admin, {
    orb,
    parameters: [
      ["module", "work"],
      ["schema", "task"],
      ["filter[or][0][code]", "c1"],
      ["filter[or][1][state]", "new"],
      ...explain,
    ],
  });
  expect(managed.explain).toMatchObject({ index: "equality", fields: ["code", "state"] });
  expect(managed.explain?.read).toBe(managed.explain?.candidates);
});

test("rejects a filter on referenced entries in a list as of a time", async () => {
  const at = new Date().toISOString();
  const parameters: [string, string][] = [
    ["module", "work"],
    ["schema", "task"],
    ["filter[not][place.city]", "Oslo"],
    ["at", at],
  ];
  const { errors } = await failureOf(listManaged(plain, admin, { orb, parameters }));
  expect(errors).toMatchObject([{ path: "/filter", code: "not_applicable" }]);
});

test.each([
  ["place.near.secret", ann, "unknown_field"],
  ["place.vault.city", ann, "not_a_reference"],
  ["place.city.name", boss, "not_a_reference"],
  ["place.near.near.city", boss, "too_deep"],
  ["place.near.nothing", boss, "unknown_field"],
  ["place.near.secret", boss, undefined],
  ["place.vault.city", boss, undefined],
])("answers a filter on %s by %j with %s", async (name, actor, code) => {
  const options = { latest: false, budget: () => new ReadBudget() };
  const asked = page(plain, actor, "task", [[`filter[${name}][null]`, "true"]], options);
  expect(code === undefined ? (await asked).nextCursor : (await failureOf(asked)).errors?.[0]?.code).toBe(
    code ?? null,
  );
});

test("finds entries through two references with their indexes", async () => {
  const options = { latest: false, budget: () => new ReadBudget() };
  const [far = ""] = sitesOf("place").filter((id) => {
    const before = sitesOf("place").filter((other) => sites.get(other)?.live?.near === id);
    return before.length > 0 && before.length <= 10;
  });
  const parameters: [string, string][] = [
    ["filter[place.near.id]", far],
    ["explain", "true"],
  ];
  const { explain } = await page(plain, boss, "task", parameters, options);
  expect(explain).toMatchObject({ index: "reference", fields: ["place"] });
});

test("answers a filter or sort on a field that the caller may not read as if it did not exist", async () => {
  const options = { latest: false, budget: () => new ReadBudget() };
  for (const parameters of [
    [["filter[or][0][secret]", "new"]],
    [["filter[not][secret]", "new"]],
    [["sort", "secret"]],
  ] as [string, string][][]) {
    const { errors } = await failureOf(page(plain, ann, "task", parameters, options));
    expect(errors?.[0]?.code).toBe("unknown_field");
  }
  const { errors } = await failureOf(page(plain, ann, "task", [["search", "o".repeat(201)]], options));
  expect(errors?.[0]?.code).toBe("too_long");
});
