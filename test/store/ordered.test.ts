/**
 * Ordered indexes and word indexes against a model in memory: sorts, ranges and searches, cursors, compactions, crashes
 * and concurrent writers.
 */

import { describe, expect, it } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { liveOrb } from "../../shared/definition/stored/live.ts";
import {
  createEntry,
  deleteEntry,
  publishEntry,
  unpublishEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { choose } from "../../shared/entry/model/localize.ts";
import { WORDS } from "../../shared/entry/model/word-keys.ts";
import { compact, compactFully, type OrderedLimits } from "../../shared/entry/ordered/compact.ts";
import { openIndex } from "../../shared/entry/ordered/open.ts";
import type { OrderedField } from "../../shared/entry/ordered/pages.ts";
import { scanOrdered } from "../../shared/entry/ordered/scan.ts";
import { compactWords, compactWordsFully, type WordLimits } from "../../shared/entry/ordered/word-compact.ts";
import { openWords } from "../../shared/entry/ordered/word-scan.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { listEntries } from "../../shared/entry/read/list.ts";
import { listManaged } from "../../shared/entry/read/managed.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { deleteOrb } from "../../shared/orb/operate.ts";
import { getOrb } from "../../shared/orb/read.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { openCachedStore } from "../../shared/store/cache/cached-store.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { Conflict, type Store } from "../../shared/store/types.ts";
import { Stopped, stoppingStore } from "../support/counting.ts";
import { admin, fileDeps, installOrb, readAs, type TestDeps, testDeps } from "../support/entries.ts";
import { looking } from "../support/looking.ts";
import { type Random, rounds, testRandom } from "../support/random.ts";

const { deps, broker } = await fileDeps();
const host = openCachedStore({ ...broker.access("fn"), replicas: 1 });
const hostDeps = testDeps(host);

/** Limits so low that a few entries need many pages. */
const SMALL: OrderedLimits = { changes: 25, recent: 6, page: 5, dead: 20, growth: 2, step: 3 };
/** So small levels that the entries of a test always need several. */
const DEEP: OrderedLimits = { ...SMALL, page: 2 };

const FEW_WORDS: WordLimits = { terms: 40, page: 6, dead: 20, level: 10, merges: 3, step: 6 };

const FIELDS = ["price", "day", "at", "name", "rank"] as const;
type Field = (typeof FIELDS)[number];
type Value = string | number;
type Values = Partial<Record<Field, Value>>;

/** Texts of entries, and their words. */
const TEXTS: Readonly<Record<string, readonly string[]>> = {
  Lámpa: ["lampa"],
  lamp: ["lamp"],
  LAMPEN: ["lampen"],
  "Oak-wood": ["oak", "wood"],
  "Straße,": ["strasse"],
  東京都: ["東京", "京都", "都"],
  ...Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`w${at}`, [`w${at}`]])),
};
/** Searches, and their words. */
const SEARCHES: readonly (readonly [string, readonly string[]])[] = [
  ["lam", ["lam"]],
  ["LAMPÁ", ["lampa"]],
  ["oak", ["oak"]],
  ["wood oak", ["wood", "oak"]],
  ["lamp la", ["lamp", "la"]],
  ["strasse!", ["strasse"]],
  ["京都", ["京都"]],
  ["京", ["京"]],
  ["w1", ["w1"]],
  ["w", ["w"]],
  ["oak 東京都", ["oak", "東京", "京都"]],
];

const field = (name: string, type: "number" | "date" | "datetime" | "string" | "integer") => ({
  name,
  type,
  index: "ordered" as const,
});

const shop = (id: string, index: "ordered" | null = "ordered") => ({
  id,
  modules: [
    {
      id: "catalog",
      type: "CONTENT" as const,
      schemas: [
        {
          id: "item",
          fields: [
            { name: "price", type: "number" as const, ...(index === null ? {} : { index }) },
            field("day", "date"),
            field("at", "datetime"),
            field("name", "string"),
            field("rank", "integer"),
            { name: "state", type: "string" as const, enum: ["new", "used"] },
            { name: "title", type: "string" as const, search: index !== null },
            { name: "body", type: "text" as const, search: index !== null },
            { name: "tags", type: "string" as const, list: true, search: index !== null },
          ],
        },
      ],
    },
  ],
});

const indexOf = (orb: string, name: string): OrderedField => ({
  orb,
  ...homeOf("CONTENT", "item"),
  field: name,
});

