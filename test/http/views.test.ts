/** Saved views of lists: whose they are, who may share them, how they follow renames, and what two clients at once do. */
import { beforeAll, describe, expect, test } from "vitest";
import { VIEW_LIMITS } from "../../shared/views/record.ts";
import { user } from "../support/auth.ts";
import { fileAdmin } from "../support/file-admin.ts";

const { platform, token, as } = await fileAdmin();
const ORB = "viewed";
const views = `/api/${ORB}/views/news/article`;
const managed = `/api/admin/orbs/${ORB}/views/news/article`;

interface Shown {
  id: string;
  revision: number;
  name: string;
  audience: string;
  role: string | null;
  default: boolean;
  list: Record<string, unknown>;
  gone: object[];
}
interface Listed {
  items: Shown[];
  default: string | null;
  shares: boolean;
}

const title = { name: "title", type: "string" };
const price = { name: "price", type: "number" };
const secret = { name: "secret", type: "string", access: { read: ["admin"] } };
const access = { read: ["user"], create: ["user"], update: ["user"], publish: ["user"], delete: ["user"] };
const closed = { ...access, read: ["admin"], update: ["admin"], publish: ["admin"] };
const pin = { name: "pin", type: "string", sensitive: true };
const seo = { name: "seo", type: "object", fields: [{ name: "words", type: "string" }] };

const document = (fields: object[], schema: object = { id: "article" }, module: object = { id: "news" }) => ({
  id: ORB,
  uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
  roles: [{ id: "writer", name: "Writers" }],
  modules: [
    {
      ...module,
      type: "CONTENT",
      schemas: [
        { ...schema, access, fields },
        { id: "note", access: closed, fields: [title] },
      ],
    },
  ],
});

let reader: string;
let writer: string;
let admin: string;

beforeAll(async () => {
  const made = await as("POST", "/api/admin/orbs?publish=true", document([title, price, secret, pin, seo]));
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  [reader, writer, admin] = (
    await Promise.all(["user", "writer", "admin"].map((role) => user(platform, ORB, role)))
  ).map((each) => each.token) as [string, string, string];
});

const save = async (by: string, body: object, path = views) => {
  const made = await as("POST", path, body, by);
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return made.body as Shown;
};
const seen = async (by: string, path = views) => {
  const { status, body } = await as("GET", path, undefined, by);
  expect(status, JSON.stringify(body)).toBe(200);
  return body as Listed;
};
const namesOf = ({ items }: Listed) => items.map(({ name }) => name);
const cheap = { filters: [{ field: "price", op: "lt", value: "10" }], sort: ["-price", "updatedAt"] };

