import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import { orbStreamConfig } from "../../shared/store/broker/provision.ts";
import { CachedIndex } from "../../shared/store/cache/cached-index.ts";
import { DependencyTracker, openCachedStore } from "../../shared/store/cache/cached-store.ts";
import type { Dependency } from "../../shared/store/cache/dependencies.ts";
import { MessageCache } from "../../shared/store/cache/message-cache.ts";
import { SieveCache } from "../../shared/store/cache/sieve-cache.ts";
import { CachedMessage } from "../../shared/store/client/message.ts";
import { type EntryAddress, streams, subjects } from "../../shared/store/subjects.ts";
import { startBroker } from "../support/broker.ts";
import { pause, until } from "../support/races.ts";

const ANY = { consistency: "stale" } as const;
const STREAM = streams.orb("shop");
const at = (id: string): EntryAddress => ({ orb: "shop", ...homeOf("CONTENT", "product"), id });
const log = (id: string) => subjects.entryLog(at(id));
const withKind = (value: string) => subjects.equalityOf(at("x"), "kind", value);

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

async function setUp(options: Parameters<typeof openCachedStore>[1]) {
  const broker = await startBroker();
  const other = broker.store();
  await other.createStream(orbStreamConfig("shop", 1));
  const cached = openCachedStore({ ...broker.access(), replicas: 1 }, options);
  return {
    other,
    cached,
    async [Symbol.asyncDispose]() {
      await cached.close();
      await broker.stop();
    },
  };
}

test("the cache admits new values and evicts values that are no longer used", () => {
  const bounded = new SieveCache<{ used: boolean; bytes: number }>(100);
  for (let n = 0; n < 100; n++) bounded.set(`old ${n}`, { used: true, bytes: 1 });
  for (let n = 0; n < 250; n++) {
    bounded.set(`new ${n}`, { used: false, bytes: 1 });
    const found = bounded.get(`new ${n}`);
    expect(found).toBeDefined();
    if (found !== undefined) found.used = true;
    expect(bounded.bytes).toBeLessThanOrEqual(100);
  }
  expect([...bounded].filter(([key]) => key.startsWith("old"))).toEqual([]);
});

test("a cached response does not keep the data in memory that it was computed from", async () => {
  const epoch = { ended: false };
  const message = (seq: number) => new CachedMessage({ subject: "a", seq, time: 0 }, '{"a":1}');
  const memory = new MessageCache(1024 * 1024);
  const dependencies: (Dependency | undefined)[] = [];
  const parts: WeakRef<object>[] = [];
  const hold = (leave: () => void) => {
    memory.set("a", message(1), epoch);
    const held = memory.get("a", epoch);
    if (held == null) throw new Error("nothing is held");
    parts.push(new WeakRef(held), new WeakRef(held.json<object>()));
    const dependency = memory.dependency("a", epoch);
    expect(dependency?.valid).toBe(true);
    leave();
    dependencies.push(dependency);
  };
  hold(() => memory.delete("a"));
  hold(() => memory.set("a", message(9), epoch));
  hold(() => memory.clear());
  const follow = () => {
    const order = new CachedIndex("a");
    for (const seq of [1, 2]) {
      order.add(message(seq));
      dependencies.push(order.dependency(epoch));
    }
    parts.push(new WeakRef(order));
  };
  follow();
  await pause(1);
  collect();
  expect(parts.map((part) => part.deref())).toEqual(parts.map(() => undefined));
  expect(dependencies.map((dependency) => dependency?.valid)).toEqual([false, false, false, false, true]);
  epoch.ended = true;
  expect(dependencies.at(-1)?.valid).toBe(false);
});

test("lookups of absent values do not grow the number of indexes, and keep used ones", async () => {
  await using s = await setUp({});
  const page = (value: string) =>
    s.cached.scan(STREAM, withKind(value), {
      fromSeq: 1,
      limit: 10,
      maxBytes: 1e8,
    });
  const add = (id: string) =>
    s.cached.append(STREAM, { subject: subjects.equality(at(id), "kind", "used"), data: "1" });
  await add("1");
  await until(async () => (await page("used")) !== undefined && s.cached.stats().indexMessages === 1);
  for (let i = 0; i < 6000; i += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, at) => page(`none${i + at}`)));
    expect((await page("used")).messages).toHaveLength(1);
    expect(s.cached.stats().indexes).toBeLessThanOrEqual(2000);
  }
  await add("2");
  const { hits } = s.cached.stats();
  expect((await page("used")).messages).toHaveLength(2);
  expect(s.cached.stats()).toMatchObject({ hits: hits + 1, indexMessages: 2, resets: 0 });
});