function compaction(store: Store, live: LiveOrb, name: string, limits = SMALL) {
  return { deps: { store }, index: indexOf(live.orb, name), fence: live.fence, limits };
}

const wordCompaction = (store: Store, live: LiveOrb) => ({
  ...compaction(store, live, WORDS),
  limits: FEW_WORDS,
});

async function compactAll(store: Store, live: LiveOrb, least = 1): Promise<void> {
  for (const name of [...FIELDS, WORDS]) {
    try {
      if (name === WORDS) for (let i = 0; i < 4; i++) await compactWords(wordCompaction(store, live), least);
      else await compact(compaction(store, live, name, DEEP), least);
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
    }
  }
}

const LONG = "x".repeat(200);

function randomValue(random: Random, name: Field): Value {
  switch (name) {
    case "price":
      return random.pick([0, -1.5, 2.25, 1e15, 3, 4, 5, random.below(40)]);
    case "rank":
      return random.below(12) - 6;
    case "day":
      return `2026-0${1 + random.below(3)}-1${random.below(10)}`;
    case "at":
      return `2026-01-01T0${random.below(10)}:00:00.000Z`;
    case "name":
      return random.pick([
        `n${random.below(30)}`,
        "a.b,c",
        'quo"te',
        "Ünï",
        "日本",
        `${LONG}${random.below(3)}`,
        LONG,
        `${"x".repeat(199)}😀`,
      ]);
  }
}

interface Texts {
  title?: string;
  body?: string;
  tags?: string[];
}

type All = Values & Texts & { state?: string };

const textsOf = (random: Random, most: number) =>
  Array.from({ length: random.below(most + 1) }, () => random.pick(Object.keys(TEXTS)));

function randomValues(random: Random): All {
  const values: Values = {};
  for (const name of FIELDS) if (random.below(4) > 0) values[name] = randomValue(random, name);
  return {
    ...values,
    state: random.pick(["new", "used"]),
    title: textsOf(random, 2).join(" "),
    body: textsOf(random, 8).join("\n"),
    tags: textsOf(random, 2),
  };
}

/** The model's copy of an entry. */
interface Known {
  id: string;
  newest: All;
  live: All | null;
}

/** Returns the points of an entry in a search. A second implementation, to compare the platform with. */
function points({ title = "", body = "", tags = [] }: All, words: readonly string[]): number {
  const wordsIn = (texts: readonly string[]) => texts.flatMap((text) => TEXTS[text] ?? []);
  const short = [...wordsIn(title.split(" ")), ...wordsIn(tags)];
  const long = wordsIn(body.split("\n"));
  const each = words.map((word, at) => {
    const begins = (one: string) => at === words.length - 1 && one.startsWith(word);
    if (short.includes(word)) return 4;
    if (long.includes(word)) return 3;
    return short.some(begins) ? 2 : long.some(begins) ? 1 : 0;
  });
  return each.includes(0) ? 0 : each.reduce((sum: number, one) => sum + one, 0);
}

const sorted = (value: Value | undefined) =>
  typeof value === "string" ? value.slice(0, 200) : (value ?? null);

function compareKeys(a: Value | null, b: Value | null): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  return a < b ? -1 : 1;
}

interface Query {
  sort?: { name: Field; descending: boolean };
  ranges: { name: Field; operator: "gt" | "gte" | "lt" | "lte" | "eq" | "null"; value: Value | boolean }[];
  state?: string;
  search?: (typeof SEARCHES)[number];
}

function meets({ operator, value }: Query["ranges"][number], found: Value | undefined): boolean {
  if (operator === "null") return (found === undefined) === value;
  if (found === undefined) return false;
  const order = compareKeys(found, value as Value);
  if (operator === "eq") return order === 0;
  return operator === "gt"
    ? order > 0
    : operator === "gte"
      ? order >= 0
      : operator === "lt"
        ? order < 0
        : order <= 0;
}

function expected(entries: Iterable<Known>, query: Query, which: "live" | "newest"): string[] {
  const found = [...entries].flatMap((entry) => {
    const values = entry[which];
    if (values === null) return [];
    const fits =
      query.ranges.every((range) => meets(range, values[range.name])) &&
      (query.search === undefined || points(values, query.search[1]) > 0) &&
      (query.state === undefined || values.state === query.state);
    return fits ? [{ id: entry.id, values }] : [];
  });
  const { sort, search } = query;
  const byId = (a: string, b: string) => (a < b ? -1 : 1);
  found.sort((a, b) => {
    if (sort === undefined) {
      if (search === undefined) return byId(a.id, b.id);
      return points(b.values, search[1]) - points(a.values, search[1]) || byId(b.id, a.id);
    }
    const order = compareKeys(sorted(a.values[sort.name]), sorted(b.values[sort.name])) || byId(a.id, b.id);
    return sort.descending ? -order : order;
  });
  return found.map(({ id }) => id);
}

