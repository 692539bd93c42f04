/** The number of entries that a list reads before it ends a page early. */
import { expect, it } from "vitest";
import { bulkWrite, createEntry } from "../../shared/entry/index.ts";
import { listManaged } from "../../shared/entry/read/managed.ts";
import { countingStore } from "../support/counting.ts";
import { admin, fileOrb } from "../support/entries.ts";

const { deps, orb } = await fileOrb({
  id: "shop",
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "note",
          fields: [
            { name: "text", type: "string" },
            { name: "rank", type: "integer", index: "ordered" },
          ],
        },
      ],
    },
  ],
});

const place = { module: "catalog", schema: "note" };

it("reads 10,000 entries for a page, and says so if it ends early", async () => {
  async function* lines() {
    for (let i = 0; i < 10_000; i++)
      yield JSON.stringify({ ...place, values: { text: i === 0 ? "x" : "y", rank: (i * 7919) % 10_007 } });
  }
  for await (const made of bulkWrite(deps, admin, {
    orbId: "shop",
    orb,
    lines: lines(),
    parse: JSON.parse,
  })) {
    if ("error" in made) throw made.error;
  }
  const list = (sort: string, text: string, more: [string, string][] = []) =>
    listManaged(deps, admin, {
      orb,
      parameters: [...Object.entries(place), ["sort", sort], ["filter[text]", text], ...more],
    });
  expect(await list("createdAt", "nothing")).toMatchObject({ items: [], nextCursor: null });
  expect((await list("-createdAt", "x")).items).toHaveLength(1);
  expect((await list("text", "y")).items).toHaveLength(50);
  await createEntry(deps, admin, { orbId: "shop", orb, ...place, values: {} });
  await createEntry(deps, admin, { orbId: "shop", orb, ...place, values: { text: "z" } });
  const first = await list("createdAt", "z", [["count", "true"]]);
  expect(first).toMatchObject({ items: [], read: { entries: 10_000 }, total: 0, totalExact: false });
  const second = await list("createdAt", "z", [["cursor", String(first.nextCursor)]]);
  expect(second).toEqual({ items: [expect.objectContaining({ values: { text: "z" } })], nextCursor: null });
  // A sort order without an index needs all entries, so the first request only reads a part of them.
  const part = await list("-text", "y", [["count", "true"]]);
  expect(part).toMatchObject({ items: [], read: { entries: 10_000 }, total: 9_999, totalExact: false });
  const whole = await list("-text", "y", [["cursor", String(part.nextCursor)]]);
  expect(whole.items).toHaveLength(50);
  const ids = whole.items.map(({ id }) => id);
  expect(ids).toEqual(ids.toSorted().reverse());
  expect((await list("createdAt", "y")).items).toHaveLength(50);

  // Fields with an ordered index have no such limit. The writes have compacted the index.
  await deps.settled();
  const ranks = async (...more: [string, string][]) =>
    (await listManaged(deps, admin, { orb, parameters: [...Object.entries(place), ...more] })).items.map(
      ({ values }) => values.rank ?? null,
    );
  const all = Array.from({ length: 10_000 }, (_, i) => (i * 7919) % 10_007).sort((a, b) => a - b);
  expect(await ranks(["sort", "rank"])).toEqual([null, null, ...all.slice(0, 48)]);
  expect(await ranks(["sort", "-rank"])).toEqual(all.slice(-50).reverse());
  const some = await ranks(["sort", "rank"], ["filter[rank][gt]", "5000"], ["filter[text]", "y"]);
  expect(some).toEqual(all.filter((rank) => rank > 5000).slice(0, 50));
  // If the process knows the root and the pages of an index, a page takes as many round trips as without a sort order.
  const counted = countingStore(deps.store);
  const trips = async (...more: [string, string][]) => {
    counted.reset();
    const parameters = [...Object.entries(place), ...more];
    await listManaged({ ...deps, store: counted.store }, admin, { orb, parameters });
    return counted.trips;
  };
  await trips(["sort", "-rank"]);
  expect(await trips(["sort", "-rank"])).toBe(await trips());
  // A range may begin near the end of an index page. The list then reads from two pages, but no entry too many.
  for (let from = 0; from < 10_000; from += 1_250) {
    const parameters: [string, string][] = [
      ...Object.entries(place),
      ["sort", "rank"],
      ["filter[rank][gte]", String(from)],
      ["explain", "true"],
    ];
    const { items, explain } = await listManaged(deps, admin, { orb, parameters });
    expect(items).toHaveLength(Math.min(50, all.filter((rank) => rank >= from).length));
    expect(explain?.read, String(from)).toBeLessThanOrEqual(51);
  }
  expect(await ranks(["filter[rank][lt]", "3"], ["sort", "-createdAt"])).toHaveLength(
    all.filter((rank) => rank < 3).length,
  );
}, 120_000);
