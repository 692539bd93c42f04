import { afterAll, beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { freeze } from "../support/freeze.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { brokerClient, startExample } from "../support/services.ts";

let platform: TestPlatform;

const quote = () =>
  call(platform, "POST", "/api/faulty/quote", { body: { items: [{ product: "chair", count: 1 }] } });

beforeAll(async () => {
  platform = await startPlatform();
});
afterAll(() => platform.stop());

/** Changes the service's registry entry without the service. */
async function rewrite(change: object): Promise<void> {
  const client = await brokerClient(platform);
  const store = platform.operatorStore();
  const entry = (await store.kvGet("handlers", "pricing.quote"))?.json<object>();
  const body = new TextEncoder().encode(JSON.stringify({ ...entry, ...change }));
  await client.request("$KV.handlers.pricing.quote", body, { timeout: 10_000 });
  await client.close();
}

test("answers 504 for a service that dies during a call, then 503, and 200 after its return", async () => {
  const token = await adminToken(platform);
  const service = await startExample(platform, "pricing.ts");
  const body = { id: "faulty", uses: [{ service: "pricing", handlers: ["quote"] }], modules: [] };
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body });
  expect(made.status).toBe(201);
  expect((await quote()).status).toBe(200);

  // The service hangs with the request and is then killed.
  await rewrite({ timeoutMs: 2_000 });
  const observer = await brokerClient(platform);
  const heard = Promise.withResolvers<void>();
  observer.subscribe("svc.pricing.quote", { callback: () => heard.resolve() });
  await observer.flush();
  await freeze(service.child.pid ?? 0);
  const asked = quote();
  await heard.promise;
  await observer.close();
  const gone = new Promise((resolve) => service.child.once("exit", resolve));
  service.child.kill("SIGKILL");
  await gone;
  expect(await asked).toMatchObject({ status: 504, body: { code: "handler_timeout" } });
  const absent = await quote();
  expect(absent).toMatchObject({ status: 503, body: { code: "handler_unavailable" } });
  expect(absent.headers.get("retry-after")).toBe("1");
  await rewrite({ timeoutMs: 30_000 });

  await using _again = await startExample(platform, "pricing.ts");
  expect((await quote()).status).toBe(200);

  await rewrite({ kind: "local" });
  expect(await quote()).toMatchObject({ status: 502, body: { code: "handler_faulty" } });
  await rewrite({ kind: "nats" });
  expect((await quote()).status).toBe(200);

  // While the broker is down the response is quick, and the service reconnects by itself.
  await platform.broker?.pause();
  expect(await quote()).toMatchObject({ status: 503, body: { code: "broker_unavailable" } });
  await platform.broker?.resume();
  await expect.poll(async () => (await quote()).status, { interval: 100 }).toBe(200);
});
