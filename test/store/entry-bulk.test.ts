import { describe, expect, it } from "vitest";
import {
  type BulkResult,
  bulkWrite,
  createEntry,
  loadEntry,
  unpublishEntry,
} from "../../shared/entry/index.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { brokerTimeout } from "../../shared/store/client/pending-requests.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { idOf, linesOf, loading, note } from "../support/bulk.ts";
import { admin, failureOf, fileOrb } from "../support/entries.ts";

const { deps, orb } = await fileOrb();

const { load } = loading(deps, orb);

const count = async () =>
  (await deps.store.scan(streams.orb("shop"), subjects.orbIndex("shop"), { fromSeq: 1, limit: 1 })).pending +
  1;

it("creates 3,000 entries with unique values and references", async () => {
  const author = await createEntry(deps, admin, {
    orbId: "shop",
    orb,
    module: "catalog",
    schema: "author",
    values: { name: "A" },
    publish: true,
  });
  const before = await count();
  const results = await load(
    Array.from({ length: 3_000 }, (_, i) => ({
      module: "catalog",
      schema: "product",
      values: { title: { en: `T${i}` }, sku: `bulk-${i}`, author: author.snapshot.id },
    })),
  );
  expect(results).toHaveLength(3_000);
  expect(results.filter((result) => "error" in result)).toEqual([]);
  expect(results.map(({ line }) => line)).toEqual(Array.from({ length: 3_000 }, (_, i) => i + 1));
  expect(await count()).toBe(before + 3_000);
});

it("creates 3,000 drafts and 1,000 published entries", async () => {
  const notes = Array.from({ length: 3_000 }, (_, i) => ({
    module: "catalog",
    schema: "note",
    values: { text: `${i}` },
  }));
  expect((await load(notes)).filter((result) => "error" in result)).toEqual([]);
  const live = await load(notes.slice(0, 1_000), { publish: true });
  expect(live.every((result) => "snapshot" in result && result.snapshot.status === "PUBLISHED")).toBe(true);
});

it("fails only the invalid lines, each with its error", async () => {
  const product = (sku: string) => ({
    module: "catalog",
    schema: "product",
    values: { title: { en: "T" }, sku },
  });
  const results = await load([
    product("x-1"),
    product("bulk-7"),
    "",
    product("x-1"),
    { module: "catalog", schema: "product", values: { title: {} } },
    { module: "nope", values: {} },
    { module: "catalog", schema: "note", values: {}, more: 1 },
    product("x-2"),
  ]);
  expect(results.map((result) => [result.line, "error" in result ? result.error.code : "ok"])).toEqual([
    [1, "ok"],
    [2, "unique_conflict"],
    [4, "unique_conflict"],
    [5, "validation_failed"],
    [6, "validation_failed"],
    [7, "validation_failed"],
    [8, "ok"],
  ]);
  for (const result of results) {
    if ("snapshot" in result) expect(await loadEntry(deps, "shop", result.snapshot.id)).not.toBeNull();
  }
});

it("reports every line that was written before the input broke off", async () => {
  const before = await count();
  const note = JSON.stringify({ module: "catalog", schema: "note", values: { text: "whole" } });
  async function* broken() {
    for (let i = 0; i < 400; i++) yield note;
    throw new AppError("too_large", "line_too_large", "A line is too long.");
  }
  const results: BulkResult[] = [];
  const loading = async () => {
    const input = { orbId: "shop", orb, lines: broken(), parse: (line: string) => JSON.parse(line) };
    for await (const result of bulkWrite(deps, admin, input)) results.push(result);
  };
  expect((await failureOf(loading())).code).toBe("line_too_large");
  expect(results.map(({ line }) => line)).toEqual(Array.from({ length: 400 }, (_, i) => i + 1));
  expect(await count()).toBe(before + 400);
});

it("writes each line once per Idempotency-Key", async () => {
  const values = [1, 2, 3].map((i) => ({ module: "catalog", schema: "note", values: { text: `k${i}` } }));
  const request = { idempotency: { key: "bulk", route: "POST bulk" } };
  const ids = (results: BulkResult[]) =>
    results.map((result) => ("snapshot" in result ? result.snapshot.id : ""));
  expect(ids(await load(values, request))).toEqual(ids(await load(values, request)));
});

