/** The first entries that a follower of a list gets. */
import { expect, it } from "vitest";
import { anonymous } from "../../shared/access/actor.ts";
import { createEntry, updateEntry } from "../../shared/entry/index.ts";
import type { ListView } from "../../shared/entry/live/judge.ts";
import { snapshotOfList } from "../../shared/entry/live/snapshot.ts";
import { choose } from "../../shared/entry/model/localize.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { ReadBudget } from "../../shared/store/budget.ts";
import type { Store } from "../../shared/store/types.ts";
import { admin, fileOrb, readAs } from "../support/entries.ts";

const fields = [
  { name: "n", type: "integer" as const, index: "ordered" as const },
  { name: "text", type: "string" as const },
  { name: "kind", type: "string" as const, enum: ["rare", "usual"] },
];
const { store, deps, orb } = await fileOrb({
  id: "shop",
  modules: [{ id: "catalog", type: "CONTENT", schemas: [{ id: "item", fields }] }],
});
const schema = orb.compiled.schema("catalog", "item");
if (schema === undefined) throw new Error("no schema");

const ALL = 400;
const MATCHING = 60;
/** A page reads at most this many entries, and uses a set of candidates only if it has no more. */
const READ = 25;

const view = (conditions: readonly [string, string][]): ListView => ({
  reading: readAs(anonymous, orb, schema),
  query: parseListQuery(conditions, schema, []),
  choice: choose(schema, {}),
  budget: () => new ReadBudget(undefined, READ),
});

const ids: string[] = [];
for (let n = 0; n < ALL; n++) {
  // Entries that match are far apart in the order of creation.
  const place = (n * 7) % ALL;
  const values = { n: place, text: "x", kind: place % 50 === 0 ? "rare" : "usual" };
  const made = { orbId: "shop", orb, module: "catalog", schema: "item", values, publish: true };
  ids[values.n] = (await createEntry(deps, admin, made)).snapshot.id;
}

/** Reads a snapshot. Returns the ids in it, and how many entries the broker was asked for. */
async function snapshot(list: ListView, during: (page: number) => Promise<unknown> = async () => undefined) {
  let asked = 0;
  const getMany: Store["getMany"] = (stream, subjects, options) => {
    asked += subjects.length;
    return store.getMany(stream, subjects, options);
  };
  const found: string[] = [];
  let pages = 0;
  for await (const { entries } of snapshotOfList({ ...deps, store: { ...store, getMany } }, list)) {
    found.push(...entries.map(({ entry }) => entry.id));
    await during(pages++);
  }
  return { found: found.sort(), asked, pages };
}

const inRange = (low: number, high = ALL) => ids.slice(low, high).toSorted();

it("reads as many entries as a range of an ordered index has, whatever the number of entries", async () => {
  const { found, asked, pages } = await snapshot(view([["filter[n][gte]", String(ALL - MATCHING)]]));
  expect(found).toEqual(inRange(ALL - MATCHING));
  expect(pages).toBeGreaterThan(1);
  // Each entry may have a live copy for two kinds of readers.
  expect(asked).toBeLessThanOrEqual(2 * MATCHING);
});

it("reads in order of creation if the index would not save reads", async () => {
  const { found } = await snapshot(view([["filter[n][gte]", "5"]]));
  expect(found).toEqual(inRange(5));
});

it("combines a range with another filter", async () => {
  const list = view([
    ["filter[n][lt]", "50"],
    ["filter[text]", "y"],
  ]);
  expect((await snapshot(list)).found).toEqual([]);
});

/** Returns the ids of entries whose number meets a condition. */
const where = (test: (n: number) => boolean) => ids.filter((_, n) => test(n)).toSorted();

it("reads only the entries that the members of a group or the values of `in` may match", async () => {
  const few = await snapshot(view([["filter[n][in]", "3,77,390,391"]]));
  expect(few.found).toEqual(where((n) => [3, 77, 390, 391].includes(n)));
  expect(few.asked).toBeLessThanOrEqual(2 * 4);

  const list = view([
    ["filter[or][0][n][lt]", "20"],
    ["filter[or][1][n][gte]", "15"],
    ["filter[or][1][n][lt]", "30"],
    ["filter[or][2][kind]", "rare"],
  ]);
  const { found, asked } = await snapshot(list);
  expect(found).toEqual(where((n) => n < 30 || n % 50 === 0));
  // Entries in two members are read twice, and each entry may have a live copy for two kinds of readers.
  expect(asked).toBeLessThanOrEqual(2 * (20 + 15 + ALL / 50));
});

it("uses the index with the fewest entries, and reads everything if no index helps", async () => {
  const { found, asked } = await snapshot(
    view([
      ["filter[kind][in]", "rare,usual"],
      ["filter[or][0][n][lt]", "10"],
      ["filter[or][1][n]", "100"],
    ]),
  );
  expect(found).toEqual(where((n) => n < 10 || n === 100));
  expect(asked).toBeLessThanOrEqual(2 * 11);

  const all = await snapshot(
    view([
      ["filter[or][0][n][lt]", "10"],
      ["filter[or][1][text]", "x"],
    ]),
  );
  expect(all.found).toEqual(where(() => true));
});

it("has each entry that does not change, once, while others move within the index", async () => {
  const list = view([["filter[n][lt]", String(MATCHING)]]);
  const moved = ids[MATCHING - 1] ?? "";
  const { found } = await snapshot(list, async (page) => {
    if (page === 0)
      await updateEntry(deps, admin, { orbId: "shop", orb, id: moved, values: { n: 0 }, publish: true });
  });
  const still = inRange(0, MATCHING).filter((id) => id !== moved);
  expect(found.filter((id) => id !== moved)).toEqual(still);
});
