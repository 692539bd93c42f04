import { expect, test } from "vitest";
import { cachedStore } from "../../shared/store/cache.ts";
import { orbStreamConfig } from "../../shared/store/provision.ts";
import { type OpenStore, openStore } from "../../shared/store/store.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { Conflict, type Store } from "../../shared/store/types.ts";
import { startBroker } from "../support/broker.ts";

const STREAM = streams.orb("shop");
const SUBJECTS = Array.from({ length: 12 }, (_, i) =>
  subjects.entryLog({ orb: "shop", type: "content", schema: "product", id: String(i) }),
);
const pick = <T>(values: readonly T[]): T => {
  const value = values[Math.floor(Math.random() * values.length)];
  if (value === undefined) throw new Error("nothing to pick from");
  return value;
};
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Writes in every way, and notes what was acknowledged when it was. */
async function write(store: Store, until: number, acknowledged?: Map<string, number>): Promise<number> {
  let count = 0;
  const note = (subject: string, seq: number) =>
    acknowledged?.set(subject, Math.max(seq, acknowledged.get(subject) ?? 0));
  while (Date.now() < until) {
    const [a, b] = [pick(SUBJECTS), pick(SUBJECTS)];
    const way = Math.random();
    try {
      if (way < 0.5) note(a, await store.append(STREAM, { subject: a, data: String(count) }));
      else if (way < 0.7) {
        const messages = [
          { subject: a, data: "{}", rollup: true },
          ...(a === b ? [] : [{ subject: b, data: "{}" }]),
        ];
        note(messages.at(-1)?.subject ?? a, await store.batch(STREAM, messages));
      } else if (way < 0.9) {
        const seqs = await store.pipeline(STREAM, [
          { subject: a, data: "first" },
          { subject: b, data: "second" },
        ]);
        note(a, seqs[0] ?? 0);
        note(b, seqs[1] ?? 0);
      } else {
        const last = await store.get(STREAM, a);
        note(
          a,
          await store.append(STREAM, { subject: a, data: "expected", expect: { seq: last?.seq ?? 0 } }),
        );
      }
      count++;
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
    }
    if (Math.random() < 0.3) await pause(Math.random() * 4);
  }
  return count;
}

/** Reads what is in memory: never from before what was acknowledged when it began, and never back in time. */
async function read(store: Store, until: number, acknowledged: Map<string, number>): Promise<number> {
  const seen = new Map<string, number>();
  let count = 0;
  while (Date.now() < until) {
    const wanted = Math.random() < 0.5 ? [pick(SUBJECTS)] : SUBJECTS.filter(() => Math.random() < 0.5);
    const least = new Map(wanted.map((subject) => [subject, acknowledged.get(subject) ?? 0]));
    const found = await store.getMany(STREAM, wanted, { consistency: "any" });
    for (const subject of wanted) {
      const seq = found.get(subject)?.seq ?? 0;
      if (seq < (least.get(subject) ?? 0)) throw new Error(`${seq} is from before ${least.get(subject)}`);
      if (seq < (seen.get(subject) ?? 0)) throw new Error(`back from ${seen.get(subject)} to ${seq}`);
      seen.set(subject, seq);
    }
    count++;
    // Hits need no I/O: without a pause nobody else would get his turn.
    if (count % 20 === 0) await pause(0);
    if (Math.random() < 0.05) await pause(Math.random() * 3);
  }
  return count;
}

/** The same store, with a share of what it is told lost on the way: what a broker that dies may do to echoes. */
function forgetful(store: OpenStore, share: number): OpenStore {
  return {
    ...store,
    subscribe: (subject, deliver, lost) =>
      store.subscribe(subject, (message) => (Math.random() < share ? undefined : deliver(message)), lost),
  };
}

for (const [what, share, maxBytes] of [
  ["every echo", 0, 1 << 20],
  ["a memory that is too small", 0, 16 * 1024],
  ["echoes that are lost", 0.02, 1 << 20],
] as const) {
  test(`readers never see the past, with ${what}`, async () => {
    await using broker = await startBroker();
    const others = [broker.store(), broker.store()] as const;
    await others[0].createStream(orbStreamConfig("shop", 1));
    const inner = openStore({ ...broker.access(), reconnect: true });
    const { store } = cachedStore(forgetful(inner, share), {
      replicas: 1,
      maxBytes,
      // Short only where echoes are lost: on a busy machine an echo may take its time.
      ...(share > 0 ? { patienceMs: 20, checkMs: 50 } : {}),
      freeze: true,
    });
    const acknowledged = new Map<string, number>();
    const until = Date.now() + 1500;
    const writes = [
      ...others.map((other) => write(other, until)),
      write(store, until, acknowledged),
      write(store, until, acknowledged),
    ];
    const reads = [1, 2, 3, 4].map(() => read(store, until, acknowledged));
    const done = await Promise.all([...writes, ...reads]);
    expect(Math.min(...done)).toBeGreaterThan(20);
    const stats = store.stats();
    expect(stats.hits).toBeGreaterThan(stats.misses);
    expect(stats.resets > 0).toBe(share > 0);

    // Once all is quiet it knows what the broker knows, whatever was lost.
    const truth = await others[0].getMany(STREAM, SUBJECTS);
    for (const deadline = Date.now() + 5000; ; await pause(20)) {
      const known = await store.getMany(STREAM, SUBJECTS, { consistency: "any" });
      if (SUBJECTS.every((subject) => known.get(subject)?.seq === truth.get(subject)?.seq)) break;
      expect(Date.now()).toBeLessThan(deadline);
    }
    await store.close();
  });
}

test("the order of creation keeps up with writers", async () => {
  await using broker = await startBroker();
  const other = broker.store();
  await other.createStream(orbStreamConfig("shop", 1));
  const { store } = cachedStore(openStore({ ...broker.access(), reconnect: true }), { replicas: 1 });
  const address = { orb: "shop", type: "content", schema: "product" } as const;
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
        // Read your writes: who created it finds it at the end of the list.
        const page = await store.scan(STREAM, filter, { fromSeq: 1, limit: 100_000 });
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
    const page = await store.scan(STREAM, filter, { fromSeq: 1, limit: 1_000_000 });
    return page.messages.filter((message) => message.data.length > 0).map((message) => message.subject);
  };
  const wanted = Array.from({ length: next }, (_, id) => id)
    .filter((id) => !gone.has(id))
    .map(subject);
  for (const deadline = Date.now() + 5000; ; await pause(10)) {
    const found = await all();
    if (found.length === wanted.length && new Set([...found, ...wanted]).size === wanted.length) break;
    expect(Date.now()).toBeLessThan(deadline);
  }
  expect(store.stats()).toMatchObject({ resets: 0, ordered: wanted.length });
  await store.close();
});