it("checks each line against the current state of the entry it refers to", async () => {
  const create = (schema: string, values: object) =>
    createEntry(deps, admin, { orbId: "shop", orb, module: "catalog", schema, values, publish: true });
  const author = await create("author", { name: "Left" });
  const other = await create("product", { title: { en: "P" }, sku: "target-0" });
  const unpublished = Promise.withResolvers<void>();
  let reads = 0;
  // The second line refers to two entries and reads them while the author is published. The first line reads the author
  // afterwards.
  const store: Store = {
    ...deps.store,
    async getMany(stream, wanted, options) {
      if (wanted.length === 1) await unpublished.promise;
      const found = await deps.store.getMany(stream, wanted, options);
      if (wanted.length === 2 && reads++ === 0) {
        await unpublishEntry(deps, admin, { orbId: "shop", orb, id: author.snapshot.id });
        unpublished.resolve();
      }
      return found;
    },
  };
  const refers = (sku: string, more: object) => ({
    module: "catalog",
    schema: "product",
    values: { title: { en: "T" }, sku, author: author.snapshot.id, ...more },
  });
  const values = [
    refers("target-1", {}),
    { ...refers("target-2", { related: [other.snapshot.id] }), publish: true },
  ];
  const input = { orbId: "shop", orb, lines: linesOf(values), parse: (line: string) => JSON.parse(line) };
  const results: BulkResult[] = [];
  for await (const result of bulkWrite({ ...deps, store }, admin, input)) results.push(result);
  expect(results).toMatchObject([
    { line: 1, snapshot: { status: "SAVED" } },
    { line: 2, error: { code: "reference_not_live" } },
  ]);
});

const codes = (results: readonly BulkResult[]) =>
  results.map((result) => ("error" in result ? result.error.code : "ok"));

/** Returns the ids of notes in the order of their creation, as lists use it. */
async function created(): Promise<string[]> {
  const [some] = await load([note("any")]);
  const entry = await loadEntry(deps, "shop", idOf(some));
  if (entry === null) throw new Error("The note is missing.");
  const ids: string[] = [];
  for (let fromSeq = 1; ; ) {
    const filter = subjects.schemaOrder(entry.address);
    const options = { fromSeq, limit: 1_000, maxBytes: 1024 * 1024 };
    const { messages, pending } = await deps.store.scan(streams.orb("shop"), filter, options);
    ids.push(...messages.map((message) => message.text()));
    if (pending === 0) return ids;
    fromSeq = (messages.at(-1)?.seq ?? 0) + 1;
  }
}

it.for([
  ["without keys", (_: number) => ({}), {}],
  ["with a key of the request", (_: number) => ({}), { idempotency: { key: "order", route: "r" } }],
  ["with keys of the lines", (at: number) => ({ idempotencyKey: `order-${at}` }), {}],
] as const)("creates entries in the order of the lines %s", async ([, memberOf, more]) => {
  const results = await load(
    Array.from({ length: 400 }, (_, at) => note(`ordered ${at}`, memberOf(at))),
    more,
  );
  const ids = new Set(results.map(idOf));
  expect((await created()).filter((id) => ids.has(id))).toEqual([...ids]);
});

it("keeps the order of lines that refer to different revisions of one entry", async () => {
  const author = await createEntry(deps, admin, {
    ...{ orbId: "shop", orb, module: "catalog", schema: "author", values: { name: "Moved" }, publish: true },
  });
  const at = author.snapshot.id;
  let reads = 0;
  const store: Store = {
    ...deps.store,
    async getMany(stream, wanted, options) {
      const found = await deps.store.getMany(stream, wanted, options);
      if (reads++ === 1) await unpublishEntry(deps, admin, { orbId: "shop", orb, id: at });
      return found;
    },
  };
  const values = Array.from({ length: 6 }, (_, n) => ({
    ...{ module: "catalog", schema: "product", values: { title: { en: "T" }, sku: `run-${n}`, author: at } },
  }));
  const input = { orbId: "shop", orb, lines: linesOf(values), parse: (line: string) => JSON.parse(line) };
  const seqs: number[] = [];
  for await (const result of bulkWrite({ ...deps, store }, admin, input))
    seqs.push((await loadEntry(deps, "shop", idOf(result)))?.seq ?? 0);
  expect(seqs).toHaveLength(6);
  expect(seqs).toEqual(seqs.toSorted((a, b) => a - b));
});

it("writes a line once per key of its own, at any position, and tells that it was stored", async () => {
  const keyed = (text: string) => note(text, { idempotencyKey: `row-${text}` });
  const first = await load([keyed("a"), keyed("b"), keyed("c")]);
  const second = await load([keyed("new"), keyed("a"), keyed("c"), keyed("c"), keyed("b")]);
  expect(second.map((result) => "replayed" in result)).toEqual([false, true, true, true, true]);
  expect(second.slice(1).map(idOf)).toEqual([first[0], first[2], first[2], first[1]].map(idOf));
  expect(codes(await load([note("other", { idempotencyKey: "row-a" })]))).toEqual(["idempotency_mismatch"]);
  expect(codes(await load([note("x", { idempotencyKey: "" }), note("x", { idempotencyKey: 1 })]))).toEqual([
    "validation_failed",
    "validation_failed",
  ]);
});

