import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { AppError } from "../../shared/kernel/errors.ts";
import { orbStreamConfig } from "../../shared/store/broker/provision.ts";
import { startBroker, tempDir } from "../support/broker.ts";

test("restarts a killed broker on the same ports with its data", async () => {
  await using broker = await startBroker();
  const store = broker.store("operator");
  await store.kvPut("orbs", "shop", "one");
  const { port, wsPort, pid } = broker;
  await broker.kill("SIGKILL");
  await delay(10);
  await broker.ready();
  expect({ port: broker.port, wsPort: broker.wsPort }).toEqual({ port, wsPort });
  expect(broker.pid).not.toBe(pid);
  const after = broker.store("operator");
  expect((await after.kvGet("orbs", "shop"))?.text()).toBe("one");
});

test("restarts a stopped broker in the same folder with its data and ports", async () => {
  const dir = tempDir("kept");
  let ports: { port: number; wsPort: number };
  {
    await using broker = await startBroker({ dir });
    ports = { port: broker.port, wsPort: broker.wsPort };
    await broker.store("operator").kvPut("orbs", "shop", "one");
  }
  await using again = await startBroker({ dir });
  expect({ port: again.port, wsPort: again.wsPort }).toEqual(ports);
  expect((await again.store("operator").kvGet("orbs", "shop"))?.text()).toBe("one");
});

test("fails requests while the broker is paused, and answers them afterwards", async () => {
  await using broker = await startBroker();
  await broker.pause();
  const lost = await broker
    .store("operator", { connectTimeoutMs: 500 })
    .kvGet("orbs", "shop")
    .catch((error: unknown) => error);
  expect(lost).toBeInstanceOf(AppError);
  await broker.resume();
  expect(await broker.store("operator").kvGet("orbs", "shop")).toBeNull();
});

test("reconnects after the broker refused the password for a while", async () => {
  await using broker = await startBroker();
  const seen: string[] = [];
  const store = broker.store("fn", { reconnect: true, onStatus: (status) => void seen.push(status) });
  expect(await store.kvGet("orbs", "shop")).toBeNull();
  broker.rename("another");
  await broker.kill();
  await broker.ready();
  // The NATS library gives up after the second refusal.
  while (!seen.includes("closed")) await delay(20);
  await expect(store.kvGet("orbs", "shop")).rejects.toMatchObject({ kind: "unavailable" });
  broker.rename("fn");
  await broker.kill();
  await broker.ready();
  const answer = () => store.kvGet("orbs", "shop").then(String, () => undefined);
  await expect.poll(answer).toBe("null");
});

test("keeps the contents of a stream that is created again", async () => {
  await using broker = await startBroker();
  const config = orbStreamConfig("shop", 1);
  const subject = "shop.content.owner.s.1";
  const store = broker.store("fn");
  await store.createStream(config);
  await store.append(config.name, { subject, data: "kept" });
  for (const user of ["fn", "operator", "deploy"] as const) {
    await Promise.all(Array.from({ length: 5 }, () => broker.store(user).createStream(config)));
    expect((await store.get(config.name, subject))?.text(), user).toBe("kept");
  }
});
