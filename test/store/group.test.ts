import { expect, test } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { withGroupCommit } from "../../shared/store/broker/group-commit.ts";
import { orbStreamConfig } from "../../shared/store/broker/provision.ts";
import { type OpenStore, openStore } from "../../shared/store/broker/store.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { type Append, Conflict } from "../../shared/store/types.ts";
import { startBroker } from "../support/broker.ts";
import { pause } from "../support/races.ts";

const STREAM = streams.orb("shop");
const at = (id: string) => ({ orb: "shop", ...homeOf("CONTENT", "product"), id }) as const;
const log = (id: string) => subjects.entryLog(at(id));

/** The messages of a new published entry. */
const entry = (id: string, head = `{"id":"${id}"}`): Append[] => [
  { subject: subjects.entryIndex(at(id)), data: "{}" },
  { subject: subjects.schemaOrder(at(id)), data: id },
  { subject: subjects.entryLive(at(id), "public"), data: head, rollup: true },
  { subject: log(id), data: head, expect: { seq: 0 } },
];

/** Returns a store with group commit, one without, and the sizes of the batches. */
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
  const store = withGroupCommit(counting);
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

test("combines parallel writes into batches and returns each write its own sequence", async () => {
  await using s = await setUp();
  const ids = Array.from({ length: 300 }, (_, i) => `e${i}`);
  const sequences = await Promise.all(ids.map((id) => s.store.batch(STREAM, entry(id))));
  for (const [i, id] of ids.entries()) {
    const head = await s.own.get(STREAM, log(id));
    expect([head?.seq, head?.text()]).toEqual([sequences[i], `{"id":"${id}"}`]);
    // The messages of a write stay together.
    const first = await s.own.getSeq(STREAM, (sequences[i] ?? 0) - 3);
    expect(first?.subject).toBe(subjects.entryIndex(at(id)));
  }
  const { state } = (await s.own.streamInfo(STREAM)) ?? {};
  expect(state?.last_seq).toBe(ids.length * 4);
  // The first write goes alone, then as many as fit into a batch.
  expect(s.sizes).toEqual([4, 1000, 196]);
});

test("combines writes that expect the same fence, and refuses all of them when the fence has moved", async () => {
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

test("returns each write of a batch its own result when one conflicts", async () => {
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

test("lets one of several writes to the same state succeed, and refuses the others", async () => {
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

test("keeps the order of a write and another one that depends on it", async () => {
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

test("does not delay other writes behind many writes to one subject", async () => {
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
  // The write in progress, and the one that shares a batch with the other entry.
  expect(settled).toBeLessThanOrEqual(2);
  await Promise.all(hot);
  expect((await s.own.get(STREAM, log("hot")))?.text()).toBe("39");
});

test("fails only the write that is too large", async () => {
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

test("fails only the write that the broker refuses", async () => {
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

test("does not combine a write that expects a sequence of the whole stream", async () => {
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

test("fails pending writes when the broker is lost, and writes again after its return", async () => {
  await using s = await setUp({ reconnect: true });
  await s.store.batch(STREAM, entry("a"));
  await s.broker.pause();
  const results = await Promise.allSettled(["b", "c", "d"].map((id) => s.store.batch(STREAM, entry(id))));
  for (const result of results)
    expect(result).toMatchObject({ status: "rejected", reason: expect.any(AppError) });
  await s.broker.resume();
  for (const deadline = Date.now() + 30_000; ; await pause(50)) {
    const back = await s.store.batch(STREAM, entry("e")).catch(() => null);
    if (back !== null) break;
    expect(Date.now()).toBeLessThan(deadline);
  }
  expect(await s.broker.store().get(STREAM, log("a"))).not.toBeNull();
});
