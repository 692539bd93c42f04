/** Three brokers give the same guarantees as one, and survive the loss of one within seconds. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buckets, streams } from "../../shared/store/subjects.ts";
import { adminToken, call, user } from "../support/auth.ts";
import { freeze } from "../support/freeze.ts";
import { leaderOf, startPlatform, type TestPlatform } from "../support/platform.ts";
import { until } from "../support/races.ts";
import { Writers } from "../support/writers.ts";

const RECOVERY_MS = 15_000;

const shop: unknown = JSON.parse(
  readFileSync(new URL("../../scripts/examples/shop.json", import.meta.url), "utf8"),
);

let platform: TestPlatform;
beforeAll(async () => {
  platform = await startPlatform({ env: { NATS_BROKERS: "3" } });
});
afterAll(() => platform?.stop());

test("first steps, races, validity windows and reads of own writes work on three brokers", async () => {
  expect(platform.brokers).toHaveLength(3);
  const token = await adminToken(platform);
  const as = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    call(platform, method, path, { token, headers, ...(body === undefined ? {} : { body }) });
  expect((await as("POST", "/api/admin/orbs", shop)).status).toBe(201);
  expect((await as("POST", "/api/admin/orbs/shop/publish")).status).toBe(200);

  const values = (sku: string) => ({ title: { en: "Lamp" }, sku, price: { US: 1 } });
  // Many parallel writers of one value: one succeeds.
  const race = await Promise.all(
    Array.from({ length: 10 }, () =>
      as("POST", "/api/shop/catalog/product?publish=true", { values: values("AB-0001") }),
    ),
  );
  expect(race.map((one) => one.status).sort()).toEqual([201, ...Array(9).fill(409)]);
  const { id } = race.find((one) => one.status === 201)?.body ?? {};
  // Many parallel updates of one revision: one succeeds.
  const updates = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      as(
        "PUT",
        `/api/shop/catalog/product/${id}`,
        { values: { ...values("AB-0001"), title: { en: `Lamp ${i}` } } },
        { "if-match": '"1"' },
      ),
    ),
  );
  expect(updates.map((one) => one.status).sort()).toEqual([200, ...Array(9).fill(412)]);
  // Many parallel requests with one idempotency key: one entry.
  const keyed = await Promise.all(
    Array.from({ length: 5 }, () =>
      as("POST", "/api/shop/catalog/product", { values: values("AB-0002") }, { "idempotency-key": "once" }),
    ),
  );
  expect(new Set(keyed.map((one) => one.body.id)).size).toBe(1);

  // Writers read their own writes through both APIs.
  const member = await user(platform, "shop", "admin");
  for (let i = 0; i < 40; i++) {
    const body = { values: { ...values("AB-0001"), title: { en: `Own ${i}` } } };
    const written = await as("PUT", `/api/shop/catalog/product/${id}?publish=true`, body);
    expect(written.status, JSON.stringify(written.body)).toBe(200);
    const managed = await as("GET", `/api/admin/orbs/shop/entries/${id}`);
    expect(managed.body.revision).toBe(written.body.revision);
    const live = await call(platform, "GET", `/api/shop/catalog/product/${id}`, { token: member.token });
    expect(live.body.values.title).toBe(`Own ${i}`);
  }

  // A validity window opens and closes by itself.
  const opens = Date.now() + 3_000;
  const windowed = await as("POST", "/api/shop/catalog/product?publish=true", {
    values: values("AB-0003"),
    validFrom: new Date(opens).toISOString(),
    validTo: new Date(opens + 6_000).toISOString(),
  });
  expect(windowed.status, JSON.stringify(windowed.body)).toBe(201);
  const seen = async () =>
    (await call(platform, "GET", `/api/shop/catalog/product/${windowed.body.id}`)).status;
  const until = async (status: number) => {
    for (let tries = 0; tries < 300 && (await seen()) !== status; tries++) await delay(50);
    expect(await seen()).toBe(status);
  };
  await until(200);
  await until(404);
  expect(Date.now()).toBeGreaterThanOrEqual(opens + 6_000);
});

test("keeps acknowledged writes and continues after the leader of an orb's stream is killed", async () => {
  const writers = new Writers(platform);
  await writers.start(4);
  await writers.more(20);
  // The writers keep the machine busy, so allow a long timeout.
  const leader = await leaderOf(platform, "økept", RECOVERY_MS);
  const killed = performance.now();
  // The leader stays down: the other two continue without it.
  await platform.brokers[leader]?.pause();
  const fresh = () =>
    writers.seen.slice(mark).some(({ status, what }) => status === 201 && what.startsWith("POST"));
  const mark = writers.seen.length;
  while (!fresh() && performance.now() - killed < RECOVERY_MS) await delay(50);
  const away = performance.now() - killed;
  expect(away).toBeLessThan(RECOVERY_MS);
  // The cluster's meta leader answers this, and may be in an election too.
  const other = () => leaderOf(platform, "økept", 2_000).catch(() => leader);
  await expect.poll(other, { timeout: RECOVERY_MS }).not.toBe(leader);
  await writers.more(10);
  await platform.brokers[leader]?.resume();
  await writers.more(20);
  await writers.stop();
  writers.expectFairAnswers();
  await writers.expectKept();
});

test("answers requests through the other two brokers when one of three is frozen", async () => {
  // Without the leader of the orbs' bucket, the platform is not ready until another one is elected.
  // After the test above, the brokers may still elect the leader that answers this.
  let leader = -1;
  await until(async () => {
    leader = await leaderOf(platform, streams.kv(buckets.orbs), 10_000).catch(() => -1);
    return leader >= 0;
  });
  const silent = platform.brokers[(leader + 1) % platform.brokers.length];
  if (silent?.pid === undefined) throw new Error("There are not three brokers.");
  await freeze(silent.pid);
  try {
    const round = () =>
      Promise.all(
        Array.from({ length: 40 }, async (_, i) => {
          // For longer than five seconds, after which a check proves again that writes are stored.
          await delay(i * 150);
          return (await call(platform, "GET", "/api/health")).status;
        }),
      );
    // On a busy machine, the other two may elect leaders meanwhile. If a third of the requests waited for the frozen
    // broker, no round would succeed.
    await until(async () => (await round()).every((status) => status === 200));
  } finally {
    process.kill(silent.pid, "SIGCONT");
  }
}, 120_000);
