/** What happened in an orb: all kinds of acts in one list, its filters, its pages, and who may read it. */
import { beforeAll, describe, expect, test } from "vitest";
import { call, user } from "../support/auth.ts";
import { fileAdmin } from "../support/file-admin.ts";
import { createOrb } from "../support/orbs.ts";
import { createToken, scope } from "../support/tokens.ts";

const { platform, token: root, as } = await fileAdmin();
const ORB = "happened";
const PATH = `/api/admin/orbs/${ORB}/activity`;
const SECRET = "never shown";

const document = (id: string) => ({
  id,
  uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [
        {
          id: "article",
          access: { read: "public", write: "admin" },
          fields: [
            { name: "title", type: "text" },
            { name: "code", type: "string", sensitive: true },
            { name: "paper", type: "file" },
          ],
        },
      ],
    },
  ],
});

interface Act {
  id: string;
  at: string;
  kind: string;
  act: string;
  by: { id: string; name: string | null; removed?: true };
  account?: { id: string; name: string | null };
  entry?: { id: string; module?: string; schema?: string; revision?: number; status?: string };
  change?: { id: string; title?: string };
  file?: { name: string };
  token?: string;
}

async function page(query = "", by = root): Promise<{ items: Act[]; nextCursor: string | null }> {
  const { status, body } = await as("GET", `${PATH}${query}`, undefined, by);
  expect([status, body.errors]).toEqual([200, undefined]);
  return body;
}
const list = async (query = "", by = root) => (await page(query, by)).items;
const acts = (items: readonly Act[]) => items.map(({ kind, act }) => `${kind} ${act}`);

async function ok(method: string, path: string, body?: unknown, by = root) {
  const answer = await as(method, path, body, by);
  expect([answer.status < 300, answer.body?.detail]).toEqual([true, undefined]);
  return answer.body;
}

let entry: string;
let editor: { id: string; token: string };
let between: string;

beforeAll(async () => {
  await createOrb(platform, root, document(ORB));
  editor = await user(platform, ORB, "admin");
  await ok("PUT", `/api/${ORB}/me`, { name: "Ada Lovelace" }, editor.token);
  const form = await fetch(`${platform.origin}/api/${ORB}/files?name=plan.txt`, {
    method: "POST",
    headers: { authorization: `Bearer ${editor.token}`, "content-type": "text/plain" },
    body: "a plan",
  });
  expect(form.status).toBe(201);
  const made = await ok("POST", `/api/${ORB}/news`, { values: { title: "One", code: SECRET } }, editor.token);
  entry = made.id;
  between = made.updatedAt;
  await ok("POST", `/api/${ORB}/news/${entry}/publish`, undefined, editor.token);
  const set = await ok("POST", `/api/${ORB}/changes`, { title: "Spring" }, editor.token);
  const about = { text: SECRET, entry: `news/article/${entry}`, field: "title" };
  await ok("POST", `/api/${ORB}/changes/${set.id}/comments`, about, editor.token);
  await ok("POST", `/api/${ORB}/news`, { values: { title: "Two" } });
});

describe("the list", () => {
  test("has every kind of act, newest first, with names, and without values of entries", async () => {
    const items = await list();
    expect(acts(items)).toEqual([
      "entry create",
      "comment comment",
      "change open",
      "entry publish",
      "entry create",
      "file upload",
      "access register",
      "access invitation",
      "definition create",
    ]);
    const times = items.map(({ at }) => at);
    expect(times).toEqual(times.toSorted().toReversed());
    expect(JSON.stringify(items)).not.toContain(SECRET);
    const ada = { id: editor.id, name: "Ada Lovelace" };
    const [, comment, opened, published, , uploaded, registered] = items;
    expect(published).toMatchObject({
      by: ada,
      entry: { id: entry, module: "news", schema: "article", revision: 2, status: "PUBLISHED" },
    });
    expect(opened).toMatchObject({ by: ada, change: { title: "Spring" } });
    expect(comment).toMatchObject({ by: ada, change: { id: opened?.change?.id } });
    expect(comment).toMatchObject({ entry: { id: entry }, field: "title" });
    expect(uploaded).toMatchObject({ by: ada, file: { name: "plan.txt" } });
    expect(registered).toMatchObject({ account: ada });
  });

  test("is the same in pages, whatever their size", async () => {
    const all = await list("?limit=100");
    const found: Act[] = [];
    let query = "?limit=3";
    for (let at = 0; at < 10; at++) {
      const { items, nextCursor } = await page(query);
      found.push(...items);
      if (nextCursor === null) break;
      query = `?limit=3&cursor=${nextCursor}`;
    }
    expect(found.map(({ id }) => id)).toEqual(all.map(({ id }) => id));
  });

  test("can be filtered by entry, person, kind, act and time", async () => {
    expect(acts(await list(`?filter[entry]=${entry}`))).toEqual([
      "comment comment",
      "entry publish",
      "entry create",
    ]);
    expect(await list("?filter[entry]=none.of.these")).toEqual([]);
    const own = await list(`?filter[by]=${editor.id}&filter[kind]=entry`);
    expect(own.map(({ entry }) => entry?.revision)).toEqual([2, 1]);
    expect(acts(await list("?filter[act]=publish"))).toEqual(["entry publish"]);
    expect((await list(`?filter[at][lte]=${between}`)).map(({ at }) => at <= between)).not.toContain(false);
    const [since, until] = [
      await list(`?filter[at][gte]=${between}`),
      await list(`?filter[at][lte]=${between}`),
    ];
    expect(acts(since).at(-1)).toBe("entry create");
    expect(acts(until)[0]).toBe("entry create");
    expect(since.length + until.length).toBe((await list()).length + 1);
    expect(await list("?filter[at][lte]=2020-01-01T00:00:00Z")).toEqual([]);
  });

  test("refuses cursors of another list, and parameters without meaning", async () => {
    const { nextCursor } = await page("?limit=1");
    for (const query of [
      `cursor=${nextCursor}&filter[kind]=entry`,
      "cursor=x",
      "limit=101",
      "filter[kind]=x",
    ])
      expect([query, (await as("GET", `${PATH}?${query}`)).status]).toEqual([query, 400]);
    expect((await as("GET", `${PATH}?sort=at`)).body.errors[0].code).toBe("unknown_parameter");
  });

  test("has reveals and purges of entries", async () => {
    const path = `/api/admin/orbs/${ORB}/entries`;
    const { id } = await ok("POST", path, { module: "news", values: { code: SECRET } });
    await ok("GET", `${path}/${id}?reveal=true`);
    expect((await as("DELETE", `${path}/${id}?purge=true`)).status).toBe(204);
    expect(acts(await list(`?filter[entry]=${id}`)).slice(0, 2)).toEqual(["entry purge", "entry reveal"]);
    expect(JSON.stringify(await list())).not.toContain(SECRET);
  });
});

