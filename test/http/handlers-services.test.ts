/** Services: the examples, and services that use the service kit. */
import type { NatsConnection } from "nats";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ServiceError, serve } from "../../shared/handlers/contract/kit.ts";
import { call, type SignedIn } from "../support/auth.ts";
import type { TestPlatform } from "../support/platform.ts";
import { brokerClient, headers, registrar, stage, startExample } from "../support/services.ts";

let platform: TestPlatform;
let client: NatsConnection;
let admin: string;
let ann: SignedIn;

const { orbWith, register } = registrar(() => ({ platform, client, admin }));

beforeAll(async () => {
  ({ platform, client, admin, ann } = await stage());
});
afterAll(() => client.close());

describe("README examples", () => {
  test("the TypeScript service answers 200, 404 and 422, and a second instance can stop without losing a request", async () => {
    await using _first = await startExample(platform, "pricing.ts");
    await orbWith("priced", { pricing: ["quote"] });
    const quote = (body: unknown) => call(platform, "POST", "/api/priced/quote", { body });
    const answer = await quote({ items: [{ product: "chair", count: 2 }] });
    expect(answer).toMatchObject({ status: 200, body: { total: 99, currency: "USD", for: null } });
    const unknown = await quote({ items: [{ product: "throne", count: 1 }] });
    expect(unknown).toMatchObject({ status: 404, body: { detail: 'There is no product "throne".' } });
    expect((await quote({ items: [{ product: "chair", count: 0 }] })).status).toBe(422);
    const second = await startExample(platform, "pricing.ts");
    const many = Array.from({ length: 60 }, () => quote({ items: [{ product: "table", count: 1 }] }));
    await second[Symbol.asyncDispose]();
    expect(new Set((await Promise.all(many)).map(({ status }) => status))).toEqual(new Set([200]));
  });

  test("the orders service records at the price of the catalog, once for each key, and refuses prices of callers", async () => {
    await using _orders = await startExample(platform, "orders.ts");
    const fields = [
      { name: "product", type: "string" },
      { name: "count", type: "integer" },
      { name: "total", type: "number" },
    ];
    const access = { create: ["handler:orders.place"] };
    const document = {
      id: "ordered",
      uses: [
        { service: "orders", handlers: ["place"], acts: ["entries:read", "transactions:record"] },
        { service: "transactions", handlers: ["record", "list"] },
      ],
      modules: [
        {
          id: "catalog",
          type: "CONTENT",
          schemas: [{ id: "product", fields: [{ name: "price", type: "number" }] }],
        },
        { id: "sales", type: "TRANSACTIONS", schemas: [{ id: "order", access, fields }] },
      ],
    };
    const send = (method: string, path: string, token: string, body: unknown, more: object = {}) =>
      call(platform, method, path, { token, body, ...more });
    expect((await send("POST", "/api/admin/orbs?publish=true", admin, document)).status).toBe(201);
    const chair = await send("POST", "/api/ordered/catalog?publish=true", admin, { values: { price: 49.5 } });
    const order = { product: chair.body.id, count: 2 };
    const headers = { "Idempotency-Key": "order-1" };
    for (let round = 0; round < 2; round++) {
      const placed = await send("POST", "/api/ordered/place", ann.token, order, { headers });
      expect(placed).toMatchObject({
        status: 200,
        body: { createdBy: ann.id, through: "orders.place", values: { ...order, total: 99 } },
      });
    }
    const cheap = { values: { ...order, total: 0.01 } };
    expect(await send("POST", "/api/ordered/record", ann.token, cheap)).toMatchObject({
      status: 403,
      body: { code: "handlers_only", detail: expect.stringContaining("orders.place") },
    });
    const { body } = await send("POST", "/api/ordered/list", ann.token, {});
    expect(body.items).toHaveLength(1);
    const missing = await send("POST", "/api/ordered/place", ann.token, { ...order, product: "0nothing" });
    expect([missing.status, missing.body.code]).toEqual([404, "entry_not_found"]);
    expect((await call(platform, "POST", "/api/ordered/place", { body: order })).status).toBe(401);
  });

  test("the JavaScript service without a library answers, refuses and validates input", async () => {
    await using _greeter = await startExample(platform, "greeter.mjs");
    await orbWith("greeted", { greeter: ["hello"] });
    const hello = (body: unknown) => call(platform, "POST", "/api/greeted/hello", { body, token: ann.token });
    const greeting = { greeting: "Hello Ann", orb: "greeted", by: ann.id };
    expect(await hello({ name: "Ann" })).toMatchObject({ status: 200, body: greeting });
    expect(await hello({ name: "" })).toMatchObject({ status: 400, body: { detail: "Nobody has no name" } });
    expect((await hello({})).status).toBe(422);
  });
});

