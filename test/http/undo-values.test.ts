/** Undo of a change of the definition that loses something: whatever was not itself rewritten is what it was. */
import { beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

const ORB = "undo-values";
const API = `/api/${ORB}`;
const ITEMS = `${API}/shop/item`;
const ADMIN = `/api/admin/orbs/${ORB}`;

let platform: TestPlatform;
let token: string;
/** Revision of the first document. */
let first: number;

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
});

type Headers = Record<string, string>;

async function send(method: string, path: string, body?: unknown, headers: Headers = {}) {
  return call(platform, method, path, { token, headers, ...(body === undefined ? {} : { body }) });
}
async function ok(method: string, path: string, body?: unknown, headers?: Headers) {
  const answer = await send(method, path, body, headers);
  expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  return answer.body;
}

const value = { var: "value" };
const rows = (y: object) => ({
  name: "rows",
  type: "object",
  list: true,
  fields: [
    { name: "x", type: "string" },
    { name: "y", type: "integer", ...y },
  ],
});
const documentOf = (fields: object[]) => ({
  id: ORB,
  languages: ["en", "de"],
  modules: [{ id: "shop", type: "CONTENT", schemas: [{ id: "item", fields }] }],
});
const BEFORE = documentOf([
  { name: "code", type: "string", unique: true },
  { name: "price", type: "integer", index: "ordered" },
  { name: "paid", type: "string" },
  { name: "first", type: "string" },
  { name: "last", type: "string" },
  { name: "note", type: "string" },
  { name: "title", type: "string", translatable: true },
  rows({}),
]);
/** No rule leads back. */
const AFTER = documentOf([
  { name: "code", type: "string", unique: true },
  { name: "price", type: "string", index: "ordered", from: { convert: { cat: [value, " USD"] } } },
  { name: "paid", type: "boolean", from: { convert: { in: [value, ["yes", "on"]] } } },
  {
    name: "name",
    type: "string",
    from: { convert: { cat: [{ var: "values.first" }, " ", { var: "values.last" }] } },
  },
  { name: "note", type: "string" },
  { name: "title", type: "string", translatable: true },
  rows({ type: "string", from: { convert: { cat: [value, " pieces"] } } }),
]);

const VALUES = {
  price: 5,
  paid: "on",
  first: "Ann",
  last: "Lee",
  note: "old",
  title: { en: "Chair", de: "Stuhl" },
  rows: [
    { _key: "k", x: "a", y: 1 },
    { _key: "l", x: "b", y: 2 },
  ],
};
const CONVERTED = {
  price: "5 USD",
  paid: true,
  name: "Ann Lee",
  note: "old",
  title: VALUES.title,
  rows: [
    { _key: "k", x: "a", y: "1 pieces" },
    { _key: "l", x: "b", y: "2 pieces" },
  ],
};

const create = async (values: object = VALUES, publish = true) =>
  (await ok("POST", `${ITEMS}?publish=${publish}`, { values })).id as string;
const shown = async (id: string) => (await ok("GET", `${ITEMS}/${id}?locale=*&revision=latest`)).values;
const publish = (document: object, query = "") => send("PUT", `${ADMIN}?publish=true${query}`, document);
const patch = (id: string, values: object, query = "", headers: Headers = {}) =>
  ok("PATCH", `${ITEMS}/${id}${query}`, { values }, headers);

async function bulk(values: object): Promise<void> {
  const response = await fetch(
    `${platform.origin}${ADMIN}/entries/bulk?module=shop&schema=item&match=code&on=update`,
    {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
      body: JSON.stringify({ values }),
    },
  );
  expect(await response.text()).toContain('"updated":1');
}

