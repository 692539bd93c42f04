/** Handlers of one orb that have the same name: their routes begin with the name of the service. */
import type { NatsConnection } from "nats";
import { afterAll, beforeAll, expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { activeRoutes } from "../support/described.ts";
import type { TestPlatform } from "../support/platform.ts";
import { registrar, stage } from "../support/services.ts";

let platform: TestPlatform;
let client: NatsConnection;
let admin: string;

const { register, orbWith } = registrar(() => ({ platform, client, admin }));
const post = (path: string) => call(platform, "POST", `/api/${path}`, { body: {} });

beforeAll(async () => {
  ({ platform, client, admin } = await stage());
  for (const name of ["prices.quote", "stock.quote", "stock.count", "quote.count"]) {
    client.subscribe(`svc.${name}`, {
      callback: (_, message) => {
        const { handler } = message.json<{ handler: string }>();
        message.respond(JSON.stringify(handler));
      },
    });
    await register(name, { output: { type: "string", description: `Of ${name}` } });
  }
  await client.flush();
  await orbWith("named", { prices: ["quote"], stock: ["quote", "count"] });
});
afterAll(() => client.close());

test("calls each handler by its service, in both forms of the path", async () => {
  for (const service of ["prices", "stock"]) {
    for (const form of ["named", "named/call"])
      expect(await post(`${form}/${service}/quote`)).toMatchObject({ status: 200, body: `${service}.quote` });
  }
});

test("calls a handler whose name no other service has by either name", async () => {
  for (const path of ["count", "call/count", "stock/count", "call/stock/count"])
    expect(await post(`named/${path}`)).toMatchObject({ status: 200, body: "stock.count" });
});

test("refuses the short form of a shared name with 404 ambiguous_handler, which names the long forms", async () => {
  for (const path of ["named/quote", "named/call/quote", "named/quote/more"]) {
    const { status, body } = await post(path);
    expect([status, body.code]).toEqual([404, "ambiguous_handler"]);
    expect(body.detail).toContain("prices/quote, stock/quote");
  }
  expect((await call(platform, "GET", "/api/named/quote")).status).toBe(404);
  expect((await post("named/prices/count")).status).toBe(404);
  expect((await post("named/count/more")).body).toMatchObject({ code: "route_not_found" });
});

test("serves a module and a service of one name, and refuses a schema that would hide a handler", async () => {
  const document = (schema: string, type = "CONTENT") => ({
    id: "both",
    uses: [{ service: "stock", handlers: ["quote", "count"] }],
    modules: [{ id: "stock", type, schemas: [{ id: schema, fields: [{ name: "x", type: "string" }] }] }],
  });
  const publish = (body: object) =>
    call(platform, "POST", "/api/admin/orbs?publish=true", { token: admin, body });
  const refused = await publish(document("count"));
  expect([refused.status, refused.body.errors]).toMatchObject([
    422,
    [{ path: "/modules/0/schemas/0/id", code: "reserved" }],
  ]);
  expect((await publish(document("item"))).status).toBe(201);
  for (const path of ["stock/count", "count", "call/count", "call/stock/count"])
    expect(await post(`both/${path}`)).toMatchObject({ status: 200, body: "stock.count" });
  for (const path of ["both/stock", "both/stock/item"])
    expect((await call(platform, "GET", `/api/${path}`)).body.items).toEqual([]);
});

test("refuses a module or a handler whose route would hide one of the platform, in new documents", async () => {
  for (const id of ["batch", "changes", "files", "mcp", "search"]) {
    const schemas = [{ id: "one", fields: [{ name: "x", type: "string" }] }];
    const body = { id: "hiding", modules: [{ id, type: "CONTENT", schemas }] };
    const made = await call(platform, "POST", "/api/admin/orbs", { token: admin, body });
    expect([made.status, made.body.errors]).toMatchObject([
      422,
      [{ path: "/modules/0/id", code: "reserved" }],
    ]);
    const uses = [{ service: "stock", handlers: [id] }];
    const used = await call(platform, "POST", "/api/admin/orbs", {
      token: admin,
      body: { id: "hiding", uses, modules: [] },
    });
    expect([used.status, used.body.errors]).toMatchObject([
      422,
      [{ path: "/uses/0/handlers/0", code: "reserved" }],
    ]);
  }
});

test("lists the long forms in the routes, the discovery and the OpenAPI description", async () => {
  const routes = await activeRoutes(platform, admin, "named");
  const paths = routes
    .filter((route) => route.origin === "handler")
    .map(({ path, handler }) => `${path} ${handler}`);
  expect(paths.sort()).toEqual([
    "/api/named/call/count stock.count",
    "/api/named/call/prices/quote prices.quote",
    "/api/named/call/stock/quote stock.quote",
    "/api/named/count stock.count",
    "/api/named/prices/quote prices.quote",
    "/api/named/stock/quote stock.quote",
  ]);
  const { body: seen } = await call(platform, "GET", "/api/discovery?orb=named");
  expect(seen.orbs[0].handlers.map(({ name, href }: { name: string; href: string }) => [name, href])).toEqual(
    [
      ["prices.quote", "/api/named/prices/quote"],
      ["stock.quote", "/api/named/stock/quote"],
      ["stock.count", "/api/named/count"],
    ],
  );
  const { body: api } = await call(platform, "GET", "/api/openapi?orb=named");
  const ids = new Set<string>();
  for (const service of ["prices", "stock"]) {
    for (const path of [`/api/named/${service}/quote`, `/api/named/call/${service}/quote`]) {
      const { post } = api.paths[path];
      expect(post["x-handler"]).toBe(`${service}.quote`);
      const output = post.responses["200"].content["application/json"].schema.$ref.split("/").at(-1);
      expect(api.components.schemas[output].description).toBe(`Of ${service}.quote`);
      ids.add(post.operationId);
    }
  }
  expect(ids.size).toBe(4);
  expect(api.paths["/api/named/quote"]).toBeUndefined();
});

test("a service can have the name of a handler of another service", async () => {
  await orbWith("crossed", { prices: ["quote"], quote: ["count"] });
  expect(await post("crossed/quote")).toMatchObject({ status: 200, body: "prices.quote" });
  expect(await post("crossed/quote/count")).toMatchObject({ status: 200, body: "quote.count" });
});
