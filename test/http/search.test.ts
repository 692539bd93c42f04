/** Searches of all schemas of an orb: what they find, in which order, whose rights they have, and their pages. */
import { beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../shared/client/index.ts";
import { call, user } from "../support/auth.ts";
import { fileAdmin } from "../support/file-admin.ts";
import { orbCommand } from "../support/orb-command.ts";

const { platform, token, as } = await fileAdmin();
const ORB = "searched";
const path = `/api/${ORB}/search`;
/** Sends a request, without credentials if there is no token. */
const ask = (query: string, by?: string) =>
  call(platform, "GET", query, by === undefined ? {} : { token: by });
const managed = `/api/admin/orbs/${ORB}/search`;
let writer: string;
let other: string;

const open = { read: ["public"], create: ["user"], update: ["own"], publish: ["own"], delete: ["own"] };

beforeAll(async () => {
  const made = await as("POST", "/api/admin/orbs?publish=true", {
    id: ORB,
    languages: ["en", "de"],
    uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
    modules: [
      {
        id: "news",
        type: "CONTENT",
        schemas: [
          {
            id: "article",
            access: open,
            fields: [
              { name: "title", type: "string", translatable: true, search: true },
              { name: "body", type: "text", translatable: true, search: true },
              { name: "remarks", type: "text", search: true, access: { read: ["own"] } },
            ],
          },
          { id: "author", access: open, fields: [{ name: "name", type: "string" }] },
          {
            id: "note",
            access: { ...open, read: ["own"] },
            fields: [{ name: "text", type: "text", search: true }],
          },
        ],
      },
    ],
  });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  writer = (await user(platform, ORB)).token;
  other = (await user(platform, ORB)).token;
});

const add = async (schema: string, values: object, query = "?publish=true&locale=en", by = writer) => {
  const made = await as("POST", `/api/${ORB}/news/${schema}${query}`, { values }, by);
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return (made.body as { id: string }).id;
};

interface Page {
  items: {
    module: string;
    schema: string;
    id: string;
    title: string | null;
    field: string | null;
    language?: string;
    snippet: { text: string; match?: true }[];
  }[];
  nextCursor: string | null;
  complete: boolean;
}

const find = async (
  q: string,
  { by, more = "", at = path }: { by?: string; more?: string; at?: string } = {},
) => {
  const { status, body } = await ask(`${at}?q=${encodeURIComponent(q)}${more}`, by);
  expect(status, JSON.stringify(body)).toBe(200);
  return body as Page;
};
const idsOf = ({ items }: Page) => items.map(({ id }) => id);

describe("A search of all schemas", () => {
  test("finds titles and texts of several schemas, best matches first, with the words marked", async () => {
    const inBody = await add("article", {
      title: "Garden",
      body: `${"Long ago. ".repeat(30)}A walrus sang.`,
    });
    const inTitle = await add("article", { title: "Walrus and friends", body: "Nothing." });
    const author = await add("author", { name: "Ann Walrus" }, "?publish=true");
    const page = await find("walrus");
    expect(page.items.map(({ id, schema, title, field }) => [id, schema, title, field])).toEqual([
      [author, "author", "Ann Walrus", "name"],
      [inTitle, "article", "Walrus and friends", "title"],
      [inBody, "article", "Garden", "body"],
    ]);
    expect(page).toMatchObject({ nextCursor: null, complete: true });
    const [, , body] = page.items;
    expect(body?.language).toBe("en");
    expect(body?.snippet).toEqual([
      { text: "…" },
      { text: "ago. Long ago. Long ago. Long ago. A " },
      { text: "walrus", match: true },
      { text: " sang." },
    ]);
    // A part of the last word, accents and case do not matter.
    expect(idsOf(await find("FRIENDS wálr"))).toEqual([inTitle]);
    expect(idsOf(await find(inTitle))).toEqual([inTitle]);
    expect(idsOf(await find("?!"))).toEqual([]);
  });

  test("continues in the order of all schemas, also with pages of one", async () => {
    const ids: string[] = [];
    for (let i = 0; i < 4; i++) {
      ids.push(await add("article", { title: `Otter ${i}` }));
      ids.push(await add("author", { name: `Otter ${i}` }, "?publish=true"));
    }
    const whole = await find("otter");
    expect(idsOf(whole)).toEqual(ids.toReversed());
    const paged: string[] = [];
    let cursor = "";
    for (let page = 0; page < 20; page++) {
      const { items, nextCursor } = await find("otter", { more: `&limit=1${cursor}` });
      paged.push(...items.map(({ id }) => id));
      if (nextCursor === null) break;
      cursor = `&cursor=${nextCursor}`;
    }
    expect(paged).toEqual(idsOf(whole));
    const foreign = await ask(`${path}?q=walrus${cursor}`);
    expect(foreign).toMatchObject({ status: 400, body: { code: "invalid_cursor" } });
  });

  test("compares the titles of the newest 500 entries, and says if there are more", async () => {
    const lines = Array.from({ length: 600 }, (_, at) =>
      JSON.stringify({ module: "news", schema: "author", values: { name: `Beaver ${at}` } }),
    );
    const bulk = `${platform.origin}/api/admin/orbs/${ORB}/entries/bulk?publish=true`;
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" };
    const answer = await fetch(bulk, { method: "POST", headers, body: lines.join("\n") });
    expect(await answer.text()).toContain('"created":600');
    const titles = async (q: string) => {
      const { items, complete } = await find(q);
      return [items.map(({ title }) => title), complete];
    };
    expect(await titles("beaver 101")).toEqual([["Beaver 101"], false]);
    expect(await titles("beaver 99")).toEqual([[], false]);
    expect((await find("beaver", { more: "&limit=50" })).items).toHaveLength(50);
  });

  test("shows nothing that the caller may not read", async () => {
    const draft = await add("article", { title: "Narwhal draft" }, "?locale=en");
    const live = await add("article", { title: "Narwhal live", remarks: "tusk" });
    const note = await add("note", { text: "narwhal note" }, "?publish=true");
    expect(idsOf(await find("narwhal"))).toEqual([live]);
    expect(idsOf(await find("narwhal", { by: other }))).toEqual([live]);
    expect(new Set(idsOf(await find("narwhal", { by: writer })))).toEqual(new Set([live, note]));
    const drafts = { by: writer, more: "&revision=latest" };
    expect(new Set(idsOf(await find("narwhal", drafts)))).toEqual(new Set([live, note, draft]));
    expect(idsOf(await find("narwhal", { by: other, more: "&revision=latest" }))).toEqual([live]);
    expect(idsOf(await find(note, { by: other }))).toEqual([]);
    // Filters do not compare a field of which only some values may be read, and so does a search.
    expect(idsOf(await find("tusk", { by: writer }))).toEqual([]);
    const anonymous = await ask(`${path}?q=narwhal&revision=latest`);
    expect(anonymous.status).toBe(401);
  });

  test("compares the texts of one language, of all with locale=*, and of all drafts for platform admins", async () => {
    const values = { title: { en: "Heron", de: "Graureiher" } };
    const id = await add("article", values, "?publish=true&locale=*");
    expect(idsOf(await find("graureiher"))).toEqual([]);
    expect((await find("graureiher", { more: "&locale=de" })).items).toEqual([
      expect.objectContaining({ id, title: "Graureiher", language: "de" }),
    ]);
    expect((await find("graureiher", { more: "&locale=*" })).items).toEqual([
      expect.objectContaining({ id, title: "Heron", language: "de" }),
    ]);
    const draft = await add("article", { title: "Graureiher draft" }, "?locale=en");
    const { body } = await as("GET", `${managed}?q=graureiher`);
    expect(idsOf(body as Page)).toEqual([draft, id]);
    expect((await as("GET", `${managed}?q=graureiher`, undefined, writer)).status).toBe(403);
  });

  test("finds entries as a change set will leave them", async () => {
    const id = await add("article", { title: "Old stork" });
    const set = await as("POST", `/api/admin/orbs/${ORB}/changes`, { title: "Birds" });
    const { id: change } = set.body as { id: string };
    const entry = `/api/admin/orbs/${ORB}/entries/${id}`;
    const patch = await as("PATCH", `${entry}?change=${change}`, {
      values: { title: { en: "New pelican" } },
    });
    expect(patch.status, JSON.stringify(patch.body)).toBe(200);
    const within = async (q: string) =>
      idsOf((await as("GET", `${managed}?q=${q}&change=${change}`)).body as Page);
    expect([await within("stork"), await within("pelican")]).toEqual([[], [id]]);
    expect([idsOf(await find("stork")), idsOf(await find("pelican"))]).toEqual([[id], []]);
  });

  test("is a method of the client, also within a change set and with a pinned definition, and a command", async () => {
    const id = await add("article", { title: "Lone egret" });
    const client = createClient({ url: platform.origin, token, definition: { [ORB]: 1 } }).orb(ORB);
    const found = { id, title: "Lone egret", snippet: [{ text: "Lone " }, { text: "egret", match: true }] };
    const wish = { locale: "en", limit: 1 };
    expect(await client.search("egret", wish)).toMatchObject({ items: [found], nextCursor: null });
    const set = await client.changes.open({ title: "Egrets" });
    expect(await client.changes.in(set).search("egret", wish)).toMatchObject({ items: [found] });
    const orb = await orbCommand(platform.origin, token);
    const { out, code } = await orb.run("search", ORB, "egret");
    expect([out.trimEnd().split("\n"), code]).toEqual([
      [`news/article ${id}  Lone egret`, "    Lone [egret]"],
      0,
    ]);
  });

  test("refuses what has no meaning for it", async () => {
    for (const query of [
      "",
      "?q=",
      `?q=${"a".repeat(201)}`,
      "?q=a&sort=id",
      "?q=a&limit=51",
      "?q=a&locale=!",
    ])
      expect([query, (await as("GET", path + query)).status]).toEqual([query, 400]);
    expect((await as("POST", path, {})).status).toBe(405);
    for (const at of [path, managed]) {
      const headers = { authorization: `Bearer ${token}`, "orb-definition": "1" };
      const shaped = await fetch(`${platform.origin}${at}?q=a`, { headers });
      expect([at, shaped.status, await shaped.json()]).toMatchObject([at, 400, { code: "invalid_header" }]);
    }
    const reserved = await as("POST", "/api/admin/orbs", {
      id: "search-taken",
      modules: [{ id: "search", type: "CONTENT", schemas: [] }],
    });
    expect(reserved).toMatchObject({ status: 422, body: { errors: [{ code: "reserved" }] } });
  });
});
