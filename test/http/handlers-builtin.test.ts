import { beforeAll, describe, expect, test } from "vitest";
import { liveOrb } from "../../shared/definition/stored/live.ts";
import { recordTransaction } from "../../shared/modules/transactions/record.ts";
import { adminToken, call, type SignedIn, user } from "../support/auth.ts";
import { testDeps, user as userActor } from "../support/entries.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let admin: string;
let ann: SignedIn;
let bob: SignedIn;

const json = { name: "rule", type: "json", required: true };
const DOCUMENT = {
  id: "desk",
  uses: [
    { service: "rules", handlers: ["evaluate"] },
    { service: "transactions", handlers: ["record", "list"] },
    { service: "settings", handlers: ["get", "set"] },
  ],
  modules: [
    {
      id: "discounts",
      type: "RULES",
      schemas: [
        {
          id: "discount",
          fields: [{ name: "name", type: "string" }, json, { name: "priority", type: "integer", default: 0 }],
        },
      ],
    },
    {
      id: "orders",
      type: "TRANSACTIONS",
      schemas: [
        {
          id: "order",
          access: { read: "own" },
          fields: [
            { name: "total", type: "number", required: true, min: 0 },
            { name: "currency", type: "string", enum: ["USD", "EUR"] },
            { name: "number", type: "string", unique: true },
            { name: "card", type: "string", sensitive: true },
          ],
        },
        { id: "ledger", access: { write: "admin" }, fields: [{ name: "note", type: "string" }] },
      ],
    },
    {
      id: "preferences",
      type: "SETTINGS",
      schemas: [
        {
          id: "preference",
          fields: [
            { name: "newsletter", type: "boolean", default: false },
            { name: "theme", type: "string", enum: ["light", "dark"], default: "light" },
            { name: "size", type: "integer", min: 10, max: 200 },
            { name: "motto", type: "string", required: true },
            { name: "token", type: "string", sensitive: true },
            ...Array.from({ length: 12 }, (_, i) => ({ name: `f${i}`, type: "integer" })),
          ],
        },
      ],
    },
  ],
};

const ask = (handler: string, body: unknown, token: string | undefined, orb = "desk") =>
  call(platform, "POST", `/api/${orb}/${handler}`, { body, ...(token === undefined ? {} : { token }) });

const rule = (values: object, publish = true) =>
  call(platform, "POST", `/api/admin/orbs/desk/entries${publish ? "?publish=true" : ""}`, {
    token: admin,
    body: { module: "discounts", values },
  });

beforeAll(async () => {
  platform = await sharedPlatform();
  admin = await adminToken(platform);
  [ann, bob] = [await user(platform), await user(platform)];
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token: admin, body: DOCUMENT });
  expect(made).toMatchObject({ status: 201 });
});

