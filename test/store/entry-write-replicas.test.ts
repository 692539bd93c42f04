/** Entry writes on three replicas, by writers that are connected to different ones. */

import { afterAll, beforeAll, expect, it } from "vitest";
import { type Cluster, launchCluster } from "../../scripts/broker/cluster.ts";
import { lastingBroker } from "../../scripts/platform/platform.ts";
import { homeOf } from "../../shared/definition/document/home.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { scanEntries } from "../../shared/entry/index/scan-entries.ts";
import {
  bulkWrite,
  createEntry,
  deleteEntry,
  listRevisions,
  liveCopyOf,
  loadEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { provision } from "../../shared/store/broker/provision.ts";
import { openStore } from "../../shared/store/broker/store.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { tempDir } from "../support/broker.ts";
import { admin, definition, installOrb, SHOP, type TestDeps, testDeps } from "../support/entries.ts";
import { before, until } from "../support/races.ts";

let cluster: Cluster;
let stores: Store[];
let writers: TestDeps[];
let orb: LiveOrb;

beforeAll(async () => {
  const passwords = { fn: "fn", streams: "streams", deploy: "deploy", operator: "operator" };
  const dir = tempDir("cluster");
  cluster = await launchCluster({ binary: lastingBroker(), dir, syncInterval: "10s", passwords }, 3);
  stores = cluster.nodes.map(({ wsUrl: url }) =>
    openStore({ url, user: "fn", pass: "fn", replicas: 3, reconnect: true, requestTimeoutMs: 10_000 }),
  );
  writers = stores.map((store) => testDeps(store, { replicas: 3 }));
  orb = definition(SHOP);
  const [first] = cluster.nodes;
  const deploy = openStore({ url: first?.wsUrl ?? "", user: "deploy", pass: "deploy", replicas: 3 });
  // After a start the brokers may still be electing a leader.
  await provision(deploy, { replicas: 3, patienceMs: 30_000 });
  await installOrb(deploy, SHOP, 1, 3);
  await deploy.close();
});
afterAll(async () => {
  await Promise.all(stores.map((store) => store.close()));
  await cluster.stop();
});

/** Returns one of the writers, each connected to a different broker. */
function writer(number: number): TestDeps {
  const deps = writers[number % writers.length];
  if (deps === undefined) throw new Error("there are no writers");
  return deps;
}
const context = () => ({ orbId: "shop", orb });
const product = (deps: TestDeps, values: object, more: object = {}) =>
  createEntry(deps, admin, {
    ...context(),
    module: "catalog",
    schema: "product",
    values: { title: { en: "T" }, ...values },
    ...more,
  });

it("gives a unique value to one of 60 parallel writers", async () => {
  const results = await Promise.allSettled(
    Array.from({ length: 60 }, (_, i) => product(writer(i), { sku: "one" })),
  );
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const result of results) {
    if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "unique_conflict" });
  }
});

it("never leaves a reference to an entry that was deleted through another broker", async () => {
  const round = async (lane: number) => {
    for (let i = 0; i < 12; i++) {
      const [here, there] = [writer(lane + i), writer(lane + i + 1)];
      const values = { name: "A" };
      const target = await createEntry(here, admin, {
        ...context(),
        module: "catalog",
        schema: "author",
        values,
      });
      const source = await product(here, { author: target.snapshot.id });
      // The write was acknowledged by one broker, and the deletion goes to another.
      const refused = await deleteEntry(there, admin, { ...context(), id: target.snapshot.id }).then(
        () => null,
        (error: unknown) => error,
      );
      expect(refused instanceof AppError ? refused.code : refused).toBe("referenced");
      const at = { ...context(), id: source.snapshot.id };
      await updateEntry(here, admin, { ...at, values: { title: { en: "U" } } });
      const { items } = await listRevisions(there, admin, { ...at, order: "desc", limit: 10 });
      expect(items.map(({ revision }) => revision)).toEqual([2, 1]);
    }
  };
  await Promise.all([0, 1, 2, 3].map(round));
});

it("creates entries with unique values and references in bulk, and finds all of them through another broker", async () => {
  const author = await createEntry(writer(0), admin, {
    ...context(),
    module: "catalog",
    schema: "author",
    values: { name: "A" },
    publish: true,
  });
  async function* lines() {
    for (let i = 0; i < 1_000; i++) {
      const values = { title: { en: "T" }, sku: `bulk-${i}`, author: author.snapshot.id };
      yield JSON.stringify({ module: "catalog", schema: "product", values, publish: true });
    }
  }
  const made: string[] = [];
  for await (const result of bulkWrite(writer(1), admin, {
    ...context(),
    lines: lines(),
    parse: JSON.parse,
  })) {
    if (!("snapshot" in result)) throw new Error(JSON.stringify(result));
    made.push(result.snapshot.id);
  }
  const found = new Set<string>();
  for await (const page of scanEntries(writer(2), "shop", homeOf("CONTENT", "product"))) {
    for (const { head } of page) found.add(head.id);
  }
  expect(made).toHaveLength(1_000);
  expect(made.filter((id) => !found.has(id))).toEqual([]);
});

it("opens and closes a validity window", async () => {
  const timeOf = (ms: number) => new Date(ms).toISOString();
  const { live, snapshot } = await before(8_000, async (end) => {
    const opened = await before(3_000, async (begin) => {
      const window = {
        publish: true,
        validFrom: timeOf(begin),
        validTo: timeOf(Math.max(end, begin + 3_000)),
      };
      const made = await product(writer(0), {}, window);
      const address = { orb: "shop", ...homeOf("CONTENT", "product"), id: made.snapshot.id };
      const read = () => writer(1).store.get(streams.orb("shop"), subjects.entryLive(address, "public"));
      expect(await read()).toBeNull();
      return { live: read, snapshot: made.snapshot };
    });
    await until(async () => liveCopyOf(await opened.live()) !== null);
    expect(liveCopyOf(await opened.live())?.revision).toBe(1);
    return opened;
  });
  await until(async () => (await live())?.text().includes("tombstone") === true);
  expect((await live())?.json()).toMatchObject({ tombstone: true, revision: 1 });
  expect((await loadEntry(writer(2), "shop", snapshot.id))?.head.revision).toBe(1);
});
