import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { createEntry } from "../../shared/entry/index.ts";
import { type Limit, spendLease } from "../../shared/quotas/leases.ts";
import { requireStorage } from "../../shared/quotas/storage.ts";
import { streams } from "../../shared/store/subjects.ts";
import { countingStore } from "../support/counting.ts";
import { fileDeps, installOrb, NO_QUOTAS, SHOP, type TestDeps, testDeps, user } from "../support/entries.ts";

const { broker, store } = await fileDeps();

let serial = 0;
const limitOf = (most: number, more: Partial<Limit> = {}): Limit => ({
  rule: `test${++serial}`,
  stream: streams.quotas,
  most,
  seconds: 60,
  ahead: 0,
  ...more,
});

/** A host of its own, whose clock stands still. */
function host(now = 1_000_000, of = store): TestDeps {
  return { ...testDeps(of), clock: { now: () => now } };
}

/** Runs acts in parallel on several hosts and returns the number of allowed ones. */
async function allowed(hosts: readonly TestDeps[], limit: Limit, acts: number, units = 1): Promise<number> {
  const waits = await Promise.all(
    Array.from({ length: acts }, (_, i) =>
      spendLease(hosts[i % hosts.length] ?? host(), limit, "account.a", units),
    ),
  );
  await Promise.all(hosts.map((deps) => deps.settled()));
  return waits.filter((wait) => wait === undefined).length;
}

test.each([1, 2, 4])("%i hosts spend exactly the quota if none may spend ahead", async (count) => {
  const hosts = Array.from({ length: count }, () => host());
  expect(await allowed(hosts, limitOf(100), 400)).toBe(100);
});

test("a small quota allows exactly its number, in whichever order the broker's answers arrive", async () => {
  for (const late of Array.from({ length: 8 }, (_, i) => i)) {
    let asked = 0;
    const slow = {
      ...store,
      count: async (...args: Parameters<typeof store.count>) => {
        const turn = asked++;
        const sum = await store.count(...args);
        if (turn % 8 === late) await delay(30);
        return sum;
      },
    };
    const hosts = [host(1_000_000, slow)];
    const limit = limitOf(24);
    expect(await allowed(hosts, limit, 4)).toBe(4);
    expect(await allowed(hosts, limit, 23)).toBe(20);
  }
});

test("actions of several units never exceed the quota", async () => {
  const hosts = [host(), host(), host()];
  expect(await allowed(hosts, limitOf(1_000), 300, 7)).toBeLessThanOrEqual(Math.floor(1_000 / 7));
});

test("hosts exceed a quota by at most the units that each may spend ahead", async () => {
  const hosts = [host(), host(), host(), host()];
  const limit = limitOf(500, { ahead: 5 });
  let spent = 0;
  for (let round = 0; round < 20; round++) spent += await allowed(hosts, limit, 60);
  expect(spent).toBeGreaterThanOrEqual(500);
  expect(spent).toBeLessThanOrEqual(500 + 4 * 5);
});

test("the next window starts from zero, and the refusal says when it begins", async () => {
  const limit = limitOf(1);
  expect(await spendLease(host(120_000), limit, "account.a", 1)).toBeUndefined();
  expect(await spendLease(host(120_000), limit, "account.a", 1)).toBe(60);
  expect(await spendLease(host(179_001), limit, "account.a", 1)).toBe(1);
  expect(await spendLease(host(180_000), limit, "account.a", 1)).toBeUndefined();
});

test("2,000 actions send fewer than 20 requests to the broker", async () => {
  const counted = countingStore(store);
  const deps = host(1_000_000, counted.store);
  const limit = limitOf(6_000, { ahead: 8 });
  for (let i = 0; i < 2_000; i++) {
    expect(await spendLease(deps, limit, "account.a", 1)).toBeUndefined();
    await deps.settled();
  }
  expect(counted.calls.length).toBeLessThan(20);
});

test("parallel writes of one host never exceed an orb's byte quota", async () => {
  await installOrb(broker.store("operator"), { ...SHOP, id: "room" });
  const deps = testDeps(store, { quotas: { ...NO_QUOTAS, orbBytes: 1_000_000 } });
  const takes = await Promise.allSettled(
    Array.from({ length: 40 }, () => requireStorage(deps, "room", 40_000)),
  );
  await deps.settled();
  expect(takes.filter(({ status }) => status === "fulfilled")).toHaveLength(25);
  const [refused] = takes.filter((take) => take.status === "rejected");
  expect(refused?.reason).toMatchObject({ kind: "full", code: "orb_full" });
});

test("a write under the default quotas waits for no additional round trip", async () => {
  const counted = countingStore(store, undefined, 1);
  const orb = await installOrb(broker.store("operator"), { ...SHOP, id: "counted" });
  const quotas = {
    ...NO_QUOTAS,
    accountWrites: 6_000,
    orbWrites: 60_000,
    accountBytes: 2 ** 31,
    orbBytes: 2 ** 34,
    accountConflicts: 5,
  };
  const deps = testDeps(counted.store, { quotas });
  let before = 0;
  const write = createEntry(deps, user("ann", "owner", "auth"), {
    orbId: "counted",
    orb,
    module: "catalog",
    schema: "author",
    values: { name: "A" },
  }).then(() => {
    before = counted.trips;
  });
  await write;
  expect(before).toBe(1);
  await deps.settled();
  expect(counted.calls.filter((call) => call === "count").length).toBeGreaterThan(0);
});