function randomQuery(random: Random): Query {
  const sort =
    random.below(5) > 0 ? { name: random.pick(FIELDS), descending: random.below(2) === 0 } : undefined;
  const ranges: Query["ranges"] = [];
  for (let count = random.below(3); count > 0; count--) {
    const name = sort !== undefined && random.below(2) === 0 ? sort.name : random.pick(FIELDS);
    const operator = random.pick(["gt", "gte", "lt", "lte", "eq", "null"] as const);
    if (ranges.some((range) => range.name === name && range.operator === operator)) continue;
    const value = operator === "null" ? random.below(2) === 0 : randomValue(random, name);
    ranges.push({ name, operator, value });
  }
  return {
    ...(sort === undefined ? {} : { sort }),
    ranges,
    ...(random.below(4) === 0 ? { state: "new" } : {}),
    ...(random.below(3) === 0 ? { search: random.pick(SEARCHES) } : {}),
  };
}

function parametersOf({ sort, ranges, state, search }: Query, limit: number): URLSearchParams {
  const parameters = new URLSearchParams({ limit: String(limit) });
  if (sort !== undefined) parameters.set("sort", `${sort.descending ? "-" : ""}${sort.name}`);
  for (const { name, operator, value } of ranges)
    parameters.set(`filter[${name}][${operator}]`, String(value));
  if (state !== undefined) parameters.set("filter[state]", state);
  if (search !== undefined) parameters.set("search", search[0]);
  return parameters;
}

async function pageOf(deps: TestDeps, live: LiveOrb, parameters: URLSearchParams, which: "live" | "newest") {
  if (which === "newest") {
    const all: [string, string][] = [["module", "catalog"], ["schema", "item"], ...parameters];
    return listManaged(deps, admin, { orb: live, parameters: all });
  }
  const schema = live.compiled.schema("catalog", "item");
  if (schema === undefined) throw new Error("no schema");
  const query = parseListQuery(parameters, schema, []);
  return listEntries(deps, { reading: readAs(admin, live, schema), choice: choose(schema, {}), query });
}

async function listed(
  deps: TestDeps,
  live: LiveOrb,
  query: Query,
  which: "live" | "newest",
  limit: number,
  between?: () => Promise<unknown>,
): Promise<string[]> {
  const ids: string[] = [];
  const parameters = parametersOf(query, limit);
  // Once a host sees its own write, it also sees all earlier ones.
  const mark = { subject: subjects.guard(live.orb, "test", 0), data: "", ttl: 1 };
  if (deps === hostDeps) await host.append(streams.orb(live.orb), mark);
  for (let pages = 0; pages < 500; pages++) {
    const page = await pageOf(deps, live, parameters, which);
    ids.push(...page.items.map(({ id }) => id));
    if (page.nextCursor === null) return ids;
    parameters.set("cursor", page.nextCursor);
    await between?.();
  }
  throw new Error("the list does not end");
}

/** Runs a random operation on an entry, and keeps the model up to date. */
async function act(deps: TestDeps, live: LiveOrb, known: Map<string, Known>, ids: string[], random: Random) {
  const context = { orbId: live.orb, orb: live };
  const id = random.pick(ids.length === 0 ? [""] : ids);
  const entry = known.get(id);
  const values = randomValues(random);
  if (entry === undefined || random.below(3) === 0) {
    const publish = random.below(3) > 0;
    const made = await createEntry(deps, admin, {
      ...context,
      module: "catalog",
      schema: "item",
      values,
      publish,
    });
    ids.push(made.snapshot.id);
    known.set(made.snapshot.id, { id: made.snapshot.id, newest: values, live: publish ? values : null });
    return;
  }
  switch (random.below(8)) {
    case 0:
      await deleteEntry(deps, admin, { ...context, id, purge: random.below(2) === 0 });
      known.delete(id);
      ids.splice(ids.indexOf(id), 1);
      return;
    case 1:
      if (entry.live === null) return;
      await unpublishEntry(deps, admin, { ...context, id });
      entry.live = null;
      return;
    case 2:
      if (entry.live === entry.newest) return;
      await publishEntry(deps, admin, { ...context, id });
      entry.live = entry.newest;
      return;
    case 3:
      await updateEntry(deps, admin, { ...context, id, values, publish: true });
      entry.newest = values;
      entry.live = values;
      return;
    default: {
      const changed = {
        ...entry.newest,
        ...(random.below(2) === 0 ? values : { title: random.pick(Object.keys(TEXTS)) }),
      };
      await updateEntry(deps, admin, { ...context, id, values: changed });
      entry.newest = changed;
    }
  }
}

