import { beforeAll, expect, test } from "vitest";
import { adminToken, call as request } from "../support/auth.ts";
import { picture, png } from "../support/images.ts";
import { sharedPlatform, startPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;
beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
});

const call = (method: string, path: string, body?: unknown) =>
  request(platform, method, path, { token, ...(body === undefined ? {} : { body }) });

type Line = Record<string, unknown> & { kind: string };

async function exported(id: string): Promise<Line[]> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${platform.origin}/api/admin/orbs/${id}/export`, { headers });
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-type")).toContain("application/x-ndjson");
  return (await answer.text())
    .trimEnd()
    .split("\n")
    .map((line): Line => JSON.parse(line));
}

async function imported(lines: unknown[] | string, onto = platform, as = token) {
  const body = typeof lines === "string" ? lines : lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  const response = await fetch(`${onto.origin}/api/admin/orbs/import`, {
    method: "POST",
    headers: { authorization: `Bearer ${as}`, "content-type": "application/x-ndjson" },
    body,
  });
  const answer: { code?: string; errors?: { path: string; code: string }[] } & Record<string, unknown> =
    JSON.parse(await response.text());
  return { status: response.status, body: answer };
}

const SECRET = "plainly-a-secret";

function document(id: string) {
  return {
    id,
    languages: ["en", "de"],
    modules: [
      {
        id: "books",
        type: "CONTENT",
        schemas: [
          { id: "author", fields: [{ name: "name", type: "string", required: true, unique: true }] },
          {
            id: "book",
            fields: [
              { name: "title", type: "string", translatable: true },
              { name: "author", type: "reference", ref: `${id}/books/author` },
              { name: "note", type: "string", sensitive: true },
            ],
          },
        ],
      },
    ],
  };
}

/** Creates an orb with a draft beside its published revision, and an entry with both as well. */
async function shelf(id: string) {
  const path = `/api/admin/orbs/${id}`;
  expect((await call("POST", "/api/admin/orbs?publish=true", document(id))).status).toBe(201);
  const author = await call("POST", `${path}/entries?publish=true`, {
    module: "books",
    schema: "author",
    values: { name: "A" },
  });
  const book = await call("POST", `${path}/entries?publish=true`, {
    module: "books",
    schema: "book",
    values: { title: { en: "One", de: "Eins" }, author: author.body.id, note: SECRET },
  });
  const draft = await call("PUT", `${path}/entries/${book.body.id}`, {
    values: { ...book.body.values, title: { en: "Two" } },
  });
  expect(draft.body).toMatchObject({ revision: 2, publishedRevision: 1 });
  const saved = await call("POST", `${path}/entries`, {
    module: "books",
    schema: "author",
    values: { name: "B" },
  });
  expect((await call("PUT", path, { ...document(id), name: "Draft" })).status).toBe(200);
  return { path, author: author.body, book: draft.body, saved: saved.body };
}

test("an export restores the orb with the same ids, states and revisions", async () => {
  const { path, author, book, saved } = await shelf("shelf-a");
  const lines = await exported("shelf-a");
  expect(lines.map((line) => line.kind)).toEqual(["orb", "entry", "entry", "entry", "end"]);
  expect(JSON.stringify(lines)).not.toContain(SECRET);
  expect(await imported(lines)).toMatchObject({ status: 409, body: { code: "orb_exists" } });

  expect((await call("DELETE", path)).status).toBe(204);
  const made = await imported(lines);
  expect(made).toMatchObject({
    status: 201,
    body: { entries: 3, orb: { id: "shelf-a", name: "Draft", status: "PUBLISHED" } },
  });
  expect((await call("GET", `${path}?revision=published`)).body.name).toBeUndefined();

  for (const entry of [author, book, saved]) {
    expect((await call("GET", `${path}/entries/${entry.id}`)).body).toEqual(entry);
  }
  expect((await call("GET", `${path}/entries/${book.id}?revision=published`)).body.values.title).toEqual({
    en: "One",
    de: "Eins",
  });
  expect((await call("GET", `${path}/entries/${book.id}?reveal=true`)).body.values.note).toBe(SECRET);
  const listed = await call("GET", `${path}/entries?module=books&schema=author`);
  expect(listed.body.items.map((item: { id: string }) => item.id)).toEqual([author.id, saved.id]);
  // Unique values and references are in force again.
  expect(
    (await call("POST", `${path}/entries`, { module: "books", schema: "author", values: { name: "A" } })).body
      .code,
  ).toBe("unique_conflict");
  expect((await call("DELETE", `${path}/entries/${author.id}`)).body.code).toBe("referenced");
  // A second export has the same content.
  const again = await exported("shelf-a");
  const bare = (all: Line[]) =>
    all.map(({ exportedAt: _at, revision: _revision, publishedRevision: _published, ...line }) => line);
  expect(bare(again)).toEqual(bare(lines));
});

test("refuses an incomplete, mixed-up or foreign file and leaves nothing behind", async () => {
  await shelf("shelf-b");
  const lines = await exported("shelf-b");
  expect((await call("DELETE", "/api/admin/orbs/shelf-b")).status).toBe(204);
  const [orb, first, second, third, end] = lines;
  const wrong: [unknown[] | string, number, string | undefined][] = [
    [[], 422, "/lines/1"],
    ["{", 400, undefined],
    [[first], 422, "/lines/1/kind"],
    [[{ ...orb, document: { id: "Bad" } }], 422, "/lines/1/document/id"],
    [[orb, first, second], 422, "/lines"],
    [[orb, first, end], 422, "/lines/3"],
    [[orb, { ...first, head: { ...Object(first?.head), orb: "other" } }], 422, "/lines/2/head/orb"],
    [[orb, { ...first, head: { ...Object(first?.head), schema: "none" } }], 422, "/lines/2/head/schema"],
    [[orb, { ...first, head: { ...Object(first?.head), id: "../x" } }], 422, "/lines/2/head/id"],
    [[orb, { ...first, extra: 1 }], 422, "/lines/2/extra"],
    [[orb, first, first, third, end], 409, undefined],
  ];
  for (const [file, status, path] of wrong) {
    const answer = await imported(file);
    expect([answer.status, answer.body.errors?.[0]?.path]).toEqual([status, path]);
    expect((await call("GET", "/api/admin/orbs/shelf-b")).status).toBe(404);
    expect(await platform.operatorStore().streamInfo("øshelf-b")).toBeNull();
  }
  expect((await imported([orb, first, second, third, end])).status).toBe(201);
});

test("refuses values that were sealed with other keys or for another orb, and names them", async () => {
  await shelf("shelf-c");
  const lines = await exported("shelf-c");
  await using other = await startPlatform();
  const answer = await imported(lines, other, await adminToken(other));
  const lost = {
    status: 422,
    body: { errors: [{ path: expect.stringMatching(/head\/values\/note$/), code: "sealed_value_lost" }] },
  };
  expect(answer).toMatchObject(lost);

  const renamed = JSON.stringify(lines).replaceAll("shelf-c", "shelf-copy");
  expect(await imported(JSON.parse(renamed))).toMatchObject(lost);
  // Without those values the import creates a copy.
  const bare = JSON.parse(renamed.replaceAll(/"note":\{"\$sealed":"[^"]+"\}/g, '"note":null'));
  expect((await imported(bare)).status).toBe(201);
  const read = await request(platform, "GET", "/api/shelf-copy/books/book?expand=author");
  expect(read.body).toMatchObject({
    items: [{ values: { title: "One" }, expand: { author: { values: { name: "A" } } } }],
  });
});

test("an import adds no default values to entries", async () => {
  const path = "/api/admin/orbs/shelf-d";
  const uses = [{ service: "settings", handlers: ["get", "set"] }];
  const fields = (pages: number) => [
    { name: "theme", type: "string" },
    { name: "pages", type: "integer", default: pages },
  ];
  const orb = (pages: number, more: object[] = []) => ({
    id: "shelf-d",
    uses,
    modules: [
      {
        id: "notes",
        type: "CONTENT",
        schemas: [{ id: "note", fields: [{ name: "text", type: "string" }, ...more] }],
      },
      { id: "prefs", type: "SETTINGS", schemas: [{ id: "pref", fields: fields(pages) }] },
    ],
  });
  expect((await call("POST", "/api/admin/orbs?publish=true", orb(10))).status).toBe(201);
  expect((await call("POST", "/api/shelf-d/notes?publish=true", { values: { text: "old" } })).status).toBe(
    201,
  );
  const set = await call("POST", "/api/shelf-d/set", { values: { theme: "dark" } });
  expect(set.body.values).toEqual({ theme: "dark", pages: 10 });
  const seen = [{ name: "seen", type: "boolean", default: false }];
  expect((await call("PUT", `${path}?publish=true`, orb(10, seen))).status).toBe(200);

  const lines = await exported("shelf-d");
  expect((await call("DELETE", path)).status).toBe(204);
  expect((await imported(lines)).status).toBe(201);
  expect((await exported("shelf-d")).slice(1)).toEqual(lines.slice(1));
  expect((await call("GET", "/api/shelf-d/notes?filter[seen]=false")).body.items).toEqual([]);
  // A setting that no user has set follows the current default.
  expect((await call("PUT", `${path}?publish=true`, orb(20, seen))).status).toBe(200);
  expect((await call("POST", "/api/shelf-d/get", {})).body.values).toEqual({ theme: "dark", pages: 20 });
});

test("an import restores values inside objects, blocks and rich text as they were", async () => {
  const id = "shelf-n";
  const path = `/api/admin/orbs/${id}`;
  const pin = { name: "pin", type: "string", sensitive: true };
  const orb = (more: object[] = [], part: object[] = [pin]) => ({
    id,
    languages: ["en", "de"],
    components: [
      {
        id: "quote",
        fields: [
          { name: "text", type: "string", translatable: true },
          { name: "by", type: "reference", ref: `${id}/pages/page` },
          ...part,
        ],
      },
    ],
    modules: [
      {
        id: "pages",
        type: "CONTENT",
        schemas: [
          {
            id: "page",
            fields: [
              {
                name: "seo",
                type: "object",
                fields: [{ name: "code", type: "string", unique: true }, pin, ...more],
              },
              {
                name: "lines",
                type: "object",
                list: true,
                fields: [{ name: "price", type: "decimal", scale: 2 }, pin, ...more],
              },
              { name: "blocks", type: "blocks", components: ["quote"] },
              { name: "body", type: "richText", components: ["quote"], links: [`${id}/pages/page`] },
            ],
          },
        ],
      },
    ],
  });
  expect((await call("POST", "/api/admin/orbs?publish=true", orb())).status).toBe(201);
  const write = async (values: object) => {
    const made = await call("POST", `${path}/entries?publish=true`, {
      module: "pages",
      schema: "page",
      values,
    });
    expect([made.status, made.body.errors]).toEqual([201, undefined]);
    return made.body.id as string;
  };
  const first = await write({ seo: { code: "C1", pin: SECRET }, body: { markdown: "# Hello\n\n- a\n- b" } });
  const quote = { _type: "quote", _key: "q", text: { de: "Sein" }, by: first, pin: SECRET };
  const link = { _type: "link", _key: "l", reference: { schema: `${id}/pages/page`, id: first } };
  const span = { _type: "span", _key: "s", text: "there", marks: ["l"] };
  const second = await write({
    lines: [{ _key: "a", price: "1.50", pin: SECRET }, { _key: "b" }],
    blocks: [quote],
    body: [{ _type: "block", _key: "p", children: [span], markDefs: [link] }, quote],
  });
  const changed = await call("PATCH", `${path}/entries/${second}`, {
    values: { lines: { a: { _after: "b" } } },
  });
  expect(changed.body).toMatchObject({ revision: 2, publishedRevision: 1 });
  const restored = async (document: object) => {
    expect((await call("PUT", `${path}?publish=true&force=true`, document)).status).toBe(200);
    const lines = await exported(id);
    expect(JSON.stringify(lines)).not.toContain(SECRET);
    expect((await call("DELETE", path)).status).toBe(204);
    expect((await imported(lines)).body).toMatchObject({ entries: 2 });
    expect((await exported(id)).slice(1)).toEqual(lines.slice(1));
  };
  // A new field with a default, then one that is required, and a removed one that entries still store.
  const seen = { name: "seen", type: "boolean", default: false };
  await restored(orb([seen]));
  await restored(orb([seen, { name: "kind", type: "string", required: true }], []));
  const read = await call("GET", `${path}/entries/${second}?reveal=true`);
  expect(read.body.values.lines[1]).toEqual({ _key: "a", price: "1.50", pin: SECRET });
  // References, links and unique values inside objects are in force again, and a field that returns has its values.
  expect((await call("DELETE", `${path}/entries/${first}`)).body.code).toBe("referenced");
  expect((await call("GET", `/api/${id}/pages?filter[seo.code]=C1`)).body.items).toHaveLength(1);
  expect((await call("PUT", `${path}?publish=true`, orb())).status).toBe(200);
  const back = await call("GET", `${path}/entries/${second}?reveal=true`);
  expect(back.body.values.blocks[0].pin).toBe(SECRET);
});

test("an import gives keys to items that the file has without keys", async () => {
  const lines = { name: "lines", type: "object", list: true, fields: [{ name: "a", type: "string" }] };
  const modules = [{ id: "pages", type: "CONTENT", schemas: [{ id: "page", fields: [lines] }] }];
  const path = "/api/admin/orbs/shelf-k";
  expect((await call("POST", "/api/admin/orbs?publish=true", { id: "shelf-k", modules })).status).toBe(201);
  const values = { lines: [{ _key: "one", a: "x" }] };
  const made = await call("POST", `${path}/entries`, { module: "pages", schema: "page", values });
  const text = JSON.stringify(await exported("shelf-k")).replaceAll('"_key":"one",', "");
  expect((await call("DELETE", path)).status).toBe(204);
  expect((await imported(JSON.parse(text))).status).toBe(201);
  const read = await call("GET", `${path}/entries/${made.body.id}`);
  expect(read.body.values).toEqual({ lines: [{ _key: expect.any(String), a: "x" }] });
});

test("import and export need a platform admin", async () => {
  expect((await request(platform, "GET", "/api/admin/orbs/shelf-a/export")).status).toBe(401);
  expect((await request(platform, "POST", "/api/admin/orbs/import", { body: {} })).status).toBe(401);
  expect((await call("POST", "/api/admin/orbs/import", {})).status).toBe(415);
  expect((await call("GET", "/api/admin/orbs/nothing-here/export")).status).toBe(404);
});

test("refuses revision numbers and times that would block later revisions, with their path", async () => {
  await shelf("shelf-far");
  const [orb, ...rest] = await exported("shelf-far");
  expect((await call("DELETE", "/api/admin/orbs/shelf-far")).status).toBe(204);
  const [plain, both] = [rest[0], rest.find((line) => line.kind === "entry" && line.published !== null)];
  const one = { kind: "end", entries: 1 };
  const entry = (line: Line | undefined, part: "head" | "published", more: object): Line => ({
    ...line,
    kind: "entry",
    [part]: { ...(line?.[part] as object), ...more },
  });
  const future = new Date(Date.now() + 7 * 24 * 3600 * 1000).toISOString();
  const wrong: [unknown[], string][] = [
    [[{ ...orb, revision: 2 ** 31 + 1 }, ...rest], "/lines/1/revision"],
    [[{ ...orb, publishedRevision: Number.MAX_SAFE_INTEGER }, ...rest], "/lines/1/publishedRevision"],
    [[orb, entry(plain, "head", { revision: Number.MAX_SAFE_INTEGER }), one], "/lines/2/head/revision"],
    [[orb, entry(plain, "head", { revision: 2 ** 31 + 1 }), one], "/lines/2/head/revision"],
    [[orb, entry(plain, "head", { publishedRevision: 2 ** 53 - 1 }), one], "/lines/2/head/publishedRevision"],
    [
      [orb, entry(entry(both, "head", { publishedRevision: 9 }), "published", { revision: 9 }), one],
      "/lines/2/head/publishedRevision",
    ],
    [[orb, entry(plain, "head", { updatedAt: future }), one], "/lines/2/head/updatedAt"],
    [[orb, entry(plain, "head", { createdAt: future }), one], "/lines/2/head/createdAt"],
    [[orb, entry(both, "published", { updatedAt: future }), one], "/lines/2/published/updatedAt"],
    [[orb, entry(plain, "head", { validTo: "0000-01-01T00:00:00.000Z" }), one], "/lines/2/head/validTo"],
  ];
  for (const [lines, path] of wrong) {
    const answer = await imported(lines);
    expect([path, answer.status, answer.body.errors?.map((fault) => fault.path)]).toEqual([
      path,
      422,
      expect.arrayContaining([path]),
    ]);
    expect((await call("GET", "/api/admin/orbs/shelf-far")).status).toBe(404);
  }

  // With the highest allowed revision, writes and If-Match still work.
  const { id } = (plain?.head ?? {}) as { id?: string };
  const highest = { revision: 2 ** 31, publishedRevision: 2 ** 31 };
  expect((await imported([orb, entry(plain, "head", highest), one])).status).toBe(201);
  const path = `/api/admin/orbs/shelf-far/entries/${id}`;
  const write = async (name: string, tag: number) => {
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "if-match": `"${tag}"`,
    };
    const body = JSON.stringify({ values: { name } });
    return (await fetch(`${platform.origin}${path}`, { method: "PUT", headers, body })).status;
  };
  expect(await write("first", 2 ** 31)).toBe(200);
  expect(await write("stale", 2 ** 31)).toBe(412);
  expect(await write("second", 2 ** 31 + 1)).toBe(200);
});

test("moves files with their content, and refuses content that was damaged", async () => {
  const orb = "moved-files";
  const fields = [
    { name: "title", type: "string" },
    { name: "paper", type: "file", public: true },
    { name: "more", type: "file", list: true },
  ];
  const schemas = [{ id: "paper", access: { read: "public" }, fields }];
  const modules = [{ id: "papers", type: "CONTENT", schemas }];
  const made = await call("POST", "/api/admin/orbs?publish=true", { id: orb, modules });
  expect(made.status).toBe(201);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/octet-stream" };
  const upload = async (content: Uint8Array<ArrayBuffer>) => {
    const body = { method: "POST", headers, body: content };
    const sent = await fetch(`${platform.origin}/api/${orb}/files?name=a%20b.bin`, body);
    return ((await sent.json()) as { id: string }).id;
  };
  const large = new Uint8Array(300_000).map((_, i) => (i * 7919) % 251);
  const [one, two] = [await upload(large), await upload(await png(picture(30, 20)))];
  const create = (values: unknown) => call("POST", `/api/${orb}/papers?publish=true`, { values });
  const first = await create({ title: "first", paper: { file: one }, more: [{ file: two }, { file: one }] });
  await create({ title: "second", paper: { file: one } });
  await create({ title: "third" });
  const before = await call("GET", `/api/${orb}/papers/${first.body.id}`);
  const lines = await exported(orb);
  expect(lines.filter(({ kind }) => kind === "file")).toHaveLength(2);
  expect(before.body.values.more[0]).toMatchObject({ width: 30, height: 20 });

  expect((await call("DELETE", `/api/admin/orbs/${orb}`)).status).toBe(204);
  const damaged = lines.map((line) => (line.kind === "content" ? { ...line, data: "AAEC" } : line));
  for (const wrong of [damaged.filter(({ kind }) => kind !== "content"), lines.slice(0, 3)])
    expect((await imported(wrong)).status).toBe(422);
  const short = lines.map((line) =>
    line.kind === "file" ? { ...line, file: Object.assign({}, line.file, { sha256: "0".repeat(64) }) } : line,
  );
  expect((await imported(short)).body.errors?.[0]).toMatchObject({
    path: "/lines/2/file/sha256",
    code: "digest_mismatch",
  });
  const back = await imported(lines);
  expect(back.status, JSON.stringify(back.body)).toBe(201);
  const after = await call("GET", `/api/${orb}/papers/${first.body.id}`);
  expect(after.body.values).toEqual(before.body.values);
  const { url } = after.body.values.paper;
  const got = await fetch(platform.origin + url);
  expect(Buffer.from(await got.arrayBuffer()).equals(large)).toBe(true);
  // The second entry keeps the file when the first one is erased.
  await call("DELETE", `/api/admin/orbs/${orb}/entries/${first.body.id}?purge=true`);
  expect((await fetch(platform.origin + url)).status).toBe(200);
  const without = await call("GET", `/api/${orb}/papers?filter[paper][null]=true`);
  expect(without.body.items.map((item: { values: { title: string } }) => item.values.title)).toEqual([
    "third",
  ]);
});