test("writes of other fields keep what was stored, so that the earlier document brings it back", async () => {
  first = (await ok("POST", "/api/admin/orbs?publish=true", BEFORE)).revision;
  const old = { "orb-definition": String(first) };
  const ids = {
    untouched: await create(),
    patched: await create(),
    sent: await create(),
    draft: await create(VALUES, false),
    reverted: await create(),
    lifecycle: await create(),
    batch: await create(),
    bulk: await create({ ...VALUES, code: "bulk" }),
    inSet: await create(),
    texts: await create(),
    item: await create(),
    pinned: await create(),
    language: await create(),
  };
  await patch(ids.texts, { note: "draft" });
  await patch(ids.reverted, { price: 9, note: "second" });
  const set = (await ok("POST", `${API}/changes`, { title: "Later" })).id;
  await patch(ids.inSet, { price: 7 }, `?change=${set}`);

  expect((await publish(AFTER)).body).toMatchObject({ status: "PUBLISHED" });
  for (const id of [ids.untouched, ids.sent]) expect(await shown(id)).toEqual(CONVERTED);
  await patch(ids.patched, { note: "new" }, "?publish=true");
  const read = await shown(ids.sent);
  await ok("PUT", `${ITEMS}/${ids.sent}?locale=*`, { values: { ...read, note: "new" } });
  await ok("POST", `${ADMIN}/entries/${ids.draft}/publish`, {});
  await ok("POST", `${ADMIN}/entries/${ids.reverted}/revisions/1/restore`, {});
  for (const act of ["unpublish", "archive", "restore", "publish"])
    await ok("POST", `${ADMIN}/entries/${ids.lifecycle}/${act}`, {});
  await ok("POST", `${API}/batch`, { do: [{ update: `shop/item/${ids.batch}`, values: { note: "new" } }] });
  await bulk({ code: "bulk", note: "new" });
  await ok("POST", `${API}/changes/${set}/publish`, {});
  await ok("PUT", `${ITEMS}/${ids.texts}?publish=true&locale=en`, { values: { title: "Bench" } });
  await patch(ids.item, { rows: { k: { x: "changed" } } });
  await patch(ids.language, { title: { de: "Bank" } });
  // Programs that name the first revision see what was stored, and what they write is stored in their shape.
  expect((await ok("GET", `${ITEMS}/${ids.patched}?locale=*`, undefined, old)).values).toMatchObject({
    price: 5,
    paid: "on",
    note: "new",
  });
  await patch(ids.pinned, { price: 8 }, "", old);
  const made = await ok("POST", `${ITEMS}?publish=true`, { values: { price: 11, paid: "off" } }, old);
  expect(await shown(made.id)).toMatchObject({ price: "11 USD", paid: false });
  expect((await shown(ids.pinned)).price).toBe("8 USD");
  const fresh = await create({ note: "fresh" });

  expect((await publish(BEFORE)).body).toMatchObject({ status: "PUBLISHED" });
  expect(await shown(ids.untouched)).toEqual(VALUES);
  for (const id of [ids.patched, ids.sent, ids.batch])
    expect(await shown(id)).toEqual({ ...VALUES, note: "new" });
  expect(await shown(ids.bulk)).toEqual({ ...VALUES, code: "bulk", note: "new" });
  for (const id of [ids.draft, ids.reverted, ids.lifecycle]) expect(await shown(id)).toEqual(VALUES);
  expect(await shown(ids.inSet)).toEqual({ ...VALUES, price: 7 });
  expect(await shown(ids.texts)).toEqual({ ...VALUES, note: "draft", title: { en: "Bench", de: "Stuhl" } });
  expect(await shown(ids.item)).toEqual({
    ...VALUES,
    rows: [{ _key: "k", x: "changed", y: 1 }, VALUES.rows[1]],
  });
  expect(await shown(ids.language)).toEqual({ ...VALUES, title: { en: "Chair", de: "Bank" } });
  expect((await shown(ids.pinned)).price).toBe(8);
  expect(await shown(made.id)).toMatchObject({ price: 11, paid: "off" });
  expect(await shown(fresh)).toEqual({ note: "fresh" });
  const sorted = await ok("GET", `${ITEMS}?filter[price]=5&limit=50`);
  expect(sorted.items).toHaveLength(12);
});

test("the earlier document names exactly the entries whose value was rewritten, and is refused for no other", async () => {
  const kept = await create({ price: 3 });
  const rewritten = await create({ price: 4 });
  await ok("PUT", `${ADMIN}?publish=true`, AFTER);
  await patch(kept, { note: "new" });
  await patch(rewritten, { price: "six" });
  const refused = await publish(BEFORE);
  expect(refused.status).toBe(409);
  const { changes } = refused.body.impact as {
    changes: { field?: string; lossy?: { examples: { id: string }[] } }[];
  };
  const lossy = changes.flatMap(({ field, lossy: lost }) =>
    lost === undefined ? [] : [[field, lost.examples.map(({ id }) => id)]],
  );
  expect(lossy).toEqual([["price", [rewritten]]]);
  await patch(rewritten, { price: "6 USD" });
  expect((await publish(BEFORE)).status).toBe(409);
  await patch(rewritten, { price: null });
  expect((await publish(BEFORE)).status).toBe(200);
  expect(await shown(kept)).toEqual({ price: 3, note: "new" });
});
