/**
 * The queries that the documentation calls as fast at any size read as much of 4,000 entries as of 400. `TEST_EXAMPLES`
 * sets another size.
 */
import { describe, expect, it } from "vitest";
import { anonymous } from "../../shared/access/actor.ts";
import { principalIn } from "../../shared/access/authorize.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { completeLive } from "../../shared/entry/listed/upkeep.ts";
import { choose } from "../../shared/entry/model/localize.ts";
import { messagesOf } from "../../shared/entry/model/messages.ts";
import { IndexKeeper } from "../../shared/entry/ordered/keeper.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { listEntries } from "../../shared/entry/read/list.ts";
import { planNew } from "../../shared/entry/write/create.ts";
import { ReadBudget } from "../../shared/store/budget.ts";
import { streams } from "../../shared/store/subjects.ts";
import type { Page, Store, StoredMessage } from "../../shared/store/types.ts";
import { countingStore } from "../support/counting.ts";
import { admin, fileDeps, installOrb, readAs } from "../support/entries.ts";

const { deps, broker } = await fileDeps();
const SIZES = [400, Number(process.env.TEST_EXAMPLES ?? 4_000)] as const;
/** Entries that are stored at the same time. */
const AT_ONCE = 50;
/** A request may read this many entries, so both sizes are beyond what a request can read. */
const READ = 120;
const LIMIT = 20;

const document = (id: string) => ({
  id,
  modules: [
    {
      id: "catalog",
      type: "CONTENT" as const,
      schemas: [
        { id: "brand", fields: [{ name: "name", type: "string" as const }] },
        {
          id: "item",
          fields: [
            { name: "sku", type: "string" as const, unique: true },
            { name: "n", type: "integer" as const, index: "ordered" as const },
            { name: "kind", type: "string" as const, enum: ["a", "b", "c"] },
            { name: "sold", type: "boolean" as const },
            { name: "brand", type: "reference" as const, ref: `${id}/catalog/brand` },
          ],
        },
      ],
    },
  ],
});

function schemaOf(orb: LiveOrb, id: string) {
  return orb.compiled.schema("catalog", id) ?? expect.fail("no schema");
}

/** Stores entries as an upload does. Returns the application and the id of a brand that every second one has. */
async function filled(size: number): Promise<{ orb: LiveOrb; brand: string }> {
  const orb = await installOrb(broker.store("operator"), document(`size-${size}`));
  const store = async (schema: string, values: Record<string, unknown>) => {
    const id = deps.newId();
    const input = { module: "catalog", schema, values, publish: true };
    const write = await planNew(
      deps,
      principalIn(admin, orb.orb, orb.compiled),
      orb,
      schemaOf(orb, schema),
      input,
      id,
    );
    await deps.store.pipeline(streams.orb(orb.orb), messagesOf(write));
    return id;
  };
  const brands = [await store("brand", { name: "x" }), await store("brand", { name: "y" })];
  const add = (at: number) =>
    store("item", {
      sku: `sku-${at}`,
      n: (at * 7_919) % size,
      kind: ["a", "b", "c"][at % 3],
      sold: at % 2 === 0,
      brand: brands[at % 2],
    });
  for (let first = 0; first < size; first += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, size - first) }, (_, i) => add(first + i)));
  await completeLive(deps, orb, [schemaOf(orb, "item")]);
  // No reader has begun the compaction: the process of hooks does.
  const keeper = new IndexKeeper(deps);
  await keeper.look();
  await keeper.look();
  return { orb, brand: brands[0] ?? "" };
}

/** Wraps a store, and counts the bytes of what it returns. */
function weighed(store: Store): { store: Store; bytes: () => number } {
  let bytes = 0;
  const add = (messages: Iterable<StoredMessage>) => {
    for (const message of messages) bytes += message.size;
  };
  return {
    bytes: () => bytes,
    store: {
      ...store,
      async scan(...given): Promise<Page> {
        const page = await store.scan(...given);
        add(page.messages);
        return page;
      },
      async getMany(...given) {
        const found = await store.getMany(...given);
        add(found.values());
        return found;
      },
      async get(...given) {
        const message = await store.get(...given);
        if (message !== null) add([message]);
        return message;
      },
    },
  };
}

const queries = (brand: string, size: number): Record<string, [string, string][]> => ({
  "oldest first": [],
  "newest first": [["sort", "-createdAt"]],
  "unique value": [["filter[sku]", "sku-7"]],
  "unique values": [["filter[sku][in]", "sku-7,sku-9,sku-300"]],
  "enum value": [["filter[kind]", "b"]],
  "boolean value": [["filter[sold]", "true"]],
  reference: [["filter[brand]", brand]],
  "ordered index": [["sort", "n"]],
  "ordered index, descending": [["sort", "-n"]],
  "ordered index, range": [
    ["sort", "n"],
    ["filter[n][gte]", String(size / 2)],
  ],
  "small range": [
    ["filter[n][gte]", "100"],
    ["filter[n][lt]", "130"],
  ],
  "or of unique values": [
    ["filter[or][0][sku]", "sku-7"],
    ["filter[or][1][sku]", "sku-300"],
  ],
});

interface Cost {
  items: number;
  trips: number;
  bytes: number;
}

const costs = new Map<number, Map<string, Cost>>();
for (const size of SIZES) {
  const { orb, brand } = await filled(size);
  const schema = schemaOf(orb, "item");
  const of = new Map<string, Cost>();
  for (const [name, parameters] of Object.entries(queries(brand, size))) {
    const cost = async (gather = 0) => {
      const counted = countingStore(deps.store, undefined, gather);
      const { store, bytes } = weighed(counted.store);
      const query = parseListQuery([["limit", String(LIMIT)], ...parameters], schema, []);
      const budget = () => new ReadBudget(undefined, READ);
      const list = { reading: readAs(anonymous, orb, schema), query, choice: choose(schema, {}), budget };
      const page = await listEntries({ ...deps, store }, list);
      return { items: page.items.length, trips: counted.trips, bytes: bytes() };
    };
    await cost();
    await deps.settled();
    // A list after a compaction reads the new pages.
    await cost();
    // On a busy machine, parallel calls would otherwise count as several trips if one ends before the next begins.
    of.set(name, await cost(30));
  }
  costs.set(size, of);
}

describe.each(Object.keys(queries("", 0)))("a list by %s", (name) => {
  it("reads as much whatever the number of entries", () => {
    const [small, large] = SIZES.map((size) => costs.get(size)?.get(name));
    if (small === undefined || large === undefined) throw new Error("not measured");
    expect(large.items).toBe(small.items);
    expect(small.items).toBeGreaterThan(0);
    expect(large.trips).toBeLessThanOrEqual(small.trips);
    expect(large.bytes).toBeLessThanOrEqual(small.bytes * 1.5);
  });
});
