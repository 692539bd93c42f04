/** How processes store what they have counted of an application, and what a list tells about itself. */
import { expect, test } from "vitest";
import type { OrbDocumentInput } from "../../shared/definition/document/document.ts";
import { requireLive } from "../../shared/definition/stored/live.ts";
import { createEntry } from "../../shared/entry/index.ts";
import { listManaged } from "../../shared/entry/read/index.ts";
import { inParallel } from "../../shared/kernel/parallel.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { StreamMissing } from "../../shared/store/types.ts";
import { countRequest, takeCounts } from "../../shared/usage/gather.ts";
import { readUsage, storeUsage } from "../../shared/usage/stored.ts";
import { countingStore } from "../support/counting.ts";
import { admin, fileDeps, testDeps, user } from "../support/entries.ts";

const { store, deps } = await fileDeps();
const ORB = "counted";
const document: OrbDocumentInput = {
  id: ORB,
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [
        {
          id: "article",
          fields: [
            { name: "title", type: "string" },
            { name: "rank", type: "integer" },
            { name: "place", type: "integer", index: "ordered" },
            { name: "kind", type: "string", enum: ["a", "b"] },
          ],
        },
      ],
    },
  ],
};
await createOrb(deps, admin, { document, publish: true });
const orb = await requireLive(deps, ORB);
const read = (by = deps) => readUsage(by, admin, { orb: ORB, hours: 24 });
const count = (by: typeof deps, status = 200, code?: string) =>
  countRequest(by.config, {
    ...{ orb: ORB, now: by.clock.now(), status, method: "GET", route: "/api/{orbId}/…", code },
    requestId: "some",
  });

test("sums what processes have counted that store it in the same moment", async () => {
  const processes = Array.from({ length: 6 }, () => testDeps(store));
  for (const one of processes) {
    count(one);
    count(one, 503, "broker_unavailable");
  }
  await Promise.all(processes.map((one) => storeUsage(one)));
  const { requests, failed, errors, hours } = await read(processes[0]);
  expect([requests, failed]).toEqual([12, 6]);
  expect(errors).toMatchObject([{ status: 503, code: "broker_unavailable", count: 6, requestId: "some" }]);
  expect(hours.reduce((sum, hour) => sum + hour.requests, 0)).toBe(12);
});

test("stores the counts of an hour with three requests to the broker, and keeps what it could not store", async () => {
  const counted = countingStore(store);
  const one = testDeps(counted.store);
  count(one);
  await storeUsage(one);
  expect(counted.calls).toEqual(["kvGet", "get", "append"]);
  const before = (await read()).requests;
  let fails = true;
  const broken = countingStore(store, (call) => {
    if (call === "append" && fails) throw new Error("the broker went away");
  });
  const two = testDeps(broken.store);
  count(two);
  await storeUsage(two);
  expect((await read()).requests).toBe(before);
  fails = false;
  await storeUsage(two);
  expect((await read()).requests).toBe(before + 1);
});

test("drops counts of an application that does not exist, of a broker without the stream, and on a reader", async () => {
  const one = testDeps(store);
  const request = { now: 1, status: 200, method: "GET", route: "/", code: undefined, requestId: "x" };
  countRequest(one.config, { ...request, orb: "no-such-orb" });
  await storeUsage(one);
  expect(takeCounts(one.config)).toEqual([]);
  const old = countingStore(store, (call) => {
    if (call === "get") throw new StreamMissing("usage");
  });
  const two = testDeps(old.store);
  count(two);
  await storeUsage(two);
  expect(takeCounts(two.config)).toEqual([]);
  const three = { ...testDeps(store), readOnly: true };
  count(three);
  await storeUsage(three);
  expect(takeCounts(three.config)).toHaveLength(1);
});

test("names the fields of lists that compare entries one by one, and none that an index serves", async () => {
  await inParallel(
    Array.from({ length: 230 }, (_, at) => at),
    (at) =>
      createEntry(deps, admin, {
        ...{ orbId: ORB, orb, module: "news" },
        values: { title: `secret ${at}`, rank: at, place: at, kind: at % 50 === 0 ? "a" : "b" },
      }),
  );
  const list = (query: string) =>
    listManaged(deps, admin, {
      orb,
      parameters: [...new URLSearchParams(`schema=article&module=news&${query}`)],
    });
  for (const query of [
    "filter[title][contains]=secret-9",
    "filter[title][contains]=secret-8",
    "sort=-rank",
    "filter[or][0][rank][gte]=999&filter[or][1][title]=secret",
    // These have an index, or read few entries.
    "sort=place",
    "sort=-createdAt",
    "filter[kind]=a",
    "filter[place][gte]=200",
    "limit=5&filter[rank][gte]=0",
  ])
    await list(query);
  const { lists, storage } = await read();
  const told = lists.map(({ conditions, sort, count: times }) => [
    conditions.map(({ field, operator }) => `${field} ${operator}`).join(", "),
    sort.join(),
    times,
  ]);
  expect(told.sort()).toEqual([
    ["", "-rank", 1],
    ["rank gte, title eq", "", 1],
    ["title contains", "", 2],
  ]);
  expect(
    lists.every(({ read, module, schema }) => read >= 200 && module === "news" && schema === "article"),
  ).toBe(true);
  expect(JSON.stringify(lists)).not.toContain("secret");
  expect(storage).toMatchObject({ entries: 230, revisions: 230, fileBytes: 0, bytesLimit: null });
  expect(storage.bytes).toBeGreaterThan(10_000);
});

test("shows usage to platform admins only", async () => {
  await expect(readUsage(deps, user("ada", "owner"), { orb: ORB, hours: 1 })).rejects.toMatchObject({
    kind: "forbidden",
  });
  await expect(readUsage(deps, admin, { orb: "no-such-orb", hours: 1 })).rejects.toMatchObject({
    code: "orb_not_found",
  });
});
