import { expect, test } from "vitest";
import { AppError } from "../../shared/kernel/errors.ts";
import { grouped } from "../../shared/store/broker/group.ts";
import { orbStreamConfig } from "../../shared/store/broker/provision.ts";
import { type OpenStore, openStore } from "../../shared/store/broker/store.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { type Append, Conflict } from "../../shared/store/types.ts";
import { startBroker } from "../support/broker.ts";
import { pause } from "../support/races.ts";

const STREAM = streams.orb("shop");
const at = (id: string) => ({ orb: "shop", type: "content", schema: "product", id }) as const;
const log = (id: string) => subjects.entryLog(at(id));

/** A new entry, as it is written with what is live of it. */
const entry = (id: string, head = `{"id":"${id}"}`): Append[] => [
  { subject: subjects.entryIndex(at(id)), data: "{}" },
  { subject: subjects.schemaOrder(at(id)), data: id },
  { subject: subjects.entryLive(at(id), "public"), data: head, rollup: true },
  { subject: log(id), data: head, expect: { seq: 0 } },
];

/** A store that writes in groups, one that does not, and how many messages each batch held. */
async function setUp(more: { reconnect?: boolean } = {}) {
  const broker = await startBroker();
  const own = broker.store();
  await own.createStream(orbStreamConfig("shop", 1));
  const sizes: number[] = [];
  const inner = openStore({ ...broker.access(), ...more });
  const counting: OpenStore = {
    ...inner,
    batch(stream, messages) {
      sizes.push(messages.length);
      return inner.batch(stream, messages);
    },
  };
  const store = grouped(counting);
  return {
    broker,
    own,
    store,
    sizes,
    async [Symbol.asyncDispose]() {
      await inner.close();
      await broker.stop();
    },
  };
}

test("what is written at the same time is written together, and each write is told its own sequence", async () => {
  await using s = await setUp();
  const ids = Array.from({ length: 300 }, (_, i) => `e${i}`);
  const sequences = await Promise.all(ids.map((id) => s.store.batch(STREAM, entry(id))));
  for (const [i, id] of ids.entries()) {
    const head = await s.own.get(STREAM, log(id));
    expect([head?.seq, head?.text()]).toEqual([sequences[i], `{"id":"${id}"}`]);
    // Nothing of another write is in between.
    const first = await s.own.getSeq(STREAM, (sequences[i] ?? 0) - 3);
    expect(first?.subject).toBe(subjects.entryIndex(at(id)));
  }
  const { state } = (await s.own.streamInfo(STREAM)) ?? {};
  expect(state?.last_seq).toBe(ids.length * 4);
  // One of its own first, then as many as fit.
  expect(s.sizes).toEqual([4, 1000, 196]);
});

test("writes that expect the same of a subject that none of them writes are one act, which that subject can refuse", async () => {
  await using s = await setUp();
  const fence = { subject: subjects.fence("shop", 1, 0), data: "" };
  const seq = await s.own.append(STREAM, fence);
  const fenced = (id: string, at = seq): Append[] =>
    entry(id).map((message, index) =>
      index === 0 ? { ...message, expect: { subject: fence.subject, seq: at } } : message,
    );
  const ids = Array.from({ length: 100 }, (_, i) => `f${i}`);
  await Promise.all(ids.map((id) => s.store.batch(STREAM, fenced(id))));
  expect(s.sizes).toEqual([4, 396]);
  const moved = await s.own.append(STREAM, fence);
  const late = await Promise.allSettled(
    ["a", "b", "c", "d"].map((id, index) => s.store.batch(STREAM, fenced(id, index < 3 ? seq : moved))),
  );
  expect(late.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected", "fulfilled"]);
  for (const id of ["a", "b", "c"]) expect(await s.own.get(STREAM, log(id))).toBeNull();
});

test("each write of a group that meets a conflict gets the answer that is its own", async () => {
  await using s = await setUp();
  await s.own.append(STREAM, { subject: log("taken"), data: "theirs" });
  const written = await Promise.allSettled(
    ["a", "b", "taken", "c", "taken", "d"].map((id) => s.store.batch(STREAM, entry(id))),
  );
  expect(written.map(({ status }) => status)).toEqual([
    "fulfilled",
    "fulfilled",
    "rejected",
    "fulfilled",
    "rejected",
    "fulfilled",
  ]);
  for (const result of written)
    if (result.status === "rejected") expect(result.reason).toBeInstanceOf(Conflict);
  for (const id of ["a", "b", "c", "d"]) expect(await s.own.get(STREAM, log(id))).not.toBeNull();
  expect((await s.own.get(STREAM, log("taken")))?.text()).toBe("theirs");
  expect(await s.own.get(STREAM, subjects.entryLive(at("taken"), "public"))).toBeNull();
});

test("of writes that were decided on the same state one wins, and the others are told", async () => {
  await using s = await setUp();
  const first = await s.store.batch(STREAM, entry("x"));
  const change = (by: string): Append[] => [
    { subject: subjects.entryLive(at("x"), "public"), data: by, rollup: true },
    { subject: log("x"), data: by, expect: { seq: first } },
  ];
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, i) => s.store.batch(STREAM, change(String(i)))),
  );
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  const [head, live] = await Promise.all([
    s.own.get(STREAM, log("x")),
    s.own.get(STREAM, subjects.entryLive(at("x"), "public")),
  ]);
  expect(live?.text()).toBe(head?.text());
});

