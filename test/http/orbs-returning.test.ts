/** A field or schema that was removed and returns finds its stored values. It must not change their meaning. */
import { beforeAll, expect, test } from "vitest";
import { MASK } from "../../shared/definition/document/text.ts";
import { adminToken } from "../support/auth.ts";
import { evolving, type Field, title } from "../support/evolving.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { before } from "../support/races.ts";

let platform: TestPlatform;
let token: string;
beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
});

const note: Field = { name: "note", type: "string" };

/** Returns a document with one schema of these fields, beside one that stays. */
function document(id: string, fields: Field[], module = "news") {
  return {
    id,
    languages: ["en", "de"],
    modules: [
      { id: "base", type: "CONTENT", schemas: [{ id: "kept", fields: [title] }] },
      { id: module, type: "CONTENT", schemas: [{ id: "article", fields }] },
    ],
  };
}

const without = (id: string) => ({
  ...document(id, []),
  modules: document(id, []).modules.filter(({ id: module }) => module === "base"),
});

const { call, withEntries } = evolving("return", document, () => ({ platform, token }));

const publish = (path: string, body: object, more = "") => call("PUT", `${path}?publish=true${more}`, body);

const meanings: [string, Field][] = [
  ["sensitive", { ...note, sensitive: true }],
  ["type", { ...note, type: "number" }],
  ["list", { ...note, list: true }],
  ["translatable", { ...note, translatable: true }],
];
test.each(meanings)(
  "refuses a removed field that returns with another %s while values of it are stored",
  async (attribute, field) => {
    const { id, path, ids } = await withEntries(
      [title, note],
      [{ title: "a", note: "secret" }, { title: "b" }],
    );
    expect((await publish(path, document(id, [title]))).status).toBe(200);
    const back = document(id, [title, field]);
    const change = {
      code: `changed_${attribute}`,
      field: "note",
      entries: 1,
      refused: true,
      forceable: false,
    };
    expect((await call("PUT", `${path}?dryRun=true`, back)).body).toMatchObject({
      refused: true,
      impact: { changes: [change] },
    });
    for (const force of ["", "&force=true"])
      expect(await publish(path, back, force)).toMatchObject({
        status: 409,
        body: { code: "incompatible_change", impact: { changes: [change] } },
      });
    // The same holds for other ways to publish the change, and while the orb is unpublished.
    expect((await call("POST", `${path}/unpublish`)).status).toBe(200);
    expect((await call("PUT", path, back)).status).toBe(409);
    // With its former definition the field returns with its values.
    expect((await publish(path, document(id, [title, note]))).status).toBe(200);
    expect((await call("GET", `${path}/entries/${ids[0]}`)).body.values).toEqual({
      title: "a",
      note: "secret",
    });
  },
);

test("accepts a removed field with another type once no entry holds a value of it", async () => {
  const { id, path, ids } = await withEntries([title, note], [{ title: "a", note: "1" }, { title: "b" }]);
  expect((await publish(path, document(id, [title]))).status).toBe(200);
  const entry = `${path}/entries/${ids[0]}`;
  const back = document(id, [title, { ...note, type: "number" }]);
  // The draft has lost the value, but the published revision still has it.
  expect((await call("PUT", entry, { values: { title: "c" } })).status).toBe(200);
  expect((await publish(path, back)).status).toBe(409);
  expect((await call("POST", `${entry}/publish`)).status).toBe(200);
  expect((await publish(path, back)).status).toBe(200);
  expect((await call("PUT", entry, { values: { title: "c", note: 5 } })).status).toBe(200);
});

