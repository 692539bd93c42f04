/** Clients can edit a response and send it back whole, even after the orb lost fields, languages or markets. */
import { beforeAll, expect, test } from "vitest";
import { MASK } from "../../shared/definition/document/text.ts";
import { adminToken } from "../support/auth.ts";
import { evolving, type Field, title } from "../support/evolving.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;
beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
});

/** Returns a document with one schema of these fields. */
function document(id: string, fields: Field[], more: object = {}) {
  return {
    id,
    modules: [{ id: "news", type: "CONTENT", schemas: [{ id: "article", fields }] }],
    ...more,
  };
}

const { call, withEntries } = evolving("sentback", document, () => ({ platform, token }));
const pin: Field = { name: "pin", type: "string", sensitive: true };

test("accepts an unchanged entry sent back to either API", async () => {
  const link: Field = { name: "next", type: "reference", ref: "sentback-1/news/article" };
  const { id, path, ids } = await withEntries([title, pin, link], [{ title: "a", pin: "pin-4711" }]);
  const managed = `${path}/entries/${ids[0]}`;
  const runtime = `/api/${id}/news/article/${ids[0]}`;
  let revision = 1;
  for (const [from, to] of [
    [managed, managed],
    [runtime, runtime],
    [`/api/${id}/news/${ids[0]}?revision=latest&expand=next&locale=*`, runtime],
  ] as const) {
    const { body } = await call("GET", from);
    expect(body).toMatchObject({ id: ids[0], orb: id, revision, values: { title: "a", pin: MASK } });
    const put = await call("PUT", `${to}?publish=true`, body);
    expect(put, JSON.stringify(put.body)).toMatchObject({ status: 200, body: { revision: ++revision } });
    // Members that the platform sets are ignored, whatever their value.
    const stale = { ...body, status: "ARCHIVED", revision: 99, createdBy: "me", updatedAt: null };
    expect(await call("PUT", `${to}?publish=true`, stale)).toMatchObject({
      status: 200,
      body: { status: "PUBLISHED", revision: ++revision, createdBy: body.createdBy },
    });
    // The path identifies the entry, so these members cannot change.
    const moved = { ...body, id: "0other", orb: "other", module: "m", schema: "s" };
    const refused = await call("PUT", to, moved);
    expect(refused.status).toBe(422);
    expect(
      refused.body.errors.map((fault: { path: string; code: string }) => [fault.path, fault.code]),
    ).toEqual(["/id", "/orb", "/module", "/schema"].map((name) => [name, "immutable"]));
  }
  expect((await call("GET", `${managed}?reveal=true`)).body.values.pin).toBe("pin-4711");
  // Members that no response has are refused, and so are these members in a new entry.
  expect((await call("PUT", managed, { values: {}, title: "b" })).body.errors).toMatchObject([
    { path: "/title", code: "unknown_property" },
  ]);
  expect((await call("POST", `/api/${id}/news`, { id: ids[0], values: {} })).body.errors).toMatchObject([
    { path: "/id", code: "unknown_property" },
  ]);
});

test("renames a field in the three steps that the documentation describes", async () => {
  const old: Field = { name: "old", type: "string", required: true };
  const { id, path, ids } = await withEntries(
    [old, pin, { name: "gone", type: "string" }],
    [
      { old: "a", pin: "1", gone: "x" },
      { old: "b", pin: "2", gone: "y" },
    ],
  );
  // A field that was removed earlier does not interfere.
  expect((await call("PUT", `${path}?publish=true`, document(id, [old, pin]))).status).toBe(200);
  const draft = { values: { old: "b2", pin: MASK } };
  expect((await call("PUT", `${path}/entries/${ids[1]}`, draft)).status).toBe(200);

  // Publish the orb with the new fields beside the old ones, not yet required.
  const code: Field = { ...pin, name: "code" };
  const both = [old, pin, { name: "new", type: "string" }, code];
  expect((await call("PUT", `${path}?publish=true`, document(id, both))).status).toBe(200);
  // PUT every entry with the new field added, with `?publish=true` if its newest revision is the published one.
  const { items } = (await call("GET", `${path}/entries?module=news&schema=article`)).body;
  expect(items).toHaveLength(2);
  for (const item of items) {
    const entry = (await call("GET", `${path}/entries/${item.id}?reveal=true`)).body;
    const { old: value, pin: secret } = entry.values;
    const body = { ...entry, values: { ...entry.values, new: value, code: secret } };
    const live = entry.revision === entry.publishedRevision;
    const put = await call("PUT", `${path}/entries/${item.id}${live ? "?publish=true" : ""}`, body);
    expect(put, JSON.stringify(put.body)).toMatchObject({ status: 200 });
  }
  // Publish the orb without the old fields. The new one can be required now.
  const last = [{ name: "new", type: "string", required: true }, code];
  expect((await call("PUT", `${path}?publish=true`, document(id, last))).status).toBe(200);

  for (const [index, value] of ["a", "b2"].entries()) {
    const at = `${path}/entries/${ids[index]}`;
    const got = await call("GET", at);
    expect(got.body.values).toEqual({ new: value, code: MASK });
    expect((await call("GET", `${at}?reveal=true`)).body.values).toEqual({
      new: value,
      code: `${index + 1}`,
    });
    expect((await call("PUT", at, got.body)).status).toBe(200);
  }
  expect((await call("GET", `/api/${id}/news/${ids[0]}`)).body.values).toEqual({ new: "a", code: MASK });
});