test("an index whose messages are far apart is read from the broker, because loading all of it costs more", async () => {
  await using s = await setUp({ reach: { near: 400, far: 2_000, gap: 20 } });
  const page = (value: string) =>
    s.cached.scan(STREAM, withKind(value), { fromSeq: 1, limit: 10, maxBytes: 1e8 });
  const add = (id: string, value: string) =>
    s.other.append(STREAM, { subject: subjects.equality(at(id), "kind", value), data: "1" });
  for (let n = 0; n < 30; n++) await add(`early${n}`, "early");
  // 60 messages of an index do not fit into the first page that is read of it. `rare` is 31 apart, and `usual` is 15.
  for (let n = 0; n < 60; n++) {
    await add(`rare${n}`, "rare");
    for (const half of ["a", "b"]) {
      await add(`usual${n}${half}`, "usual");
      await Promise.all(Array.from({ length: 14 }, (_, i) => add(`other${n}${half}${i}`, "other")));
    }
  }
  const loaded = async (value: string) => {
    await page(value);
    const { hits } = s.cached.stats();
    expect((await page(value)).messages).toHaveLength(10);
    return s.cached.stats().hits > hits;
  };
  await until(() => loaded("usual"));
  expect(s.cached.stats().indexMessages).toBe(120);
  expect([await loaded("rare"), s.cached.stats().indexMessages]).toEqual([false, 120]);
  // `early` is dense, although all the rest of the stream follows it.
  await until(() => loaded("early"));
  expect(s.cached.stats().indexMessages).toBe(150);
});

test("a cached response becomes invalid when its index is evicted", async () => {
  await using s = await setUp({});
  const page = (value: string, tracker?: DependencyTracker) =>
    (tracker === undefined ? s.cached : s.cached.tracked(tracker)).scan(STREAM, withKind(value), {
      fromSeq: 1,
      limit: 10,
      maxBytes: 1e8,
    });
  const add = (id: string) =>
    s.other.append(STREAM, { subject: subjects.equality(at(id), "kind", "seen"), data: "1" });
  await add("1");
  await until(async () => (await page("seen")) !== undefined && s.cached.stats().indexMessages === 1);
  const tracker = new DependencyTracker();
  expect((await page("seen", tracker)).messages).toHaveLength(1);
  expect(tracker.valid(Date.now())).toBe(true);
  // Three reads put these indexes in use, and leave the other one unused, so that it is evicted.
  for (let i = 0; i < 4200; i += 50) {
    const some = Array.from({ length: 50 }, (_, at) => `none${i + at}`);
    for (let turn = 0; turn < 3; turn++) await Promise.all(some.map((value) => page(value)));
  }
  expect(s.cached.stats()).toMatchObject({ indexMessages: 0, resets: 0 });
  expect(tracker.valid(Date.now())).toBe(false);
});

test("messages that were read once stay within the heap limit", async () => {
  const maxBytes = 4 * 1024 * 1024;
  await using s = await setUp({ maxBytes });
  let serial = 0;
  const body = () =>
    JSON.stringify({
      values: Object.fromEntries(
        Array.from({ length: 40 }, (_, i) => [
          `field${i}`,
          `${String(++serial).padStart(18, "0")} of a value`,
        ]),
      ),
    });
  const ids = Array.from({ length: 3000 }, (_, i) => String(i));
  await s.other.pipeline(
    STREAM,
    ids.map((id) => ({ subject: log(id), data: body() })),
  );
  await until(async () => (await s.cached.get(STREAM, log("0"), ANY)) !== null && s.cached.stats().hits > 0);
  collect();
  const before = process.memoryUsage().heapUsed;
  for (const id of ids) (await s.cached.get(STREAM, log(id), ANY))?.json();
  await pause(50);
  collect();
  const grown = process.memoryUsage().heapUsed - before;
  expect(grown).toBeLessThan(maxBytes * 1.5);
});