describe("rules", () => {
  const over = (total: number, then: unknown) => ({
    if: [{ ">": [{ var: "cart.total" }, total] }, then, null],
  });

  beforeAll(async () => {
    await rule({ name: "ten", rule: over(100, { preserve: { percent: 10 } }) });
    await rule({ name: "twenty", rule: over(200, { preserve: { percent: 20 } }), priority: 5 });
    await rule({ name: "draft", rule: true }, false);
    await rule({ name: "loyal", rule: { in: ["vip", { var: "tags" }] } });
  });

  test("evaluates published rules by priority, then age, and returns a trace", async () => {
    const { status, body } = await ask(
      "evaluate",
      { facts: { cart: { total: 150 }, tags: ["new"] } },
      ann.token,
    );
    expect(status).toBe(200);
    expect(body.evaluated).toBe(3);
    expect(body.results).toEqual([
      { id: expect.any(String), schema: "discount", name: "ten", result: { percent: 10 } },
    ]);
    expect(body.trace.map(({ name, fired }: { name: string; fired: boolean }) => [name, fired])).toEqual([
      ["twenty", false],
      ["ten", true],
      ["loyal", false],
    ]);
    expect(body.trace[1]).toMatchObject({
      priority: 0,
      conditions: [{ path: "/if/0", operator: ">", result: true }],
      facts: { "cart.total": 150 },
    });
    const again = await ask("evaluate", { facts: { cart: { total: 150 }, tags: ["new"] } }, ann.token);
    expect(again.body).toEqual(body);
    const first = await ask(
      "evaluate",
      { facts: { cart: { total: 300 } }, mode: "first", trace: false },
      ann.token,
    );
    expect(first.body).toEqual({ results: [expect.objectContaining({ name: "twenty" })], evaluated: 1 });
    expect((await ask("evaluate", { facts: {} }, undefined)).status).toBe(401);
    expect((await ask("evaluate", {}, ann.token)).body.errors[0]).toMatchObject({ path: "/facts" });
    expect((await ask("evaluate", { facts: {}, module: "orders" }, ann.token)).body.errors[0]).toMatchObject({
      path: "/module",
      code: "unknown_module",
    });
  });

  test.each([
    [{ nothing: [1] }, "/values/rule/nothing", "unknown_operator"],
    [{ if: [{ "==": [1] }, 2] }, "/values/rule/if/0/==", "arguments"],
    [{ and: [true, { ">": [1, 2], "<": [1, 2] }] }, "/values/rule/and/1", "ambiguous"],
    [{ constructor: [] }, "/values/rule/constructor", "unknown_operator"],
    ["text", "/values/rule", "rule"],
    [{}, "/values/rule", "rule"],
  ])("refuses the invalid rule %j with the path of the fault", async (unsound, path, code) => {
    const answer = await rule({ rule: unsound });
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toEqual([{ path, code, message: expect.any(String) }]);
  });

  test("stops rules that take too long or use too much memory, and still runs the others", async () => {
    const list = { var: "list" };
    const up = (levels: number) => ({ var: `${"../../".repeat(levels)}list` });
    const made = [
      await rule({
        name: "endless",
        rule: { map: [list, { map: [up(1), { map: [up(2), { "+": [1, 2] }] }] }] },
      }),
      await rule({
        name: "growing",
        rule: { reduce: [list, { cat: [{ var: "accumulator" }, { var: "accumulator" }] }, "ab"] },
      }),
      await rule({
        name: "hidden",
        rule: {
          try: [{ reduce: [list, { cat: [{ var: "accumulator" }, { var: "accumulator" }] }, "ab"] }, true],
        },
      }),
    ];
    const facts = { list: Array.from({ length: 400 }, (_, i) => i), cart: { total: 101 } };
    const { status, body } = await ask("evaluate", { facts }, ann.token);
    expect(status).toBe(200);
    const failures = Object.fromEntries(
      body.trace.map(({ name, failure }: { name: string; failure?: string }) => [name, failure]),
    );
    expect(["too_many_steps", "too_slow"]).toContain(failures.endless);
    expect(failures.growing).toMatch(/too_/);
    expect(failures.hidden).toMatch(/too_/);
    expect(body.results[0].name).toBe("ten");
    for (const { body: entry } of made) {
      await call(platform, "DELETE", `/api/admin/orbs/desk/entries/${entry.id}`, { token: admin });
    }
  });
});

