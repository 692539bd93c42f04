/** The number of entries that a list reads before it refuses a query as too broad. */
import { expect, it } from "vitest";
import { bulkWrite, createEntry } from "../../shared/entry/index.ts";
import { listManaged } from "../../shared/entry/read/managed.ts";
import { admin, failureOf, fileOrb } from "../support/entries.ts";

const { deps, orb } = await fileOrb();

const place = { module: "catalog", schema: "note" };

it("reads 10,000 entries, and refuses to read more with too_broad", async () => {
  async function* lines() {
    for (let i = 0; i < 10_000; i++)
      yield JSON.stringify({ ...place, values: { text: i === 0 ? "x" : "y" } });
  }
  for await (const made of bulkWrite(deps, admin, {
    orbId: "shop",
    orb,
    lines: lines(),
    parse: JSON.parse,
  })) {
    if ("error" in made) throw made.error;
  }
  const list = (sort: string, text: string) =>
    listManaged(deps, admin, {
      orb,
      parameters: [...Object.entries(place), ["sort", sort], ["filter[text]", text]],
    });
  expect(await list("createdAt", "nothing")).toMatchObject({ items: [], nextCursor: null });
  expect((await list("-createdAt", "x")).items).toHaveLength(1);
  await createEntry(deps, admin, { orbId: "shop", orb, ...place, values: {} });
  expect((await failureOf(list("createdAt", "nothing"))).code).toBe("too_broad");
  expect((await list("createdAt", "y")).items).toHaveLength(50);
}, 120_000);