describe("lists", () => {
  it("agree with a model after random writes and compactions, on the functions and on a host", async () => {
    const random = testRandom();
    const live = await installOrb(broker.store("operator"), shop("model"));
    const known = new Map<string, Known>();
    const ids: string[] = [];
    const index = indexOf(live.orb, "price");
    let mostLevels = 0;
    for (let round = 0; round < 12; round++) {
      for (let i = 0; i < 15; i++) await act(random.pick([deps, hostDeps]), live, known, ids, random);
      if (random.below(6) > 0) await compactAll(random.pick([deps, hostDeps]).store as Store, live);
      const { levels = [] } = (await openIndex(deps.store, index))?.root ?? {};
      mostLevels = Math.max(mostLevels, levels.filter((pages) => pages.length > 0).length);
      for (let i = 0; i < rounds(4); i++) {
        const query = randomQuery(random);
        const which = random.pick(["live", "newest"] as const);
        const on = random.pick([deps, hostDeps]);
        const found = await listed(on, live, query, which, 1 + random.below(7));
        // Two entries of one millisecond may have ids in another order than the one in which they were created.
        if (query.sort === undefined && query.search === undefined) found.sort();
        expect(found, JSON.stringify({ query, which, round })).toEqual(
          expected(known.values(), query, which),
        );
      }
    }
    // The lists were read from several levels. Later deletions can empty one.
    expect(mostLevels).toBeGreaterThan(2);
    const words = await openWords(deps.store, indexOf(live.orb, WORDS));
    expect(words?.root.runs.flat().length).toBeGreaterThan(5);
    expect(words?.root.runs.length).toBeLessThan(30);
    await Promise.all([deps.settled(), hostDeps.settled()]);
  });

  it("neither miss nor repeat an unchanged entry while others change and pages are replaced", async () => {
    const random = testRandom();
    const live = await installOrb(broker.store("operator"), shop("moving"));
    const known = new Map<string, Known>();
    const stable = new Map<string, Known>();
    const context = { orbId: live.orb, orb: live };
    for (let i = 0; i < 30; i++) {
      const values = randomValues(random);
      const made = await createEntry(deps, admin, {
        ...context,
        module: "catalog",
        schema: "item",
        values,
        publish: true,
      });
      stable.set(made.snapshot.id, { id: made.snapshot.id, newest: values, live: values });
    }
    const ends = { now: false };
    const write = async (fork: Random, on: TestDeps, some: Map<string, Known>) => {
      const ids: string[] = [];
      while (!ends.now) await act(on, live, some, ids, fork);
    };
    const compactAlways = async (on: TestDeps) => {
      while (!ends.now) await compactAll(on.store as Store, live);
    };
    const parts = [deps, hostDeps, deps].map((on) => ({ on, some: new Map<string, Known>() }));
    const work = [
      ...parts.map(({ on, some }) => write(random.fork(), on, some)),
      compactAlways(deps),
      compactAlways(hostDeps),
    ];
    const read = async (fork: Random, on: TestDeps) => {
      for (let i = 0; i < 4; i++) {
        const search = fork.pick(SEARCHES);
        const sorted: Query = {
          ...randomQuery(fork),
          sort: { name: fork.pick(FIELDS), descending: fork.below(2) === 0 },
        };
        const query: Query = fork.below(2) === 0 ? { ranges: [], search } : sorted;
        const found = await listed(on, live, query, "live", 1 + fork.below(9));
        expect(
          found.filter((id) => stable.has(id)),
          JSON.stringify(query),
        ).toEqual(expected(stable.values(), query, "live"));
      }
    };
    try {
      await Promise.all([read(random.fork(), deps), read(random.fork(), hostDeps)]);
    } finally {
      ends.now = true;
      await Promise.all(work);
    }
    for (const part of [stable, ...parts.map(({ some }) => some)])
      for (const [id, entry] of part) known.set(id, entry);
    await compactWordsFully(wordCompaction(deps.store, live));
    for (const search of SEARCHES) {
      const query: Query = { ranges: [], search };
      for (const on of [deps, hostDeps])
        expect(await listed(on, live, query, "newest", 50)).toEqual(
          expected(known.values(), query, "newest"),
        );
    }
    for (const name of FIELDS) {
      await compactFully(compaction(deps.store, live, name));
      const query: Query = { sort: { name, descending: false }, ranges: [] };
      for (const on of [deps, hostDeps])
        expect(await listed(on, live, query, "newest", 50)).toEqual(
          expected(known.values(), query, "newest"),
        );
    }
    await Promise.all([deps.settled(), hostDeps.settled()]);
  });
});