test("is for those who may read all entries; a token without the right to manage sees no names and no access", async () => {
  expect((await call(platform, "GET", PATH)).status).toBe(401);
  expect((await as("GET", PATH, undefined, editor.token)).status).toBe(403);
  expect((await as("GET", "/api/admin/orbs/nobody/activity")).status).toBe(404);
  const reader = await createToken(platform, "/api/_auth", root, [scope(ORB, "read")]);
  const items = await list("", reader.token);
  expect(items.map(({ by }) => by.name).filter((name) => name !== null)).toEqual([]);
  expect(new Set(items.map(({ kind }) => kind))).toEqual(
    new Set(["entry", "comment", "change", "file", "definition"]),
  );
  const other = await createToken(platform, "/api/_auth", root, [scope("elsewhere", "read")]);
  expect((await as("GET", PATH, undefined, other.token)).status).toBe(403);
});

test("finds acts between large entries and many index messages", async () => {
  const orb = "happenedmuch";
  await createOrb(platform, root, document(orb));
  const ids: string[] = [];
  for (let at = 0; at < 12; at++) {
    const title = at % 3 === 0 ? "large ".repeat(15_000) : `small ${at}`;
    ids.push((await ok("POST", `/api/${orb}/news`, { values: { title } })).id);
  }
  const path = `/api/admin/orbs/${orb}/activity?filter[kind]=entry&limit=5`;
  const first = await ok("GET", path);
  const second = await ok("GET", `${path}&cursor=${first.nextCursor}`);
  const shown = [...first.items, ...second.items].map(({ entry }: Act) => entry?.id);
  expect(shown).toEqual(ids.toReversed().slice(0, 10));
});

test("the trash lists deleted entries for platform admins, and those who may delete an entry bring it back", async () => {
  const orb = "happenedtrash";
  const trash = `/api/admin/orbs/${orb}/trash`;
  await createOrb(platform, root, document(orb));
  const owner = await user(platform, orb, "admin");
  const other = await user(platform, orb, "user");
  const { id } = await ok(
    "POST",
    `/api/${orb}/news?publish=true`,
    { values: { title: "Gone" } },
    owner.token,
  );
  expect((await as("DELETE", `/api/${orb}/news/${id}`, undefined, owner.token)).status).toBe(204);
  const [deleted] = (await ok("GET", trash)).items;
  expect(deleted).toMatchObject({
    ...{ id, status: "PUBLISHED", values: { title: "Gone" }, deletedRevision: 2 },
    deletedBy: { id: owner.id, name: expect.any(String) },
  });
  expect((await as("GET", trash, undefined, owner.token)).status).toBe(403);
  expect((await as("GET", `${trash}?limit=201`)).status).toBe(400);
  const restore = (by: string) => as("POST", `/api/${orb}/news/${id}/restore`, undefined, by);
  expect((await restore(other.token)).status).toBe(403);
  const back = await restore(owner.token);
  expect([back.status, back.body.status, back.body.revision]).toEqual([200, "UNPUBLISHED", 3]);
  expect((await ok("GET", trash)).items).toEqual([]);
  expect((await as("GET", `/api/${orb}/news/${id}`)).status).toBe(404);
});
