/** Objects, blocks and rich text keep their promises in tools, streams, live lists, uploads and files of tables. */
import { readFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { MASK } from "../../shared/definition/document/text.ts";
import { adminToken, call } from "../support/auth.ts";
import { Follow } from "../support/live.ts";
import { orbCommand } from "../support/orb-command.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { sending } from "../support/sending.ts";
import { signIn } from "../support/streams.ts";

const ORB = "nested";
const SCHEMAS = ["page", "copy-csv", "copy-ndjson"];

const document = {
  id: ORB,
  languages: ["en", "de"],
  markets: ["US", "EU"],
  components: [
    {
      id: "quote",
      fields: [
        { name: "text", type: "richText", translatable: true },
        { name: "by", type: "reference", ref: `${ORB}/people/person` },
      ],
    },
    {
      id: "offer",
      fields: [
        { name: "price", type: "decimal", scale: 2, marketSpecific: true },
        { name: "code", type: "string", sensitive: true },
      ],
    },
    { id: "badge", fields: [{ name: "label", type: "string" }] },
  ],
  modules: [
    {
      id: "people",
      type: "CONTENT",
      schemas: [{ id: "person", fields: [{ name: "name", type: "string", unique: true }] }],
    },
    {
      id: "pages",
      type: "CONTENT",
      schemas: SCHEMAS.map((id) => ({
        id,
        fields: [
          { name: "key", type: "string", unique: true },
          {
            name: "seo",
            type: "object",
            fields: [
              { name: "title", type: "string", translatable: true },
              { name: "words", type: "string", list: true },
              { name: "pin", type: "string", sensitive: true },
            ],
          },
          {
            name: "contacts",
            type: "object",
            list: true,
            fields: [
              { name: "city", type: "string" },
              { name: "place", type: "point" },
            ],
          },
          { name: "sections", type: "blocks", components: ["quote", "offer"] },
          { name: "body", type: "richText", translatable: true, components: ["badge"] },
          { name: "notes", type: "blocks", components: ["badge"], access: { read: ["admin"] } },
        ],
      })),
    },
  ],
};

let platform: TestPlatform;
let token: string;
const base = `/api/${ORB}/pages/page`;

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body: document });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
});

const { send } = sending(() => ({ platform, token }));

const person = async (name: string): Promise<string> =>
  (await send("POST", `/api/${ORB}/people?publish=true`, { values: { name } })).id;

/** Values of every form, with languages and markets inside lists. */
const valuesOf = (key: string, by: string) => ({
  key,
  seo: { title: { en: "Hello", de: "Hallo" }, words: ["a,b", "c"], pin: "1234" },
  contacts: [
    { _key: "c1", city: "Oslo", place: { lat: 59.9, lon: 10.7 } },
    { _key: "c2", city: "Rome" },
  ],
  sections: [
    {
      _type: "quote",
      _key: "s1",
      by,
      text: { en: { markdown: "A *word*" }, de: { html: "<p>Ein Wort</p>" } },
    },
    { _type: "offer", _key: "s2", price: { US: "9.50", EU: "8.00" }, code: "secret" },
  ],
  body: { en: { markdown: "# Title\n\nText" }, de: { markdown: "Absatz" } },
  notes: [{ _type: "badge", label: "internal" }],
});

const stored = async (id: string) => (await send("GET", `${base}/${id}?locale=*&revision=latest`)).values;

async function tool(name: string, input: object) {
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: input } };
  const headers = { accept: "application/json, text/event-stream" };
  const answer = await call(platform, "POST", `/api/${ORB}/mcp`, { token, body, headers });
  const text = typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body);
  const { result } = JSON.parse(text.match(/\{.*\}/s)?.[0] ?? "null");
  return { failed: result.isError === true, value: JSON.parse(result.content[0].text) };
}

