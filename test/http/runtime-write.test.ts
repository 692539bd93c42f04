import { beforeAll, describe, expect, it } from "vitest";
import { adminToken, call, user } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let admin: string;
let ann: string;
let bob: string;

const DOCUMENT = {
  id: "diary",
  languages: ["en", "de"],
  modules: [
    {
      id: "notes",
      type: "CONTENT",
      schemas: [
        {
          id: "note",
          access: { read: "own", write: "user" },
          fields: [
            { name: "text", type: "string", required: true },
            { name: "pin", type: "string", sensitive: true },
            { name: "tags", type: "string", list: true },
            { name: "more", type: "json" },
          ],
        },
      ],
    },
    {
      id: "config",
      type: "CONFIG",
      schemas: [
        { id: "limit", fields: [{ name: "size", type: "integer" }] },
        { id: "theme", fields: [{ name: "color", type: "string" }] },
      ],
    },
    {
      id: "news",
      type: "CONTENT",
      schemas: [{ id: "item", fields: [{ name: "title", type: "string", translatable: true }] }],
    },
  ],
};

const send = (
  method: string,
  path: string,
  token?: string,
  body?: unknown,
  headers: Record<string, string> = {},
) =>
  call(platform, method, `/api/diary${path}`, {
    headers,
    ...(token === undefined ? {} : { token }),
    ...(body === undefined ? {} : { body }),
  });

beforeAll(async () => {
  platform = await sharedPlatform();
  admin = await adminToken(platform);
  await call(platform, "POST", "/api/admin/orbs", { token: admin, body: DOCUMENT });
  const live = await call(platform, "POST", "/api/admin/orbs/diary/publish", { token: admin });
  expect(live.status).toBe(200);
  ann = (await user(platform, "auth", "user")).token;
  bob = (await user(platform, "auth", "user")).token;
});

describe("lifecycle on the runtime API", () => {
  it("works by the short path and by the long one", async () => {
    const made = await send("POST", "/notes?publish=true", ann, { values: { text: "one", pin: "1234" } });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      status: "PUBLISHED",
      revision: 1,
      values: { text: "one", pin: "••••••••" },
    });
    expect(made.headers.get("etag")).toMatch(/^"1-/);
    const { id } = made.body;
    expect(made.headers.get("location")).toBe(`/api/diary/notes/${id}`);
    for (const path of [`/notes/${id}`, `/notes/note/${id}`]) {
      expect((await send("GET", path, ann)).body).toMatchObject({ id });
    }
    const changed = await send("PUT", `/notes/note/${id}`, ann, { values: { text: "two", pin: "••••••••" } });
    expect(changed.body).toMatchObject({ revision: 2, publishedRevision: 1, values: { text: "two" } });
    expect((await send("GET", `/notes/${id}`, ann)).body.values.text).toBe("one");
    expect((await send("GET", `/notes/${id}?revision=latest`, ann)).body.values.text).toBe("two");
    expect((await send("POST", `/notes/${id}/publish`, ann)).status).toBe(200);
    expect((await send("GET", `/notes/${id}`, ann)).body.values.text).toBe("two");
    expect((await send("POST", `/notes/note/${id}/unpublish`, ann)).body.status).toBe("UNPUBLISHED");
    expect((await send("GET", `/notes/${id}`, ann)).status).toBe(404);
    expect((await send("POST", `/notes/${id}/archive`, ann)).body.status).toBe("ARCHIVED");
    const twice = await send("POST", `/notes/${id}/archive`, ann);
    expect([twice.status, twice.body.code]).toEqual([409, "wrong_state"]);
    expect((await send("POST", `/notes/${id}/restore`, ann)).body.status).toBe("UNPUBLISHED");
    expect((await send("DELETE", `/notes/${id}`, ann)).status).toBe(204);
    expect((await send("GET", `/notes/${id}?revision=latest`, ann)).status).toBe(404);
  });

  it('limits entries with read access "own" to their creator and admins', async () => {
    const made = await send("POST", "/notes?publish=true", ann, { values: { text: "secret" } });
    const path = `/notes/${made.body.id}`;
    expect((await send("GET", path)).status).toBe(401);
    expect((await send("GET", "/notes")).status).toBe(401);
    expect((await send("GET", path, bob)).status).toBe(404);
    expect((await send("GET", "/notes?count=true", bob)).body).toMatchObject({ items: [], total: 0 });
    expect((await send("PUT", path, bob, { values: { text: "mine" } })).status).toBe(404);
    expect((await send("DELETE", path, bob)).status).toBe(404);
    expect((await send("POST", `${path}/unpublish`, bob)).status).toBe(404);
    expect((await send("GET", path, admin)).body.values.text).toBe("secret");
    expect((await send("GET", path, ann)).headers.get("vary")).toContain("Authorization");
  });
});

