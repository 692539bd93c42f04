/** A broker of a cluster that is cut off from the others: it accepts connections and answers pings, and knows nothing new. */
import { expect, test } from "vitest";
import { openStore } from "../../shared/store/broker/store.ts";
import { startBroker } from "../support/broker.ts";
import { freeze } from "../support/freeze.ts";
import { serveBeside } from "../support/near.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";

const DETECTED_MS = 60_000;

/** Freezes all brokers but the first. @returns a function that wakes them */
async function isolateFirst(platform: TestPlatform): Promise<() => void> {
  const pids = platform.brokers.slice(1).flatMap(({ pid }) => pid ?? []);
  await Promise.all(pids.map(freeze));
  return () => {
    for (const pid of pids) process.kill(pid, "SIGCONT");
  };
}

test("a host at a broker that is cut off is not ready until the others are back, and a connection moves on", async () => {
  await using platform = await startPlatform({ env: { NATS_BROKERS: "3" } });
  const url = platform.brokers[0]?.wsUrl ?? "";
  const { NATS_USER: user = "", NATS_PASS: pass = "" } = platform.bindings;
  // A broker of its own leads everything that it stores, as do the brokers on the other side of a cut.
  await using other = await startBroker();
  other.rename(pass);
  await other.kill();
  await other.ready();
  await using host = await serveBeside(platform, { NATS_URL: url });
  const ready = async (probe = "ready") => (await fetch(`${host.url}/api/health?probe=${probe}`)).status;
  expect(await ready()).toBe(200);
  // The library chooses the first server at random.
  const connect = () => openStore({ url: `${url},${other.wsUrl}`, user, pass, reconnect: true });
  let store = connect();
  for (; (await store.server()).name !== "n1"; store = connect()) await store.close();
  const wake = await isolateFirst(platform);
  try {
    await expect.poll(() => ready(), { timeout: DETECTED_MS }).toBe(503);
    expect(await ready("live")).toBe(200);
    const name = async () => (await store.server()).name;
    await expect.poll(name, { timeout: DETECTED_MS, interval: 500 }).not.toBe("n1");
    // A busy machine can answer late once more, and then the write is refused as unavailable.
    const write = () =>
      store.kvPut("orbs", "moved", "{}").then(
        () => "written",
        (error: unknown) => String(error),
      );
    await expect.poll(write, { timeout: DETECTED_MS, interval: 500 }).toBe("written");
  } finally {
    wake();
    await store.close();
  }
  await expect.poll(() => ready(), { timeout: DETECTED_MS }).toBe(200);
}, 120_000);
