import { beforeAll, describe, expect, it } from "vitest";
import { adminToken, call, user } from "../support/auth.ts";
import { installOrb, SHOP } from "../support/entries.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;
const ENTRIES = "/api/admin/orbs/shop/entries";

beforeAll(async () => {
  platform = await sharedPlatform({});
  token = await adminToken(platform);
  await installOrb(platform.operatorStore(), SHOP);
});

const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  call(platform, method, path, { token, headers, ...(body === undefined ? {} : { body }) });
const note = (text: string, query = "", headers: Record<string, string> = {}) =>
  send("POST", `${ENTRIES}${query}`, { module: "catalog", schema: "note", values: { text } }, headers);

describe("entries on the management API", () => {
  it("accept platform admins only", async () => {
    expect((await call(platform, "POST", ENTRIES, { body: {} })).status).toBe(401);
    const someone = await user(platform, "auth", "owner");
    // A token of an orb user is not a credential here.
    expect((await call(platform, "POST", ENTRIES, { body: {}, token: someone.token })).status).toBe(403);
  });

  it("are created, changed, published and deleted, with ETags", async () => {
    const made = await note("a");
    expect(made).toMatchObject({
      status: 201,
      body: { status: "SAVED", revision: 1, orb: "shop", module: "catalog", schema: "note" },
    });
    expect(made.headers.get("etag")).toBe('"1"');
    expect(made.headers.get("location")).toBe(`${ENTRIES}/${made.body.id}`);
    const one = `${ENTRIES}/${made.body.id}`;
    expect((await send("PUT", one, { values: { text: "b" } }, { "if-match": '"7"' })).status).toBe(412);
    const changed = await send("PUT", one, { values: { text: "b" } }, { "if-match": '"1"' });
    expect(changed).toMatchObject({ status: 200, body: { revision: 2, values: { text: "b" } } });
    expect(await send("POST", `${one}/publish`)).toMatchObject({
      status: 200,
      body: { status: "PUBLISHED", publishedRevision: 3 },
    });
    expect(await send("POST", `${one}/publish`)).toMatchObject({
      status: 409,
      body: { code: "wrong_state", status: 409, state: "PUBLISHED" },
    });
    expect(await send("POST", `/api/_orbs/shop/entries/${made.body.id}/unpublish`)).toMatchObject({
      status: 200,
    });
    expect((await send("POST", `${one}/archive`)).body.status).toBe("ARCHIVED");
    expect((await send("POST", `${one}/restore`)).body.status).toBe("UNPUBLISHED");
    expect((await send("DELETE", one)).status).toBe(204);
    expect((await send("DELETE", one)).status).toBe(404);
    const revisions = await send("GET", `${one}/revisions?sort=-revision&limit=2`);
    expect(revisions.body.items.map((item: { operation: string }) => item.operation)).toEqual([
      "delete",
      "restore",
    ]);
    expect(revisions.body).not.toHaveProperty("total");
    const { nextCursor } = revisions.body;
    expect(nextCursor).not.toMatch(/^\d+$/);
    for (const cursor of ["3", "x", nextCursor.slice(1)]) {
      expect(await send("GET", `${one}/revisions?sort=-revision&cursor=${cursor}`)).toMatchObject({
        status: 400,
        body: { code: "invalid_cursor" },
      });
    }
    // A cursor is valid only for the sort order that it was issued for.
    expect((await send("GET", `${one}/revisions?cursor=${nextCursor}`)).status).toBe(400);
    const counted = await send("GET", `${one}/revisions?limit=1&count=true`);
    expect([counted.status, counted.body.items.length, counted.body.total]).toEqual([200, 1, 7]);
    const rest = await send("GET", `${one}/revisions?sort=-revision&cursor=${nextCursor}`);
    expect(rest.body.items.map((item: { revision: number }) => item.revision)).toEqual([5, 4, 3, 2, 1]);
    expect((await send("DELETE", `${one}?purge=true`)).status).toBe(204);
    expect((await send("GET", `${one}/revisions`)).status).toBe(404);
  });

  it("have revisions that can be read, compared and restored", async () => {
    const made = await send("POST", ENTRIES, {
      module: "catalog",
      schema: "product",
      values: { title: { en: "One" }, tags: ["x"], secret: "hidden-1" },
    });
    const one = `${ENTRIES}/${made.body.id}`;
    await send("PUT", one, { values: { title: { en: "Two" }, secret: "hidden-2" } });
    const compared = await send("GET", `${one}/revisions/2?against=1`);
    expect(compared.body).toMatchObject({ from: 1, to: 2 });
    expect(compared.body.patch).toEqual(
      expect.arrayContaining([
        { op: "replace", path: "/values/title/en", value: "Two" },
        { op: "remove", path: "/values/tags" },
        { op: "replace", path: "/values/secret", value: "••••••••" },
      ]),
    );
    expect(await send("POST", `${one}/revisions/1/restore`)).toMatchObject({
      status: 200,
      body: { revision: 3, values: { title: { en: "One" }, tags: ["x"] } },
    });
    expect((await send("GET", `${one}/revisions/9`)).status).toBe(404);
    expect((await send("GET", `${one}/revisions/1`)).body).toMatchObject({
      revision: 1,
      operation: "create",
      values: { secret: "••••••••" },
    });
    expect(JSON.stringify(platform.logs)).not.toContain("hidden-");
  });

  it("compare revisions with lists of 9,000 items", async () => {
    const data = Array.from({ length: 9_000 }, (_, index) => index);
    const values = { title: { en: "Long" }, data };
    const made = await send("POST", ENTRIES, { module: "catalog", schema: "product", values });
    const one = `${ENTRIES}/${made.body.id}`;
    const turned = { ...values, data: data.toReversed() };
    expect((await send("PUT", one, { values: turned })).status).toBe(200);
    const { status, body } = await send("GET", `${one}/revisions/2?against=1`);
    expect([status, body.patch]).toEqual([
      200,
      [{ op: "replace", path: "/values/data", value: turned.data }],
    ]);
  });

  it("replay the response to a repeated Idempotency-Key", async () => {
    const key = { "idempotency-key": "abc" };
    const [first, second] = await Promise.all([note("same", "", key), note("same", "", key)]);
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body).toEqual(first.body);
    const twin = await send(
      "POST",
      "/api/_orbs/shop/entries",
      { module: "catalog", schema: "note", values: { text: "same" } },
      key,
    );
    expect([twin.status, twin.headers.get("idempotent-replayed")]).toEqual([201, "true"]);
    expect(twin.body).toEqual(first.body);
    expect(await note("other", "", key)).toMatchObject({
      status: 422,
      body: { code: "idempotency_mismatch" },
    });
    // PUT without If-Match and DELETE ignore the key: each request is executed.
    const one = `${ENTRIES}/${first.body.id}`;
    for (const [text, revision] of [
      ["b", 2],
      ["c", 3],
    ] as const) {
      const changed = await send("PUT", one, { values: { text } }, key);
      expect(changed).toMatchObject({ status: 200, body: { revision, values: { text } } });
    }
    const changes = [
      ["PUT", { text: "d" }, 3],
      ["PATCH", { text: "e" }, 4],
    ] as const;
    for (const [method, values, before] of changes) {
      const headers = { ...key, "if-match": `"${before}"` };
      const changed = await send(method, one, { values }, headers);
      const again = await send(method, one, { values }, headers);
      expect(changed).toMatchObject({ status: 200, body: { revision: before + 1, values } });
      expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"]);
      expect(again.body).toEqual(changed.body);
    }
    expect((await send("DELETE", one, undefined, key)).status).toBe(204);
    expect((await send("DELETE", one, undefined, key)).status).toBe(404);
  });

  it("refuse numbers beyond double precision with 422 range", async () => {
    const raw = async (method: string, path: string, body: string) => {
      const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
      const answer = await fetch(platform.origin + path, { method, headers, body });
      return { status: answer.status, body: await answer.json() };
    };
    const range = { status: 422, body: { errors: [{ path: "/values/data/n", code: "range" }] } };
    const made = await send("POST", ENTRIES, {
      module: "catalog",
      schema: "product",
      values: { title: { en: "Far" }, data: { n: 1 } },
    });
    const values = '{"title":{"en":"Far"},"data":{"n":1e400}}';
    const one = `${ENTRIES}/${made.body.id}`;
    expect(await raw("PUT", one, `{"values":${values}}`)).toMatchObject(range);
    expect(
      await raw("POST", ENTRIES, `{"module":"catalog","schema":"product","values":${values}}`),
    ).toMatchObject(range);
    expect((await send("GET", one)).body).toMatchObject({ revision: 1, values: { data: { n: 1 } } });
    const field = '{"name":"n","type":"number","default":1e400}';
    const schemas = `[{"id":"s","fields":[${field}]}]`;
    const document = `{"id":"far-off","modules":[{"id":"m","type":"CONTENT","schemas":${schemas}}]}`;
    expect(await raw("POST", "/api/admin/orbs", document)).toMatchObject({ status: 422 });
  });

  it("refuse unknown parameters, members, modules, orbs and ids", async () => {
    expect((await note("a", "?nope=1")).status).toBe(400);
    expect((await note("a", "?publish=yes")).status).toBe(400);
    expect(
      (await send("POST", ENTRIES, { module: "catalog", schema: "note", values: {}, x: 1 })).status,
    ).toBe(422);
    expect((await send("POST", ENTRIES, { module: "nope", values: {} })).status).toBe(422);
    expect((await send("POST", "/api/admin/orbs/nothere/entries", { module: "m", values: {} })).status).toBe(
      404,
    );
    expect((await send("PUT", `${ENTRIES}/*`, { values: {} })).status).toBe(404);
    expect((await send("PUT", `${ENTRIES}/0abc.x`, { values: {} })).status).toBe(404);
    expect(
      (
        await send("POST", ENTRIES, {
          module: "catalog",
          schema: "note",
          values: { text: "x".repeat(600_000) },
        })
      ).status,
    ).toBe(413);
    const raw = await fetch(`${platform.origin}${ENTRIES}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: '{"module":"catalog","schema":"note","values":{"__proto__":{"a":1},"text":"\\ud800"}}',
    });
    expect(raw.status).toBe(422);
  });

  it("keep unique values and revisions consistent under parallel requests", async () => {
    const product = { module: "catalog", schema: "product", values: { title: { en: "T" }, sku: "race" } };
    const creations = await Promise.all(Array.from({ length: 60 }, () => send("POST", ENTRIES, product)));
    expect(creations.map(({ status }) => status).sort((a, b) => a - b)).toEqual([
      201,
      ...Array(59).fill(409),
    ]);
    for (const { status, body } of creations) {
      if (status === 409)
        expect(body).toMatchObject({ code: "unique_conflict", errors: [{ path: "/values/sku" }] });
    }
    const one = `${ENTRIES}/${(await note("race")).body.id}`;
    const changes = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        send("PUT", one, { values: { text: `${i}` } }, { "if-match": '"1"' }),
      ),
    );
    expect(changes.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, ...Array(19).fill(412)]);
  });

  it("can be created in bulk", async () => {
    const lines = Array.from({ length: 1000 }, (_, i) =>
      JSON.stringify({
        module: "catalog",
        schema: "product",
        values: { title: { en: `T${i}` }, sku: `http-${i % 999}` },
      }),
    );
    lines.splice(500, 0, "{ not json");
    const response = await fetch(`${platform.origin}${ENTRIES}/bulk?publish=true`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
      body: lines.join("\n"),
    });
    expect(response.status).toBe(200);
    const results = (await response.text())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(results.at(-1)).toEqual({ done: true, total: 1001, created: 999, failed: 2 });
    expect(results[500]).toMatchObject({ line: 501, status: 400, code: "malformed_json" });
    expect(results[1000]).toMatchObject({ line: 1001, status: 409, code: "unique_conflict" });
    // A JSON text sequence starts each record with a control character that JSON lines do not have.
    for (const type of ["text/plain", "application/json-seq"]) {
      const wrong = await fetch(`${platform.origin}${ENTRIES}/bulk`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": type },
        body: "x",
      });
      expect([wrong.status, await wrong.json()]).toMatchObject([415, { code: "not_json_lines" }]);
    }
  });
});
