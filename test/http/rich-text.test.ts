/** Rich text is Portable Text with every promise of a field, and can be written and read in markup languages. */
import { beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { sending } from "../support/sending.ts";

const ORB = "journal";
const document = {
  id: ORB,
  languages: ["en", "de"],
  components: [
    { id: "quote", fields: [{ name: "by", type: "reference", ref: `${ORB}/people/person` }] },
    { id: "download", fields: [{ name: "file", type: "file" }] },
  ],
  modules: [
    {
      id: "people",
      type: "CONTENT",
      schemas: [{ id: "person", fields: [{ name: "bio", type: "richText" }] }],
    },
    {
      id: "pages",
      type: "CONTENT",
      schemas: [
        {
          id: "page",
          fields: [
            {
              name: "body",
              type: "richText",
              styles: ["normal", "h2", "blockquote"],
              marks: ["strong", "em"],
              lists: ["bullet"],
              links: [`${ORB}/people/person`, `${ORB}/pages/page`],
              components: ["quote", "download"],
              search: true,
            },
            { name: "teaser", type: "richText", translatable: true },
            { name: "parts", type: "object", list: true, fields: [{ name: "text", type: "richText" }] },
          ],
        },
      ],
    },
  ],
};

let platform: TestPlatform;
let token: string;
const base = `/api/${ORB}/pages`;

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body: document });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
});

const { ask, send } = sending(() => ({ platform, token }));

const page = (values: object, query = "?publish=true") => send("POST", `${base}${query}`, { values });
const person = async (bio: string) =>
  (await send("POST", `/api/${ORB}/people?publish=true`, { values: { bio: { markdown: bio } } })).id;

test("is written and read as Markdown and HTML, with warnings about what the field does not allow", async () => {
  const markdown = "## Title\n\nA **bold** `code`.\n\n- one\n- two";
  const made = await page({ body: { markdown }, teaser: { en: { html: "<p>Hi <script>x</script></p>" } } });
  expect(made.warnings.map(({ path, code }: { path: string; code: string }) => [path, code])).toEqual([
    ["/values/body", "converted"],
    ["/values/teaser/en", "converted"],
  ]);
  expect(made.values.body[0]).toMatchObject({ _type: "block", style: "h2", _key: expect.any(String) });
  const read = async (query: string) => (await send("GET", `${base}/${made.id}?${query}`)).values;
  expect(await read("richText=markdown&locale=*")).toMatchObject({
    body: "## Title\n\nA **bold** code.\n\n- one\n- two",
    teaser: { en: "Hi" },
  });
  expect((await read("richText=html")).body).toBe(
    "<h2>Title</h2><p>A <strong>bold</strong> code.</p><ul><li>one</li><li>two</li></ul>",
  );
  expect((await read("richText=text")).body).toBe("Title\n\nA bold code.\n\none\ntwo");
  const list = await send("GET", `${base}?richText=text&search=bold`);
  expect(list.items[0].values.body).toContain("A bold code.");
  const refused = await ask("GET", `${base}/${made.id}?richText=pdf`);
  expect(refused.body.errors).toEqual([
    { path: "/richText", code: "invalid_value", message: "must be one of: html, markdown, text" },
  ]);
  const plain = await call(platform, "GET", `${base}/${made.id}`, { token });
  const html = await call(platform, "GET", `${base}/${made.id}?richText=html`, { token });
  expect(plain.headers.get("etag")).not.toBe(html.headers.get("etag"));
});

test("refuses what cannot be converted, with its place", async () => {
  const deep = "<b>".repeat(300);
  const long = "a".repeat(200_001);
  for (const [body, code] of [
    [{ html: deep }, "too_deep"],
    [{ markdown: long }, "too_long"],
    [{ markdown: "a", html: "b" }, "type"],
    ["text", "type"],
  ] as const) {
    const { status, body: problem } = await ask("POST", base, { values: { body } });
    expect([
      status,
      problem.errors?.map((fault: { path: string; code: string }) => [fault.path, fault.code]),
    ]).toEqual([422, [["/values/body", code]]]);
  }
});