describe("compaction", () => {
  it("loses no pair if it stops before any of its steps, and drops pairs that no entry has", async () => {
    const random = testRandom();
    const live = await installOrb(broker.store("operator"), shop("steps"));
    const known = new Map<string, Known>();
    const ids: string[] = [];
    let steps = 0;
    for (let round = 0; round < rounds(4); round++) {
      for (let i = 0; i < 12; i++) await act(deps, live, known, ids, random);
      for (let step = 0; ; step++) {
        steps = Math.max(steps, step);
        const store = stoppingStore(deps.store as Store, step);
        const stopped = await (async () => {
          await (round % 2 === 0
            ? compactFully(compaction(store, live, "price"))
            : compactWordsFully(wordCompaction(store, live)));
        })().then(
          () => false,
          (error: unknown) => {
            if (!(error instanceof Stopped)) throw error;
            return true;
          },
        );
        const query: Query =
          round % 2 === 0
            ? { sort: { name: "price", descending: random.below(2) === 0 }, ranges: [] }
            : { ranges: [], search: random.pick(SEARCHES) };
        for (const which of ["live", "newest"] as const)
          expect(await listed(deps, live, query, which, 20)).toEqual(expected(known.values(), query, which));
        if (!stopped) break;
      }
    }
    expect(steps).toBeGreaterThan(4);
    // With a single level, no mark of an outdated pair remains.
    const single = { ...SMALL, growth: 1_000, recent: 0 };
    await compactFully(compaction(deps.store, live, "rank", single));
    for (const id of [...ids]) await deleteEntry(deps, admin, { orbId: live.orb, orb: live, id });
    await compactFully(compaction(deps.store, live, "price"));
    // A full compaction of the root moves the last pairs out of their pages.
    await createEntry(deps, admin, {
      orbId: live.orb,
      orb: live,
      module: "catalog",
      schema: "item",
      values: {},
    });
    await compactFully(compaction(deps.store, live, "price", { ...SMALL, recent: 0 }));
    await compactFully(compaction(deps.store, live, "rank", single));
    for (const name of ["price", "rank"]) {
      const state = await openIndex(deps.store, indexOf(live.orb, name));
      if (state === undefined) throw new Error("no index");
      let count = 0;
      for await (const pairs of scanOrdered(deps.store, indexOf(live.orb, name), state, {}, false))
        count += pairs.length;
      expect(count, name).toBe(1);
      if (name === "rank")
        expect(state.root.levels.flat().reduce((sum, { pairs }) => sum + pairs, 0)).toBe(1);
    }
    const merging = {
      ...wordCompaction(deps.store, live),
      limits: { ...FEW_WORDS, level: 1e9, merges: 100 },
    };
    for (let i = 0; i < 4; i++) {
      const values = { title: "lamp" };
      await createEntry(deps, admin, {
        orbId: live.orb,
        orb: live,
        module: "catalog",
        schema: "item",
        values,
      });
      await compactWordsFully(merging);
    }
    const words = await openWords(deps.store, indexOf(live.orb, WORDS));
    expect(words?.root.runs.flat().reduce((sum, { pairs }) => sum + pairs, 0)).toBe(4);
    const log = await deps.store.scan(
      streams.orb(live.orb),
      subjects.orderedLog(indexOf(live.orb, "price"), "price"),
      {
        fromSeq: 1,
        limit: 500,
      },
    );
    expect(log.messages.length).toBeLessThan(100);
    await deps.settled();
  });
});

