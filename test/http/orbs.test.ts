import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { orbStreamConfig } from "../../shared/store/broker/provision.ts";
import { adminToken, call as request } from "../support/auth.ts";
import { managing } from "../support/managing.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;
beforeAll(async () => {
  platform = await sharedPlatform({});
  token = await adminToken(platform);
});

const { call, created, orb } = managing("orb", () => ({ platform, token }));

describe("authentication", () => {
  const routes: [string, string][] = [
    ["GET", "/api/admin/orbs"],
    ["POST", "/api/admin/orbs"],
    ["GET", "/api/admin/orbs/x1"],
    ["PUT", "/api/admin/orbs/x1"],
    ["PATCH", "/api/admin/orbs/x1"],
    ["DELETE", "/api/admin/orbs/x1"],
    ["POST", "/api/admin/orbs/x1/publish"],
    ["GET", "/api/admin/orbs/x1/revisions"],
    ["GET", "/api/admin/orbs/x1/revisions/1"],
    ["GET", "/api/_orbs"],
    ["GET", "/api/admin/routes"],
  ];
  test.each(routes)("%s %s needs a platform admin", async (method, path) => {
    const body = method === "GET" || method === "DELETE" ? {} : { body: "nonsense" };
    const answer = await request(platform, method, path, body);
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toContain("Bearer");
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
  });
});

