import { beforeAll, describe, expect, it } from "vitest";
import { adminToken, call, user } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let admin: string;
let ann: string;
let bob: string;

const DOCUMENT = {
  id: "keyed",
  languages: ["en", "de"],
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "product",
          access: { read: "public", write: "user" },
          fields: [
            { name: "sku", type: "string", unique: true },
            { name: "number", type: "integer", unique: true },
            { name: "title", type: "string", translatable: true },
            { name: "slug", type: "string", translatable: true, unique: true },
            { name: "tax", type: "string", unique: true, sensitive: true },
            { name: "cost", type: "string", unique: true, access: { read: ["admin"] } },
            { name: "note", type: "string" },
          ],
        },
        { id: "plain", access: { read: "public" }, fields: [{ name: "text", type: "string" }] },
      ],
    },
    {
      id: "diary",
      type: "CONTENT",
      schemas: [
        {
          id: "page",
          access: { read: "own", write: "user" },
          fields: [
            { name: "day", type: "date", unique: true },
            { name: "text", type: "string" },
          ],
        },
      ],
    },
  ],
};

const send = (
  method: string,
  path: string,
  { token, body, headers = {} }: { token?: string; body?: unknown; headers?: Record<string, string> } = {},
) =>
  call(platform, method, `/api/keyed${path}`, {
    headers,
    ...(token === undefined ? {} : { token }),
    ...(body === undefined ? {} : { body }),
  });

const PRODUCT = "/catalog/product/by/sku";
const put = (key: string, values: object, query = "", headers = {}) =>
  send("PUT", `${PRODUCT}/${encodeURIComponent(key)}${query}`, { token: admin, body: { values }, headers });

beforeAll(async () => {
  platform = await sharedPlatform();
  admin = await adminToken(platform);
  const made = await call(platform, "POST", "/api/admin/orbs", { token: admin, body: DOCUMENT });
  expect([made.status, made.body.errors]).toEqual([201, undefined]);
  const live = await call(platform, "POST", "/api/admin/orbs/keyed/publish", { token: admin });
  expect(live.status).toBe(200);
  ann = (await user(platform, "auth", "user")).token;
  bob = (await user(platform, "auth", "user")).token;
});

describe("PUT by a unique value", () => {
  it("creates the entry, updates it, and writes nothing for the same values", async () => {
    const made = await put("A1", { title: { en: "Chair" } }, "?publish=true&locale=*");
    expect([made.status, made.body.revision, made.body.values]).toEqual([
      201,
      1,
      { sku: "A1", title: { en: "Chair" } },
    ]);
    expect(made.headers.get("location")).toBe(`/api/keyed/catalog/product/${made.body.id}`);
    const same = await put("A1", { sku: "A1", title: { en: "Chair" } }, "?publish=true&locale=*");
    expect([same.status, same.body.id, same.body.revision]).toEqual([200, made.body.id, 1]);
    expect([made, same].map(({ headers }) => headers.get("entry-unchanged"))).toEqual([null, "true"]);
    const changed = await put("A1", { title: { en: "Stool" } }, "?publish=true&locale=*");
    expect([changed.status, changed.body.id, changed.body.revision]).toEqual([200, made.body.id, 2]);
    // The whole entry is replaced, as by PUT with an id.
    const without = await put("A1", { note: "x" }, "?locale=*");
    expect(without.body.values).toEqual({ sku: "A1", note: "x" });
  });

  it("refuses another value in the body, and the values of other fields that are wrong", async () => {
    const other = await put("A2", { sku: "A3" });
    expect([other.status, other.body.errors]).toMatchObject([
      422,
      [{ path: "/values/sku", code: "immutable" }],
    ]);
    const none = await put("A2", { sku: null });
    expect([none.status, none.body.errors?.[0].path]).toEqual([422, "/values/sku"]);
    const wrong = await put("A2", { number: "x" });
    expect([wrong.status, wrong.body.errors?.[0].path]).toEqual([422, "/values/number"]);
    expect((await send("GET", `${PRODUCT}/A2`)).status).toBe(404);
  });

  it("restricts itself to creating or updating by If-None-Match and If-Match", async () => {
    const missing = await put("A4", { note: "1" }, "", { "if-match": "*" });
    expect(missing.status).toBe(404);
    const made = await put("A4", { note: "1" }, "", { "if-none-match": "*" });
    expect(made.status).toBe(201);
    const again = await put("A4", { note: "2" }, "", { "if-none-match": "*" });
    expect([again.status, again.body.code]).toEqual([412, "entry_exists"]);
    const old = await put("A4", { note: "2" }, "", { "if-match": '"7"' });
    expect([old.status, old.body.code]).toEqual([412, "revision_mismatch"]);
    expect((await put("A4", { note: "2" }, "", { "if-match": '"1"' })).body.revision).toBe(2);
    expect((await put("A4", {}, "", { "if-none-match": '"1"' })).status).toBe(400);
    expect((await put("A4", {}, "", { "if-none-match": "*", "if-match": "*" })).status).toBe(400);
  });

  it("lets one of many concurrent requests create the entry", async () => {
    const all = await Promise.all(
      Array.from({ length: 12 }, (_, i) => put("race", { note: `writer ${i}` }, "?publish=true")),
    );
    const statuses = all.map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => status === 200)).toHaveLength(11);
    expect(new Set(all.map(({ body }) => body.id)).size).toBe(1);
    expect((await send("GET", `${PRODUCT}/race`)).body.revision).toBe(12);
  });

  it("creates the entry again after it was deleted", async () => {
    const first = await put("A5", {});
    expect((await send("DELETE", `${PRODUCT}/A5`, { token: admin })).status).toBe(204);
    const second = await put("A5", {});
    expect([second.status, second.body.id === first.body.id]).toEqual([201, false]);
  });

  it("does not take a value that only the published revision of another entry has", async () => {
    const made = await put("A6", {}, "?publish=true");
    const renamed = await send("PATCH", `/catalog/product/${made.body.id}`, {
      token: admin,
      body: { values: { sku: "A6b" } },
    });
    expect(renamed.status).toBe(200);
    expect([(await put("A6", {})).body.code]).toEqual(["unique_conflict"]);
    expect((await put("A6b", { note: "draft" })).body.id).toBe(made.body.id);
  });
});

