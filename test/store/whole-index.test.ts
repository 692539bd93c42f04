import { expect, test } from "vitest";
import { anonymous } from "../../shared/access/actor.ts";
import { createEntry, updateEntry } from "../../shared/entry/index.ts";
import { choose } from "../../shared/entry/model/localize.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { listEntries } from "../../shared/entry/read/list.ts";
import { unavailable } from "../../shared/kernel/errors.ts";
import { streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { admin, fileDeps, installOrb, readAs, SHOP, type TestDeps, testDeps } from "../support/entries.ts";

const { broker, store } = await fileDeps();
const MIB = 1024 * 1024;
const LATE: readonly number[] = [21, 41, 43];

/** An orb with 30 products of two authors each, and its products of the first author, oldest first. */
async function filledOrb(id: string) {
  const orb = await installOrb(
    broker.store("operator"),
    JSON.parse(JSON.stringify(SHOP).replaceAll("shop", id)),
  );
  const add = async (schema: string, values: object) => {
    const input = { orbId: id, orb, module: "catalog", schema, values, publish: true };
    return (await createEntry(testDeps(store), admin, input)).snapshot.id;
  };
  const authors = [await add("author", { name: "A" }), await add("author", { name: "B" })];
  const products: string[] = [];
  for (let i = 0; i < 60; i++)
    products.push(await add("product", { title: { en: `t${i}` }, author: authors[i % 2], hot: i < 3 }));
  // These get the first author after their creation, so their keys are in another order than the entries.
  for (const at of LATE) {
    const change = { values: { author: authors[0] }, merge: true, publish: true };
    await updateEntry(testDeps(store), admin, { orbId: id, orb, id: products[at] ?? "", ...change });
  }
  return { id, orb, authors, products, first: products.filter((_, i) => i % 2 === 0 || LATE.includes(i)) };
}

type Filled = Awaited<ReturnType<typeof filledOrb>>;

/** Makes the stream of an orb as large as one with many entries. */
async function enlarge({ id }: Filled): Promise<void> {
  const operator = broker.store("operator");
  const body = "x".repeat(MIB * 0.9);
  for (let i = 0; i < 80; i++)
    await operator.append(streams.orb(id), { subject: `${id}.filler.${i}`, data: body });
}

/** A host of its own, and how many messages its scans and lists of subjects have returned. */
function host(change: Partial<Store> = {}) {
  const read = { scanned: 0, listed: 0 };
  const counting: Store = {
    ...store,
    ...change,
    async scan(...args) {
      const page = await store.scan(...args);
      read.scanned += page.messages.length;
      return page;
    },
    async subjects(...args) {
      const found = await (change.subjects ?? store.subjects)(...args);
      read.listed += found.subjects.length;
      return found;
    },
  };
  return { deps: testDeps(counting), read };
}

async function list(deps: TestDeps, { orb }: Filled, query: string) {
  const schema = orb.compiled.schema("catalog", "product");
  if (schema === undefined) throw new Error("no such schema");
  const parsed = parseListQuery(new URLSearchParams(query), schema, []);
  const reading = readAs(anonymous, orb, schema);
  return listEntries(deps, { reading, choice: choose(schema, {}), query: parsed, last: undefined });
}

/** The ids of all pages of a list. */
async function walk(deps: TestDeps, filled: Filled, query: string): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor = ""; ; ) {
    const page = await list(deps, filled, `${query}&limit=7${cursor}`);
    ids.push(...page.items.map(({ id }) => id));
    if (page.nextCursor === null) return ids;
    cursor = `&cursor=${page.nextCursor}`;
  }
}

const queriesOf = ({ authors, products, first }: Filled) =>
  [
    [`filter[author]=${authors[0]}`, first],
    [`filter[author]=${authors[0]}&sort=-createdAt`, first.toReversed()],
    [`filter[author][in]=${authors.join(",")}`, products],
    [
      `filter[or][0][author]=${authors[0]}&filter[or][1][hot]=true`,
      products.filter((id, i) => first.includes(id) || i < 3),
    ],
    [`filter[author]=${authors[0]}&filter[hot]=true`, first.slice(0, 2)],
  ] as const;

test("in a large stream, lists by a reference read as many messages as they show", async () => {
  const filled = await filledOrb("large");
  await enlarge(filled);
  const { deps, read } = host();
  for (const [query, expected] of queriesOf(filled))
    expect([query, await walk(deps, filled, query)]).toEqual([query, expected]);
  read.scanned = 0;
  const page = await list(deps, filled, `filter[author][in]=${filled.authors.join(",")}&limit=5`);
  expect(page.items.map(({ id }) => id)).toEqual(filled.products.slice(0, 5));
  expect(read.scanned).toBe(2);
  read.scanned = 0;
  await list(deps, filled, `filter[author]=${filled.authors[0]}&limit=5`);
  expect(read.scanned).toBe(1);
});

test("in a small stream, a host lists subjects once and then reads whole indexes with one request", async () => {
  const filled = await filledOrb("small");
  const { deps, read } = host();
  for (const [query, expected] of queriesOf(filled))
    expect([query, await walk(deps, filled, query)]).toEqual([query, expected]);
  read.listed = 0;
  await walk(deps, filled, `filter[author][in]=${filled.authors.join(",")}`);
  expect(read.listed).toBe(0);
});

test("lists are the same if the leader does not list subjects, and on pages of hosts that know other sizes", async () => {
  const filled = await filledOrb("silent");
  const silent = host({ subjects: () => Promise.reject(unavailable("no leader")) });
  for (const [query, expected] of queriesOf(filled))
    expect([query, await walk(silent.deps, filled, query)]).toEqual([query, expected]);
  await enlarge(filled);
  for (const [query, expected] of queriesOf(filled)) {
    const [knowing, fresh] = [host(), host()];
    await walk(knowing.deps, filled, `filter[author][in]=${filled.authors.join(",")}`);
    for (const [first, then] of [
      [knowing, fresh],
      [fresh, knowing],
    ] as const) {
      const page = await list(first.deps, filled, `${query}&limit=2`);
      const ids = page.items.map(({ id }) => id);
      const rest =
        page.nextCursor === null
          ? []
          : (await list(then.deps, filled, `${query}&limit=100&cursor=${page.nextCursor}`)).items;
      expect([query, ...ids, ...rest.map(({ id }) => id)]).toEqual([query, ...expected]);
    }
  }
});