it("stops at the first refused line if the caller wants it, and writes none after it", async () => {
  const before = await count();
  const values = Array.from({ length: 1_000 }, (_, at) => note(at === 700 ? "" : `stop ${at}`));
  values[700] = note("x", { more: 1 });
  const results: BulkResult[] = [];
  const run = async () => {
    const input = { orbId: "shop", orb, lines: linesOf(values), parse: (line: string) => JSON.parse(line) };
    for await (const one of bulkWrite(deps, admin, { ...input, stopOnError: true })) results.push(one);
  };
  expect(await failureOf(run())).toMatchObject({
    code: "line_refused",
    detail: expect.stringContaining("Line 701"),
  });
  expect(results).toHaveLength(701);
  expect(await count()).toBe(before + 700);
});

it("stops at a line that only the broker refuses", async () => {
  const product = (sku: string) => ({
    ...{ module: "catalog", schema: "product", values: { title: { en: "T" }, sku } },
  });
  const results: BulkResult[] = [];
  const run = async () => {
    const values = [product("st-1"), product("bulk-9"), product("st-2"), product("st-3")];
    const input = { orbId: "shop", orb, lines: linesOf(values), parse: (line: string) => JSON.parse(line) };
    for await (const one of bulkWrite(deps, admin, { ...input, stopOnError: true })) results.push(one);
  };
  expect((await failureOf(run())).code).toBe("line_refused");
  expect(codes(results)).toEqual(["ok", "unique_conflict"]);
  expect(codes(await load([product("st-2"), product("st-1")]))).toEqual(["ok", "unique_conflict"]);
});

it("checks lines in a dry run, also for equal unique values, and writes nothing", async () => {
  const before = await count();
  const product = (sku: string) => ({
    ...{ module: "catalog", schema: "product", values: { title: { en: "T" }, sku } },
  });
  const filler = Array.from({ length: 200 }, (_, at) => product(`dry-${at}`));
  const results = await load([...filler, product("dry-3"), product("bulk-11"), product("dry-3"), {}], {
    dryRun: true,
  });
  expect(codes(results.slice(0, 200))).toEqual(filler.map(() => "ok"));
  expect(codes(results.slice(200))).toEqual([
    "unique_conflict",
    "unique_conflict",
    "unique_conflict",
    "validation_failed",
  ]);
  expect(await count()).toBe(before);
});

it.for(["before", "after"] as const)(
  "reports what is stored if the broker times out %s it stores a batch",
  async (when) => {
    const before = await count();
    let failures = 0;
    const store: Store = {
      ...deps.store,
      async batch(stream, messages) {
        const fails = failures < 3;
        failures++;
        if (fails && when === "before") throw brokerTimeout();
        const seq = await deps.store.batch(stream, messages);
        if (fails) throw brokerTimeout();
        return seq;
      },
    };
    const values = Array.from({ length: 400 }, (_, at) => note(`${when} ${at}`));
    const input = { orbId: "shop", orb, lines: linesOf(values), parse: (line: string) => JSON.parse(line) };
    const results: BulkResult[] = [];
    for await (const result of bulkWrite({ ...deps, store }, admin, input)) results.push(result);
    expect(new Set(codes(results))).toEqual(new Set(["ok"]));
    expect(new Set(results.map(idOf)).size).toBe(400);
    expect(await count()).toBe(before + 400);
    for (const result of results.slice(0, 3))
      expect(await loadEntry(deps, "shop", idOf(result))).not.toBeNull();
  },
);

it("reports what is stored if a batch with an unknown outcome also meets a real conflict", async () => {
  const values = [
    { module: "catalog", schema: "product", values: { title: { en: "T" }, sku: "un-1" } },
    { module: "catalog", schema: "product", values: { title: { en: "T" }, sku: "bulk-12" } },
    { module: "catalog", schema: "product", values: { title: { en: "T" }, sku: "un-2" } },
  ];
  let sent = 0;
  const store: Store = {
    ...deps.store,
    async batch(stream, messages) {
      sent++;
      const seq = await deps.store.batch(stream, messages);
      // The response to the second entry that is written alone gets lost.
      if (sent === 2) throw brokerTimeout();
      return seq;
    },
  };
  const input = { orbId: "shop", orb, lines: linesOf(values), parse: (line: string) => JSON.parse(line) };
  const results: BulkResult[] = [];
  for await (const result of bulkWrite({ ...deps, store }, admin, input)) results.push(result);
  expect(codes(results)).toEqual(["ok", "unique_conflict", "ok"]);
});

