/** Two hosts behind the proxy of scripts/server are restarted one after the other, under load. */
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { freePort } from "../../scripts/process/ports.ts";
import { call, register } from "../support/auth.ts";
import { startBroker, tempDir } from "../support/broker.ts";
import { startCaddy } from "../support/caddy.ts";
import { createOrb, small } from "../support/orbs.ts";
import { runScript, type Started } from "../support/start.ts";

const CLIENTS = 4;
/** Milliseconds between two requests of a client: many requests meet each restart, and more would find nothing else. */
const REST_MS = 120;

test("no request fails while two hosts are restarted one after the other", async () => {
  await using broker = await startBroker({ provisioned: false });
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const common = { NATS_URL: broker.wsUrl, PUBLIC_URL: origin };
  const first = tempDir("host");
  await using provisioning = runScript("provision", {
    ...common,
    DATA_DIR: first,
    NATS_USER: "deploy",
    NATS_PASS: "deploy",
  });
  expect(await provisioning.exited(), provisioning.output()).toBe(0);
  const second = tempDir("host");
  copyFileSync(join(first, "secrets.json"), join(second, "secrets.json"));

  const settings = await Promise.all(
    [first, second].map(async (dir) => ({
      ...common,
      DATA_DIR: dir,
      NATS_USER: "fn",
      NATS_PASS: "fn",
      TRUST_PROXY: "true",
      HOST_DRAIN_SECONDS: "3",
      PORT: String(await freePort()),
      STREAMS_PORT: String(await freePort()),
    })),
  );
  const start = async (at: number): Promise<Started> => {
    const host = runScript("host", settings[at] ?? {});
    await host.printed(/ready at/);
    return host;
  };
  const hosts = [await start(0), await start(1)];
  const addresses = (name: "PORT" | "STREAMS_PORT") => settings.map((one) => `127.0.0.1:${one[name]}`);
  await using _caddy = await startCaddy(port, addresses("PORT"), addresses("STREAMS_PORT"));
  const at = { origin };
  await expect.poll(async () => (await fetch(`${origin}/api/health`)).status).toBe(200);

  const { body: invited } = await call(at, "GET", "/api/_auth/invitations");
  const { token } = await register(at, "/api/_auth", invited[0].token);
  await createOrb(at, token, small("shop"));
  const entries = "/api/admin/orbs/shop/entries?publish=true";
  const failures: string[] = [];
  const created: string[] = [];
  let reads = 0;
  let over = false;
  const write = async (title: string) => {
    const body = { module: "news", schema: "post", values: { title } };
    const { status, body: made } = await call(at, "POST", entries, { token, body, once: true });
    if (status === 201) created.push(made.id);
    else failures.push(`POST ${status} ${JSON.stringify(made)}`);
  };
  const read = async () => {
    const id = created.at(-1);
    if (id === undefined) return;
    const { status } = await call(at, "GET", `/api/admin/orbs/shop/entries/${id}`, { token, once: true });
    if (status !== 200) failures.push(`GET ${status}`);
    reads++;
  };
  const load = Array.from({ length: CLIENTS }, async (_, client) => {
    for (let count = 0; !over; count++) {
      await (count % 2 === 0 ? write(`${client} ${count}`) : read()).catch((error: unknown) =>
        failures.push(String(error)),
      );
      await delay(REST_MS);
    }
  });
  await expect.poll(() => created.length).toBeGreaterThan(20);
  for (const at of [0, 1]) {
    // The proxy must have found the first host again before the second one leaves.
    if (at > 0) await delay(2_500);
    hosts[at]?.child.kill("SIGTERM");
    expect(await hosts[at]?.exited()).toBe(0);
    const before = created.length;
    hosts[at] = await start(at);
    await expect.poll(() => created.length).toBeGreaterThan(before + 20);
  }
  over = true;
  await Promise.all(load);
  expect(failures).toEqual([]);
  expect(reads).toBeGreaterThan(40);
  const { body } = await call(at, "GET", "/api/admin/orbs/shop/entries?limit=1&count=true", { token });
  expect(body.total).toBe(created.length);
  for (const host of hosts) await host[Symbol.asyncDispose]();
}, 180_000);
