/** Slugs that the platform makes: unique under competition, for each language, and kept when the title changes. */
import { expect, it } from "vitest";
import { fileAdmin } from "../support/file-admin.ts";

const { platform, as, token } = await fileAdmin();

let number = 0;
async function orbWith(title: object = {}, slug: object = {}) {
  const id = `slugs-${++number}`;
  const fields = [
    { name: "title", type: "string", ...title },
    { name: "slug", type: "slug", from: "title", unique: true, ...slug },
    { name: "note", type: "string" },
  ];
  const made = await as("POST", "/api/admin/orbs?publish=true", {
    ...{ id, languages: ["en", "de"] },
    modules: [
      { id: "shop", type: "CONTENT", schemas: [{ id: "item", access: { read: ["public"] }, fields }] },
    ],
  });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const list = `/api/${id}/shop`;
  return { id, list, create: (values: object) => as("POST", `${list}?publish=true`, { values }) };
}

it("makes different slugs for the items of a batch", async () => {
  const { id, list, create } = await orbWith();
  await create({ title: "Chair" });
  const item = { create: "shop/item", values: { title: "Chair" }, publish: true };
  expect((await as("POST", `/api/${id}/batch`, { do: [item, item, item] })).status).toBe(200);
  const { items } = (await as("GET", list)).body;
  const slugs = items.map((each: { values: { slug: string } }) => each.values.slug);
  expect(slugs).toEqual(["chair", "chair-2", "chair-3", "chair-4"]);
});

it("makes a slug, keeps it when the title changes, and makes it again on request", async () => {
  const { list, create } = await orbWith();
  const { body: entry } = await create({ title: "Réd  Chair!" });
  expect(entry.values).toEqual({ title: "Réd  Chair!", slug: "red-chair" });
  const path = `${list}/${entry.id}`;
  expect((await as("PUT", path, { values: { title: "Blue chair" } })).body.values.slug).toBe("red-chair");
  expect((await as("PATCH", path, { values: { title: "Green chair" } })).body.values.slug).toBe("red-chair");
  expect((await as("PATCH", path, { values: { slug: null } })).body.values.slug).toBe("green-chair");
  expect((await as("PATCH", path, { values: { slug: "own" } })).body.values.slug).toBe("own");
  expect((await as("PATCH", path, { values: { slug: "Not one" } })).body.errors[0]).toMatchObject({
    path: "/values/slug",
    code: "format",
  });
  expect((await as("GET", `${list}?filter[slug]=red-chair`)).body.items).toHaveLength(1);
});

it("numbers slugs that are taken, and refuses those that a client chose", async () => {
  const { create } = await orbWith();
  const slugs = [];
  for (let at = 0; at < 12; at++) slugs.push((await create({ title: "Chair" })).body.values.slug);
  expect(slugs).toEqual(["chair", ...Array.from({ length: 11 }, (_, at) => `chair-${at + 2}`)]);
  expect(await create({ title: "x", slug: "chair-3" })).toMatchObject({
    status: 409,
    body: { code: "unique_conflict" },
  });
  expect((await create({ title: "!?" })).body.values).toEqual({ title: "!?" });
  expect((await create({})).body.values).toEqual({});
});