test("tools for agents take and give Markdown at every depth, in all languages", async () => {
  const by = await person("mcp");
  const collection = "pages/page";
  const made = await tool("create_draft", { collection, values: valuesOf("mcp", by) });
  expect(made.failed, JSON.stringify(made.value)).toBe(false);
  const shown = {
    seo: { title: { en: "Hello", de: "Hallo" }, pin: MASK },
    sections: [
      { _key: "s1", text: { en: "A _word_", de: "Ein Wort" } },
      { _key: "s2", price: { US: "9.50", EU: "8.00" } },
    ],
    body: { en: "# Title\n\nText", de: "Absatz" },
  };
  expect(made.value.values).toMatchObject(shown);
  const { id } = made.value;
  // A model sends back what it has read, with a change.
  const changed = {
    sections: made.value.values.sections,
    body: { ...made.value.values.body, de: { markdown: "Neuer Absatz" } },
  };
  const [quote] = changed.sections;
  quote.text = { en: { markdown: "Two *words*" }, de: { markdown: quote.text.de } };
  changed.body.en = { markdown: changed.body.en };
  const updated = await tool("update_draft", { collection, id, revision: 1, values: changed });
  expect(updated.failed, JSON.stringify(updated.value)).toBe(false);
  expect(updated.value.values).toMatchObject({
    ...shown,
    sections: [{ _key: "s1", text: { en: "Two _words_", de: "Ein Wort" } }, { _key: "s2" }],
    body: { en: "# Title\n\nText", de: "Neuer Absatz" },
  });
  const german = await tool("update_draft", {
    ...{ collection, id, revision: 2, locale: "de" },
    values: { body: { markdown: "- eins" }, seo: { title: "Tag" } },
  });
  expect(german.value.values).toMatchObject({ body: "- eins", seo: { title: "Tag" } });
  const whole = await stored(id);
  expect(whole.seo).toMatchObject({ title: { en: "Hello", de: "Tag" }, words: ["a,b", "c"] });
  expect(whole.body.en).toMatchObject([{ style: "h1" }, { style: "normal" }]);
  const found = await tool("query_entries", { collection, filter: { key: "mcp" }, locale: "de" });
  expect(found.value.items).toMatchObject([]);
  const published = await tool("publish_entry", { collection, id, revision: 3 });
  expect(published.value.values.body).toEqual({ en: "# Title\n\nText", de: "- eins" });
  const live = await tool("get_entry", { collection, id, locale: "en" });
  expect(live.value.values).toMatchObject({ sections: [{ text: "Two _words_" }, { price: "9.50" }] });
});

test("streams deliver nested values without the secrets inside them, and without hidden fields", async () => {
  const by = await person("streams");
  const made = await send("POST", `${base}?publish=true`, { values: valuesOf("streams", by) });
  const stream = { stream: `ø${ORB}`, subjectFilter: `${ORB}.content.public.page.${made.id}` };
  await send("PUT", `/api/admin/streams/${ORB}`, stream);
  const stranger = await signIn(platform, { realm: "elsewhere", sub: "stranger" });
  const read = async (from: string) => {
    const headers = { authorization: `Bearer ${from}` };
    const page = await fetch(`${platform.origin}/api/streams/${ORB}?offset=-1`, { headers });
    return (await page.json()) as { values: Record<string, unknown> }[];
  };
  const [seen] = await read(stranger);
  const { notes: _, ...whole } = await stored(made.id);
  expect(seen?.values).toEqual(whole);
  expect(JSON.stringify(seen)).not.toMatch(/1234|"secret"|internal/);
  expect(seen?.values).toMatchObject({ seo: { pin: MASK }, sections: [{}, { code: MASK }] });
});

test("live lists follow filters on values inside lists, and show the values of the language", async () => {
  const by = await person("live");
  const made = await send("POST", `${base}?publish=true&locale=*`, { values: valuesOf("live", by) });
  const list = new Follow(`${base}?filter[key]=live&filter[contacts.city]=Oslo&locale=de&live=sse`, {
    token,
    origin: () => platform.origin,
  });
  try {
    await list.until(({ ready, items }) => ready && items.size === 1);
    const shown = {
      seo: { title: "Hallo", pin: MASK },
      sections: [{ text: [{ _type: "block" }] }, { price: "9.50" }],
    };
    expect(list.items.get(made.id)?.values).toMatchObject(shown);
    const one = (city: string) =>
      send("PATCH", `${base}/${made.id}?publish=true`, { values: { contacts: { c1: { city } } } });
    await one("Paris");
    await list.until(({ items }) => items.size === 0);
    await one("Oslo");
    await list.until(({ items }) => items.size === 1);
    const quote = { markdown: "Neu" };
    await send("PATCH", `${base}/${made.id}?publish=true&locale=de`, {
      values: { sections: { s1: { text: quote } } },
    });
    await list.until(({ items }) => JSON.stringify(items.get(made.id)?.values).includes("Neu"));
  } finally {
    await list.stop();
  }
});

