import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { orbStreamConfig } from "../../shared/store/broker/provision.ts";
import { adminToken, call as request } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;
beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
});

type Options = { body?: unknown; headers?: Record<string, string> };
const call = (method: string, path: string, options: Options = {}) =>
  request(platform, method, path, { token, ...options });

let number = 0;
/** Returns a small document with a unique id. */
function orb(more: object = {}) {
  number++;
  return {
    id: `orb-${number}`,
    modules: [
      {
        id: "news",
        type: "CONTENT",
        schemas: [{ id: "article", fields: [{ name: "title", type: "string" }] }],
      },
    ],
    ...more,
  };
}

/** Creates an orb and returns its document, its path and the response. */
async function created(more: object = {}, query = "") {
  const document = orb(more);
  const answer = await call("POST", `/api/admin/orbs${query}`, { body: document });
  expect(answer.body).toMatchObject({ id: document.id });
  expect(answer.status).toBe(201);
  return { document, path: `/api/admin/orbs/${document.id}`, answer };
}

describe("authentication", () => {
  const routes: [string, string][] = [
    ["GET", "/api/admin/orbs"],
    ["POST", "/api/admin/orbs"],
    ["GET", "/api/admin/orbs/x1"],
    ["PUT", "/api/admin/orbs/x1"],
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

describe("lifecycle", () => {
  test("allows the documented transitions and refuses others with 409 wrong_state", async () => {
    const { path, document } = await created();
    const move = async (operation: string) => {
      const answer = await call("POST", `${path}/${operation}`);
      return answer.status === 200
        ? answer.body.status
        : `${answer.status} ${answer.body.code} ${answer.body.detail.includes("SAVED") ? "SAVED" : (/PUBLISHED|UNPUBLISHED|ARCHIVED/.exec(answer.body.detail)?.[0] ?? "")}`;
    };
    expect(await move("unpublish")).toBe("409 wrong_state SAVED");
    expect(await move("restore")).toBe("409 wrong_state SAVED");
    expect(await move("publish")).toBe("PUBLISHED");
    expect(await move("publish")).toBe("409 wrong_state PUBLISHED");
    expect(await move("restore")).toBe("409 wrong_state PUBLISHED");
    expect(await move("unpublish")).toBe("UNPUBLISHED");
    expect(await move("publish")).toBe("PUBLISHED");
    expect(await move("archive")).toBe("ARCHIVED");
    expect(await move("publish")).toBe("409 wrong_state ARCHIVED");
    expect(await move("archive")).toBe("409 wrong_state ARCHIVED");
    expect((await call("PUT", path, { body: document })).status).toBe(409);
    expect(await move("restore")).toBe("UNPUBLISHED");
    expect((await call("GET", path)).body).toMatchObject({ revision: 6, publishedRevision: null });
  });

  test("puts the standard members of a problem document first", async () => {
    const { path } = await created();
    const { body } = await call("POST", `${path}/unpublish`);
    expect(Object.keys(body)).toEqual(["type", "title", "status", "detail", "code", "state", "operation"]);
  });

  test("keeps a draft beside the published revision until it is published", async () => {
    const { path, document } = await created({}, "?publish=true");
    expect((await call("GET", path)).body).toMatchObject({
      status: "PUBLISHED",
      revision: 1,
      publishedRevision: 1,
    });
    const draft = await call("PUT", path, { body: { ...document, name: "Draft" } });
    expect(draft.body).toMatchObject({
      status: "PUBLISHED",
      revision: 2,
      publishedRevision: 1,
      name: "Draft",
    });
    const live = await call("GET", `${path}?revision=published`);
    expect(live.body.name).toBeUndefined();
    expect(live.headers.get("etag")).toBe('"2-published"');
    expect((await call("POST", `${path}/publish`)).body).toMatchObject({ revision: 3, publishedRevision: 3 });
    expect((await call("GET", `${path}?revision=published`)).body.name).toBe("Draft");
    const both = await call("PUT", `${path}?publish=true`, { body: { ...document, name: "Both" } });
    expect(both.body).toMatchObject({ revision: 4, publishedRevision: 4, name: "Both" });
  });

  test("refuses to publish an orb with unregistered handlers", async () => {
    const uses = [
      { service: "access", handlers: ["passkey"] },
      { service: "pricing", handlers: ["quote", "book"] },
    ];
    const { path } = await created({ uses });
    const answer = await call("POST", `${path}/publish`);
    expect(answer).toMatchObject({
      status: 422,
      body: {
        errors: [{ path: "/uses/1/handlers/0", code: "unknown_handler" }, { path: "/uses/1/handlers/1" }],
      },
    });
    expect((await call("GET", path)).body.status).toBe("SAVED");
    const document = orb({ uses });
    expect((await call("POST", "/api/admin/orbs?publish=true", { body: document })).status).toBe(422);
    expect((await call("GET", `/api/admin/orbs/${document.id}`)).status).toBe(404);
  });

  test("deletes the orb and its stream, and continues its revision numbers when it is created again", async () => {
    const { path, document } = await created({}, "?publish=true");
    expect((await call("DELETE", path)).status).toBe(204);
    expect((await call("GET", path)).status).toBe(404);
    expect((await call("DELETE", path)).status).toBe(404);
    expect(await platform.operatorStore().streamInfo(`ø${document.id}`)).toBeNull();
    const history = await call("GET", `${path}/revisions`);
    expect(history.body.items.map((item: { operation: string }) => item.operation)).toEqual([
      "create",
      "deleting",
      "deleted",
    ]);
    const again = await call("POST", "/api/admin/orbs", { body: document });
    expect(again).toMatchObject({ status: 201, body: { revision: 4 } });
    expect(again.headers.get("etag")).toBe('"4"');
    // A deletion, and the creation after it, have no document to compare with.
    for (const number of [2, 3, 4]) {
      const { body } = await call("GET", `${path}/revisions/${number}`);
      expect(body).toMatchObject({ revision: number, against: null, changes: [] });
    }
  });
});

describe("revisions", () => {
  test("are listed in both orders with paging, compared and restored", async () => {
    const { path, document } = await created();
    for (let index = 2; index <= 7; index++)
      await call("PUT", path, { body: { ...document, name: `n${index}` } });
    const numbers = async (query: string) => {
      const found: number[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const answer = await call(
          "GET",
          `${path}/revisions?limit=3&${query}${cursor === "" ? "" : `&cursor=${cursor}`}`,
        );
        expect(answer.status).toBe(200);
        found.push(...answer.body.items.map((item: { revision: number }) => item.revision));
        cursor = answer.body.nextCursor;
      }
      return found;
    };
    expect(await numbers("")).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(await numbers("sort=-revision")).toEqual([7, 6, 5, 4, 3, 2, 1]);
    expect((await call("GET", `${path}/revisions?count=true`)).body.total).toBe(7);

    const second = await call("GET", `${path}/revisions/2`);
    expect(second.body).toMatchObject({
      revision: 2,
      operation: "update",
      against: 1,
      document: { name: "n2" },
      changes: [{ op: "add", path: "/name", value: "n2" }],
      summary: ["name none → n2"],
    });
    expect((await call("GET", `${path}/revisions/7?against=2`)).body).toMatchObject({
      against: 2,
      changes: [{ op: "replace", path: "/name", value: "n7" }],
    });
    expect((await call("GET", `${path}/revisions/2?against=7`)).body).toMatchObject({
      summary: ["name n7 → n2"],
    });
    expect((await call("GET", `${path}/revisions/8`)).status).toBe(404);
    expect((await call("GET", `${path}/revisions/1?against=8`)).status).toBe(404);

    const restored = await call("POST", `${path}/revisions/2/restore`);
    expect(restored).toMatchObject({ status: 200, body: { revision: 8, name: "n2" } });
    expect((await call("GET", `${path}/revisions/8`)).body).toMatchObject({
      operation: "revert",
      summary: ["name n7 → n2"],
    });
    expect((await call("POST", `${path}/revisions/99/restore`)).status).toBe(404);
  });

  test("are summarized in words", async () => {
    const { path, document } = await created();
    const modules = [
      {
        id: "news",
        type: "CONTENT",
        schemas: [{ id: "article", fields: [{ name: "title", type: "text" }] }],
      },
      { id: "blog", type: "CONTENT", schemas: [] },
    ];
    await call("PUT", path, { body: { ...document, modules } });
    expect((await call("GET", `${path}/revisions/2`)).body.summary).toEqual([
      "field title: string → text (news/article)",
      "added module blog",
    ]);
  });
});

test("lists orbs in both orders of creation with paging, and filters by status", async () => {
  const ids: string[] = [];
  for (let index = 0; index < 5; index++)
    ids.push((await created({}, index % 2 === 0 ? "?publish=true" : "")).document.id);
  const listed = async (query: string) => {
    const found: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const answer = await call(
        "GET",
        `/api/admin/orbs?limit=2&${query}${cursor === "" ? "" : `&cursor=${cursor}`}`,
      );
      expect(answer.status).toBe(200);
      found.push(...answer.body.items.map((item: { id: string }) => item.id));
      cursor = answer.body.nextCursor;
    }
    return found;
  };
  const all = await listed("");
  expect(new Set(all).size).toBe(all.length);
  expect(all.filter((id) => ids.includes(id))).toEqual(ids);
  expect(await listed("sort=-createdAt")).toEqual(all.toReversed());
  const published = await listed("filter[status]=PUBLISHED");
  expect(published.filter((id) => ids.includes(id))).toEqual([ids[0], ids[2], ids[4]]);
  const counted = await call("GET", "/api/admin/orbs?count=true&filter[status]=PUBLISHED");
  expect(counted.body.total).toBe(published.length);
  const cursor = (await call("GET", "/api/admin/orbs?limit=1")).body.nextCursor;
  expect((await call("GET", `/api/admin/orbs?sort=-createdAt&cursor=${cursor}`)).status).toBe(400);
});

test("lists the routes of published orbs only", async () => {
  const modules = [
    {
      id: "news",
      type: "CONTENT",
      schemas: [{ id: "article", fields: [], access: { read: "user", write: "user" } }],
    },
    {
      id: "settings",
      type: "CONFIG",
      schemas: [
        { id: "a", fields: [] },
        { id: "b", fields: [] },
      ],
    },
    { id: "rules", type: "RULES", schemas: [{ id: "r", fields: [] }] },
  ];
  const uses = [{ service: "rules", handlers: ["evaluate"] }];
  const { document, path } = await created({ modules, uses });
  const routes = async () =>
    (await call("GET", "/api/admin/routes")).body
      .filter((route: { orb: string }) => route.orb === document.id)
      .map(
        (route: { method: string; path: string; origin: string; role: string }) =>
          `${route.method} ${route.path.replace(`/api/${document.id}/`, "")} ${route.origin} ${route.role}`,
      );
  expect(await routes()).toEqual([]);
  await call("POST", `${path}/publish`);
  const found = await routes();
  expect(found).toContain("GET news crud user");
  expect(found).toContain("POST news/{id}/publish crud user");
  expect(found).toContain("GET settings/a/{id} crud public");
  expect(found).toContain("DELETE settings/b/{id} crud admin");
  expect(found).toContain("POST evaluate handler user");
  expect(found).toContain("POST call/evaluate handler user");
  expect(found).toContain("GET signin signin public");
  expect(found.some((route: string) => route.includes("passkey"))).toBe(false);
  expect(found.some((route: string) => route.includes("rules"))).toBe(false);
  await call("POST", `${path}/unpublish`);
  expect(await routes()).toEqual([]);
});
