import { expect, test } from "vitest";
import { PublishedOrbs } from "../../shared/discovery/published-orbs.ts";
import { buckets, streams, subjects } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { definition, fileDeps } from "../support/entries.ts";

const { broker, store, deps } = await fileDeps();
const operator = broker.store("operator");
const COUNT = 100;

const put = (orb: string, name: string, published = true) => {
  const { document } = definition({ id: orb, name });
  const record = { v: 1, orb, revision: 1, at: "", document: published ? document : null };
  return operator.kvPut(buckets.orbs, orb, JSON.stringify(record));
};

/** Returns dependencies that record from which sequence number each read of definitions begins. */
function watched(): { reads: number[]; deps: typeof deps } {
  const reads: number[] = [];
  const scan: Store["scan"] = (stream, filter, options) => {
    if (stream === streams.kv(buckets.orbs)) reads.push(options.fromSeq);
    return store.scan(stream, filter, options);
  };
  return { reads, deps: { ...deps, store: { ...store, scan } } };
}

const names = async (published: PublishedOrbs, of = deps) =>
  (await published.list(of)).map(({ orb, name }) => `${orb} ${name}`);

test("a process that starts reads only the definitions that changed since others read them", async () => {
  for (let i = 0; i < COUNT; i++) await put(`orb-${i}`, `Orb ${i}`);
  const first = new PublishedOrbs();
  expect(await names(first)).toHaveLength(COUNT);
  await deps.settled();

  await put("orb-1", "Renamed");
  await put("orb-2", "Hidden", false);
  await operator.kvDelete(buckets.orbs, "orb-3");
  await put("new", "New");
  const { reads, deps: with_ } = watched();
  const found = await names(new PublishedOrbs(), with_);
  expect(reads).toEqual([COUNT + 1]);
  expect(found).toEqual(await names(first));
  expect(found).toHaveLength(COUNT - 1);
  expect(found).toContain("orb-1 Renamed");
  expect(found).toContain("orb-50 Orb 50");
  expect(found.filter((one) => /^orb-[23] /.test(one))).toEqual([]);
});

test("does without summaries of another bucket, and replaces them", async () => {
  const stored = await store.get(streams.platform, subjects.orbSummaries);
  const body = {
    ...stored?.json<object>(),
    created: "2020-01-01T00:00:00Z",
    orbs: [["gone", 1, "Gone", []]],
  };
  await operator.append(streams.platform, {
    subject: subjects.orbSummaries,
    data: JSON.stringify(body),
    rollup: true,
  });
  const { reads, deps: with_ } = watched();
  const found = await names(new PublishedOrbs(), with_);
  expect([reads[0], found.length]).toEqual([1, COUNT - 1]);
  await deps.settled();
  const again = watched();
  expect(await names(new PublishedOrbs(), again.deps)).toEqual(found);
  expect(again.reads[0]).toBeGreaterThan(COUNT);
});