describe("an entry by a unique value", () => {
  it("is read as by its id, by each key and by both forms of the path", async () => {
    const made = await put("B 1/ü?", { number: 7, title: { en: "Chair" } }, "?publish=true&locale=*");
    const byId = await send("GET", `/catalog/product/${made.body.id}?locale=*`);
    for (const path of [`${PRODUCT}/${encodeURIComponent("B 1/ü?")}`, "/catalog/product/by/number/7"]) {
      const found = await send("GET", `${path}?locale=*`);
      expect([found.status, found.body]).toEqual([200, byId.body]);
      expect(found.headers.get("etag")).toBe(byId.headers.get("etag"));
      const same = await send("GET", `${path}?locale=*`, {
        headers: { "if-none-match": byId.headers.get("etag") ?? "" },
      });
      expect(same.status).toBe(304);
      expect((await send("HEAD", path)).status).toBe(200);
    }
    const day = await send("PUT", "/diary/by/day/2026-01-31", { token: admin, body: { values: {} } });
    expect(day.status).toBe(201);
    expect(day.headers.get("location")).toBe(`/api/keyed/diary/${day.body.id}`);
  });

  it("is found by the value of the revision that the caller may see", async () => {
    const made = await put("B2", {}, "?publish=true");
    await send("PATCH", `/catalog/product/${made.body.id}`, {
      token: admin,
      body: { values: { sku: "B2new" } },
    });
    expect((await send("GET", `${PRODUCT}/B2`)).status).toBe(200);
    expect((await send("GET", `${PRODUCT}/B2new`)).status).toBe(404);
    const draft = await send("GET", `${PRODUCT}/B2new?revision=latest`, { token: admin });
    expect([draft.status, draft.body.id]).toEqual([200, made.body.id]);
    expect((await send("GET", `${PRODUCT}/B2?revision=latest`, { token: admin })).status).toBe(404);
    expect((await send("GET", `${PRODUCT}/B2?revision=latest`)).status).toBe(401);
  });

  it("is changed and deleted", async () => {
    await put("B3", { note: "1", number: 33 });
    const patched = await send("PATCH", `${PRODUCT}/B3`, { token: admin, body: { values: { note: "2" } } });
    expect([patched.status, patched.body.values]).toEqual([200, { sku: "B3", note: "2", number: 33 }]);
    const again = await send("PATCH", `${PRODUCT}/B3`, { token: admin, body: { values: { note: "2" } } });
    expect([again.body.revision, again.headers.get("entry-unchanged")]).toEqual([2, "true"]);
    const old = await send("DELETE", `${PRODUCT}/B3`, { token: admin, headers: { "if-match": '"1"' } });
    expect(old.status).toBe(412);
    expect((await send("DELETE", `${PRODUCT}/B3`, { token: admin })).status).toBe(204);
    for (const method of ["PATCH", "DELETE"]) {
      const gone = await send(method, `${PRODUCT}/B3`, {
        token: admin,
        ...(method === "PATCH" ? { body: { values: { note: "3" } } } : {}),
      });
      expect([gone.status, gone.body.code]).toEqual([404, "entry_not_found"]);
    }
  });
});