test("shows values of removed fields only in past revisions, and never shows sealed values", async () => {
  const { id, path, ids } = await withEntries([title, pin], [{ title: "a", pin: "pin-4711" }]);
  const at = `${path}/entries/${ids[0]}`;
  const then = new Date().toISOString();
  expect((await call("PUT", `${path}?publish=true`, document(id, [title]))).status).toBe(200);
  const answers: [string, object][] = [
    [at, { title: "a" }],
    [`${at}?reveal=true`, { title: "a" }],
    [`${at}?revision=published`, { title: "a" }],
    [`${at}?revision=published&reveal=true`, { title: "a" }],
    [`${at}/revisions/1`, { title: "a", pin: MASK }],
    [`${at}?at=${then}`, { title: "a", pin: MASK }],
    // The caller has the right to reveal, and the key exists.
    [`${at}?at=${then}&reveal=true`, { title: "a", pin: "pin-4711" }],
    [`/api/${id}/news/${ids[0]}`, { title: "a" }],
    [`/api/${id}/news/${ids[0]}?revision=latest`, { title: "a" }],
  ];
  for (const [from, values] of answers) {
    const { status, body } = await call("GET", from);
    expect([from, status, body.values]).toEqual([from, 200, values]);
  }
  const lists: [string, object][] = [
    [`${path}/entries`, { title: "a" }],
    [`${path}/entries?module=news&fields=title`, { title: "a" }],
    [`${path}/entries?module=news&at=${then}`, { title: "a", pin: MASK }],
    [`/api/${id}/news?revision=latest`, { title: "a" }],
  ];
  for (const [from, values] of lists) {
    const { status, body } = await call("GET", from);
    expect([from, status, body.items[0].values]).toEqual([from, 200, values]);
  }
  expect((await call("GET", `${path}/entries?module=news&fields=pin`)).status).toBe(400);
  // Operations that change no value respond in the same way.
  for (const operation of ["unpublish", "archive", "restore"]) {
    const moved = await call("POST", `${at}/${operation}`);
    expect([operation, moved.status, moved.body.values]).toEqual([operation, 200, { title: "a" }]);
  }
  const put = await call("PUT", at, (await call("GET", at)).body);
  expect(put).toMatchObject({ status: 200, body: { values: { title: "a" } } });
  const compared = await call("GET", `${at}/revisions/5?against=1`);
  expect(compared.body.patch).toContainEqual({ op: "remove", path: "/values/pin" });
  const audited = (await call("GET", `/api/admin/audit?filter[realm]=${id}`)).body.items;
  expect(audited.filter(({ action }: { action: string }) => action === "reveal")).toHaveLength(3);
  for (const secret of ["$sealed", "pin-4711"]) expect(JSON.stringify(audited)).not.toContain(secret);

  // While the whole schema is removed, past revisions still show these values, and no sealed ones.
  expect((await call("PUT", `${path}?publish=true&force=true`, { id, modules: [] })).status).toBe(200);
  expect((await call("GET", `${at}?reveal=true&at=${then}`)).body.values).toEqual({
    title: "a",
    pin: "pin-4711",
  });
});

test("omits values of removed languages and markets, so that the response can be sent back", async () => {
  const id = "sentback-places";
  const path = `/api/admin/orbs/${id}`;
  const fields = [
    { ...title, translatable: true },
    { name: "price", type: "number", marketSpecific: true },
    { ...pin, translatable: true, marketSpecific: true },
  ];
  const at = (languages: string[], markets: string[]) => document(id, fields, { languages, markets });
  const before = at(["en", "de"], ["US", "EU"]);
  expect((await call("POST", "/api/admin/orbs?publish=true", before)).status).toBe(201);
  const values = {
    title: { en: "a", de: "A" },
    price: { EU: 2 },
    pin: { US: { en: "1", de: "2" }, EU: { en: "3" } },
  };
  const made = await call("POST", `${path}/entries?publish=true`, { module: "news", values });
  expect(made.status).toBe(201);
  expect((await call("PUT", `${path}?publish=true`, at(["en"], ["US"]))).status).toBe(200);

  const left = { title: { en: "a" }, pin: { US: { en: MASK } } };
  const entry = `${path}/entries/${made.body.id}`;
  const runtime = `/api/${id}/news/${made.body.id}`;
  for (const [from, to] of [
    [entry, entry],
    [`${runtime}?locale=*`, runtime],
  ] as const) {
    const got = await call("GET", from);
    expect(got.body.values).toEqual(left);
    expect((await call("PUT", to, got.body)).status).toBe(200);
  }
  expect((await call("GET", `${entry}?reveal=true`)).body.values).toEqual({
    title: { en: "a" },
    pin: { US: { en: "1" } },
  });
  expect((await call("GET", `${entry}/revisions/1`)).body.values.title).toEqual({ en: "a", de: "A" });
});