test("a write that expects what another one of the moment changes sees it, in their order", async () => {
  await using s = await setUp();
  const target = await s.store.batch(STREAM, entry("target"));
  const [, , refers] = await Promise.allSettled([
    s.store.batch(STREAM, entry("before")),
    s.store.batch(STREAM, [
      { subject: subjects.entryIndex(at("target")), data: "" },
      { subject: log("target"), data: "deleted", expect: { seq: target } },
    ]),
    s.store.batch(STREAM, [
      { subject: subjects.entryIndex(at("y")), data: "{}", expect: { subject: log("target"), seq: target } },
      { subject: log("y"), data: "refers", expect: { seq: 0 } },
    ]),
  ]);
  expect(refers).toMatchObject({ status: "rejected", reason: expect.any(Conflict) });
  expect(await s.own.get(STREAM, log("y"))).toBeNull();
});

test("many that wait for one subject hold up nobody else", async () => {
  await using s = await setUp();
  let settled = 0;
  const hot = Array.from({ length: 40 }, (_, i) =>
    s.store
      .batch(STREAM, [
        { subject: log("hot"), data: String(i), rollup: true },
        { subject: subjects.entryIndex(at(`hot${i}`)), data: "{}" },
      ])
      .then(() => settled++),
  );
  await s.store.batch(STREAM, entry("other"));
  // The one that was under way, and the one that it was written with.
  expect(settled).toBeLessThanOrEqual(2);
  await Promise.all(hot);
  expect((await s.own.get(STREAM, log("hot")))?.text()).toBe("39");
});

test("one that is too large fails by itself", async () => {
  await using s = await setUp();
  const large = "x".repeat(5 * 1024 * 1024);
  const results = await Promise.allSettled([
    s.store.batch(STREAM, entry("a")),
    s.store.batch(STREAM, entry("b")),
    s.store.batch(STREAM, entry("large", large)),
    s.store.batch(STREAM, entry("c")),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
});

test("one that the broker does not take for what it is fails by itself", async () => {
  await using s = await setUp();
  const odd = entry("odd").map((message) => ({ ...message, headers: { "Nats-TTL": "soon" } }));
  const results = await Promise.allSettled([
    s.store.batch(STREAM, entry("a")),
    s.store.batch(STREAM, entry("b")),
    s.store.batch(STREAM, odd),
    s.store.batch(STREAM, entry("c")),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "fulfilled", "rejected", "fulfilled"]);
  expect(results[2]).toMatchObject({ reason: { kind: "unavailable", cause: expect.stringMatching(/TTL/) } });
});

test("what expects something of the whole stream is written alone", async () => {
  await using s = await setUp();
  const last = await s.store.batch(STREAM, entry("a"));
  const [, whole] = await Promise.allSettled([
    s.store.batch(STREAM, entry("b")),
    s.store.batch(STREAM, [
      { subject: log("c"), data: "c", expectStreamSeq: last + 4 },
      { subject: log("d"), data: "d" },
    ]),
  ]);
  expect(whole).toEqual({ status: "fulfilled", value: last + 6 });
  expect(s.sizes).toEqual([4, 4, 2]);
});

test("all that wait hear that the broker is gone, and write again when it is back", async () => {
  await using s = await setUp({ reconnect: true });
  await s.store.batch(STREAM, entry("a"));
  await s.broker.pause();
  const results = await Promise.allSettled(["b", "c", "d"].map((id) => s.store.batch(STREAM, entry(id))));
  for (const result of results)
    expect(result).toMatchObject({ status: "rejected", reason: expect.any(AppError) });
  await s.broker.resume();
  for (const deadline = Date.now() + 10_000; ; await pause(50)) {
    const back = await s.store.batch(STREAM, entry("e")).catch(() => null);
    if (back !== null) break;
    expect(Date.now()).toBeLessThan(deadline);
  }
  expect(await s.broker.store().get(STREAM, log("a"))).not.toBeNull();
});