describe("fields that are no keys", () => {
  it.each(["note", "title", "slug", "tax", "nothing", "__proto__", "id"])(
    "refuses %s with 404",
    async (field) => {
      for (const method of ["GET", "PUT", "DELETE"]) {
        const refused = await send(method, `/catalog/product/by/${field}/x`, {
          token: admin,
          ...(method === "PUT" ? { body: { values: {} } } : {}),
        });
        expect([refused.status, refused.body.code]).toEqual([404, "unknown_key"]);
      }
    },
  );

  it("names the keys that there are, and refuses values of another type", async () => {
    const refused = await send("GET", "/catalog/product/by/note/x");
    expect(refused.body.detail).toBe(
      'Entries cannot be addressed by "note". Use a unique field: sku, number.',
    );
    const none = await send("GET", "/catalog/plain/by/text/x");
    expect(none.body.detail).toContain("no unique field");
    const typed = await send("GET", "/catalog/product/by/number/seven");
    expect([typed.status, typed.body.errors]).toMatchObject([
      400,
      [{ path: "/number", code: "invalid_value" }],
    ]);
    for (const path of ["/catalog/product/by", "/catalog/product/by/sku", `${PRODUCT}/x/publish`])
      expect((await send("GET", path)).body.code).toBe("route_not_found");
    expect((await send("POST", `${PRODUCT}/x`, { token: admin, body: {} })).status).toBe(405);
  });
});

describe("access", () => {
  it("refuses callers without access before it looks anything up", async () => {
    await put("C1", {});
    const body = { values: {} };
    expect((await send("PUT", `${PRODUCT}/C1`, { body })).status).toBe(401);
    expect((await send("PATCH", `${PRODUCT}/C1`, { body })).status).toBe(401);
    expect((await send("DELETE", `${PRODUCT}/C1`)).status).toBe(401);
    expect((await send("GET", "/diary/by/day/2026-02-01")).status).toBe(401);
    // A draft is missing for callers who may not read it.
    expect((await send("GET", `${PRODUCT}/C1`)).status).toBe(404);
  });

  it("does not use a field as a key for callers who may not read it", async () => {
    const path = "/catalog/product/by/cost/9";
    expect((await send("PUT", path, { token: admin, body: { values: {} } })).status).toBe(201);
    expect((await send("GET", `${path}?revision=latest`, { token: admin })).status).toBe(200);
    expect((await send("GET", path, { token: ann })).body.code).toBe("unknown_key");
  });

  it("does not tell whether another account's entry has a value", async () => {
    const path = "/diary/by/day/2026-03-01";
    expect((await send("PUT", path, { token: ann, body: { values: { text: "mine" } } })).status).toBe(201);
    expect((await send("GET", `${path}?revision=latest`, { token: bob })).status).toBe(404);
    expect((await send("PATCH", path, { token: bob, body: { values: { text: "x" } } })).status).toBe(404);
    expect((await send("DELETE", path, { token: bob })).status).toBe(404);
    // Creating an entry with the value is refused, as it is without a key.
    const taken = await send("PUT", path, { token: bob, body: { values: {} } });
    expect([taken.status, taken.body.code]).toEqual([409, "unique_conflict"]);
    const own = await send("GET", `${path}?revision=latest`, { token: ann });
    expect([own.body.values.text, own.body.revision]).toEqual(["mine", 1]);
  });
});
