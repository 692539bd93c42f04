/** Handlers that act for their callers: what they may do, and what the orb's records show. */
import type { NatsConnection } from "nats";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Service } from "../../shared/handlers/contract/kit.ts";
import { credentialOf, publishShop, serveShop, shopDocument } from "../support/acting.ts";
import { call, type SignedIn, user } from "../support/auth.ts";
import type { TestPlatform } from "../support/platform.ts";
import { stage } from "../support/services.ts";

let platform: TestPlatform;
let client: NatsConnection;
let admin: string;
let service: Service;
let ann: SignedIn;
let bob: SignedIn;

beforeAll(async () => {
  ({ platform, client, admin } = await stage());
  service = await serveShop(client);
  await publishShop(platform, admin, "acted");
  ann = await user(platform, "acted");
  bob = await user(platform, "acted");
});
afterAll(async () => {
  await service.stop();
  await client.close();
});

const as = (by: { token: string } | undefined, method: string, path: string, body?: unknown) =>
  call(platform, method, `/api/acted${path}`, {
    ...(by === undefined ? {} : { token: by.token }),
    ...(body === undefined ? {} : { body }),
  });
const operate = (method: string, path: string, body?: unknown) =>
  call(platform, method, `/api/admin${path}`, { token: admin, ...(body === undefined ? {} : { body }) });

describe("a schema that only a handler may write", () => {
  test("gets records at the price of the handler, by the caller and through the handler", async () => {
    const { status, body } = await as(ann, "POST", "/order", { count: 2 });
    expect([status, body]).toMatchObject([
      200,
      { createdBy: ann.id, through: "shop.order", values: { count: 2, total: 99 } },
    ]);
    const listed = await as(ann, "POST", "/list", {});
    expect(listed.body.items).toMatchObject([{ id: body.id, createdBy: ann.id, through: "shop.order" }]);
  });

  test("gets records of anonymous callers too", async () => {
    const { status, body } = await as(undefined, "POST", "/order", { count: 1 });
    expect([status, body]).toMatchObject([200, { createdBy: "anonymous", through: "shop.order" }]);
  });

  test("refuses every caller who writes to it without the handler, owners and platform admins included", async () => {
    const owner = await user(platform, "acted", "owner");
    for (const by of [undefined, ann, owner, { token: admin }]) {
      const own = { values: { count: 6, total: 0.01 } };
      const record = await as(by, "POST", "/record", own);
      const stamp = await as(by, "POST", "/content/stamp", { values: { text: "mine" } });
      const codes = [record.status, record.body.code, stamp.status, stamp.body.code];
      const signIn = by === undefined ? [401, "authentication_required"] : [403, "handlers_only"];
      expect(codes).toEqual([...signIn, 403, "handlers_only"]);
    }
    const stamp = { module: "content", schema: "stamp", values: { text: "mine" } };
    const managed = await operate("POST", "/orbs/acted/entries", stamp);
    expect([managed.status, managed.body.code]).toEqual([403, "handlers_only"]);
  });

  test("repeats no record if the caller repeats the Idempotency-Key", async () => {
    const order = () =>
      call(platform, "POST", "/api/acted/order", {
        token: bob.token,
        body: { count: 3 },
        headers: { "Idempotency-Key": "once" },
      });
    const [first, second] = [await order(), await order()];
    expect(second.body).toEqual(first.body);
    expect((await as(bob, "POST", "/list", {})).body.items).toHaveLength(1);
  });

  test("refuses another handler of the orb that is granted the act", async () => {
    const probe = await credentialOf(platform, "acted", ann);
    const { status, body } = await as(probe, "POST", "/call/record", { values: { count: 1, total: 1 } });
    expect([status, body.code]).toEqual([403, "handlers_only"]);
    expect((await as(probe, "POST", "/content/stamp", { values: { text: "official" } })).status).toBe(201);
  });
});

