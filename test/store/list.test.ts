import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Actor, anonymous } from "../../shared/access/actor.ts";
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
import { parseListQuery, parseOneQuery } from "../../shared/entry/query/query.ts";
import { getEntry } from "../../shared/entry/read/get.ts";
import { type ListResult, lastOf, listEntries } from "../../shared/entry/read/list.ts";
import { listManaged } from "../../shared/entry/read/managed.ts";
import { getManaged } from "../../shared/entry/read/managed-get.ts";
import { recordTransaction } from "../../shared/modules/transactions/record.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { startBroker } from "../support/broker.ts";
import { type Counted, countingStore } from "../support/counting.ts";
import { admin, failureOf, installOrb, readAs, type TestDeps, testDeps, user } from "../support/entries.ts";
import { testRandom } from "../support/random.ts";

let broker: Awaited<ReturnType<typeof startBroker>>;
let counted: Counted;
let deps: TestDeps;

const document = (id: string) => ({
  id,
  languages: ["en", "de"],
  modules: [
    {
      id: "catalog",
      type: "CONTENT" as const,
      schemas: [
        {
          id: "item",
          fields: [
            { name: "name", type: "string" as const, unique: true },
            { name: "state", type: "string" as const, enum: ["new", "used"] },
            { name: "hot", type: "boolean" as const },
            { name: "rank", type: "integer" as const },
            { name: "parent", type: "reference" as const, ref: `${id}/catalog/item` },
          ],
        },
        { id: "other", fields: [{ name: "name", type: "string" as const }] },
      ],
    },
    {
      id: "own",
      type: "CONTENT" as const,
      schemas: [
        {
          id: "wish",
          access: { read: "own" as const, write: "user" as const },
          fields: [{ name: "text", type: "string" as const }],
        },
      ],
    },
  ],
});

beforeAll(async () => {
  broker = await startBroker();
  counted = countingStore(broker.store("operator"));
  deps = testDeps(counted.store);
});
afterAll(async () => {
  await broker[Symbol.asyncDispose]();
});

async function orb(id: string): Promise<LiveOrb> {
  return installOrb(deps.store, document(id));
}

async function add(live: LiveOrb, values: unknown, publish = true, schema = "item"): Promise<string> {
  const input = { orbId: live.orb, orb: live, module: "catalog", schema, values, publish };
  return (await createEntry(deps, admin, input)).snapshot.id;
}

/** Lists as a request does: it reads the definition, and in parallel the end of the index. */
async function list(id: string, query: string, actor: Actor = anonymous, at = "item", module = "catalog") {
  const newest = query.includes("sort=-createdAt") && !/cursor=|filter/.test(query);
  const last = newest ? lastOf(deps, id) : undefined;
  const live = await liveOrb(deps, id, "stale");
  const schema = live?.compiled.schema(module, at);
  if (live === null || schema === undefined) throw new Error("no such orb");
  const parsed = parseListQuery(new URLSearchParams(query), schema, []);
  return listEntries(deps, {
    reading: readAs(actor, live, schema),
    choice: choose(schema, {}),
    query: parsed,
    last,
  });
}

const names = (page: Pick<ListResult, "items">) => page.items.map(({ values }) => values.name);

/** Reads all pages of a query, and calls `between` before each further page. */
async function pages(id: string, query: string, between?: () => Promise<unknown>): Promise<unknown[]> {
  const found: unknown[] = [];
  for (let cursor = ""; ; ) {
    const page = await list(id, `${query}${cursor}`);
    found.push(...names(page));
    if (page.nextCursor === null) return found;
    cursor = `&cursor=${page.nextCursor}`;
    await between?.();
  }
}