describe("transactions", () => {
  const record = (values: object, token: string | undefined = ann.token, more: object = {}) =>
    ask("record", { schema: "order", values, ...more }, token);
  const list = (body: object, token: string) => ask("list", { schema: "order", ...body }, token);

  test("sets creator and time itself, and accepts only values that the schema allows", async () => {
    const before = Date.now();
    const made = await record({ total: 5, currency: "EUR", card: "4111" });
    expect(made.status).toBe(200);
    expect(made.body).toMatchObject({ createdBy: ann.id, module: "orders", schema: "order" });
    expect(made.body.values).toMatchObject({ total: 5, currency: "EUR" });
    expect(made.body.values.card).not.toContain("4111");
    expect(Date.parse(made.body.createdAt)).toBeGreaterThanOrEqual(before - 1000);
    const wrong = await record({ total: -1, currency: "GBP", createdBy: "me" });
    expect(wrong.status).toBe(422);
    const paths = wrong.body.errors.map(({ path }: { path: string }) => path).sort();
    expect(paths).toEqual(["/values/createdBy", "/values/currency", "/values/total"]);
    expect((await ask("record", { schema: "order", values: { total: 1 } }, undefined)).status).toBe(401);
    expect((await ask("record", { values: {} }, ann.token)).body.errors[0]).toMatchObject({
      path: "/schema",
    });
    // The schema decides who can write.
    expect((await ask("record", { schema: "ledger", values: { note: "x" } }, ann.token)).status).toBe(403);
    expect((await ask("record", { schema: "ledger", values: { note: "x" } }, admin)).status).toBe(200);
  });

  test("stores one record per idempotency key, and refuses another body with the same key", async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, () => record({ total: 7 }, bob.token, { key: "order-1" })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    const { body } = await list({}, bob.token);
    expect(body.items).toHaveLength(1);
    const other = await record({ total: 8 }, bob.token, { key: "order-1" });
    expect(other).toMatchObject({ status: 422, body: { code: "idempotency_mismatch" } });
    const header = { "idempotency-key": "order-1" };
    const send = (total: number) =>
      call(platform, "POST", "/api/desk/record", {
        token: bob.token,
        body: { schema: "order", values: { total } },
        headers: header,
      });
    expect((await send(7)).body.id).toBe(body.items[0].id);
    expect((await send(9)).status).toBe(422);
    const anns = await record({ total: 7 }, ann.token, { key: "order-1" });
    expect(anns.body.id).not.toBe(body.items[0].id);
  });

  test("enforces unique fields among parallel records", async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => record({ total: 1, number: "A-1" }, bob.token)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409]);
  });

  test("refuses to change or delete a record with 409 append_only", async () => {
    const { body } = await record({ total: 5 });
    const base = `/api/admin/orbs/desk/entries/${body.id}`;
    const attempts = [
      call(platform, "PUT", base, { token: admin, body: { values: { total: 1 } } }),
      call(platform, "DELETE", base, { token: admin }),
      call(platform, "DELETE", `${base}?purge=true&force=true`, { token: admin }),
      ...["publish", "unpublish", "archive", "restore"].map((operation) =>
        call(platform, "POST", `${base}/${operation}`, { token: admin }),
      ),
      call(platform, "POST", `${base}/revisions/1/restore`, { token: admin }),
      call(platform, "POST", "/api/admin/orbs/desk/entries", {
        token: admin,
        body: { module: "orders", schema: "order", values: { total: 1 } },
      }),
    ];
    for (const { status, body: said } of await Promise.all(attempts)) {
      expect([status, said.code]).toEqual([409, "append_only"]);
    }
    expect((await call(platform, "GET", "/api/desk/orders", { token: admin })).status).toBe(404);
    const kept = await call(platform, "GET", base, { token: admin });
    expect(kept.body).toMatchObject({ revision: 1, status: "PUBLISHED", values: { total: 5 } });
  });

  test("lists users their own records and admins all, with pages and time ranges", async () => {
    const cem = await user(platform);
    const ids: string[] = [];
    for (let i = 0; i < 7; i++) ids.push((await record({ total: i }, cem.token)).body.id);
    const first = await list({ limit: 3 }, cem.token);
    expect(first.body.items.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 3));
    const second = await list({ limit: 3, cursor: first.body.nextCursor }, cem.token);
    expect(second.body.items.map(({ id }: { id: string }) => id)).toEqual(ids.slice(3, 6));
    const third = await list({ limit: 3, cursor: second.body.nextCursor }, cem.token);
    expect(third.body).toMatchObject({ items: [{ id: ids[6] }], nextCursor: null });
    const seen: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page = await list({ order: "desc", limit: 2, ...(cursor === "" ? {} : { cursor }) }, cem.token);
      seen.push(...page.body.items.map(({ id }: { id: string }) => id));
      cursor = page.body.nextCursor;
    }
    expect(seen).toEqual(ids.toReversed());
    const from = second.body.items[0].createdAt;
    const ranged = await list({ from }, cem.token);
    expect(ranged.body.items.map(({ id }: { id: string }) => id)).toEqual(ids.slice(3));
    const until = await list({ to: from, order: "desc" }, cem.token);
    expect(until.body.items.map(({ id }: { id: string }) => id)).toEqual(ids.slice(0, 3).reverse());
    const all = await list({ limit: 200 }, admin);
    expect(all.body.items.length).toBeGreaterThan(7);
    expect((await list({ by: cem.id }, admin)).body.items).toHaveLength(7);
    expect((await list({ by: cem.id }, ann.token)).status).toBe(403);
    expect((await list({ cursor: first.body.nextCursor }, ann.token)).status).toBe(400);
    expect((await list({ from: "yesterday" }, cem.token)).status).toBe(422);
    expect((await list({ limit: 1000 }, cem.token)).status).toBe(422);
  });

  test("reads only the requested page of two thousand records", async () => {
    const store = platform.operatorStore();
    const deps = testDeps(store);
    const live = await liveOrb(deps, "desk");
    const schema = live?.compiled.schema("orders", "order");
    if (live === null || schema === undefined) throw new Error("no orders");
    const actor = userActor("dan");
    for (let at = 0; at < 2_000; at += 500) {
      await Promise.all(
        Array.from({ length: 500 }, (_, i) =>
          recordTransaction(deps, { actor, role: "user" }, live, schema, { values: { total: at + i } }),
        ),
      );
    }
    const { listTransactions } = await import("../../shared/modules/transactions/list.ts");
    const { countingStore } = await import("../support/counting.ts");
    const counted = countingStore(store);
    const page = (query: object) =>
      listTransactions({ ...deps, store: counted.store }, { actor, role: "user" }, live, schema, {
        order: "asc",
        limit: 50,
        ...query,
      });
    const first = await page({});
    expect(first.items).toHaveLength(50);
    expect(counted.calls).toEqual(["scan", "getMany"]);
    counted.reset();
    const newest = await page({ order: "desc" });
    expect(newest.items).toHaveLength(50);
    expect(counted.calls.length).toBeLessThanOrEqual(4);
    let seen = 0;
    for (let cursor: string | undefined; ; ) {
      const next = await page({ limit: 200, ...(cursor === undefined ? {} : { cursor }) });
      seen += next.items.length;
      if (next.nextCursor === null) break;
      cursor = next.nextCursor;
    }
    expect(seen).toBe(2_000);
  });
});