describe("the credential", () => {
  test("lets the handler create, change, publish and read entries as the caller, and no others", async () => {
    const probe = await credentialOf(platform, "acted", ann);
    expect(probe.url).toBe(`${platform.origin}/api/acted`);
    const made = await as(probe, "POST", "/content/note", { values: { text: "a" } });
    expect(made).toMatchObject({ status: 201, body: { createdBy: ann.id } });
    const path = `/content/note/${made.body.id}`;
    expect((await as(probe, "PUT", path, { values: { text: "b" } })).status).toBe(200);
    expect((await as(probe, "POST", `${path}/publish`)).status).toBe(200);
    expect((await as(probe, "GET", path)).body.values.text).toBe("b");
    expect((await as(probe, "GET", "/content/note")).body.items).toHaveLength(1);

    const others = await credentialOf(platform, "acted", bob);
    const nobody = await credentialOf(platform, "acted");
    for (const [by, statuses] of [
      [others, [404, 404, 0]],
      [nobody, [401, 401, undefined]],
    ] as const) {
      const read = await as(by, "GET", path);
      const changed = await as(by, "PUT", path, { values: { text: "stolen" } });
      const list = await as(by, "GET", "/content/note");
      expect([read.status, changed.status, list.body.items?.length]).toEqual(statuses);
    }
  });

  test("shows caller and handler in the history, and only the caller in revisions written without it", async () => {
    const probe = await credentialOf(platform, "acted", ann);
    const { body } = await as(probe, "POST", "/content/note", { values: { text: "a" } });
    const path = `/content/note/${body.id}`;
    expect((await as(ann, "PUT", path, { values: { text: "b" } })).status).toBe(200);
    expect((await as(probe, "POST", `${path}/publish`)).status).toBe(200);
    const { items } = (await operate("GET", `/orbs/acted/entries/${body.id}/revisions`)).body;
    expect(items.map(({ by, through }: { by: string; through?: string }) => [by, through])).toEqual([
      [ann.id, "shop.probe"],
      [ann.id, undefined],
      [ann.id, "shop.probe"],
    ]);
  });

  test("keeps the handler in an export, and an import shows it", async () => {
    await publishShop(platform, admin, "acted-out");
    const cat = await user(platform, "acted-out");
    const made = await call(platform, "POST", "/api/acted-out/order", {
      token: cat.token,
      body: { count: 1 },
    });
    expect(made.status).toBe(200);
    const headers = { authorization: `Bearer ${admin}` };
    const exported = await fetch(`${platform.origin}/api/admin/orbs/acted-out/export`, { headers });
    const imported = await fetch(`${platform.origin}/api/admin/orbs/import`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/x-ndjson" },
      body: (await exported.text()).replaceAll("acted-out", "acted-in"),
    });
    expect(imported.status).toBe(201);
    const { items } = (await operate("GET", `/orbs/acted-in/entries/${made.body.id}/revisions`)).body;
    expect(items).toMatchObject([{ by: cat.id, through: "shop.order" }]);
  });

  test("calls the built-in handlers, and no other ones", async () => {
    const probe = await credentialOf(platform, "acted", ann);
    expect((await as(probe, "POST", "/set", { values: { color: "red" } })).status).toBe(200);
    expect((await as(ann, "POST", "/get", {})).body.values).toEqual({ color: "red" });
    expect((await as(probe, "POST", "/evaluate", { facts: {} })).status).toBe(200);
    expect((await as(probe, "POST", "/list", {})).status).toBe(200);
    for (const path of ["/order", "/call/probe", "/shop/probe"]) {
      const nested = await as(probe, "POST", path, { count: 1 });
      expect([path, nested.status, nested.body.code]).toEqual([path, 403, "nested_call"]);
    }
    const nobody = await credentialOf(platform, "acted");
    for (const path of ["/set", "/get", "/evaluate", "/list"]) {
      const body = path === "/set" ? { values: {} } : path === "/evaluate" ? { facts: {} } : {};
      expect([path, (await as(nobody, "POST", path, body)).status]).toEqual([path, 401]);
    }
  });

  test("is missing if the orb grants nothing, and 403 missing_act names what is not granted", async () => {
    await publishShop(platform, admin, "acted-none", []);
    const none = await call(platform, "POST", "/api/acted-none/probe", { body: {} });
    expect([none.status, none.body]).toEqual([200, null]);

    await publishShop(platform, admin, "acted-read", ["entries:read"]);
    const cat = await user(platform, "acted-read");
    const probe = await credentialOf(platform, "acted-read", cat);
    expect(probe.acts).toEqual(["entries:read"]);
    const attempts: [string, string, unknown][] = [
      ["POST", "/content/note", { values: { text: "a" } }],
      ["POST", "/record", { values: { count: 1, total: 1 } }],
      ["POST", "/set", { values: {} }],
      ["POST", "/evaluate", { facts: {} }],
    ];
    for (const [method, path, body] of attempts) {
      const sent = { token: probe.token, body };
      const { status, body: problem } = await call(platform, method, `/api/acted-read${path}`, sent);
      expect([path, status, problem.code]).toEqual([path, 403, "missing_act"]);
    }
  });

  test("obeys a new publication at once", async () => {
    await publishShop(platform, admin, "acted-less");
    const cat = await user(platform, "acted-less");
    const probe = await credentialOf(platform, "acted-less", cat);
    const write = () =>
      call(platform, "POST", "/api/acted-less/content/note", {
        token: probe.token,
        body: { values: { text: "a" } },
      });
    expect((await write()).status).toBe(201);
    const less = { ...shopDocument("acted-less", ["entries:read"]) };
    expect((await operate("PUT", "/orbs/acted-less?publish=true", less)).status).toBe(200);
    expect((await write()).body.code).toBe("missing_act");
    const without = { ...less, uses: less.uses.filter(({ service: name }) => name !== "shop") };
    for (const module of without.modules) {
      for (const schema of module.schemas) Reflect.deleteProperty(schema, "access");
    }
    expect((await operate("PUT", "/orbs/acted-less?publish=true", without)).status).toBe(200);
    const read = await call(platform, "GET", "/api/acted-less/content/note?revision=latest", {
      token: probe.token,
    });
    expect([read.status, read.body.code]).toEqual([403, "missing_act"]);
  });
});