describe("refusals", () => {
  it("check write access before anything else", async () => {
    expect((await send("POST", "/news?nope=1", undefined, { nope: 1 })).status).toBe(401);
    expect((await send("POST", "/news", ann, { values: {} })).status).toBe(403);
    expect((await send("PUT", "/news/0abcdefgh", ann, { values: {} })).status).toBe(403);
    expect((await send("POST", "/notes", "nonsense", { values: {} })).status).toBe(401);
  });

  it("report every error with its path", async () => {
    const made = await send("POST", "/notes", ann, { values: { text: 1, nope: 2, __proto: 3 } });
    expect(made.status).toBe(422);
    expect(made.body.errors.map(({ path }: { path: string }) => path).sort()).toEqual([
      "/values/__proto",
      "/values/nope",
      "/values/text",
    ]);
    expect((await send("POST", "/notes", ann, { text: "flat" })).status).toBe(422);
    expect((await send("POST", "/notes", ann)).status).toBe(422);
    expect((await send("POST", "/notes?locale=!", ann, { values: {} })).status).toBe(400);
    const nothing = await send("POST", "/notes", ann, undefined, { "content-type": "application/json" });
    expect([nothing.status, nothing.body.code]).toEqual([400, "malformed_json"]);
    const wrong = await send("POST", "/notes", ann, undefined, { "content-type": "text/plain" });
    expect(wrong.status).toBe(415);
  });

  it("answer 412 to an outdated If-Match", async () => {
    const made = await send("POST", "/news?publish=true", admin, { values: { title: { en: "A" } } });
    const path = `/news/${made.body.id}`;
    const etag = made.headers.get("etag") ?? "";
    const put = (tag: string) =>
      send("PUT", path, admin, { values: { title: { en: "B" } } }, { "if-match": tag });
    expect((await put(etag)).status).toBe(200);
    expect((await put(etag)).status).toBe(412);
    expect((await put('"2"')).status).toBe(200);
    expect((await put("nonsense")).status).toBe(400);
    expect((await send("DELETE", path, admin, undefined, { "if-match": '"1"' })).status).toBe(412);
  });
});