test("takes part in references: checks, deletes, referrers, publishing and expand", async () => {
  const id = await person("I am *Ann*.");
  const made = await page({
    body: {
      markdown: `By [Ann](/api/${ORB}/people/person/${id}).`,
    },
  });
  const [block] = made.values.body;
  expect(block.markDefs[0].reference).toEqual({
    schema: `${ORB}/people/person`,
    id,
    path: `/api/${ORB}/people/person/${id}`,
  });
  const shown = await send("GET", `${base}/${made.id}?expand=body&richText=html`);
  expect(shown.values.body).toBe(
    `<p>By <a data-schema="${ORB}/people/person" data-id="${id}" data-path="/api/${ORB}/people/person/${id}">Ann</a>.</p>`,
  );
  expect(shown.expand.body[id].values.bio).toBe("<p>I am <em>Ann</em>.</p>");
  const kept = await ask("DELETE", `/api/${ORB}/people/person/${id}`);
  expect([kept.status, kept.body.referrers]).toEqual([
    409,
    [{ module: "pages", schema: "page", id: made.id, field: "body" }],
  ]);
  const draft = (await send("POST", `/api/${ORB}/people`, { values: {} })).id;
  const link = { _type: "link", _key: "l", reference: { schema: `${ORB}/people/person`, id: draft } };
  const text = { _type: "span", text: "a", marks: ["l"] };
  const body = [
    { _type: "block", children: [text], markDefs: [link] },
    { _type: "quote", by: draft },
  ];
  const early = await ask("POST", `${base}?publish=true`, { values: { body } });
  expect([early.status, early.body.errors.map(({ path }: { path: string }) => path).sort()]).toEqual([
    409,
    ["/values/body/0/markDefs/0/reference/id", "/values/body/1/by"],
  ]);
  const wrong = { ...link, reference: { ...link.reference, schema: `${ORB}/pages/page` } };
  const missing = await ask("POST", base, {
    values: { body: [{ _type: "block", children: [text], markDefs: [wrong] }] },
  });
  expect(missing.body.errors.map(({ code }: { code: string }) => code)).toEqual(["unknown_reference"]);
});

test("two editors who change two blocks both win, and history shows only the change", async () => {
  const made = await page({ body: { markdown: "one\n\ntwo\n\nthree" } });
  const [one, two, three] = made.values.body.map(({ _key }: { _key: string }) => _key);
  const span = (at: number) => made.values.body[at].children[0]._key;
  await Promise.all([
    send("PATCH", `${base}/${made.id}`, {
      values: { body: { [one]: { children: { [span(0)]: { text: "1" } } } } },
    }),
    send("PATCH", `${base}/${made.id}`, { values: { body: { [three]: { style: "h2", _after: null } } } }),
  ]);
  const read = await send("GET", `${base}/${made.id}?revision=latest&richText=markdown`);
  expect(read.values.body).toBe("## three\n\n1\n\ntwo");
  await send("PATCH", `${base}/${made.id}`, { values: { body: { markdown: "## three\n\n1\n\n2" } } });
  const after = (await send("GET", `${base}/${made.id}?revision=latest`)).values.body;
  expect(after.map(({ _key }: { _key: string }) => _key)).toEqual([three, one, two]);
  const children = { [after[0].children[0]._key]: { text: "three and four" } };
  await send("PATCH", `${base}/${made.id}`, {
    values: { body: { [one]: { _after: null }, [three]: { children } } },
  });
  const { patch, words } = await send("GET", `${base}/${made.id}/revisions/5?against=4`);
  expect(patch).toContainEqual({ op: "move", from: "/values/body/1", path: "/values/body/0" });
  expect(words).toEqual([
    {
      path: "/values/body/1",
      parts: [
        { op: "keep", text: "three" },
        { op: "add", text: " and four" },
      ],
    },
  ]);
});

test("keeps the files of its blocks, and rich text at any depth", async () => {
  const upload = await fetch(`${platform.url}/api/${ORB}/files`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "text/plain" },
    body: "content",
  });
  const { id: file } = await upload.json();
  const made = await page({
    body: [{ _type: "download", file: { file } }],
    parts: [{ text: { markdown: "*a*" } }],
  });
  expect(made.values.body[0].file).toMatchObject({ file, type: "text/plain" });
  expect(made.values.parts[0].text[0].children[0]).toMatchObject({ text: "a", marks: ["em"] });
  const html = await send("GET", `${base}/${made.id}?richText=html`);
  expect(html.values.parts[0].text).toBe("<p><em>a</em></p>");
  expect(html.values.body).toMatch(/^<div data-component="download" data-key="[a-z0-9]+"><\/div>$/);
});

test("is described in OpenAPI and in the overview", async () => {
  const { body } = await call(platform, "GET", `/api/openapi?orb=${ORB}`, { token });
  const text = JSON.stringify(body.components.schemas);
  for (const part of ['"block"', '"span"', '"link"', '"quote"', `"${ORB}/people/person"`])
    expect(text).toContain(part);
  const overview = await send("GET", `/api/discovery?orb=${ORB}`);
  const [field] = overview.orbs[0].modules[1].schemas[0].fields;
  expect(field.blocks.map(({ component }: { component: string }) => component)).toEqual([
    "block",
    "quote",
    "download",
  ]);
});