describe("settings", () => {
  const get = (token: string | undefined, more: object = {}) => ask("get", more, token);
  const set = (token: string, values: object, more: object = {}) => ask("set", { values, ...more }, token);

  test("returns the schema's defaults until the user sets a value, and again after null", async () => {
    const before = await get(ann.token);
    expect(before).toMatchObject({ status: 200, body: { revision: 0, scope: "user", updatedAt: null } });
    expect(before.body.values).toEqual({ newsletter: false, theme: "light" });
    const after = await set(ann.token, { theme: "dark", size: 20 });
    expect(after.body.values).toEqual({ newsletter: false, theme: "dark", size: 20 });
    expect((await get(ann.token)).body).toEqual(after.body);
    expect((await get(bob.token)).body.values).toEqual({ newsletter: false, theme: "light" });
    const back = await set(ann.token, { theme: null });
    expect(back.body).toMatchObject({ revision: 2, values: { newsletter: false, theme: "light", size: 20 } });
    expect((await get(undefined)).status).toBe(401);
  });

  test("reports all invalid values at once and masks sensitive ones", async () => {
    const wrong = await set(ann.token, { theme: "pink", size: 5, colour: 1 });
    expect(wrong.status).toBe(422);
    const paths = wrong.body.errors.map(({ path }: { path: string }) => path).sort();
    expect(paths).toEqual(["/values/colour", "/values/size", "/values/theme"]);
    const secret = await set(ann.token, { token: "plain-text" });
    expect(secret.status).toBe(200);
    expect(JSON.stringify(secret.body)).not.toContain("plain-text");
    const kept = await set(ann.token, { token: secret.body.values.token, motto: "x" });
    expect(kept.status).toBe(200);
    expect((await set(ann.token, { motto: "" })).body.errors[0]).toMatchObject({ path: "/values/motto" });
  });

  test("keeps application settings, which only admins can use, apart from user settings", async () => {
    expect((await get(ann.token, { scope: "application" })).status).toBe(403);
    expect((await set(ann.token, { theme: "dark" }, { scope: "application" })).status).toBe(403);
    const made = await set(admin, { theme: "dark" }, { scope: "application" });
    expect(made).toMatchObject({ status: 200, body: { scope: "application", values: { theme: "dark" } } });
    expect((await get(admin, { scope: "application" })).body.values.theme).toBe("dark");
    expect((await get(admin)).body.values.theme).toBe("light");
  });

  test("can be changed while they hold a value for a removed market", async () => {
    const document = (markets: string[]) => ({
      id: "abroad",
      markets,
      uses: [{ service: "settings", handlers: ["get", "set"] }],
      modules: [
        {
          id: "preferences",
          type: "SETTINGS",
          schemas: [
            {
              id: "preference",
              fields: [
                { name: "currency", type: "string", marketSpecific: true },
                { name: "theme", type: "string" },
              ],
            },
          ],
        },
      ],
    });
    const at = (method: string, path: string, body: unknown) =>
      call(platform, method, `/api/admin/orbs${path}?publish=true`, { token: admin, body });
    expect((await at("POST", "", document(["US", "EU"]))).status).toBe(201);
    const change = (values: object) => ask("set", { values }, ann.token, "abroad");
    expect((await change({ currency: { US: "USD", EU: "EUR" } })).status).toBe(200);
    expect((await at("PUT", "/abroad", document(["US"]))).status).toBe(200);
    expect(await change({ theme: "dark" })).toMatchObject({
      status: 200,
      body: { values: { currency: { US: "USD" }, theme: "dark" } },
    });
  });

  test("loses no field when fields are set in parallel", async () => {
    const eve = await user(platform);
    const answers = await Promise.all(Array.from({ length: 12 }, (_, i) => set(eve.token, { [`f${i}`]: i })));
    expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(200));
    const { body } = await get(eve.token);
    expect(body.revision).toBe(12);
    for (let i = 0; i < 12; i++) expect(body.values[`f${i}`]).toBe(i);
    const entries = await call(platform, "GET", "/api/admin/orbs/desk/entries?module=preferences&limit=200", {
      token: admin,
    });
    const mine = entries.body.items.filter(({ createdBy }: { createdBy: string }) => createdBy === eve.id);
    expect(mine).toHaveLength(1);
  });
});