describe("keys of lines in requests with a key", () => {
  const scoped = (key: string, more: object = {}) => ({ idempotency: { key, route: "r" }, ...more });
  const keyed = (text: string) => note(text, { idempotencyKey: `row-${text}` });

  it("write a line once for each key of the request, at any position, also if uploads overlap", async () => {
    const texts = Array.from({ length: 400 }, (_, at) => `packed ${at}`);
    const first = await load(texts.slice(0, 200).map(keyed), scoped("s"));
    const second = await load(texts.map(keyed), scoped("s"));
    expect(second.map((result) => "replayed" in result)).toEqual(texts.map((_, at) => at < 200));
    expect(second.slice(0, 200).map(idOf)).toEqual(first.map(idOf));
    const shifted = await load([keyed("packed new"), ...texts.map(keyed), keyed("packed 7")], scoped("s"));
    expect(shifted.filter((result) => !("replayed" in result))).toHaveLength(1);
    expect(idOf(shifted.at(-1))).toBe(idOf(first[7]));
    const twice = await load([keyed("packed twice"), keyed("packed twice")], scoped("s"));
    expect(twice.map(idOf)[0]).toBe(twice.map(idOf)[1]);
    const other = await load(texts.slice(0, 3).map(keyed), scoped("t"));
    expect(other.some((result) => "replayed" in result)).toBe(false);
    const before = await count();
    const both = texts.map((text) => keyed(`both ${text}`));
    const [left, right] = await Promise.all([load(both, scoped("u")), load(both, scoped("u"))]);
    expect(left.map(idOf)).toEqual(right.map(idOf));
    expect(codes([...left, ...right]).every((code) => code === "ok")).toBe(true);
    expect(await count()).toBe(before + 400);
  });

  it("are known after a conflict and after an unknown outcome", async () => {
    const product = (sku: string) => ({
      ...{ module: "catalog", schema: "product", values: { title: { en: "T" }, sku } },
      idempotencyKey: `row-${sku}`,
    });
    const values = [product("pk-1"), product("bulk-13"), product("pk-2"), product("pk-1")];
    expect(codes(await load(values, scoped("v")))).toEqual(["ok", "unique_conflict", "ok", "ok"]);
    const again = await load(values, scoped("v"));
    expect(codes(again)).toEqual(["ok", "unique_conflict", "ok", "ok"]);
    expect(again.map((result) => "replayed" in result)).toEqual([true, false, true, true]);
    let sent = 0;
    const store: Store = {
      ...deps.store,
      async batch(stream, messages) {
        const seq = await deps.store.batch(stream, messages);
        if (sent++ < 2) throw brokerTimeout();
        return seq;
      },
    };
    const lost = Array.from({ length: 320 }, (_, at) => keyed(`lost ${at}`));
    const input = { orbId: "shop", orb, parse: (line: string) => JSON.parse(line), ...scoped("w") };
    const results: BulkResult[] = [];
    for await (const result of bulkWrite({ ...deps, store }, admin, { ...input, lines: linesOf(lost) }))
      results.push(result);
    expect(new Set(codes(results))).toEqual(new Set(["ok"]));
    const repeated = await load(lost, scoped("w"));
    expect(repeated.map(idOf)).toEqual(results.map(idOf));
    expect(codes(await load([{ ...keyed("x"), idempotencyKey: "row-lost 3" }], scoped("w")))).toEqual([
      "idempotency_mismatch",
    ]);
  });
});

it("writes a keyed line once, also if only one of two uploads has room for its key in memory", async () => {
  const keyed = (text: string) => note(text, { idempotencyKey: `room-${text}` });
  const scoped = (mostKeys: number) => ({ idempotency: { key: "room", route: "r" }, mostKeys });
  const texts = Array.from({ length: 320 }, (_, at) => `room ${at}`);
  // The first upload has no room from the line 150 on. The second one begins while the first one writes.
  const [left, right] = await Promise.all([
    load(texts.map(keyed), scoped(100)),
    load(texts.toReversed().map(keyed), scoped(100_000)),
  ]);
  expect(right.toReversed().map(idOf)).toEqual(left.map(idOf));
  expect(new Set(left.map(idOf)).size).toBe(320);
  for (const most of [100_000, 10]) {
    const again = await load(texts.map(keyed), scoped(most));
    expect(again.every((result) => "replayed" in result)).toBe(true);
    expect(again.map(idOf)).toEqual(left.map(idOf));
  }
});