describe("writes", () => {
  it("of one language keep the others", async () => {
    const made = await send("POST", "/news?publish=true&locale=en", admin, { values: { title: "Hello" } });
    const path = `/news/${made.body.id}`;
    const german = await send("PUT", `${path}?locale=de&publish=true`, admin, { values: { title: "Hallo" } });
    expect(german.body.values.title).toBe("Hallo");
    expect((await send("GET", `${path}?locale=*`)).body.values.title).toEqual({ en: "Hello", de: "Hallo" });
    expect(
      (await send("GET", path, undefined, undefined, { "accept-language": "de" })).body.values.title,
    ).toBe("Hallo");
  });

  it("of a patch change what it names and keep the rest", async () => {
    const values = { text: "one", pin: "1234", tags: ["a", "b"], more: { x: 1, y: { z: 2 } } };
    const made = await send("POST", "/notes", ann, { values, validTo: "2100-01-01T00:00:00Z" });
    const path = `/notes/${made.body.id}`;
    const patch = (body: unknown, headers = {}, query = "") =>
      send("PATCH", `${path}${query}`, ann, body, {
        "content-type": "application/merge-patch+json",
        ...headers,
      });
    const changed = await patch({ values: { text: "two", tags: ["c"], more: { x: null, y: { w: 3 } } } });
    expect(changed.body).toMatchObject({ revision: 2, validTo: "2100-01-01T00:00:00.000Z" });
    expect(changed.body.values).toEqual({
      text: "two",
      pin: "••••••••",
      tags: ["c"],
      more: { y: { z: 2, w: 3 } },
    });
    const revealed = await call(
      platform,
      "GET",
      `/api/admin/orbs/diary/entries/${made.body.id}?reveal=true`,
      { token: admin },
    );
    expect(revealed.body.values.pin).toBe("1234");
    const cleared = await patch(
      { values: { tags: null }, validTo: null },
      { "if-match": '"2"' },
      "?publish=true",
    );
    expect(cleared.body).toMatchObject({ revision: 3, publishedRevision: 3, validTo: null });
    expect(cleared.body.values).not.toHaveProperty("tags");
    expect((await patch({ values: { text: "late" } }, { "if-match": '"2"' })).status).toBe(412);
    expect((await patch({ values: { text: null, nope: 1 } })).body.errors).toMatchObject([
      { path: "/values/nope", code: "unknown_property" },
      { path: "/values/text", code: "required" },
    ]);
    for (const type of ["application/json-patch+json", "application/vnd.x+json"]) {
      expect(await patch({ values: {} }, { "content-type": type })).toMatchObject({
        status: 415,
        body: { code: "not_merge_patch" },
      });
    }
    expect((await send("PATCH", path, ann, { values: { text: "three" } })).body.values.text).toBe("three");
    expect((await send("PATCH", path, bob, { values: { text: "four" } })).status).toBe(404);
  });

  describe("of many entries", () => {
    const texts = async (by: string, text: string) => {
      const query = new URLSearchParams({ "filter[text][startsWith]": text, revision: "latest" });
      const { body } = await send("GET", `/notes?${query}`, by);
      return body.items.map(({ values }: { values: { text: string } }) => values.text);
    };
    const made = (by: string, ...all: string[]) =>
      Promise.all(all.map((text) => send("POST", "/notes", by, { values: { text } })));
    const many = (prefix: string, more = "") => `/notes?filter[text][startsWith]=${prefix}${more}`;

    it("change those that the filter finds, and only what changes", async () => {
      await made(ann, "many-1", "many-2", "many-3", "other-1");
      const dry = await send("PATCH", many("many", "&dryRun=true"), ann, { values: { tags: ["x"] } });
      expect(dry.body).toEqual({ changed: 3, unchanged: 0, failed: [], nextCursor: null, dryRun: true });
      const done = await send("PATCH", many("many"), ann, { values: { tags: ["x"] } });
      expect(done.body).toEqual({ changed: 3, unchanged: 0, failed: [], nextCursor: null });
      // A request that was interrupted is repeated, and writes nothing twice.
      const again = await send("PATCH", many("many"), ann, { values: { tags: ["x"] } });
      expect(again.body).toMatchObject({ changed: 0, unchanged: 3 });
      const live = await send("PATCH", many("many", "&publish=true"), ann, {});
      expect(live.body.failed).toEqual([]);
      const { body } = await send("GET", "/notes?filter[text]=many-2", ann);
      expect(body.items).toMatchObject([{ revision: 3, publishedRevision: 3, values: { tags: ["x"] } }]);
      expect(await texts(ann, "other")).toEqual(["other-1"]);
    });

    it("work page by page", async () => {
      await made(ann, "page-1", "page-2", "page-3", "page-4", "page-5");
      let cursor = "";
      let changed = 0;
      for (let pages = 0; cursor !== "end"; pages++) {
        expect(pages).toBeLessThan(10);
        const more = `&limit=2${cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`}`;
        const { body } = await send("DELETE", many("page", more), ann);
        changed += body.changed;
        cursor = body.nextCursor ?? "end";
      }
      expect(changed).toBe(5);
      expect(await texts(ann, "page")).toEqual([]);
    });

    it("report those that fail, and change the others", async () => {
      const [first, second] = await made(ann, "fail-1", "fail-2");
      await send("POST", `/notes/${first?.body.id}/archive`, ann);
      const { body } = await send(
        "PATCH",
        `/notes?filter[id][in]=${first?.body.id},${second?.body.id}`,
        ann,
        {
          values: { pin: "1" },
        },
      );
      expect(body).toMatchObject({
        changed: 1,
        failed: [{ id: first?.body.id, status: 409, code: "wrong_state" }],
      });
      const invalid = await send("PATCH", many("fail"), ann, { values: { text: 7 } });
      expect(invalid.body).toMatchObject({ changed: 0, nextCursor: null });
      expect(invalid.body.failed).toHaveLength(2);
    });

    it("reach only what the caller may change", async () => {
      await made(ann, "own-1");
      await made(bob, "own-2");
      expect((await send("DELETE", many("own"), ann)).body).toMatchObject({ changed: 1, failed: [] });
      expect(await texts(bob, "own")).toEqual(["own-2"]);
      for (const method of ["PATCH", "DELETE"]) {
        const body = method === "PATCH" ? {} : undefined;
        expect((await send(method, many("own"), undefined, body)).status).toBe(401);
        expect((await send(method, "/news?all=true", ann, body)).status).toBe(403);
      }
    });

    it("need a filter, or an explicit request for all entries", async () => {
      for (const query of ["", "?all=false", "?dryRun=true"]) {
        for (const method of ["PATCH", "DELETE"]) {
          const answer = await send(method, `/notes${query}`, ann, method === "PATCH" ? {} : undefined);
          expect([answer.status, answer.body.code], query).toEqual([422, "filter_required"]);
        }
      }
      for (const body of [{ values: 1 }, { validFrom: {} }, { validTo: "soon" }]) {
        expect((await send("PATCH", "/notes?filter[text]=none", ann, body)).status).toBe(422);
      }
      for (const [method, query, path] of [
        ["PATCH", "?all=true&sort=text", "/sort"],
        ["DELETE", "?all=maybe", "/all"],
        ["DELETE", "?all=true&publish=true", "/publish"],
        ["DELETE", "?filter[nope]=1", "/filter[nope]"],
      ] as const) {
        const answer = await send(method, `/notes${query}`, ann, method === "PATCH" ? {} : undefined);
        expect(answer.status, query).toBe(400);
        expect(
          answer.body.errors.map((fault: { path: string }) => fault.path),
          query,
        ).toContain(path);
      }
    });

    it("work on the management API", async () => {
      await made(ann, "managed-1", "managed-2");
      const base = "/api/admin/orbs/diary/entries?module=notes&schema=note&filter[text][startsWith]=managed";
      const patch = { token: admin, body: { values: { tags: ["y"] } } };
      expect((await call(platform, "PATCH", base, patch)).body).toMatchObject({ changed: 2, failed: [] });
      const dry = await call(platform, "DELETE", `${base}&dryRun=true`, { token: admin });
      expect(dry.body).toMatchObject({ changed: 2, dryRun: true });
      expect((await call(platform, "DELETE", `${base}&force=true`, { token: admin })).body).toMatchObject({
        changed: 2,
      });
      expect(await texts(ann, "managed")).toEqual([]);
      expect((await call(platform, "DELETE", base, { token: ann })).status).toBe(403);
    });
  });

  it("of a patch change one language", async () => {
    const title = { en: "Hello", de: "Hallo" };
    const made = await send("POST", "/news?locale=*", admin, { values: { title } });
    const path = `/news/${made.body.id}`;
    const patch = async (value: unknown, query = "?locale=*") =>
      (await send("PATCH", `${path}${query}`, admin, { values: { title: value } })).body.values.title;
    expect(await patch({ de: "Servus" })).toEqual({ en: "Hello", de: "Servus" });
    expect(await patch({ de: null })).toEqual({ en: "Hello" });
    expect(await patch("Moin", "?locale=de")).toBe("Moin");
    expect(await patch({})).toEqual({ en: "Hello", de: "Moin" });
  });

  it("of patches at the same time keep each other's changes", async () => {
    const made = await send("POST", "/notes", ann, { values: { text: "one" } });
    const numbers = Array.from({ length: 8 }, (_, number) => `n${number}`);
    const written = await Promise.all(
      numbers.map((name) =>
        send("PATCH", `/notes/${made.body.id}`, ann, { values: { more: { [name]: true } } }),
      ),
    );
    expect(written.map(({ status }) => status)).toEqual(numbers.map(() => 200));
    const { body } = await send("GET", `/notes/${made.body.id}?revision=latest`, ann);
    expect(Object.keys(body.values.more).sort()).toEqual(numbers);
  });

  it("with the same Idempotency-Key create one entry", async () => {
    const key = { "idempotency-key": "k-1" };
    const [a, b] = [
      await send("POST", "/config/theme", admin, { values: { color: "red" } }, key),
      await send("POST", "/config/theme", admin, { values: { color: "red" } }, key),
    ];
    expect([a.status, b.status, b.body.id]).toEqual([201, 201, a.body.id]);
    const other = await send("POST", "/config/theme", admin, { values: { color: "blue" } }, key);
    expect([other.status, other.body.code]).toEqual([422, "idempotency_mismatch"]);
    expect((await send("GET", "/config/theme?revision=latest", admin)).body.items).toHaveLength(1);
  });

  it("with the same Idempotency-Key count as one by the short and the long path", async () => {
    const key = { "idempotency-key": "k-2" };
    const body = { values: { title: { en: "Once" } } };
    const made = await send("POST", "/news", admin, body, key);
    const again = await send("POST", "/news/item", admin, body, key);
    expect([made.status, again.status, again.body.id]).toEqual([201, 201, made.body.id]);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    const published = await send("POST", `/news/item/${made.body.id}/publish`, admin, undefined, key);
    expect(published.body).toMatchObject({ status: "PUBLISHED", revision: 2 });
    const twice = await send("POST", `/news/${made.body.id}/publish`, admin, undefined, key);
    expect([twice.status, twice.body.revision]).toEqual([200, 2]);
  });

  it("must name the schema if the module has several", async () => {
    expect((await send("POST", "/config", admin, { values: {} })).body.code).toBe("schema_not_found");
    const made = await send("POST", "/config/limit?publish=true", admin, { values: { size: 3 } });
    expect(made.headers.get("location")).toBe(`/api/diary/config/limit/${made.body.id}`);
    expect((await send("GET", `/config/theme/${made.body.id}`)).status).toBe(404);
    expect((await send("GET", `/config/${made.body.id}`)).status).toBe(404);
  });
});
