import { beforeAll, describe, expect, test } from "vitest";
import { adminToken } from "../support/auth.ts";
import { managing } from "../support/managing.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;
beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
});

const { call, created, orb } = managing("cycle", () => ({ platform, token }));

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
    (await call("GET", "/api/admin/routes")).body.items
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