describe("create, read, update", () => {
  test("returns the example shop as it was sent, under both prefixes", async () => {
    const shop: object = JSON.parse(
      readFileSync(new URL("../../scripts/examples/shop.json", import.meta.url), "utf8"),
    );
    const made = await call("POST", "/api/_orbs", { body: shop });
    expect(made.status).toBe(201);
    expect(made.headers.get("location")).toBe("/api/_orbs/shop");
    expect(made.headers.get("etag")).toBe('"1"');
    expect(made.body).toMatchObject({ ...shop, status: "SAVED", revision: 1, publishedRevision: null });
    for (const prefix of ["/api/admin/orbs", "/api/_orbs"]) {
      const got = await call("GET", `${prefix}/shop`);
      expect(got.status).toBe(200);
      expect(got.body).toEqual(made.body);
      expect(got.headers.get("etag")).toBe('"1"');
    }
    expect((await call("POST", "/api/admin/orbs/shop/publish")).body).toMatchObject({
      status: "PUBLISHED",
      revision: 2,
      publishedRevision: 2,
    });
  });

  test("accepts its own response as an update, and refuses changes to the state in it", async () => {
    const { path, answer } = await created();
    const put = await call("PUT", path, { body: { ...answer.body, name: "Named" } });
    expect(put.status).toBe(200);
    expect(put.body).toMatchObject({ name: "Named", revision: 2 });
    const wrong = await call("PUT", path, { body: { ...put.body, status: "PUBLISHED", revision: 1 } });
    expect(wrong.status).toBe(422);
    expect(
      wrong.body.errors.map((fault: { path: string; code: string }) => `${fault.path} ${fault.code}`),
    ).toEqual(["/status read_only", "/revision read_only"]);
  });

  test("changes only what a patch names", async () => {
    const { path, answer } = await created();
    const patch = (body: unknown, query = "", headers = {}) =>
      call("PATCH", `${path}${query}`, {
        body,
        headers: { "content-type": "application/merge-patch+json", ...headers },
      });
    const named = await patch({ name: "Named", description: "Described" });
    expect(named).toMatchObject({ status: 200, body: { name: "Named", revision: 2 } });
    expect(named.body.modules).toEqual(answer.body.modules);
    const effects = await patch({ description: null }, "?dryRun=true");
    expect(effects.body).toMatchObject({ dryRun: true, refused: false });
    const cleared = await patch({ description: null }, "?publish=true", { "if-match": '"2"' });
    expect(cleared.body).toMatchObject({ name: "Named", revision: 3, publishedRevision: 3 });
    expect(cleared.body).not.toHaveProperty("description");
    expect((await patch({ name: "Late" }, "", { "if-match": '"2"' })).status).toBe(412);
    expect((await patch({ modules: {}, revision: 9, nope: 1 })).body.errors).toMatchObject([
      { path: "/revision", code: "read_only" },
      { path: "/modules", code: "type" },
      { path: "/nope", code: "unknown_property" },
    ]);
    expect((await patch([{ op: "remove", path: "/name" }])).status).toBe(422);
  });

  test("applies all parallel patches", async () => {
    const { path } = await created();
    const parts = [{ name: "Named" }, { description: "Described" }, { languages: ["en", "de"] }];
    const answers = await Promise.all(parts.map((body) => call("PATCH", path, { body })));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await call("GET", path)).body).toMatchObject(Object.assign({}, ...parts));
  });

  test("reports all errors at once with path and code", async () => {
    const answer = await call("POST", "/api/admin/orbs", {
      body: {
        id: "admin",
        bogus: 1,
        modules: [
          {
            id: "call",
            type: "X",
            schemas: [{ id: "s", fields: [{ name: "id", type: "string", min: 2, max: 1 }] }],
          },
        ],
      },
    });
    expect(answer.status).toBe(422);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect(answer.body.code).toBe("validation_failed");
    expect(
      answer.body.errors.map((fault: { path: string; code: string }) => `${fault.path} ${fault.code}`).sort(),
    ).toEqual(
      [
        "/bogus unknown_property",
        "/id reserved",
        "/modules/0/id reserved",
        "/modules/0/schemas/0/fields/0/min bounds",
        "/modules/0/schemas/0/fields/0/name reserved",
        "/modules/0/type enum",
      ].sort(),
    );
  });

  test.each([
    ["not JSON", "{", { "content-type": "application/json" }, 400],
    ["of another content type", "id: x", { "content-type": "text/yaml" }, 415],
    [
      "larger than 512 KiB",
      JSON.stringify({ id: "large", description: "x".repeat(512 * 1024) }),
      { "content-type": "application/json" },
      413,
    ],
    [
      "nested too deeply",
      `{"id":"deep","modules":${"[".repeat(100)}${"]".repeat(100)}}`,
      { "content-type": "application/json" },
      400,
    ],
    ["an array", "[]", { "content-type": "application/json" }, 422],
    ["empty", "", { "content-type": "application/json" }, 400],
    ["missing", null, {}, 422],
  ])("refuses a body that is %s", async (_name, body, headers, status) => {
    const response = await fetch(`${platform.origin}/api/admin/orbs`, {
      method: "POST",
      headers: { ...headers, authorization: `Bearer ${token}` },
      body,
    });
    expect(response.status).toBe(status);
    expect(response.headers.get("content-type")).toBe("application/problem+json");
    await response.body?.cancel();
  });

  test("refuses 10,000 fields with too_many", async () => {
    const fields = Array.from({ length: 10_000 }, (_, index) => ({ name: `f${index}`, type: "string" }));
    const answer = await call("POST", "/api/admin/orbs", {
      body: { id: "many", modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "s", fields }] }] },
    });
    expect(answer.status).toBe(422);
    expect(answer.body.errors[0]).toMatchObject({ path: "/modules/0/schemas/0/fields", code: "too_many" });
  });

  test("refuses to change the id", async () => {
    const { path, document } = await created();
    const answer = await call("PUT", path, { body: { ...document, id: "other-id" } });
    expect(answer.status).toBe(422);
    expect(answer.body.errors).toMatchObject([{ path: "/id", code: "mismatch" }]);
  });

  test.each(["nothing", "Nothing", "_x", "%2A", "a.b", "x".repeat(200)])(
    "answers 404 for the orb id %s",
    async (id) => {
      for (const method of ["GET", "DELETE"])
        expect((await call(method, `/api/admin/orbs/${id}`)).status).toBe(404);
      expect((await call("PUT", `/api/admin/orbs/${id}`, { body: orb() })).status).toBe(404);
      expect((await call("POST", `/api/admin/orbs/${id}/publish`)).status).toBe(404);
      expect((await call("GET", `/api/admin/orbs/${id}/revisions`)).status).toBe(404);
    },
  );

  test("refuses an existing, overlapping or reserved id", async () => {
    const { document } = await created();
    expect(await call("POST", "/api/admin/orbs", { body: document })).toMatchObject({
      status: 409,
      body: { code: "orb_exists" },
    });
    const store = platform.operatorStore();
    await store.createStream({ ...orbStreamConfig("taken", 1), name: "another", republish: undefined });
    expect(await call("POST", "/api/admin/orbs", { body: { id: "taken" } })).toMatchObject({
      status: 409,
      body: { code: "orb_overlaps" },
    });
    await store.deleteStream("another");
    for (const id of ["taken", "wallet", "heartbeat", "svc"])
      expect((await call("GET", `/api/admin/orbs/${id}`)).status).toBe(404);
    for (const id of ["wallet", "heartbeat", "svc"]) {
      expect(await call("POST", "/api/admin/orbs", { body: { id } })).toMatchObject({
        status: 422,
        body: { errors: [{ path: "/id", code: "reserved" }] },
      });
    }
  });

  test("accepts numbers in plain decimal digits only", async () => {
    const { path } = await created();
    expect((await call("GET", `${path}/revisions/1?against=1`)).status).toBe(200);
    expect((await call("GET", `${path}/revisions?limit=10`)).status).toBe(200);
    for (const number of ["1e0", "0x1", "01", "1.0", "+1", "%201", "0", "-1", "9".repeat(16), ""]) {
      const answers = [
        await call("GET", `${path}/revisions/1?against=${number}`),
        await call("GET", `${path}/revisions?limit=${number}`),
        await call("GET", `/api/admin/orbs?limit=${number}`),
        await call("GET", `/api/admin/audit?limit=${number}`),
        await call("GET", `/api/auth/users?limit=${number}`),
        ...(number === "" ? [] : [await call("GET", `${path}/revisions/${number}`)]),
      ];
      expect([number, answers.map(({ status }) => status)]).toEqual([number, answers.map(() => 400)]);
    }
  });

  test("refuses unknown or invalid parameters with 400", async () => {
    for (const path of [
      "/api/admin/orbs?x=1",
      "/api/admin/orbs?limit=0",
      "/api/admin/orbs?limit=201",
      "/api/admin/orbs?cursor=!",
      "/api/admin/orbs/shop?revision=x",
      "/api/admin/orbs/shop/revisions/x",
    ]) {
      expect((await call("GET", path)).status).toBe(400);
    }
  });
});

