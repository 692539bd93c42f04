/** Acknowledged writes are kept: clients write through the HTTP API while the system below fails. */

import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { startBroker, type TestBroker, tempDir } from "../support/broker.ts";
import { startCutter } from "../support/cutter.ts";
import { smallDisk } from "../support/disk.ts";
import { startPlatform } from "../support/platform.ts";
import { testRandom } from "../support/random.ts";
import { Writers } from "../support/writers.ts";

const onBroker = (broker: TestBroker, port = broker.wsPort) => ({
  NATS_URL: `ws://127.0.0.1:${port}`,
  NATS_USER: "operator",
  NATS_PASS: "operator",
});

test("keeps acknowledged writes when the broker is killed four times, and then is down for three seconds", async () => {
  await using platform = await startPlatform();
  const writers = new Writers(platform);
  await writers.start(8);
  for (let kill = 0; kill < 4 || writers.statuses[503] === undefined; kill++) {
    await writers.more(8);
    await platform.broker?.kill("SIGKILL");
    await platform.broker?.ready();
  }
  await writers.more(8);
  await platform.broker?.pause();
  const refused = writers.statuses[503] ?? 0;
  await delay(3_000);
  await expect.poll(() => writers.statuses[503] ?? 0).toBeGreaterThan(refused);
  await platform.broker?.resume();
  await writers.more(6);
  await writers.stop();
  writers.expectFairAnswers();
  await writers.expectKept();
});

test("keeps acknowledged writes when workerd is killed twice and restarted", async () => {
  await using platform = await startPlatform();
  const writers = new Writers(platform);
  await writers.start(6);
  for (let kill = 0; kill < 2; kill++) {
    await writers.more(6);
    await expect.poll(() => platform.runtimes()).toHaveLength(1);
    for (const pid of platform.runtimes()) process.kill(pid, "SIGKILL");
    await writers.met(0);
  }
  await writers.more(6);
  await writers.stop();
  writers.expectFairAnswers({ broken: true });
  await writers.expectKept();
});

test("keeps acknowledged writes when connections are cut during requests, batches and replies", async () => {
  const random = testRandom();
  await using broker = await startBroker();
  await using cutter = await startCutter(broker.wsPort);
  await using platform = await startPlatform({ env: onBroker(broker, cutter.port) });
  const writers = new Writers(platform);
  await writers.start(6);
  // A handshake takes about 700 bytes, and a write of several messages about 3,000 more. A connection that serves many
  // requests is cut during several of them.
  cutter.after = () => 400 + random.below(random.next() < 0.3 ? 4_000 : 20_000);
  cutter.cutAll();
  await expect.poll(() => cutter.cuts).toBeGreaterThan(30);
  cutter.after = () => undefined;
  await writers.stop();
  writers.expectFairAnswers();
  await writers.expectKept();
});

test.each(["disk", "limit"])("keeps acknowledged writes when storage is full (%s)", async (kind) => {
  const dir = join(tempDir("full"), "broker");
  const disk = kind === "disk" ? smallDisk(dir, 16) : undefined;
  try {
    await using broker = await startBroker({
      dir,
      ...(disk === undefined ? { maxFileStore: "12MB" } : {}),
    });
    await using platform = await startPlatform({ env: onBroker(broker) });
    const writers = new Writers(platform, "x".repeat(60_000));
    await writers.start(6);
    const refused = () => (writers.statuses[503] ?? 0) + (writers.statuses[504] ?? 0);
    await expect.poll(refused, { timeout: 60_000 }).toBeGreaterThan(20);
    const known = writers.acknowledged.length;
    if (disk !== undefined) disk.grow();
    else broker.allow("100MB");
    // A broker sets its limit when it starts: without a setting, three quarters of the free space of its disk.
    await broker.kill("SIGTERM");
    await expect.poll(() => writers.acknowledged.length).toBeGreaterThan(known);
    await writers.stop();
    writers.expectFairAnswers();
    await writers.expectKept();
  } finally {
    disk?.release();
  }
});