describe("an orb that was deleted and created again", () => {
  it("is listed without the entries of the earlier one, with and without a compaction", async () => {
    const query: Query = { sort: { name: "price", descending: false }, ranges: [] };
    for (const compacted of [true, false, true]) {
      await createOrb(deps, admin, { document: shop("again", "ordered"), publish: true });
      const live = await liveOrb(deps, "again");
      if (live === null) throw new Error("nothing is live");
      const known: string[] = [];
      for (let price = 0; price < 4; price++) {
        const entry = { orbId: "again", orb: live, module: "catalog", schema: "item" };
        const made = await createEntry(deps, admin, { ...entry, values: { price }, publish: true });
        known.push(made.snapshot.id);
      }
      if (compacted) await compactAll(deps.store, live);
      // The second list knows the root that the first one has read.
      for (let i = 0; i < 2; i++) expect(await listed(deps, live, query, "live", 3)).toEqual(known);
      await deleteOrb(deps, admin, { orb: "again" });
    }
    await deps.settled();
  });
});

describe("publication", () => {
  it("indexes stored entries when a field gets an index, also if it stops before any of its steps", async () => {
    const random = testRandom();
    const orb = "published";
    await createOrb(deps, admin, { document: shop(orb, null), publish: true });
    const known = new Map<string, Known>();
    const ids: string[] = [];
    const query: Query = { sort: { name: "price", descending: false }, ranges: [] };
    const agree = async (live: LiveOrb) => {
      for (const which of ["live", "newest"] as const) {
        expect(await listed(deps, live, query, which, 100)).toEqual(expected(known.values(), query, which));
        if (live.document.modules[0]?.schemas[0]?.fields[0]?.index === undefined) continue;
        const search: Query = { ranges: [], search: random.pick(SEARCHES) };
        const found = await listed(deps, live, search, which, 3);
        const all = expected(known.values(), search, which);
        // While the index is being built, the newest entries come first.
        // Ids of the same millisecond do not tell which entry is newer.
        if (live.pending !== undefined) [found, all].map((ids) => ids.sort());
        expect(found, JSON.stringify(search)).toEqual(all);
      }
    };
    const now = async () => {
      const live = await liveOrb(deps, orb);
      if (live === null) throw new Error("nothing is live");
      return live;
    };
    let done = 0;
    let round = 0;
    for (let step = 0; done < 2; step += 1 + random.below(2)) {
      const index = round++ % 2 === 0 ? ("ordered" as const) : null;
      const live = await now();
      for (let i = 0; i < 3; i++) await act(deps, live, known, ids, random);
      const update = (with_: TestDeps) =>
        updateOrb(with_, admin, { orb, document: shop(orb, index), publish: true });
      const stopping = {
        ...deps,
        store: looking(stoppingStore(deps.store as Store, step)),
        // A process that has died does not try again.
        afterwards: (work: Promise<unknown>) => void work.catch(() => undefined),
      };
      const complete = await update(stopping).then(
        () => true,
        (error: unknown) => {
          if (!(error instanceof Stopped)) throw error;
          return false;
        },
      );
      if (complete) done++;
      await agree(await now());
      await getOrb(deps, admin, { orb });
      if (
        !complete &&
        (await now()).document.modules[0]?.schemas[0]?.fields[0]?.index !== (index ?? undefined)
      )
        await update(deps);
      const after = await now();
      expect(after.pending).toBeUndefined();
      await agree(after);
    }
    const change = (index: "ordered" | null) =>
      updateOrb(deps, admin, { orb, document: shop(orb, index), publish: true });
    if (round % 2 === 0) await change("ordered");
    expect((await openIndex(deps.store, indexOf(orb, "price")))?.root.upTo).toBeGreaterThan(0);
    // Without the index, nothing is left of it, and writes add nothing.
    await deps.settled();
    await change(null);
    const left = async () => {
      const places = [indexOf(orb, "price"), indexOf(orb, WORDS)];
      const filters = places.flatMap((one) => [
        subjects.orderedLog(one, one.field),
        subjects.orderedPages(one, one.field),
      ]);
      const options = { fromSeq: 1, limit: 10, maxBytes: 100_000 };
      const pages = await Promise.all(
        filters.map((filter) => deps.store.scan(streams.orb(orb), filter, options)),
      );
      return pages.flatMap(({ messages }) => messages).length;
    };
    expect(await left()).toBe(0);
    for (let i = 0; i < 10; i++) await act(deps, await now(), known, ids, random);
    await deps.settled();
    expect(await left()).toBe(0);
    await agree(await now());
    // Most entries have not changed since the index was erased.
    await change("ordered");
    await agree(await now());
    await deps.settled();
  });
});