describe("A saved view", () => {
  test("is its account's own, and keeps filters, order, layout and columns", async () => {
    const list = {
      ...cheap,
      any: true,
      search: "lamp",
      status: "SAVED",
      locale: "en",
      layout: { kind: "board", field: "title" },
      columns: ["title", "seo.words", "id"],
    };
    const made = await save(reader, { name: "Cheap", list });
    expect(made).toMatchObject({ revision: 1, audience: "me", role: null, default: false, list, gone: [] });
    expect(await seen(reader)).toMatchObject({
      items: [{ id: made.id, list }],
      default: null,
      shares: false,
    });
    expect((await seen(writer)).items).toEqual([]);
    expect((await seen(token, managed)).items).toEqual([]);
    expect(await as("GET", `${views}/${made.id}`, undefined, writer)).toMatchObject({
      status: 404,
      body: { code: "view_not_found" },
    });
    for (const method of ["PUT", "DELETE"])
      expect(
        (await as(method, `${views}/${made.id}`, method === "PUT" ? { name: "Mine" } : undefined, admin))
          .status,
      ).toBe(404);
    expect((await as("DELETE", `${views}/${made.id}`, undefined, reader)).status).toBe(204);
    expect((await seen(reader)).items).toEqual([]);
  });

  test("is shared by those who manage users, with all or with a role", async () => {
    for (const audience of ["all", "role"])
      expect((await as("POST", views, { name: "Ours", audience, role: "user" }, writer)).status).toBe(403);
    const forAll = await save(admin, { name: "For all", audience: "all", default: true });
    const forWriters = await save(admin, {
      name: "For writers",
      audience: "role",
      role: "writer",
      default: true,
    });
    const byPlatform = await save(token, { name: "By the platform", audience: "all" }, managed);
    expect(namesOf(await seen(reader))).toEqual(["For all", "By the platform"]);
    expect(namesOf(await seen(writer))).toEqual(["For all", "For writers", "By the platform"]);
    expect(namesOf(await seen(admin))).toEqual(["For all", "For writers", "By the platform"]);
    expect(await seen(token, managed)).toMatchObject({ shares: true, default: forAll.id });
    // The view of the own role comes before that of all, and the own one before both.
    expect((await seen(reader)).default).toBe(forAll.id);
    expect((await seen(admin)).default).toBe(forAll.id);
    expect((await seen(writer)).default).toBe(forWriters.id);
    const own = await save(writer, { name: "For me", default: true });
    expect((await seen(writer)).default).toBe(own.id);
    // Only one view of an audience is the first.
    const other = await save(admin, { name: "For all, too", audience: "all", default: true });
    const now = await seen(token, managed);
    expect(now.items.filter((view) => view.default).map(({ name }) => name)).toEqual([
      "For writers",
      "For all, too",
    ]);
    expect(now.items.find(({ id }) => id === forAll.id)?.revision).toBe(2);
    // Readers of a shared view change neither it nor its audience.
    for (const method of ["PUT", "DELETE"]) {
      const body = method === "PUT" ? { name: "Mine", audience: "me" } : undefined;
      expect((await as(method, `${views}/${forAll.id}`, body, reader)).status).toBe(403);
    }
    // A view changes its audience in one write.
    const moved = await as("PUT", `${views}/${other.id}`, { name: "Only mine" }, admin);
    expect(moved).toMatchObject({ status: 200, body: { audience: "me", revision: 2 } });
    expect(namesOf(await seen(admin))).toEqual(["Only mine", "For all", "For writers", "By the platform"]);
    expect(namesOf(await seen(reader))).toEqual(["For all", "By the platform"]);
    for (const { id } of [own]) await as("DELETE", `${views}/${id}`, undefined, writer);
    for (const { id } of [forAll, forWriters, byPlatform, other])
      expect((await as("DELETE", `${views}/${id}`, undefined, admin)).status).toBe(204);
  });

  test("is for accounts that may read the schema", async () => {
    const notes = `/api/${ORB}/views/news/note`;
    expect((await as("GET", notes, undefined, reader)).status).toBe(403);
    expect((await as("POST", notes, { name: "Mine" }, reader)).status).toBe(403);
    expect((await fetch(platform.origin + views)).status).toBe(401);
    expect((await as("GET", `/api/${ORB}/views/news/nothing`, undefined, reader)).status).toBe(404);
    expect((await as("GET", managed, undefined, admin)).status).toBe(403);
    expect((await as("GET", `${views}?change=x`, undefined, reader)).status).toBe(400);
  });

  test("refuses what is no view, and stores nothing", async () => {
    const refused = async (body: object, path: string, code: string) => {
      const answer = await as("POST", views, body, admin);
      expect(answer.status, JSON.stringify(answer.body)).toBe(422);
      expect(answer.body.errors).toContainEqual(expect.objectContaining({ path, code }));
    };
    const list = { columns: ["title", "colour"], sort: ["-weight"] };
    await refused({ name: "x", list }, "/list/columns/1", "unknown_field");
    await refused({ name: "x", list }, "/list/sort", "unknown_field");
    const sealed = { filters: [{ field: "pin", op: "eq", value: "1234" }], columns: ["pin"] };
    await refused({ name: "x", list: sealed }, "/list/filters/0/field", "sensitive_field");
    await refused({ name: "x", audience: "role", role: "nobody" }, "/role", "unknown_role");
    await refused({ name: "x", audience: "role" }, "/role", "required");
    await refused({ name: "x", role: "writer" }, "/role", "unknown_property");
    const long = { field: "title", op: "eq", value: "x".repeat(1_900) };
    await refused({ name: "x", list: { filters: [long, long, long, long, long] } }, "/list", "too_long");
    expect((await as("POST", views, { name: " " }, admin)).status).toBe(422);
    expect((await as("POST", views, { name: "x", more: 1 }, admin)).status).toBe(422);
    expect(namesOf(await seen(admin))).not.toContain("x");
  });

  test("shows callers which of its fields they may not read", async () => {
    const list = { filters: [{ field: "secret", op: "eq", value: "x" }], columns: ["title", "secret"] };
    const { id } = await save(admin, { name: "With a secret", audience: "all", list });
    const shown = (await seen(reader)).items.find((view) => view.id === id);
    expect(shown?.list).toEqual({ filters: [], columns: ["title"] });
    expect(shown?.gone).toEqual([
      { field: "secret", part: "filters", why: "forbidden" },
      { field: "secret", part: "columns", why: "forbidden" },
    ]);
    expect((await seen(admin)).items.find((view) => view.id === id)?.gone).toEqual([]);
    await as("DELETE", `${views}/${id}`, undefined, admin);
  });
});

