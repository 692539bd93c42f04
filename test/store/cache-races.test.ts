import { expect, test } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import { orbStreamConfig } from "../../shared/store/broker/provision.ts";
import { type OpenStore, openStore } from "../../shared/store/broker/store.ts";
import { cachedStore } from "../../shared/store/cache/cached-store.ts";
import { subjects } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { startBroker } from "../support/broker.ts";
import { ENOUGH, pause, read, STREAM, SUBJECTS, write } from "../support/races.ts";
import { type Random, testRandom } from "../support/random.ts";

/** Returns the store with a share of its change notices dropped, as a crashing broker may do. */
function forgetful(store: OpenStore, share: number, random: Random): OpenStore {
  return {
    ...store,
    subscribe: (subject, deliver, lost) =>
      store.subscribe(subject, (message) => (random.next() < share ? undefined : deliver(message)), lost),
  };
}

for (const [what, share, maxBytes] of [
  ["all change notices", 0, 1 << 20],
  ["a cache that is too small", 0, 16 * 1024],
  ["lost change notices", 0.02, 1 << 20],
] as const) {
  test(`returns no value older than an acknowledged write, with ${what}`, async () => {
    const random = testRandom();
    await using broker = await startBroker();
    const others = [broker.store(), broker.store()] as const;
    await others[0].createStream(orbStreamConfig("shop", 1));
    const inner = openStore({ ...broker.access(), reconnect: true });
    const { store } = cachedStore(forgetful(inner, share, random.fork()), {
      replicas: 1,
      maxBytes,
      // Short only where notices are dropped: on a busy machine a notice can be late.
      ...(share > 0 ? { patienceMs: 20, checkMs: 50 } : { patienceMs: 10_000, checkMs: 5_000 }),
      freeze: true,
    });
    const acknowledged = new Map<string, number>();
    const until = Date.now() + 1500;
    const writes = [
      ...others.map((other) => write(other, until, random.fork())),
      write(store, until, random.fork(), acknowledged),
      write(store, until, random.fork(), acknowledged),
    ];
    const reads = [1, 2, 3, 4].map(() => read(store, until, random.fork(), acknowledged));
    const done = await Promise.all([...writes, ...reads]);
    expect(Math.min(...done)).toBeGreaterThan(ENOUGH);
    const stats = store.stats();
    // Where notices are dropped, a busy machine spends its time on reading again.
    expect(stats.hits).toBeGreaterThan(share > 0 ? 0 : stats.misses);
    expect(stats.resets > 0).toBe(share > 0);

    // When all writes are done, the cache agrees with the broker, whatever was dropped.
    const truth = await others[0].getMany(STREAM, SUBJECTS);
    for (const deadline = Date.now() + 30_000; ; await pause(20)) {
      const known = await store.getMany(STREAM, SUBJECTS, { consistency: "stale", maxBytes: 1e8 });
      if (SUBJECTS.every((subject) => known.get(subject)?.seq === truth.get(subject)?.seq)) break;
      expect(Date.now()).toBeLessThan(deadline);
    }
    await store.close();
  });
}

test("the creation order in the cache includes every acknowledged write", async () => {
  await using broker = await startBroker();
  const other = broker.store();
  await other.createStream(orbStreamConfig("shop", 1));
  const { store } = cachedStore(openStore({ ...broker.access(), reconnect: true }), { replicas: 1 });
  const address = { orb: "shop", ...homeOf("CONTENT", "product") } as const;
  const filter = subjects.schemaIndex(address);
  const subject = (id: number) => subjects.entryIndex({ ...address, id: String(id) });
  let next = 0;
  const gone = new Set<number>();
  const until = Date.now() + 1200;
  const writer = async (by: Store, mine: boolean) => {
    while (Date.now() < until) {
      const id = next++;
      await by.append(STREAM, { subject: subject(id), data: "{}" });
      if (mine && id % 3 === 0) {
        // Read your own writes: the writer finds the new entry in the list.
        const page = await store.scan(STREAM, filter, { fromSeq: 1, limit: 100_000, maxBytes: 1e8 });
        if (!page.messages.some((message) => message.subject === subject(id)))
          throw new Error(`${id} is missing`);
      }
      if (id % 5 === 0) {
        await by.append(STREAM, { subject: subject(id), data: "", rollup: true, ttl: 60 });
        gone.add(id);
      }
    }
  };
  await Promise.all([writer(other, false), writer(other, false), writer(store, true), writer(store, true)]);
  const all = async () => {
    const page = await store.scan(STREAM, filter, { fromSeq: 1, limit: 1_000_000, maxBytes: 1e8 });
    return page.messages.filter((message) => message.data.length > 0).map((message) => message.subject);
  };
  const wanted = Array.from({ length: next }, (_, id) => id)
    .filter((id) => !gone.has(id))
    .map(subject);
  for (const deadline = Date.now() + 30_000; ; await pause(10)) {
    const found = await all();
    if (found.length === wanted.length && new Set([...found, ...wanted]).size === wanted.length) break;
    expect(Date.now()).toBeLessThan(deadline);
  }
  expect(store.stats()).toMatchObject({ resets: 0, indexMessages: wanted.length });
  await store.close();
});