test("uploads of many entries convert rich text, and change single items of lists", async () => {
  const by = await person("many");
  const upload = async (lines: object[], query: string) => {
    const response = await fetch(`${platform.origin}/api/admin/orbs/${ORB}/entries/bulk?${query}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
      body: lines.map((line) => JSON.stringify(line)).join("\n"),
    });
    return (await response.text())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  };
  const place = "module=pages&schema=page&publish=true";
  const keys = ["many-1", "many-2"];
  const [first, second, bad] = await upload(
    [
      ...keys.map((key) => ({
        values: { ...valuesOf(key, by), sections: [{ _type: "quote", by: { name: "many" } }] },
      })),
      { values: { key: "many-3", body: { en: { markdown: 5 } }, sections: [{ _type: "other" }] } },
    ],
    place,
  );
  expect([first.status, second.status, bad.status]).toEqual([201, 201, 422]);
  expect(bad.errors.map(({ path }: { path: string }) => path).sort()).toEqual([
    "/values/body/en",
    "/values/sections/0/_type",
  ]);
  expect(await stored(first.id)).toMatchObject({
    body: { en: [{ style: "h1" }, { style: "normal" }] },
    sections: [{ by }],
  });
  const filter = "filter[key][startsWith]=many-&filter[contacts.city]=Oslo";
  const changed = await send("PATCH", `${base}?${filter}&publish=true`, {
    values: { contacts: { c2: { city: "Bern" }, c1: { _after: "c2" } }, body: { de: { markdown: "*Neu*" } } },
  });
  expect(changed).toMatchObject({ changed: 2, failed: [] });
  for (const { id } of [first, second])
    expect(await stored(id)).toMatchObject({
      contacts: [
        { _key: "c2", city: "Bern" },
        { _key: "c1", city: "Oslo" },
      ],
      body: { en: [{ style: "h1" }, {}], de: [{ children: [{ text: "Neu", marks: ["em"] }] }] },
      seo: { pin: MASK },
    });
  // What a text loses is told for each line.
  const lossy = { key: "many-4", body: { en: { markdown: "Text\n\n---" } } };
  const warned = { warnings: [{ path: "/values/body/en", code: "converted", message: expect.any(String) }] };
  expect((await upload([{ values: lossy }], `${place}&match=key`))[0]).toMatchObject({
    act: "created",
    ...warned,
  });
  expect((await upload([{ values: { ...lossy, key: "many-5" } }], place))[0]).toMatchObject(warned);
  const other = { ...lossy, body: { en: { markdown: "Other\n\n---" } } };
  expect((await upload([{ values: other }], `${place}&match=key`))[0]).toMatchObject({
    act: "updated",
    ...warned,
  });
  // A row of an export that is sent back keeps the secrets behind its masks.
  const { sections } = await stored(second.id);
  const [again] = await upload(
    [{ values: { key: "many-2", seo: { title: { de: "Neu" }, words: [] }, sections } }],
    `${place}&match=key`,
  );
  expect([again.status, again.act], JSON.stringify(again)).toEqual([200, "updated"]);
  const secrets = await send("GET", `/api/admin/orbs/${ORB}/entries/${second.id}?reveal=true`);
  expect(secrets.values).toMatchObject({
    seo: { pin: "1234", title: { en: "Hello", de: "Neu" }, words: [] },
  });
});

test.each(["csv", "ndjson"])("files of %s bring nested values back as they were", async (format) => {
  const by = await person(format);
  const values = valuesOf(format, by);
  await send("POST", base, { values });
  await send("POST", base, {
    values: { key: `${format}-2`, seo: { words: [] }, contacts: [], body: { de: null } },
  });
  const orb = await orbCommand(platform.origin, token);
  const file = `nested.${format}`;
  const exported = await orb.run(
    ...["entries", "export", ORB, "pages/page", "--out", file, "--format", format],
  );
  expect(exported.code, exported.err).toBe(0);
  const text = readFileSync(`${orb.folder}/${file}`, "utf8");
  orb.file(file, text.replaceAll('"schema":"page"', `"schema":"copy-${format}"`));
  const imported = await orb.run("entries", "import", ORB, `pages/copy-${format}`, file);
  expect([imported.code, imported.out], imported.err).toEqual([0, expect.stringMatching(/refused 0/)]);
  const all = async (schema: string): Promise<Map<string, unknown>> => {
    const path = `/api/admin/orbs/${ORB}/entries?module=pages&schema=${schema}&limit=200`;
    const { items } = await send("GET", path);
    return new Map(items.map((one: { values: { key: string } }) => [one.values.key, one.values]));
  };
  const [before, after] = [await all("page"), await all(`copy-${format}`)];
  const masks = new RegExp(`,"[a-z]+":"${MASK}"`, "g");
  const unmasked = (values: unknown) => JSON.parse(JSON.stringify(values).replaceAll(masks, ""));
  expect(imported.err).toContain("mask: seo.pin, sections.code.\n");
  for (const key of [format, `${format}-2`]) expect(after.get(key)).toEqual(unmasked(before.get(key)));
  expect(after.size).toBe(before.size);
  orb.file("lossy.ndjson", JSON.stringify({ values: { body: { en: { markdown: "Text\n\n---" } } } }));
  const lossy = await orb.run("entries", "import", ORB, `pages/copy-${format}`, "lossy.ndjson");
  expect([lossy.code, lossy.err]).toEqual([0, expect.stringMatching(/Entry 1: \/values\/body\/en /)]);
});
