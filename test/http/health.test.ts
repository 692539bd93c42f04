import { expect, test } from "vitest";
import { sharedPlatform } from "../support/platform.ts";

const platform = await sharedPlatform({});

async function resumed(): Promise<void> {
  await Promise.all(platform.brokers.map((broker) => broker.resume()));
  // With several brokers, leader election takes a while.
  const back = async () => (await fetch(`${platform.url}/api/health`)).status;
  await expect.poll(back).toBe(200);
}

test("health answers 200 on a running platform", async () => {
  const answer = await fetch(`${platform.url}/api/health`);
  expect(answer.status).toBe(200);
  await answer.body?.cancel();
});

test("health answers 503 while the broker is paused, and 200 afterwards", async () => {
  await Promise.all(platform.brokers.map((broker) => broker.pause()));
  const away = await fetch(`${platform.url}/api/health`);
  expect(away.status).toBe(503);
  await resumed();
});

test("the sign-in page answers 503 while the broker is paused, and the log says why", async () => {
  await Promise.all(platform.brokers.map((broker) => broker.pause()));
  const away = await fetch(`${platform.origin}/api/_auth/signin`);
  expect([away.status, away.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(await away.text()).toContain("The platform is not responding");
  await expect
    .poll(() => platform.logs.some((line) => line.includes('"upstream failed"') && line.includes("signin")))
    .toBe(true);
  await resumed();
});
