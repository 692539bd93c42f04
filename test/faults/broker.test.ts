import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { AppError } from "../../shared/errors.ts";
import { startBroker, tempDir } from "../support/broker.ts";

test("a broker that is killed is back on the same ports with its data", async () => {
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

test("a broker that is stopped and started on the same folder keeps its data and its ports", async () => {
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

test("while a broker is paused nothing answers, and after resume everything does", async () => {
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