describe("conditional requests and idempotency", () => {
  test("answers 304 to a matching If-None-Match and 412 to an outdated If-Match", async () => {
    const { path, document } = await created();
    expect((await call("GET", path, { headers: { "if-none-match": '"1"' } })).status).toBe(304);
    expect((await call("GET", path, { headers: { "if-none-match": '"0"' } })).status).toBe(200);
    const old = { "if-match": '"1"' };
    expect((await call("PUT", path, { body: document, headers: old })).status).toBe(200);
    expect(await call("PUT", path, { body: document, headers: old })).toMatchObject({
      status: 412,
      body: { code: "revision_mismatch", revision: 2 },
    });
    expect((await call("POST", `${path}/publish`, { headers: old })).status).toBe(412);
    expect((await call("DELETE", path, { headers: old })).status).toBe(412);
    expect((await call("PUT", path, { body: document, headers: { "if-match": "*" } })).status).toBe(200);
    expect((await call("POST", `${path}/publish`, { headers: { "if-match": '"3"' } })).status).toBe(200);
    expect((await call("DELETE", path, { headers: { "if-match": '"4"' } })).status).toBe(204);
  });

  test("lets exactly one of 20 parallel updates with the same ETag succeed", async () => {
    const { path, document } = await created();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        call("PUT", path, { body: { ...document, name: `n${index}` }, headers: { "if-match": '"1"' } }),
      ),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([
      200,
      ...Array.from({ length: 19 }, () => 412),
    ]);
    expect((await call("GET", path)).body.revision).toBe(2);
  });

  test("applies all parallel updates without an ETag", async () => {
    const { path, document } = await created();
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        call("PUT", path, { body: { ...document, name: `n${index}` } }),
      ),
    );
    expect(answers.map((answer) => answer.status)).toEqual(Array.from({ length: 6 }, () => 200));
    expect(answers.map((answer) => answer.body.revision).sort()).toEqual([2, 3, 4, 5, 6, 7]);
  });

  test("lets exactly one of 20 parallel creations of the same id succeed", async () => {
    const document = orb();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => call("POST", "/api/admin/orbs", { body: document })),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([
      201,
      ...Array.from({ length: 19 }, () => 409),
    ]);
    expect((await call("GET", `/api/admin/orbs/${document.id}`)).body.revision).toBe(1);
  });

  test("replays the response to a repeated Idempotency-Key", async () => {
    const document = orb();
    const headers = { "idempotency-key": "create-1" };
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => call("POST", "/api/admin/orbs", { body: document, headers })),
    );
    expect(answers.map((answer) => answer.status)).toEqual([201, 201, 201, 201, 201]);
    for (const answer of answers) expect(answer.body).toEqual(answers[0]?.body);
    const replays = answers.filter(({ headers }) => headers.get("idempotent-replayed") === "true");
    expect(replays).toHaveLength(4);
    expect(
      await call("POST", "/api/admin/orbs", { body: { ...document, name: "x" }, headers }),
    ).toMatchObject({ status: 422, body: { code: "idempotency_mismatch" } });
    const path = `/api/admin/orbs/${document.id}`;
    for (let i = 0; i < 3; i++) {
      const answer = await call("POST", `${path}/publish`, { headers: { "idempotency-key": "publish-1" } });
      expect(answer).toMatchObject({ status: 200, body: { revision: 2 } });
      expect(answer.headers.get("idempotent-replayed")).toBe(i === 0 ? null : "true");
    }
    expect(
      await call("POST", `/api/_orbs/${document.id}/publish`, {
        headers: { "idempotency-key": "publish-1" },
      }),
    ).toMatchObject({ status: 200, body: { revision: 2 } });
    expect((await call("GET", path)).body.revision).toBe(2);
  });
});