describe("costs", () => {
  let shared: { counted: Counted; deps: TestDeps };
  beforeAll(() => {
    shared = { counted, deps };
    // Parallel calls end together, so that the count does not depend on how fast each response arrives.
    counted = countingStore(broker.store("operator"), undefined, 30);
    deps = testDeps(counted.store);
  });
  afterAll(() => {
    ({ counted, deps } = shared);
  });

  it("reads an entry with one request after the definition, and a page with two", async () => {
    const live = await orb("cost");
    const ids: string[] = [];
    for (let i = 0; i < 8; i++)
      ids.push(await add(live, { name: `n${i}`, state: "new", parent: ids[0] ?? null }));
    await deps.settled();
    // The first list starts to build the live index, and the second one reads it into memory.
    await list("cost", "limit=3");
    await deps.settled();
    await list("cost", "limit=3");
    const trips = async (work: () => Promise<unknown>) => {
      counted.reset();
      await work();
      return [counted.trips, counted.calls.length];
    };
    const one = async (query = "") => {
      const now = await liveOrb(deps, "cost", "stale");
      const schema = now?.compiled.schema("catalog", "item");
      if (now === null || schema === undefined) throw new Error("no such orb");
      const parsed = parseOneQuery(new URLSearchParams(query), schema, []);
      return getEntry(deps, {
        reading: readAs(anonymous, now, schema),
        id: ids[1] ?? "",
        choice: choose(schema, {}),
        query: parsed,
      });
    };
    expect(await trips(() => one())).toEqual([2, 3]);
    expect(await trips(() => one("expand=parent"))).toEqual([3, 5]);
    expect(await trips(() => list("cost", "limit=3"))).toEqual([3, 3]);
    expect(await trips(() => list("cost", "limit=3&sort=-createdAt"))).toEqual([3, 4]);
    expect(await trips(() => list("cost", "filter[name]=n3"))).toEqual([3, 4]);
    expect(await trips(() => list("cost", `filter[id]=${ids[3]}`))).toEqual([2, 3]);
    expect(await trips(() => list("cost", "filter[state]=new&limit=3"))).toEqual([3, 4]);
    expect(await trips(() => list("cost", `filter[parent]=${ids[0]}&limit=3`))).toEqual([3, 4]);
    expect(await trips(() => list("cost", "filter[state]=new&limit=3&sort=-createdAt"))).toEqual([4, 6]);
    expect(await trips(() => list("cost", "limit=8&expand=parent"))).toEqual([4, 5]);
    // A draft beside the published revision costs nothing more.
    await updateEntry(deps, admin, { orbId: "cost", orb: live, id: ids[1] ?? "", values: { name: "draft" } });
    await deps.settled();
    expect(await trips(() => one())).toEqual([2, 3]);
    expect(await trips(() => list("cost", "limit=3"))).toEqual([3, 3]);
  });
});