it("gives writes at the same time different slugs, in single requests and in bulk", async () => {
  const { id, list, create } = await orbWith();
  const all = await Promise.all(Array.from({ length: 40 }, () => create({ title: "Same" })));
  expect(all.map(({ status }) => status)).toEqual(all.map(() => 201));
  const line = JSON.stringify({ module: "shop", schema: "item", values: { title: "Same" } });
  for (const query of ["?dryRun=true", ""]) {
    const bulk = await fetch(`${platform.origin}/api/admin/orbs/${id}/entries/bulk${query}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
      body: `${line}\n`.repeat(20),
    });
    const results = (await bulk.text())
      .trim()
      .split("\n")
      .map((text) => JSON.parse(text));
    expect(results.at(-1)).toMatchObject({ done: true, total: 20, failed: 0 });
  }
  const { body } = await as("GET", `/api/admin/orbs/${id}/entries?module=shop&schema=item&limit=200`);
  const slugs: string[] = body.items.map(({ values }: { values: { slug: string } }) => values.slug);
  expect(slugs.length).toBe(60);
  expect(new Set(slugs).size).toBe(slugs.length);
  expect(slugs.every((slug) => /^same(-[0-9a-z]+)?$/.test(slug))).toBe(true);
  expect((await as("GET", `${list}?filter[slug]=same`)).body.items).toHaveLength(1);
});

it("makes a slug for each language of the title", async () => {
  const { list, create } = await orbWith({ translatable: true }, { translatable: true, required: true });
  const { body: one } = await create({ title: { en: "Large", de: "Größe" } });
  const read = async (id: string) => (await as("GET", `${list}/${id}?locale=*`)).body.values.slug;
  expect(await read(one.id)).toEqual({ en: "large", de: "groesse" });
  const { body: two } = await create({ title: { en: "Size", de: "Größe" } });
  expect(await read(two.id)).toEqual({ en: "size", de: "groesse-2" });
  const { body: three } = await create({ title: { en: "Later" } });
  expect(await read(three.id)).toEqual({ en: "later" });
  const added = await as("PATCH", `${list}/${three.id}?locale=de&publish=true`, {
    values: { title: "Später" },
  });
  expect(added.status, JSON.stringify(added.body)).toBe(200);
  expect(await read(three.id)).toEqual({ en: "later", de: "spaeter" });
  const without = await create({ title: { de: "Nur deutsch" } });
  expect(without.body.errors).toContainEqual(
    expect.objectContaining({ path: "/values/slug/en", code: "required" }),
  );
});

it("gives entries of before the field their slug when they are published", async () => {
  const id = `slugs-${++number}`;
  const document = (fields: object[]) => ({
    id,
    modules: [{ id: "shop", type: "CONTENT", schemas: [{ id: "item", fields }] }],
  });
  const title = { name: "title", type: "string" };
  expect((await as("POST", "/api/admin/orbs?publish=true", document([title]))).status).toBe(201);
  const { body: entry } = await as("POST", `/api/${id}/shop`, { values: { title: "Old one" } });
  const slug = { name: "slug", type: "slug", from: "title", unique: true, required: true };
  const changed = await as("PUT", `/api/admin/orbs/${id}?publish=true`, document([title, slug]));
  expect(changed.status, JSON.stringify(changed.body)).toBe(200);
  const published = await as("POST", `/api/${id}/shop/${entry.id}/publish`);
  expect([published.status, published.body.values]).toEqual([200, { title: "Old one", slug: "old-one" }]);
});

it.each([
  [{}, { from: "none" }, "unknown_reference"],
  [{}, { from: "slug" }, "unknown_reference"],
  [{ list: true }, {}, "not_applicable"],
  [{ sensitive: true }, {}, "not_applicable"],
  [{ type: "boolean" }, {}, "not_applicable"],
  [{}, { translatable: true }, "not_applicable"],
  [{ access: { read: ["admin"] } }, {}, "not_applicable"],
  [{}, { type: "string" }, "not_applicable"],
])("refuses a title %j with a slug %j", async (title, slug, code) => {
  const fields = [
    { name: "title", type: "string", ...title },
    { name: "slug", type: "slug", from: "title", ...slug },
  ];
  const { status, body } = await as("POST", "/api/admin/orbs", {
    id: "wrong-slugs",
    modules: [{ id: "shop", type: "CONTENT", schemas: [{ id: "item", fields }] }],
  });
  expect([status, body.errors.map((one: { path: string; code: string }) => [one.path, one.code])]).toEqual([
    422,
    [["/modules/0/schemas/0/fields/1/from", code]],
  ]);
});
