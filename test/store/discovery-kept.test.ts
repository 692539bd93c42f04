import { beforeEach, expect, test, vi } from "vitest";
import { CachedValue } from "../../shared/discovery/cached-value.ts";
import { buckets, kvSubject, streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { fileDeps } from "../support/entries.ts";

const BUCKET = buckets.handlers;
const STREAM = streams.kv(BUCKET);
let made = 0;
let kept: CachedValue<string[]>;

const { broker, store, deps } = await fileDeps();
beforeEach(async () => {
  await broker.store("operator").purge(STREAM, ">");
  made = 0;
  kept = new CachedValue([BUCKET], async (with_) => {
    made++;
    return (await with_.store.kvList(BUCKET, ">", { maxBytes: 1e8 })).map(({ key }) => key);
  });
});

const put = (key: string) => store.kvPut(BUCKET, key, "{}");

/** Returns a store whose reads from any replica keep returning the current state. */
async function lagging(): Promise<Store> {
  const page = await store.scan(STREAM, kvSubject(BUCKET, ">"), { fromSeq: 1, limit: 256, maxBytes: 1e8 });
  const list = await store.kvList(BUCKET, ">", { maxBytes: 1e8 });
  return { ...store, scan: async () => page, kvList: async () => list };
}

test("keeps a computed value until its data changes", async () => {
  expect(await kept.get(deps)).toEqual([]);
  await put("a.x");
  await put("a.y");
  for (let i = 0; i < 3; i++) expect(await kept.get(deps)).toEqual(["a.x", "a.y"]);
  expect(made).toBe(2);
  await store.kvDelete(BUCKET, "a.y");
  for (let i = 0; i < 3; i++) expect(await kept.get(deps)).toEqual(["a.x"]);
  expect(made).toBe(3);
});

test("does not keep a value that was computed from a lagging replica", async () => {
  await put("a.x");
  const behind = { ...deps, store: await lagging() };
  await put("a.y");
  expect(await kept.get(behind)).toEqual(["a.x"]);
  expect(await kept.get(deps)).toEqual(["a.x", "a.y"]);
  const deleted = { ...deps, store: await lagging() };
  await store.kvDelete(BUCKET, "a.y");
  expect(await kept.get(deleted)).toEqual(["a.x", "a.y"]);
  expect(await kept.get(deps)).toEqual(["a.x"]);
});

test("keeps a value after the deletion marker has expired", async () => {
  await put("a.x");
  await put("a.y");
  await store.kvDelete(BUCKET, "a.y", { ttl: 1 });
  await vi.waitFor(async () => expect((await store.streamInfo(STREAM))?.state.messages).toBe(1), {
    timeout: 30_000,
  });
  for (let i = 0; i < 3; i++) expect(await kept.get(deps)).toEqual(["a.x"]);
  expect(made).toBe(1);
  await broker.store("operator").purge(STREAM, ">");
  for (let i = 0; i < 3; i++) expect(await kept.get(deps)).toEqual([]);
  expect(made).toBe(2);
});
