import { describe, expect, test } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import { orbStreamConfig } from "../../shared/store/broker/provision.ts";
import { openCachedStore } from "../../shared/store/cache/cached-store.ts";
import { buckets, type EntryAddress, streams, subjects } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { startBroker, type TestBroker } from "../support/broker.ts";
import { freeze } from "../support/freeze.ts";
import { pause, until } from "../support/races.ts";

const ANY = { consistency: "stale" } as const;
const STREAM = streams.orb("shop");
const at = (id: string): EntryAddress => ({ orb: "shop", ...homeOf("CONTENT", "product"), id });
const log = (id: string) => subjects.entryLog(at(id));
const live = (id: string) => subjects.entryLive(at(id), "public");

/** A broker with an orb's stream, the cached store under test, and a store of another process. */
async function setUp(options: Parameters<typeof openCachedStore>[1] = {}) {
  const broker = await startBroker();
  const other = broker.store();
  await other.createStream(orbStreamConfig("shop", 1));
  const cached = openCachedStore({ ...broker.access(), replicas: 1 }, { freeze: true, ...options });
  return {
    broker,
    other,
    cached,
    async [Symbol.asyncDispose]() {
      await cached.close();
      await broker.stop();
    },
  };
}

/** Waits until reads of the orb's stream or bucket come from the cache. */
async function warm(cached: ReturnType<typeof openCachedStore>, act: () => Promise<unknown>): Promise<void> {
  for (const deadline = Date.now() + 30_000; ; ) {
    const { hits } = cached.stats();
    await act().catch(() => undefined);
    if (cached.stats().hits > hits) return;
    if (Date.now() > deadline) throw new Error("no read came from the cache within 30 s");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const textOf = async (store: Store, subject: string) => (await store.get(STREAM, subject, ANY))?.text();

describe("cached reads", () => {
  test("return the same messages as the broker, without a request", async () => {
    await using s = await setUp();
    await s.other.append(STREAM, { subject: log("1"), data: '{"a":{"b":1}}', headers: { "X-Own": "yes" } });
    await warm(s.cached, () => s.cached.get(STREAM, log("1"), ANY));
    const { misses } = s.cached.stats();
    const [mine, theirs] = await Promise.all([
      s.cached.get(STREAM, log("1"), ANY),
      s.other.get(STREAM, log("1")),
    ]);
    expect(mine).toMatchObject({ subject: log("1"), seq: theirs?.seq, time: theirs?.time });
    expect([mine?.text(), mine?.json(), mine?.header("X-Own"), mine?.header("X-None")]).toEqual([
      '{"a":{"b":1}}',
      { a: { b: 1 } },
      "yes",
      undefined,
    ]);
    expect(mine?.json()).toBe((await s.cached.get(STREAM, log("1"), ANY))?.json());
    expect(() => {
      (mine?.json<{ a: { b: number } }>() ?? { a: { b: 0 } }).a.b = 2;
    }).toThrow();
    expect(s.cached.stats().misses).toBe(misses);
  });

  test("see writes of another process, including batches and scheduled messages", async () => {
    await using s = await setUp();
    await warm(s.cached, () => s.cached.getMany(STREAM, [log("1"), live("1")], { ...ANY, maxBytes: 1e8 }));
    expect(await textOf(s.cached, log("1"))).toBeUndefined();
    await s.other.batch(STREAM, [
      { subject: log("1"), data: "head" },
      { subject: live("1"), data: "live", rollup: true },
    ]);
    await until(async () => (await textOf(s.cached, log("1"))) === "head");
    await until(async () => (await textOf(s.cached, live("1"))) === "live");
    await s.other.append(STREAM, {
      subject: subjects.schedule("shop", "1", 1, "open"),
      data: "scheduled",
      headers: {
        "Nats-Schedule": `@at ${new Date(Date.now() + 300).toISOString()}`,
        "Nats-Schedule-Target": live("1"),
        "Nats-Schedule-Rollup": "sub",
      },
    });
    await until(async () => (await textOf(s.cached, live("1"))) === "scheduled");
    expect(s.cached.stats()).toMatchObject({ resets: 0 });
  });

  test("do not return a message that has expired", async () => {
    await using s = await setUp();
    await s.other.append(STREAM, { subject: live("1"), data: "shown" });
    await warm(s.cached, () => s.cached.get(STREAM, live("1"), ANY));
    await s.other.append(STREAM, { subject: live("1"), data: "tombstone", rollup: true, ttl: 1 });
    await until(async () => (await textOf(s.cached, live("1"))) === "tombstone");
    await until(async () => (await textOf(s.cached, live("1"))) === undefined);
  });

  test("list the entries that refer to another one, and notice later and freed references", async () => {
    await using s = await setUp();
    const product = { orb: "shop", ...homeOf("CONTENT", "product") };
    const filter = subjects.referencesBy("t1", product, "brand");
    const refer = (id: string) => subjects.reference("t1", at(id), "brand");
    await s.other.append(STREAM, { subject: refer("1"), data: "1" });
    const read = () => s.cached.scan(STREAM, filter, { fromSeq: 1, limit: 10, maxBytes: 1e6 });
    await warm(s.cached, read);
    const ids = async () =>
      (await read()).messages
        .filter((message) => message.size > 0)
        .map((message) => message.subject.split(".").at(-1));
    expect(await ids()).toEqual(["1"]);
    await s.other.append(STREAM, { subject: refer("2"), data: "1" });
    await until(async () => (await ids()).join() === "1,2");
    await s.other.append(STREAM, { subject: refer("1"), data: "", rollup: true, ttl: 1 });
    await until(async () => (await ids()).join() === "2");
  });

  test("return live definitions, whichever process writes or deletes them", async () => {
    await using s = await setUp();
    await s.other.kvPut(buckets.orbs, "shop", '{"revision":1}');
    const read = () => s.cached.kvGet(buckets.orbs, "shop", ANY);
    await warm(s.cached, read);
    expect((await read())?.json()).toEqual({ revision: 1 });
    await s.other.kvPut(buckets.orbs, "shop", '{"revision":2}');
    await until(async () => (await read())?.text() === '{"revision":2}');
    const revision = await s.cached.kvPut(buckets.orbs, "shop", '{"revision":3}');
    expect(await read()).toMatchObject({ key: "shop", revision });
    await s.cached.kvDelete(buckets.orbs, "shop");
    expect(await read()).toBeNull();
    await s.other.kvPut(buckets.orbs, "shop", '{"revision":4}');
    await until(async () => (await read())?.text() === '{"revision":4}');
  });

  test("pass reads from the leader and reads with wildcards on to the broker", async () => {
    await using s = await setUp();
    await s.other.append(STREAM, { subject: log("1"), data: "1" });
    await warm(s.cached, () => s.cached.get(STREAM, log("1"), ANY));
    const { hits } = s.cached.stats();
    expect((await s.cached.get(STREAM, log("1")))?.text()).toBe("1");
    expect((await s.cached.get(STREAM, subjects.anyEntryLog("shop", "1"), ANY))?.text()).toBe("1");
    expect(s.cached.stats().hits).toBe(hits);
  });
});

describe("invalidation", () => {
  test("clears the cache when the connection breaks, and fills it again afterwards", async () => {
    await using s = await setUp();
    await s.other.append(STREAM, { subject: log("1"), data: "1" });
    await warm(s.cached, () => s.cached.get(STREAM, log("1"), ANY));
    await s.broker.pause();
    await until(() => s.cached.stats().subjects === 0);
    await expect(s.cached.get(STREAM, log("1"), ANY)).rejects.toMatchObject({ kind: "unavailable" });
    await s.broker.resume();
    const later = s.broker.store();
    await later.append(STREAM, { subject: log("1"), data: "2" });
    await warm(s.cached, () => s.cached.get(STREAM, log("1"), ANY));
    expect(await textOf(s.cached, log("1"))).toBe("2");
  });

  test("treats a broker that does not respond as lost", async () => {
    await using s = await setUp({ checkMs: 50 });
    await s.other.append(STREAM, { subject: log("1"), data: "1" });
    await warm(s.cached, () => s.cached.get(STREAM, log("1"), ANY));
    const { pid } = s.broker;
    if (pid === undefined) throw new Error("no broker");
    await freeze(pid);
    try {
      await until(() => s.cached.stats().feeds === 0);
    } finally {
      process.kill(pid, "SIGCONT");
    }
    await warm(s.cached, () => s.cached.get(STREAM, log("1"), ANY));
  });

  test("caches an orb again that another process recreated, on replicas", async () => {
    await using broker = await startBroker();
    const other = broker.store();
    const define = (text: string) => other.kvPut(buckets.orbs, "shop", text);
    await other.createStream(orbStreamConfig("shop", 1));
    // The only replica reports itself as leader, with its last sequence.
    const cached = openCachedStore({ ...broker.access(), replicas: 3 }, { freeze: true });
    for (let n = 0; n < 20; n++) await cached.append(STREAM, { subject: log("1"), data: `old ${n}` });
    await warm(cached, () => cached.get(STREAM, log("1"), ANY));
    await other.deleteStream(STREAM);
    await other.createStream(orbStreamConfig("shop", 1));
    await define("{}");
    await other.append(STREAM, { subject: log("1"), data: "new" });
    await until(async () => (await textOf(cached, log("1"))) === "new");
    await warm(cached, () => cached.get(STREAM, log("1"), ANY));
    expect(await textOf(cached, log("1"))).toBe("new");
    await cached.close();
  });

  test("notices that a restored backup replaced a stream, even with the same length", async () => {
    await using s = await setUp({ checkMs: 50 });
    await s.other.append(STREAM, { subject: log("1"), data: "after the backup" });
    await warm(s.cached, () => s.cached.get(STREAM, log("1"), ANY));
    // A restore sends no change notices.
    const operator = s.broker.store("operator");
    const { republish, ...silent } = orbStreamConfig("shop", 1);
    await s.other.deleteStream(STREAM);
    await s.other.createStream(silent);
    await s.other.append(STREAM, { subject: log("1"), data: "from the backup" });
    await operator.updateStream({ ...silent, republish });
    await until(async () => (await textOf(s.cached, log("1"))) === "from the backup");
  });

  test("shows no former entries of an orb that was deleted and recreated", async () => {
    await using s = await setUp();
    for (let i = 0; i < 5; i++) await s.other.append(STREAM, { subject: log("1"), data: `old ${i}` });
    await warm(s.cached, () => s.cached.get(STREAM, log("1"), ANY));
    await s.other.deleteStream(STREAM);
    await s.other.createStream(orbStreamConfig("shop", 1));
    await s.other.append(STREAM, { subject: log("2"), data: "new" });
    await until(async () => (await textOf(s.cached, log("1"))) === undefined);
    expect(await textOf(s.cached, log("2"))).toBe("new");
    await s.cached.deleteStream(STREAM);
    await s.other.createStream(orbStreamConfig("shop", 1));
    expect(await textOf(s.cached, log("2"))).toBeUndefined();
  });

  test("forgets at once what this process purges", async () => {
    await using s = await setUp();
    await s.other.append(STREAM, { subject: log("1"), data: "1" });
    await warm(s.cached, () => s.cached.get(STREAM, log("1"), ANY));
    await s.cached.purge(STREAM, log("1"));
    expect(await textOf(s.cached, log("1"))).toBeUndefined();
  });

  test("does not cache a stream without change notices", async () => {
    await using s = await setUp();
    const { republish: _, ...silent } = orbStreamConfig("quiet", 1);
    await s.other.createStream(silent);
    const subject = subjects.entryLog({ ...at("1"), orb: "quiet" });
    for (const text of ["1", "2", "3"]) {
      await s.other.append(streams.orb("quiet"), { subject, data: text });
      expect((await s.cached.get(streams.orb("quiet"), subject, ANY))?.text()).toBe(text);
      await pause(20);
    }
  });

  test("limits its memory and keeps values in use", async () => {
    await using s = await setUp({ maxBytes: 64 * 1024 });
    const ids = Array.from({ length: 200 }, (_, i) => String(i));
    await s.other.pipeline(
      STREAM,
      ids.map((id) => ({ subject: log(id), data: "x".repeat(200) })),
    );
    await warm(s.cached, () => s.cached.get(STREAM, log("0"), ANY));
    for (const id of ids) {
      await s.cached.get(STREAM, log(id), ANY);
      await s.cached.get(STREAM, log("0"), ANY);
      expect(s.cached.stats().bytes).toBeLessThanOrEqual(64 * 1024);
    }
    const { misses } = s.cached.stats();
    await s.cached.get(STREAM, log("0"), ANY);
    expect(s.cached.stats().misses).toBe(misses);
  });

  test("does not evict values in use for values that are read once", async () => {
    await using s = await setUp({ maxBytes: 64 * 1024 });
    const ids = Array.from({ length: 1000 }, (_, i) => String(i));
    await s.other.pipeline(
      STREAM,
      ids.map((id) => ({ subject: log(id), data: "x".repeat(200) })),
    );
    await warm(s.cached, () => s.cached.get(STREAM, log("0"), ANY));
    const wanted = ids.slice(0, 20);
    for (let round = 0; round < 2; round++) for (const id of wanted) await s.cached.get(STREAM, log(id), ANY);
    for (const id of ids.slice(20)) await s.cached.get(STREAM, log(id), ANY);
    const { misses } = s.cached.stats();
    for (const id of wanted) await s.cached.get(STREAM, log(id), ANY);
    expect(s.cached.stats().misses).toBe(misses);
    // A value that is read again is cached all the same.
    for (let round = 0; round < 2; round++) await s.cached.get(STREAM, log("999"), ANY);
    const after = s.cached.stats().misses;
    expect((await s.cached.get(STREAM, log("999"), ANY))?.text()).toBe("x".repeat(200));
    expect(s.cached.stats().misses).toBe(after);
  });
});

describe("creation order", () => {
  const filter = subjects.schemaIndex(at("x"));
  const pages = async (broker: TestBroker, cached: Store, fromSeq: number, limit: number) => {
    const theirs = broker.store();
    const [a, b] = await Promise.all([
      cached.scan(STREAM, filter, { fromSeq, limit, maxBytes: 1e8 }),
      theirs.scan(STREAM, filter, { fromSeq, limit }),
    ]);
    const shape = (page: typeof a) => ({
      pending: page.pending,
      messages: page.messages.map((m) => [m.subject, m.seq, m.time, m.text()]),
    });
    await theirs.close();
    return { mine: shape(a), theirs: shape(b) };
  };

  test("cuts pages like the broker, and follows creations and deletions", async () => {
    await using s = await setUp();
    const create = (id: string) =>
      s.other.append(STREAM, { subject: subjects.entryIndex(at(id)), data: `{"n":${id}}` });
    for (let i = 10; i < 40; i++) await create(String(i));
    await warm(s.cached, () => s.cached.scan(STREAM, filter, { fromSeq: 1, limit: 1, maxBytes: 1e8 }));
    await until(() => s.cached.stats().indexMessages === 30);
    for (const [from, limit] of [
      [1, 50],
      [1, 10],
      [7, 10],
      [25, 50],
      [31, 5],
      [500, 5],
    ] as const) {
      const { mine, theirs } = await pages(s.broker, s.cached, from, limit);
      expect(mine).toEqual(theirs);
    }
    const newest = () => s.cached.get(STREAM, filter, ANY);
    expect([(await newest())?.seq, (await newest())?.subject]).toEqual([30, subjects.entryIndex(at("39"))]);
    await create("40");
    await s.other.append(STREAM, { subject: subjects.entryIndex(at("15")), data: "", rollup: true, ttl: 60 });
    const all = () => s.cached.scan(STREAM, filter, { fromSeq: 1, limit: 100, maxBytes: 1e8 });
    // The number of messages is the same as before, so wait for the position of the newest one.
    await until(async () => (await all()).lastSeq === 32);
    const page = await all();
    const ids = page.messages.map((message) => message.subject.split(".").at(-1));
    expect(ids).toEqual(Array.from({ length: 31 }, (_, i) => String(i + 10)).filter((id) => id !== "15"));
    expect(s.cached.stats().indexMessages).toBe(30);
    expect(s.cached.stats().resets).toBe(0);
  });

  test("does not cache an index that is too long, and reads it from the broker", async () => {
    await using s = await setUp({ maxIndexMessages: 10 });
    for (let i = 0; i < 20; i++)
      await s.other.append(STREAM, { subject: subjects.entryIndex(at(String(i))), data: "{}" });
    for (let i = 0; i < 10; i++) {
      expect(
        (await s.cached.scan(STREAM, filter, { fromSeq: 1, limit: 100, maxBytes: 1e8 })).messages.length,
      ).toBe(20);
      await pause(5);
    }
    expect(s.cached.stats().indexMessages).toBe(0);
  });

  test("drops an index that grows too long, and makes room for others", async () => {
    await using s = await setUp({ maxIndexMessages: 10 });
    const kind = subjects.equalityOf(at("x"), "kind", "few");
    const grow = async (more: number) => {
      for (let i = 0; i < more; i++) {
        const id = `${more}x${i}`;
        await s.other.append(STREAM, { subject: subjects.entryIndex(at(id)), data: "{}" });
      }
    };
    const scan = async (which: string) =>
      (await s.cached.scan(STREAM, which, { fromSeq: 1, limit: 100, maxBytes: 1e8 })).messages.length;
    await grow(8);
    await warm(s.cached, () => scan(filter));
    await until(() => s.cached.stats().indexMessages === 8);
    await grow(20);
    await until(() => s.cached.stats().indexMessages === 0);
    expect(await scan(filter)).toBe(28);
    await s.other.append(STREAM, { subject: kind.replace("*", "0one"), data: "1" });
    await scan(kind);
    await scan(kind);
    await until(() => s.cached.stats().indexMessages === 1);
    expect(await scan(kind)).toBe(1);
  });
});
