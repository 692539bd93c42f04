/** What a page of the list of acts costs, however long the history is. */
import { expect, it } from "vitest";
import { ACTIVITY_LIMITS, listActivity } from "../../shared/activity/activity.ts";
import { firstAfter } from "../../shared/activity/moment.ts";
import { createEntry } from "../../shared/entry/index.ts";
import { streams } from "../../shared/store/subjects.ts";
import { countingStore } from "../support/counting.ts";
import { admin, fileOrb, testDeps } from "../support/entries.ts";

const { store, deps, orb } = await fileOrb({
  id: "busy",
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [{ id: "article", fields: [{ name: "title", type: "string" }] }],
    },
  ],
});

it("reads the end of the log in few trips, and names only once", async () => {
  for (let at = 0; at < 60; at++)
    await createEntry(deps, admin, { orbId: orb.orb, orb, module: "news", values: { title: `${at}` } });
  const counted = countingStore(store, undefined, 20);
  const page = await listActivity(testDeps(counted.store), admin, orb, { limit: 30 });
  expect(page.items).toHaveLength(30);
  expect(page.next).not.toBeNull();
  // The last message of each source, a window of each, and the names. A source with few messages needs more windows.
  expect(counted.trips).toBeLessThanOrEqual(6);
  expect(counted.calls.filter((call) => call === "getMany").length).toBeLessThanOrEqual(3);
  counted.reset();
  const next = await listActivity(testDeps(counted.store), admin, orb, {
    limit: 30,
    before: page.next ?? [],
  });
  expect(next.items.map(({ entry }) => entry?.id)).not.toContain(page.items.at(-1)?.entry?.id);
  expect(counted.trips).toBeLessThanOrEqual(5);
});

it("ends a page early whose filter few acts match, and continues after it", async () => {
  const seen: number[] = [];
  let before: number[] | undefined;
  const query = { by: "nobody", kind: "entry" as const, limit: 10 };
  for (let pages = 0; pages < 5; pages++) {
    const counted = countingStore(store);
    const page = await listActivity(testDeps(counted.store), admin, orb, { ...query, before });
    seen.push(page.items.length);
    expect(counted.calls.length).toBeLessThan(10);
    if (page.next === null) break;
    before = page.next;
  }
  expect(seen).toEqual([0]);
  expect(ACTIVITY_LIMITS.read).toBeGreaterThan(60);
});

it("finds the first message after any time", async () => {
  const stream = streams.orb(orb.orb);
  const last = (await store.streamInfo(stream))?.state.last_seq ?? 0;
  const times: number[] = [];
  for (let seq = 1; seq <= last; seq++) times.push((await store.getSeq(stream, seq))?.time ?? 0);
  const expected = (time: number) => {
    const at = times.findIndex((one) => one > time);
    return at === -1 ? last + 1 : at + 1;
  };
  for (const seq of [1, 2, Math.floor(last / 2), last - 1, last]) {
    const time = times[seq - 1] ?? 0;
    for (const moment of [time - 1, time, time + 1])
      expect([seq, await firstAfter(store, stream, moment)]).toEqual([seq, expected(moment)]);
  }
});