test("masks past values of a field that returns as sensitive, except with reveal", async () => {
  const { id, path, ids } = await withEntries([title, note], [{ title: "a", note: "plain words" }]);
  const entry = `${path}/entries/${ids[0]}`;
  const then = new Date().toISOString();
  await call("PUT", `${entry}?publish=true`, { values: { title: "a" } });
  for (const fields of [[title], [title, { ...note, sensitive: true }]])
    expect((await publish(path, document(id, fields))).status).toBe(200);
  const at = `at=${encodeURIComponent(then)}`;
  for (const read of [
    `${entry}/revisions/1`,
    `${entry}?${at}`,
    `${path}/entries?${at}`,
    `${path}/entries?${at}&module=news`,
  ]) {
    const { status, body } = await call("GET", read);
    expect(status).toBe(200);
    expect(JSON.stringify(body)).not.toContain("plain words");
    expect((body.items?.[0] ?? body).values).toEqual({ title: "a", note: MASK });
  }
  const compared = await call("GET", `${entry}/revisions/2?against=1`);
  expect(compared.status).toBe(200);
  expect(JSON.stringify(compared.body)).not.toContain("plain words");
  expect((await call("GET", `${entry}?${at}&reveal=true`)).body.values.note).toBe("plain words");
});

test("checks a schema that returns against its stored entries, and publishes them again", async () => {
  const { id, path, ids } = await withEntries([title, note], [{ title: "a" }, { title: "a", note: "x" }]);
  expect((await publish(path, without(id), "&force=true")).status).toBe(200);
  const refused = (code: string) => ({ status: 409, body: { code } });
  const unique = document(id, [{ ...title, unique: true }, note]);
  expect(await publish(path, unique)).toMatchObject(refused("unique_conflict"));
  expect((await call("PUT", `${path}?dryRun=true`, unique)).body).toMatchObject({
    refused: true,
    impact: { duplicates: [{ schema: "article", field: "title" }] },
  });
  expect(await publish(path, document(id, [title, { ...note, sensitive: true }]))).toMatchObject(
    refused("incompatible_change"),
  );
  expect(await publish(path, document(id, [title, note], "other"), "&force=true")).toMatchObject(
    refused("incompatible_change"),
  );
  // Publish without one of its fields, which is then tracked as removed by itself.
  expect((await publish(path, document(id, [title]))).status).toBe(200);
  expect(await publish(path, document(id, [title, { ...note, list: true }]))).toMatchObject(
    refused("incompatible_change"),
  );
  expect((await publish(path, document(id, [title, note]))).status).toBe(200);
  expect((await call("GET", `/api/${id}/news/${ids[1]}`)).body.values).toEqual({ title: "a", note: "x" });
  const feed = await platform
    .operatorStore()
    .scan(`ø${id}`, `${id}.content.public.article.*`, { fromSeq: 1, limit: 10 });
  const live = feed.messages.map((message) => message.json<{ id: string; tombstone?: true }>());
  expect(live.map((copy) => [copy.id, copy.tombstone])).toEqual(ids.map((one) => [one, undefined]));
});

/**
 * Exports an orb, deletes it and imports it again.
 * @returns the kinds of the export's lines
 */
async function moved(path: string): Promise<string[]> {
  const headers = { authorization: `Bearer ${token}` };
  const text = await (await fetch(`${platform.origin}${path}/export`, { headers })).text();
  expect((await call("DELETE", path)).status).toBe(204);
  const imported = await fetch(`${platform.origin}/api/admin/orbs/import`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/x-ndjson" },
    body: text,
  });
  expect(imported.status).toBe(201);
  return text
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { kind: string }).kind);
}

test("an export includes the record of removed fields", async () => {
  const { id, path } = await withEntries([title, note], [{ title: "a", note: "secret" }]);
  expect((await publish(path, document(id, [title]))).status).toBe(200);
  await moved(path);
  expect(await publish(path, document(id, [title, { ...note, sensitive: true }]))).toMatchObject({
    status: 409,
    body: { impact: { changes: [{ code: "changed_sensitive", entries: 1 }] } },
  });
});

test("an export omits the entries of a removed schema and can be imported", async () => {
  const { id, path } = await withEntries([title], [{ title: "a" }]);
  await call("POST", `${path}/entries?publish=true`, { module: "base", values: { title: "kept" } });
  expect((await publish(path, without(id), "&force=true")).status).toBe(200);
  expect(await moved(path)).toEqual(["orb", "entry", "end"]);
});