describe("sensitive values", () => {
  test("are revealed to a handler that is granted this, for what its caller may read, and audited", async () => {
    const { body: made } = await as(ann, "POST", "/content/note?publish=true", {
      values: { text: "a", code: "4711" },
    });
    const path = `/content/note/${made.id}?reveal=true`;
    expect((await as(ann, "GET", path)).status).toBe(403);
    const asked = await call(platform, "POST", "/api/acted/probe", {
      token: ann.token,
      body: {},
      headers: { "X-Request-Id": "reveal-request-1" },
    });
    const shown = await as(asked.body, "GET", path);
    expect(shown).toMatchObject({ status: 200, body: { values: { code: "4711" } } });
    expect(shown.headers.get("cache-control")).toBe("no-store");
    const others = await credentialOf(platform, "acted", bob);
    expect((await as(others, "GET", path)).status).toBe(404);

    const { items } = (await operate("GET", "/audit?filter[realm]=acted&filter[action]=reveal")).body;
    expect(items).toMatchObject([
      { actor: ann.id, through: "shop.probe", target: `${made.id}/1`, requestId: "reveal-request-1" },
    ]);
  });

  test("stay masked without the act, even if the caller is an owner", async () => {
    await publishShop(platform, admin, "acted-masked", ["entries:read", "entries:write"]);
    const owner = await user(platform, "acted-masked", "owner");
    const probe = await credentialOf(platform, "acted-masked", owner);
    const { body } = await call(platform, "POST", "/api/acted-masked/content/note", {
      token: probe.token,
      body: { values: { text: "a", code: "4711" } },
    });
    const path = `/api/acted-masked/content/note/${body.id}?revision=latest`;
    const masked = await call(platform, "GET", path, { token: probe.token });
    expect(masked.body.values).toMatchObject({ text: "a", code: expect.not.stringContaining("4711") });
    const refused = await call(platform, "GET", `${path}&reveal=true`, { token: probe.token });
    expect([refused.status, refused.body.code]).toEqual([403, "missing_act"]);
  });
});

test("refuses to publish acts that no registration requests, and access rules of unused handlers", async () => {
  const { uses, modules } = shopDocument("acted-wrong");
  const publish = (body: object) => operate("POST", "/orbs?publish=true", body);
  const only = { service: "shop", handlers: ["order"], acts: ["entries:reveal", "transactions:record"] };
  const faults = async (body: object) => {
    const answer = await publish(body);
    const list = answer.body.errors as { path: string; code: string }[];
    return [answer.status, ...list.map(({ path, code }) => `${path} ${code}`)];
  };
  const used = uses.map((use) => (use.service === "shop" ? { ...only, handlers: ["order"] } : use));
  const [ledger] = modules;
  expect(await faults({ id: "acted-wrong", uses: used, modules: [ledger] })).toEqual([
    422,
    "/uses/1/acts/0 unrequested_act",
  ]);
  expect(await faults({ id: "acted-wrong", uses: [], modules: [ledger] })).toEqual([
    422,
    "/modules/0/schemas/0/access/create/0 unknown_handler",
  ]);
  const twice = [{ ...only, acts: ["entries:read", "entries:read", "entries:fly"] }];
  expect(await faults({ id: "acted-wrong", uses: twice, modules: [] })).toEqual([
    422,
    "/uses/0/acts/2 enum",
    "/uses/0/acts/1 duplicate",
  ]);
});