describe("Writes of views", () => {
  const put = (id: string, body: object, tag?: number) =>
    fetch(`${platform.origin}${views}/${id}`, {
      method: "PUT",
      body: JSON.stringify(body),
      headers: {
        authorization: `Bearer ${reader}`,
        "content-type": "application/json",
        ...(tag === undefined ? {} : { "if-match": `"${tag}"` }),
      },
    });

  test("lose no update: one of two clients that read the same revision gets 412", async () => {
    const { id } = await save(reader, { name: "Contended" });
    const answers = await Promise.all(
      ["a", "b"].map((search) => put(id, { name: "Contended", list: { search } }, 1)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
    expect((await put(id, { name: "Contended" }, 2)).headers.get("etag")).toBe('"3"');
    await as("DELETE", `${views}/${id}`, undefined, reader);
  });

  test("lose no view: all of several clients at once save theirs, and one of two with the same name does", async () => {
    const saved = await Promise.all(
      ["a", "b", "c", "same", "same"].map((name) => as("POST", views, { name }, reader)),
    );
    expect(saved.map(({ status }) => status).sort()).toEqual([201, 201, 201, 201, 409]);
    expect(saved.find(({ status }) => status === 409)?.body.code).toBe("view_name_taken");
    expect(namesOf(await seen(reader)).sort()).toEqual(["a", "b", "c", "same"]);
  });

  test("end at the limit of views", async () => {
    const own = (await seen(writer)).items.filter(({ audience }) => audience === "me").length;
    for (let at = own; at < VIEW_LIMITS.views; at++) await save(writer, { name: `View ${at}` });
    const more = await as("POST", views, { name: "One more" }, writer);
    expect(more).toMatchObject({ status: 409, body: { code: "too_many_views" } });
    // The shared ones have a limit of their own, and so has each account.
    await as(
      "DELETE",
      `${views}/${(await save(admin, { name: "Shared", audience: "all" })).id}`,
      undefined,
      admin,
    );
  });
});

test("A view follows the names of its fields, schema and module, and says which fields are gone", async () => {
  const list = {
    filters: [{ field: "price", op: "lt", value: "10" }],
    layout: { kind: "calendar", field: "updatedAt" },
    columns: ["title", "price", "seo.words"],
  };
  const { id } = await save(admin, { name: "Renamed", audience: "all", list });
  const renamed = document(
    [
      { name: "headline", type: "string", was: "title" },
      // A change of type leaves the field what it is.
      { name: "cost", type: "decimal", scale: 2, was: "price" },
      secret,
      { ...seo, name: "meta", was: "seo", fields: [{ name: "keys", type: "string", was: "words" }] },
    ],
    { id: "story", was: "article" },
    { id: "paper", was: "news" },
  );
  const publish = async (next: object) => {
    const { status, body } = await as("PUT", `/api/admin/orbs/${ORB}?publish=true&force=true`, next);
    expect(status, JSON.stringify(body)).toBe(200);
  };
  const found = async () => {
    const { status, body } = await as("GET", `/api/${ORB}/views/paper/story/${id}`, undefined, reader);
    expect(status, JSON.stringify(body)).toBe(200);
    return body as Shown;
  };
  await publish(renamed);
  expect(await found()).toMatchObject({
    revision: 1,
    list: {
      filters: [{ field: "cost", op: "lt", value: "10" }],
      layout: { kind: "calendar", field: "updatedAt" },
      columns: ["headline", "cost", "meta.keys"],
    },
    gone: [],
  });
  const without = structuredClone(renamed);
  without.modules[0]?.schemas[0]?.fields.splice(1, 1);
  await publish(without);
  expect(await found()).toMatchObject({
    list: { filters: [], columns: ["headline", "meta.keys"] },
    gone: [
      { field: "price", part: "filters", why: "removed" },
      { field: "price", part: "columns", why: "removed" },
    ],
  });
  // A field of another meaning with the name is another field. The view has the field again once that one is back.
  await publish(renamed);
  expect((await found()).gone).toEqual([]);
});
