/** Uploads of a corrected file, which take back what an unfinished upload of it had written. */
import { expect, it } from "vitest";
import { type BulkResult, loadEntry, updateEntry } from "../../shared/entry/index.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { idOf, loading, note } from "../support/bulk.ts";
import { admin, failureOf, fileOrb } from "../support/entries.ts";

const { deps, orb } = await fileOrb();
const { load, loadBy } = loading(deps, orb);

const scoped = (key: string, more: object = {}) => ({ idempotency: { key, route: "r" }, ...more });
const product = (sku: string, title = sku) => ({
  module: "catalog",
  schema: "product",
  values: { title: { en: title }, sku },
  idempotencyKey: `${sku}=${title}`,
});
const broken = { module: "catalog", schema: "product", values: {}, idempotencyKey: "broken" };
/** Uploads lines, and stops at a line that is refused after them. */
const interrupted = (values: readonly object[], key: string) =>
  failureOf(load([...values, broken], scoped(key, { stopOnError: true })));
/** Returns the skus that are stored, in the order of creation. */
const skus = async (prefix: string): Promise<string[]> => {
  const found = await deps.store.scan(streams.orb("shop"), subjects.orbIndex("shop"), {
    fromSeq: 1,
    limit: 100_000,
  });
  const heads = await Promise.all(
    found.messages.map(({ subject }) => loadEntry(deps, "shop", subject.split(".").at(-1) ?? "")),
  );
  return heads.flatMap((entry) => {
    const { sku, title } = (entry?.head.values ?? {}) as { sku?: string; title?: { en: string } };
    return sku?.startsWith(prefix) === true ? [`${sku}=${title?.en}`] : [];
  });
};
const taking = (key: string, more: object = {}) => {
  const taken: number[] = [];
  const options = scoped(key, { takeBack: true, onTakenBack: (one: number) => taken.push(one), ...more });
  return { taken, options };
};

it("ends with the corrected lines in their order, with the same unique values", async () => {
  const all = Array.from({ length: 400 }, (_, at) => product(`tb${at}`));
  await interrupted(all, "tb");
  const corrected = all.with(150, product("tb150", "corrected")).toSpliced(170, 1);
  const dry = taking("tb", { dryRun: true });
  const refused = (await load(corrected, dry.options)).filter((result) => "error" in result);
  expect([refused, dry.taken]).toEqual([[], [250]]);
  expect(await skus("tb")).toHaveLength(400);
  const { taken, options } = taking("tb");
  expect((await load(corrected, options)).filter((result) => "error" in result)).toEqual([]);
  expect(taken).toEqual([250]);
  expect(await skus("tb")).toEqual(corrected.map(({ idempotencyKey }) => idempotencyKey));
  // The client has read all results, so nothing is taken back any more.
  await load([], scoped("tb", { end: true }));
  const later = taking("tb");
  await load([product("tb-later")], later.options);
  expect([later.taken, await skus("tb")]).toEqual([
    [],
    expect.arrayContaining(["tb0=tb0", "tb-later=tb-later"]),
  ]);
});

it("checks all lines before it writes one, and ends with the same entries", async () => {
  const all = Array.from({ length: 400 }, (_, at) => product(`cf${at}`));
  const first = { takeBack: true, checkFirst: true };
  const twice = all.with(399, product("cf7", "again"));
  const collected: BulkResult[] = [];
  const error = await failureOf(loadBy(deps, twice, scoped("cf", first), collected));
  expect([error.code, collected.map(({ line }) => line)]).toEqual(["lines_refused", [400]]);
  expect(await skus("cf")).toEqual([]);
  await interrupted(all.slice(0, 200), "cf");
  const corrected = all.with(150, product("cf150", "corrected"));
  const { taken, options } = taking("cf", { checkFirst: true });
  const results = await load(corrected, options);
  expect(results.map((result) => "replayed" in result)).toEqual(all.map((_, at) => at < 150));
  expect(taken).toEqual([50]);
  expect(await skus("cf")).toEqual(corrected.map(({ idempotencyKey }) => idempotencyKey));
  expect((await load(corrected, options)).every((result) => "replayed" in result)).toBe(true);
  const many = Array.from({ length: 10_001 }, () => note("x", {}));
  expect(await failureOf(load(many, first))).toMatchObject({ code: "too_many_lines" });
});

it("takes back what follows a shorter file, and nothing without the option", async () => {
  const all = Array.from({ length: 20 }, (_, at) => product(`short${at}`));
  await interrupted(all, "short");
  await failureOf(load([...all.slice(0, 3), broken], scoped("short", { stopOnError: true })));
  expect(await skus("short")).toHaveLength(20);
  const { taken, options } = taking("short");
  await load(all.slice(0, 3), options);
  expect([taken, await skus("short")]).toEqual([[17], ["short0=short0", "short1=short1", "short2=short2"]]);
});

it("writes nothing if an entry has changed since", async () => {
  const all = Array.from({ length: 5 }, (_, at) => product(`changed${at}`));
  await interrupted(all, "changed");
  const stored = await load(all, scoped("changed", { dryRun: true }));
  const values = { title: { en: "mine" } };
  await updateEntry(deps, admin, { orbId: "shop", orb, id: idOf(stored[3]) ?? "", merge: true, values });
  const before = await skus("changed");
  const error = await failureOf(load([product("changed-new")], taking("changed").options));
  expect(error).toMatchObject({
    code: "unfinished_changed",
    detail: expect.stringContaining("has changed since"),
  });
  expect(await skus("changed")).toEqual(before);
});

it("finishes what an upload had begun to take back", async () => {
  const all = Array.from({ length: 30 }, (_, at) => product(`half${at}`));
  await interrupted(all, "half");
  let deletions = 0;
  const dying: Store = {
    ...deps.store,
    batch: (stream, messages) => {
      if (++deletions > 10) throw new AppError("unavailable", "broker_timeout", "The process dies here.");
      return deps.store.batch(stream, messages);
    },
  };
  const corrected = [product("half-new"), ...all.slice(1)];
  await failureOf(loadBy({ ...deps, store: dying }, corrected, taking("half").options));
  const { options } = taking("half");
  await load(corrected, options);
  expect(await skus("half")).toEqual(corrected.map(({ idempotencyKey }) => idempotencyKey));
});