describe("pages", () => {
  it.each([
    ["", ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"]],
    ["&sort=-createdAt", ["n8", "n7", "n6", "n5", "n4", "n3", "n2", "n1", "n0"]],
    ["&filter[state]=new", ["n0", "n2", "n4", "n6", "n8"]],
    ["&filter[state]=new&sort=-createdAt", ["n8", "n6", "n4", "n2", "n0"]],
    ["&filter[state][in]=new,used", ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"]],
    ["&sort=-rank", ["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"]],
    ["&sort=state,-rank", ["n0", "n2", "n4", "n6", "n8", "n1", "n3", "n5", "n7"]],
    ["&filter[rank][gt]=-3", ["n0", "n1", "n2"]],
    ["&filter[hot]=true", ["n0", "n3", "n6"]],
  ])("of %s are complete and in order", async (query, expected) => {
    const id = `pages${Math.abs([...query].reduce((sum, c) => sum * 31 + c.charCodeAt(0), 7)) % 1e9}`;
    const live = await orb(id);
    for (let i = 0; i < 9; i++) {
      await add(live, { name: `n${i}`, state: i % 2 === 0 ? "new" : "used", rank: -i, hot: i % 3 === 0 });
      await add(live, { name: `draft${i}`, state: "new", rank: 100, hot: true }, false);
      if (i % 4 === 0) await add(live, { name: `x${i}` }, true, "other");
    }
    expect(await pages(id, `limit=2${query}`)).toEqual(expected);
    expect(await pages(id, `limit=9${query}`)).toEqual(expected);
    expect((await list(id, `limit=1&count=true${query}`)).total).toBe(expected.length);
  });

  it("stay correct while entries are written", async () => {
    const live = await orb("moving");
    const ids: string[] = [];
    for (let i = 0; i < 8; i++) ids.push(await add(live, { name: `n${i}`, state: "new", rank: i }));
    let n = 8;
    const write = async () => {
      await add(live, { name: `n${n++}`, state: "new", rank: -1 });
      const id = ids[7];
      if (id === undefined) return;
      await updateEntry(deps, admin, {
        orbId: live.orb,
        orb: live,
        id,
        values: { name: "n7", state: "new", rank: 7 },
        publish: true,
      });
    };
    expect((await pages("moving", "limit=3&sort=-createdAt", write)).slice(0, 8)).toEqual([
      "n7",
      "n6",
      "n5",
      "n4",
      "n3",
      "n2",
      "n1",
      "n0",
    ]);
    const ascending = await pages("moving", "limit=3", write);
    expect(new Set(ascending).size).toBe(ascending.length);
    expect(ascending.slice(0, 8)).toEqual(["n0", "n1", "n2", "n3", "n4", "n5", "n6", "n7"]);
  });

  it("of one value are in creation order, although some entries got the value later", async () => {
    const live = await orb("later");
    const ids: string[] = [];
    for (let i = 0; i < 9; i++)
      ids.push(await add(live, { name: `n${i}`, state: i % 3 === 1 ? "used" : "new" }));
    for (const i of [7, 1]) {
      const id = ids[i] ?? "";
      await updateEntry(deps, admin, {
        orbId: live.orb,
        orb: live,
        id,
        values: { name: `n${i}`, state: "new" },
        publish: true,
      });
    }
    const all = ["n0", "n1", "n2", "n3", "n5", "n6", "n7", "n8"];
    for (const limit of [1, 2, 3, 20]) {
      expect(await pages("later", `limit=${limit}&filter[state]=new`)).toEqual(all);
      expect(await pages("later", `limit=${limit}&filter[state]=new&sort=-createdAt`)).toEqual(
        all.toReversed(),
      );
    }
    expect(await pages("later", "limit=2&filter[state]=used")).toEqual(["n4"]);
    // After a change back, no trace of the other value is left.
    const id = ids[7] ?? "";
    await updateEntry(deps, admin, {
      orbId: live.orb,
      orb: live,
      id,
      values: { name: "n7", state: "used" },
      publish: true,
    });
    expect(await pages("later", "limit=2&filter[state]=used")).toEqual(["n4", "n7"]);
    expect(await pages("later", "limit=2&filter[state]=new")).not.toContain("n7");
  });

  it("of several values list each entry once, even if its value changes between pages", async () => {
    const live = await orb("swap");
    // Create many of them in the same millisecond.
    const ids = await Promise.all(
      Array.from({ length: 40 }, (_, i) => add(live, { name: `n${i}`, state: i % 2 ? "new" : "used" })),
    );
    const all = (await pages("swap", "limit=200")).toSorted();
    for (const sort of ["createdAt", "-createdAt"]) {
      let at = 0;
      const found = await pages("swap", `limit=7&sort=${sort}&filter[state][in]=new,used`, async () => {
        for (let i = 0; i < 8; i++) {
          const n = at++ % 40;
          const values = { name: `n${n}`, state: (at + i) % 2 ? "new" : "used" };
          await updateEntry(deps, admin, {
            orbId: "swap",
            orb: live,
            id: ids[n] ?? "",
            values,
            publish: true,
          });
        }
      });
      expect(found.toSorted()).toEqual(all);
    }
  });

  it("are in creation order if ids are not", async () => {
    const fields = [
      { name: "number", type: "string" as const, unique: true },
      { name: "currency", type: "string" as const, enum: ["USD", "EUR"] },
    ];
    const schemas = [{ id: "payment", fields }];
    const modules = [{ id: "ledger", type: "TRANSACTIONS" as const, schemas }];
    const live = await installOrb(deps.store, { id: "keyed", modules });
    const schema = live.compiled.schema("ledger");
    if (schema === undefined) throw new Error("no schema");
    const wanted = Array.from({ length: 9 }, (_, i) => `n${i}`);
    for (const number of wanted) {
      const values = { number, currency: "USD" };
      await recordTransaction(deps, { actor: admin, role: "owner" }, live, schema, { values, key: number });
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const walk = async (query: string) => {
      const found: unknown[] = [];
      for (let cursor = ""; ; ) {
        const search = `module=ledger&schema=payment&limit=4&${query}${cursor}`;
        const parameters = [...new URLSearchParams(search)] as [string, string][];
        const page = await listManaged(deps, admin, { orb: live, parameters });
        found.push(...page.items.map(({ values }) => values.number));
        if (page.nextCursor === null) return [found, page.total];
        cursor = `&cursor=${page.nextCursor}`;
      }
    };
    for (const filter of ["filter[currency][in]=USD,EUR", `filter[number][in]=${wanted.join()}`, ""]) {
      expect(await walk(filter)).toEqual([wanted, undefined]);
      expect(await walk(`${filter}&sort=-createdAt&count=true`)).toEqual([wanted.toReversed(), 9]);
    }
  });

  it("skip any number of deleted entries", async () => {
    const live = await orb("ghosts");
    await add(live, { name: "first" });
    const gone = Array.from({ length: 2600 }, (_, i) => `0gone${i.toString(36).padStart(6, "0")}`);
    const subject = subjects.schemaOrder({ orb: "ghosts", ...homeOf("CONTENT", "item") });
    await deps.store.pipeline(
      streams.orb("ghosts"),
      gone.map((data) => ({ subject, data })),
    );
    await add(live, { name: "last" });
    for (const limit of [1, 2, 50]) {
      expect(await pages("ghosts", `limit=${limit}`)).toEqual(["first", "last"]);
      expect(await pages("ghosts", `limit=${limit}&sort=-createdAt`)).toEqual(["last", "first"]);
    }
    expect((await list("ghosts", "count=true")).total).toBe(2);
  });

  it("refuse cursors of other orbs, schemas and queries, and invalid ones", async () => {
    const [a, b] = [await orb("cursora"), await orb("cursorb")];
    for (const live of [a, b]) for (let i = 0; i < 3; i++) await add(live, { name: `n${i}` });
    const { nextCursor } = await list("cursora", "limit=1");
    const next = String(nextCursor);
    expect(names(await list("cursora", `limit=1&cursor=${next}`))).toEqual(["n1"]);
    for (const work of [
      list("cursorb", `cursor=${next}`),
      list("cursora", `cursor=${next}`, anonymous, "other"),
      list("cursora", `cursor=${next}&filter[name]=n1`),
      list("cursora", `cursor=${next}&sort=-createdAt`),
      list("cursora", `cursor=${next.slice(1)}`),
      list("cursora", `cursor=${next.slice(0, -2)}AA`),
      list("cursora", "cursor=1"),
      list("cursora", "cursor="),
    ]) {
      expect((await failureOf(work)).code).toBe("invalid_cursor");
    }
  });
});

describe("visibility", () => {
  it("shows the published revision even if its live copy is outdated", async () => {
    const live = await orb("lag");
    const id = await add(live, { name: "one", rank: 1 });
    await updateEntry(deps, admin, {
      orbId: "lag",
      orb: live,
      id,
      values: { name: "two", rank: 2 },
      publish: true,
    });
    await updateEntry(deps, admin, { orbId: "lag", orb: live, id, values: { name: "three", rank: 3 } });
    const address = { orb: "lag", ...homeOf("CONTENT", "item"), id } as const;
    const subject = subjects.entryLive(address, "public");
    const old = { v: 1, id, orb: "lag", revision: 1, publishedRevision: 1, values: { name: "one", rank: 1 } };
    await deps.store.append(streams.orb("lag"), { subject, data: JSON.stringify(old), rollup: true });
    expect(names(await list("lag", ""))).toEqual(["two"]);
    expect(names(await list("lag", "filter[rank]=2"))).toEqual(["two"]);
    expect(names(await list("lag", "filter[name]=three"))).toEqual([]);
    // A live copy that an unpublished entry left behind is not visible either.
    await unpublishEntry(deps, admin, { orbId: "lag", orb: live, id });
    await deps.store.append(streams.orb("lag"), { subject, data: JSON.stringify(old), rollup: true });
    expect(names(await list("lag", ""))).toEqual([]);
    await publishEntry(deps, admin, { orbId: "lag", orb: live, id });
    expect(names(await list("lag", ""))).toEqual(["three"]);
  });

  it('shows only own entries where read access is "own"', async () => {
    const live = await orb("mine");
    for (const [who, text] of [
      ["ann", "a"],
      ["bob", "b"],
    ] as const) {
      const input = {
        orbId: "mine",
        orb: live,
        module: "own",
        schema: "wish",
        values: { text },
        publish: true,
      };
      await createEntry(deps, user(who), input);
    }
    const seen = async (actor: Actor) => {
      const page = await list("mine", "count=true", actor, "wish", "own");
      return [page.items.map(({ values }) => values.text), page.total];
    };
    expect(await seen(user("ann"))).toEqual([["a"], 1]);
    expect(await seen(admin)).toEqual([["a", "b"], 2]);
    expect((await failureOf(seen(anonymous))).kind).toBe("unauthenticated");
  });
});

describe("management API", () => {
  it("lists all entries of the orb, a module or a schema, by status", async () => {
    const live = await orb("manage");
    const first = await add(live, { name: "a" });
    await add(live, { name: "b", state: "new" }, false);
    await add(live, { name: "c" }, true, "other");
    const found = async (query: string) => {
      const parameters = [...new URLSearchParams(query)] as [string, string][];
      const page = await listManaged(deps, admin, { orb: live, parameters });
      return [page.items.map(({ values }) => values.name), page.total];
    };
    expect(await found("count=true")).toEqual([["a", "b", "c"], 3]);
    expect(await found("sort=-createdAt")).toEqual([["c", "b", "a"], undefined]);
    expect(await found("module=catalog&schema=item&filter[state]=new")).toEqual([["b"], undefined]);
    expect(await found("module=catalog&status=SAVED&count=true")).toEqual([["b"], 1]);
    await deleteEntry(deps, admin, { orbId: "manage", orb: live, id: first });
    expect(await found("count=true")).toEqual([["b", "c"], 2]);
    for (const query of ["module=no", "schema=no", "status=no", "filter[name]=a", "at=yesterday"]) {
      expect((await failureOf(found(query))).kind).toBe("malformed");
    }
    expect(
      (await failureOf(listManaged(deps, user("ann", "owner"), { orb: live, parameters: [] }))).kind,
    ).toBe("forbidden");
  });

  it("lists what was there at each time, whatever was written before and after", async () => {
    const random = testRandom();
    const live = await orb("history");
    const there = new Map<string, string>();
    const moments: { at: string; names: string[] }[] = [];
    for (let step = 0; step < 40; step++) {
      const ids = [...there.keys()];
      const id = ids.length === 0 ? undefined : random.pick(ids);
      const name = `n${step}`;
      if (id === undefined || random.next() < 0.4) there.set(await add(live, { name }), name);
      else if (random.next() < 0.3) {
        await deleteEntry(deps, admin, { orbId: "history", orb: live, id });
        there.delete(id);
      } else {
        await updateEntry(deps, admin, { orbId: "history", orb: live, id, values: { name } });
        there.set(id, name);
      }
      moments.push({ at: new Date().toISOString(), names: [...there.values()] });
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const listed = async (query: Record<string, string>) => {
      const found: unknown[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const parameters = Object.entries(cursor === "" ? query : { ...query, cursor });
        const page = await listManaged(deps, admin, { orb: live, parameters });
        found.push(...page.items.map(({ values }) => values.name));
        cursor = page.nextCursor;
      }
      return found;
    };
    for (const { at, names } of moments.filter((_, step) => step % 4 === 3)) {
      expect(await listed({ at, limit: "3" }), at).toEqual(names);
      expect(await listed({ at, limit: "3", sort: "-createdAt" }), at).toEqual(names.toReversed());
      const parameters = Object.entries({ at, limit: "1", count: "true" });
      expect((await listManaged(deps, admin, { orb: live, parameters })).total).toBe(names.length);
    }
  });

  it("lists entries and reads one as of a past time", async () => {
    const live = await orb("past");
    const pause = () => new Promise((resolve) => setTimeout(resolve, 15));
    const before = Date.now() - 1;
    const id = await add(live, { name: "one" });
    const other = await add(live, { name: "gone" });
    const past = Date.now();
    await pause();
    await updateEntry(deps, admin, { orbId: "past", orb: live, id, values: { name: "two" } });
    await deleteEntry(deps, admin, { orbId: "past", orb: live, id: other });
    const present = Date.now();
    const moment = (ms: number) => new Date(ms).toISOString();
    const at = async (ms: number) => {
      const parameters: [string, string][] = [["at", moment(ms)]];
      return (await listManaged(deps, admin, { orb: live, parameters })).items.map(
        ({ values }) => values.name,
      );
    };
    expect(await at(past)).toEqual(["one", "gone"]);
    expect(await at(present)).toEqual(["two"]);
    expect(await at(before)).toEqual([]);
    const page = (query: Record<string, string>) =>
      listManaged(deps, admin, { orb: live, parameters: Object.entries(query) });
    const first = await page({ at: moment(past), limit: "1", sort: "-createdAt" });
    expect(first.items.map(({ values }) => values.name)).toEqual(["gone"]);
    const cursor = String(first.nextCursor);
    const next = await page({ at: moment(past), limit: "1", sort: "-createdAt", cursor });
    expect(next).toMatchObject({ items: [{ id }], nextCursor: null });
    for (const other of [
      { sort: "createdAt" },
      { at: moment(present) },
      { status: "PUBLISHED" },
      { module: "catalog" },
    ]) {
      const asked = page({ at: moment(past), limit: "1", sort: "-createdAt", cursor, ...other });
      expect((await failureOf(asked)).code).toBe("invalid_cursor");
    }
    const one = async (ms: number) =>
      (await getManaged(deps, admin, { orbId: "past", orb: live, id, at: moment(ms) })).snapshot.values.name;
    expect([await one(past), await one(present)]).toEqual(["one", "two"]);
    expect((await failureOf(one(before))).kind).toBe("not_found");
    const published = await getManaged(deps, admin, { orbId: "past", orb: live, id, revision: "published" });
    expect([published.snapshot.values.name, published.newest]).toEqual(["one", 2]);
  });
});