test("the shell example answers requests with Unicode input", async () => {
  await using _clock = await startExample(platform, "clock.sh");
  await orbWith("timed", { clock: ["now"] });
  for (let i = 0; i < 3; i++) {
    const { status, body } = await call(platform, "POST", "/api/timed/now", {
      body: { text: "ü".repeat(i) },
    });
    expect([status, body]).toEqual([200, { now: expect.stringMatching(/^20.*Z$/), orb: "timed" }]);
  }
});

describe("service kit", () => {
  test("balances requests between instances and writes their registry entry once", async () => {
    const served = [0, 0, 0];
    const start = async (instance: number) => {
      const connection = await brokerClient(platform);
      const handle = () => {
        served[instance] = (served[instance] ?? 0) + 1;
        return instance;
      };
      const handlers = { work: { description: "", auth: "None", handle } } as const;
      const service = await serve({ connection, headers, service: "shared", handlers });
      return async () => {
        await service.stop();
        await connection.close();
      };
    };
    const stops = await Promise.all([start(0), start(1)]);
    const store = platform.operatorStore();
    const written = (await store.kvGet("handlers", "shared.work"))?.revision;
    stops.push(await start(2));
    expect((await store.kvGet("handlers", "shared.work"))?.revision).toBe(written);
    await orbWith("shares", { shared: ["work"] });
    for (let round = 0; round < 6; round++) {
      await Promise.all(
        Array.from({ length: 10 }, () => call(platform, "POST", "/api/shares/work", { body: {} })),
      );
    }
    expect(served.reduce((sum, count) => sum + count)).toBe(60);
    expect(served.every((count) => count > 0)).toBe(true);
    await Promise.all(stops.map((stop) => stop()));
  });

  test("answers only for its own handlers, even if another entry has the same subject", async () => {
    const connection = await brokerClient(platform);
    const asked: string[] = [];
    const handle = (_: unknown, { handler }: { handler: string }) => asked.push(handler);
    const open = { description: "", auth: "AdminRequired", subject: "safes.open", handle } as const;
    const service = await serve({ connection, headers, service: "safe", handlers: { open } });
    await register("picklock.open", { subject: "safes.open" });
    await orbWith("safes-own", { safe: ["open"] });
    await orbWith("safes-picked", { picklock: ["open"] });
    const own = await call(platform, "POST", "/api/safes-own/open", { token: admin, body: {} });
    const picked = await call(platform, "POST", "/api/safes-picked/open", { body: {} });
    expect([own.status, picked.status, picked.body.code]).toEqual([200, 404, "handler_refused"]);
    expect(asked).toEqual(["safe.open"]);
    await service.stop();
    await connection.close();
  });

  test("maps errors to statuses, hides unexpected ones, and answers pending requests before it stops", async () => {
    const errors: unknown[] = [];
    const worker = await brokerClient(platform);
    let finish: () => void = () => undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let begun: () => void = () => undefined;
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const service = await serve({
      connection: worker,
      headers,
      service: "kit",
      handlers: {
        crash: {
          description: "Fails.",
          auth: "None",
          handle: () => {
            throw new Error("a secret of the service");
          },
        },
        wrong: { description: "", auth: "None", output: { type: "number" }, handle: () => "text" },
        huge: { description: "", auth: "None", handle: () => "x".repeat(2 << 20) },
        refuse: {
          description: "",
          auth: "None",
          handle: () => {
            throw new ServiceError(409, "Taken", {
              code: "taken",
              errors: [{ path: "/x", code: "x", message: "X" }],
            });
          },
        },
        slow: {
          description: "",
          auth: "None",
          handle: async (_: unknown, { requestId }) => {
            begun();
            await finished;
            return { requestId };
          },
        },
      },
      onError: (error) => errors.push(error),
    });
    await orbWith("kits", { kit: ["crash", "wrong", "huge", "refuse", "slow"] });
    const ask = (name: string) =>
      call(platform, "POST", `/api/kits/${name}`, { body: {}, headers: { "x-request-id": "kit-1" } });
    for (const name of ["crash", "wrong", "huge"]) {
      const answer = await ask(name);
      expect(answer).toMatchObject({ status: 502, body: { code: "handler_failed" } });
      expect(JSON.stringify(answer.body)).not.toContain("secret");
    }
    expect(errors).toHaveLength(3);
    expect(await ask("refuse")).toMatchObject({
      status: 409,
      body: { code: "taken", detail: "Taken", errors: [{ path: "/x" }] },
    });
    const slow = ask("slow");
    await started;
    const stopped = service.stop({ unregister: true });
    setTimeout(finish, 50);
    expect(await slow).toMatchObject({ status: 200, body: { requestId: "kit-1" } });
    await stopped;
    await worker.close();
    expect((await call(platform, "GET", "/api/admin/registry/kit", { token: admin })).status).toBe(404);
  });
});