/** Reads the live entries from the broker, without the filtering of responses. */
const stored = async (id: string, role: string) => {
  const page = await platform
    .operatorStore()
    .scan(`ø${id}`, `${id}.content.${role}.article.*`, { fromSeq: 1, limit: 10 });
  return page.messages.map((message) => message.json<{ values?: object; tombstone?: true }>());
};

test("does not activate a refused draft when the orb is unpublished, archived or restored", async () => {
  const secret = { ...note, sensitive: true };
  const { id, path } = await withEntries([title, secret], [{ title: "a", note: "x" }]);
  // Stored entries conflict with this draft.
  const draft = document(id, [{ ...title, unique: true }, note]);
  expect((await call("PUT", path, draft)).status).toBe(200);
  expect((await call("POST", `${path}/publish`)).status).toBe(409);
  for (const act of ["unpublish", "archive", "restore"]) {
    expect((await call("POST", `${path}/${act}`)).status).toBe(200);
    const values = { title: "a", note: "plain" };
    const made = await call("POST", `${path}/entries?publish=true`, { module: "news", values });
    expect(made).toMatchObject({ status: 201, body: { values: { note: "••••••••" } } });
  }
  expect(JSON.stringify(await stored(id, "owner"))).not.toContain("plain");
  expect((await call("POST", `${path}/publish`)).status).toBe(409);
  // The export contains the refused draft as well as the active definition.
  expect((await call("POST", `${path}/archive`)).status).toBe(200);
  expect(await moved(path)).toEqual(["orb", ...Array.from({ length: 4 }, () => "entry"), "end"]);
  expect((await call("GET", path)).body).toMatchObject({
    status: "ARCHIVED",
    modules: draft.modules,
  });
  expect((await call("POST", `${path}/restore`)).status).toBe(200);
  expect((await call("POST", `${path}/publish`)).status).toBe(409);
  expect((await publish(path, document(id, [title, secret]))).status).toBe(200);
});

test("moves live entries when read access changes while the orb is unpublished", async () => {
  const { id, path } = await withEntries([title], [{ title: "a" }]);
  expect((await call("POST", `${path}/unpublish`)).status).toBe(200);
  const admins = document(id, [title]);
  const [, news] = admins.modules;
  Object.assign(news?.schemas[0] ?? {}, { access: { read: "admin" } });
  expect((await call("PUT", path, admins)).status).toBe(200);
  expect(await stored(id, "admin")).toMatchObject([{ values: { title: "a" } }]);
  expect((await stored(id, "public")).filter(({ tombstone }) => tombstone !== true)).toEqual([]);
});

test("does not restore a mask as the value of a field that was sensitive before", async () => {
  const secret = { ...note, sensitive: true };
  const { id, path, ids } = await withEntries([title, secret], [{ title: "a", note: "x" }]);
  const entry = `${path}/entries/${ids[0]}`;
  expect((await publish(path, document(id, [title]))).status).toBe(200);
  expect((await call("PUT", `${entry}?publish=true`, { values: { title: "b" } })).status).toBe(200);
  expect((await publish(path, document(id, [title, note]))).status).toBe(200);
  expect((await call("POST", `${entry}/revisions/1/restore`)).body.values).toEqual({ title: "a" });
});

test("does not publish a scheduled entry of a removed schema until the schema returns", async () => {
  const { id, path, from } = await before(8_000, async (moment) => {
    const orb = await withEntries([title], []);
    const values = { module: "news", values: { title: "later" }, validFrom: new Date(moment).toISOString() };
    expect((await call("POST", `${orb.path}/entries?publish=true`, values)).status).toBe(201);
    expect((await publish(orb.path, without(orb.id), "&force=true")).status).toBe(200);
    return { ...orb, from: moment };
  });
  await new Promise((resolve) => setTimeout(resolve, from + 1_000 - Date.now()));
  expect((await stored(id, "public")).filter(({ tombstone }) => tombstone !== true)).toEqual([]);
  expect((await publish(path, document(id, [title]))).status).toBe(200);
  expect(await stored(id, "public")).toMatchObject([{ values: { title: "later" } }]);
});
