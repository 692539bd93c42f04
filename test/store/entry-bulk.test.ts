import { expect, it } from "vitest";
import {
  type BulkResult,
  bulkWrite,
  createEntry,
  loadEntry,
  unpublishEntry,
} from "../../shared/entry/index.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { admin, failureOf, fileOrb } from "../support/entries.ts";

const { deps, orb } = await fileOrb();

async function* lines(values: readonly (object | string)[]): AsyncGenerator<string> {
  for (const value of values) yield typeof value === "string" ? value : JSON.stringify(value);
}

async function load(values: readonly (object | string)[], more: object = {}): Promise<BulkResult[]> {
  const results: BulkResult[] = [];
  const input = {
    orbId: "shop",
    orb,
    lines: lines(values),
    parse: (line: string) => JSON.parse(line),
    ...more,
  };
  for await (const result of bulkWrite(deps, admin, input)) results.push(result);
  return results;
}

const count = async () =>
  (await deps.store.scan(streams.orb("shop"), subjects.orbIndex("shop"), { fromSeq: 1, limit: 1 })).pending +
  1;

it("creates 10,000 entries with unique values and references", async () => {
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
    Array.from({ length: 10_000 }, (_, i) => ({
      module: "catalog",
      schema: "product",
      values: { title: { en: `T${i}` }, sku: `bulk-${i}`, author: author.snapshot.id },
    })),
  );
  expect(results).toHaveLength(10_000);
  expect(results.filter((result) => "error" in result)).toEqual([]);
  expect(results.map(({ line }) => line)).toEqual(Array.from({ length: 10_000 }, (_, i) => i + 1));
  expect(await count()).toBe(before + 10_000);
});

it("creates 10,000 drafts and 2,000 published entries", async () => {
  const notes = Array.from({ length: 10_000 }, (_, i) => ({
    module: "catalog",
    schema: "note",
    values: { text: `${i}` },
  }));
  expect((await load(notes)).filter((result) => "error" in result)).toEqual([]);
  const live = await load(notes.slice(0, 2_000), { publish: true });
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
  const input = { orbId: "shop", orb, lines: lines(values), parse: (line: string) => JSON.parse(line) };
  const results: BulkResult[] = [];
  for await (const result of bulkWrite({ ...deps, store }, admin, input)) results.push(result);
  expect(results).toMatchObject([
    { line: 1, snapshot: { status: "SAVED" } },
    { line: 2, error: { code: "reference_not_live" } },
  ]);
});
