/** A broker that no longer answers, with the only instance of a service whose hook is required. */
import { connect, headers } from "nats";
import { expect, test } from "vitest";
import { serve } from "../../shared/handlers/contract/kit.ts";
import { adminToken, call } from "../support/auth.ts";
import { freeze } from "../support/freeze.ts";
import { serveBeside } from "../support/near.ts";
import { startPlatform } from "../support/platform.ts";

/** On an idle machine, the service notices within 14 s, and then tries the frozen broker once more, for 5 s. */
const MOVED_MS = 60_000;

const document = {
  id: "stock",
  uses: [{ service: "stock", handlers: ["check"] }],
  hooks: [{ id: "check", on: ["entry.created"], handler: "stock.check", mode: "before" }],
  modules: [
    { id: "news", type: "CONTENT", schemas: [{ id: "post", fields: [{ name: "title", type: "string" }] }] },
  ],
};

test("a service moves on from a broker that is frozen, and required hooks work again during the outage", async () => {
  await using platform = await startPlatform({ env: { NATS_BROKERS: "3" } });
  const [first, , last] = platform.brokers;
  await using host = await serveBeside(platform, { NATS_URL: first?.wsUrl ?? "" });
  const { user = "", pass = "" } = platform.operatorAccess;
  const servers = [last, first].map((broker) => `127.0.0.1:${broker?.port}`);
  const connection = await connect({
    servers,
    user,
    pass,
    noRandomize: true,
    maxReconnectAttempts: -1,
    timeout: 5_000,
  });
  const service = await serve({
    connection,
    headers,
    service: "stock",
    handlers: { check: { description: "Checks.", auth: "None", handle: () => ({}) } },
  });
  try {
    const token = await adminToken(platform);
    const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body: document });
    expect(made.status).toBe(201);
    const create = async () => {
      const answer = await fetch(`${host.url}/api/stock/news`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify({ values: { title: "x" } }),
      });
      await answer.arrayBuffer();
      return answer.status;
    };
    expect(await create()).toBe(201);
    const pid = last?.pid ?? 0;
    await freeze(pid);
    const began = Date.now();
    try {
      await expect.poll(create, { timeout: MOVED_MS, interval: 500 }).toBe(201);
      console.info(`the required hook works again after ${Date.now() - began} ms`);
    } finally {
      process.kill(pid, "SIGCONT");
    }
  } finally {
    await service.stop();
    await connection.close();
  }
}, 180_000);
