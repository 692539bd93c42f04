/** Bodies and filters keep each value as it was sent, or are refused: numbers, moments, properties, Unicode forms. */
import { beforeAll, expect, test } from "vitest";
import { operationsOf } from "../../functions/discovery/document.ts";
import { adminToken, call } from "../support/auth.ts";
import { describedWhole } from "../support/described.ts";
import { createOrb } from "../support/orbs.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;

const NFC = "caf\u00e9";
const NFD = "cafe\u0301";
const fields = [
  { name: "number", type: "number" },
  { name: "ranked", type: "number", index: "ordered" },
  { name: "whole", type: "integer" },
  { name: "any", type: "json" },
  { name: "many", type: "number", list: true },
  { name: "at", type: "datetime" },
  { name: "slug", type: "string", unique: true },
  { name: "code", type: "string", unique: true, translatable: true },
  { name: "secret", type: "string", unique: true, sensitive: true },
  { name: "plain", type: "string" },
  { name: "body", type: "text" },
  { name: "tags", type: "string", list: true },
  { name: "sorted", type: "string", index: "ordered" },
  { name: "kind", type: "string", enum: [NFC, "Å"] },
  { name: "words", type: "text", search: true },
];

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  await createOrb(platform, token, {
    id: "exact",
    languages: ["en", "de"],
    modules: [{ id: "things", type: "CONTENT", schemas: [{ id: "thing", fields }] }],
  });
});

/** Sends a body as it is written. */
async function send(method: string, path: string, body: string, type = "application/json") {
  const headers = { authorization: `Bearer ${token}`, "content-type": type };
  const response = await fetch(`${platform.origin}${path}`, { method, headers, body });
  const text = await response.text();
  const parsed = text.startsWith("{");
  return { status: response.status, text, body: parsed ? JSON.parse(text.split("\n")[0] ?? "") : text };
}

const things = "/api/exact/things";
const create = (values: Record<string, unknown>) =>
  call(platform, "POST", `${things}?publish=true`, { token, body: { values } });

test.each([
  ["number", "6.02214076e23"],
  ["number", "-1.7976931348623157e308"],
  ["number", "5e-324"],
  ["number", "0.1"],
  ["number", "0.30000000000000000444"],
  ["number", "100000000000000000000"],
  ["number", "123456789012345680000"],
  ["number", "602214076000000000000000"],
  ["ranked", "1e300"],
  ["whole", "9007199254740991"],
  ["any", '[6.02214076e23,{"a":9007199254740992}]'],
  ["many", "[1e22,1e-300]"],
])("keeps %s %s", async (field, literal) => {
  const made = await send("POST", `${things}?publish=true`, `{"values":{"${field}":${literal}}}`);
  expect([made.status, made.body.values?.[field]]).toEqual([201, JSON.parse(literal)]);
  if (/^-?\d/.test(literal) && field !== "any") {
    const found = await call(platform, "GET", `${things}?filter[${field}]=${encodeURIComponent(literal)}`);
    expect(found.body.items?.map(({ id }: { id: string }) => id)).toContain(made.body.id);
  }
});

test.each([
  ["number", "1e999", ""],
  ["number", "-1e400", ""],
  ["number", "1e-400", ""],
  ["number", "9007199254740993", ""],
  ["whole", "9007199254740993", ""],
  ["whole", "9007199254740992", ""],
  ["whole", "1e300", ""],
  ["any", '[1,{"b/c":9007199254740993}]', "/1/b~1c"],
  ["any", "1e999", ""],
  ["many", "[1,12345678901234567890]", "/1"],
  ["at", "9007199254740993", ""],
])("refuses %s %s, which would change", async (field, literal, below) => {
  const text = `{"values":{"${field}":${literal}}}`;
  const refused = await send("POST", things, text);
  expect([refused.status, refused.body.errors]).toMatchObject([
    422,
    [{ path: `/values/${field}${below}`, code: "range" }],
  ]);
  const line = `{"module":"things","values":{"${field}":${literal}}}\n`;
  const rows = await send("POST", "/api/admin/orbs/exact/entries/bulk", line, "application/x-ndjson");
  expect(rows.body).toMatchObject({ status: 422, errors: [{ path: `/values/${field}${below}` }] });
});

test("refuses numbers in filters that would change", async () => {
  for (const query of ["filter[number]=9007199254740993", "filter[whole][gte]=9007199254740993"]) {
    const { status, body } = await call(platform, "GET", `${things}?${query}`);
    expect([status, body.errors?.[0].code]).toEqual([400, "invalid_value"]);
  }
});

test.each([
  ["2017-05-12T00:00+02:00", "2017-05-11T22:00:00.000Z"],
  ["2017-05-12T00:00Z", "2017-05-12T00:00:00.000Z"],
  ["2017-05-12T00:00:01.5-0330", "2017-05-12T03:30:01.500Z"],
  ["2017-05-12 00:00:00+02", "2017-05-11T22:00:00.000Z"],
  ["2017-05-12T00:00:00,25Z", "2017-05-12T00:00:00.250Z"],
])("reads the moment %s as %s", async (text, normal) => {
  const body = { values: { at: text }, validTo: text.replace("2017", "2117") };
  const made = await call(platform, "POST", things, { token, body });
  expect([made.status, made.body.values?.at, made.body.validTo]).toEqual([
    201,
    normal,
    normal.replace("2017", "2117"),
  ]);
  const found = await call(
    platform,
    "GET",
    `/api/admin/orbs/exact/entries?module=things&filter[at]=${encodeURIComponent(text)}`,
    { token },
  );
  expect(found.body.items?.map(({ id }: { id: string }) => id)).toContain(made.body.id);
});

test.each(["2017-05-12T00:00", "2017-05-12T00", "2017-05-12T0000Z", "2017-05-12T00:00+2", "2017-05-12"])(
  "refuses the moment %s",
  async (at) => {
    expect((await create({ at })).body.errors?.[0]).toMatchObject({ path: "/values/at", code: "format" });
  },
);

test("refuses a property that is sent twice, at any depth", async () => {
  const refused = await send(
    "POST",
    things,
    '{"values":{"any":[{"a":1},{"a/b":{"x":1,"\\u0078":2}}],"plain":"a","plain":"b"}}',
  );
  expect(refused.status).toBe(400);
  expect(refused.body).toMatchObject({
    code: "duplicate_property",
    errors: [
      { path: "/values/any/1/a~1b/x", code: "duplicate" },
      { path: "/values/plain", code: "duplicate" },
    ],
  });
  const text = JSON.stringify('say ":" and "a":1, \\ {"a":1,"a":2}');
  const made = await send("POST", things, `{"values":{"plain":${text},"any":{"":{"":1},"__proto_":0}}}`);
  expect([made.status, made.body.values?.plain]).toEqual([201, JSON.parse(text)]);
  const rows = await send(
    "POST",
    "/api/admin/orbs/exact/entries/bulk",
    '{"module":"things","values":{"plain":"a"}}\n{"module":"things","values":{"plain":"a","plain":"b"}}\n',
    "application/x-ndjson",
  );
  expect(
    rows.text
      .split("\n")
      .slice(0, 2)
      .map((row) => JSON.parse(row)),
  ).toMatchObject([{ status: 201 }, { status: 400, code: "duplicate_property" }]);
});

test("refuses a property that is sent twice on every route with a JSON body", async () => {
  const document = await describedWhole(platform, ["exact"]);
  const walked: string[] = [];
  for (const { path, method, operation } of operationsOf(document.paths)) {
    const content = Reflect.get(Object(operation.requestBody), "content") as object | undefined;
    const type = Object.keys(content ?? {}).find((one) => /^application\/([a-z-]+\+)?json$/.test(one));
    if (type === undefined) continue;
    const at = path.replace("{orbId}", "exact").replaceAll(/\{[^}]+\}/g, "0abcdefghij");
    const { status, body } = await send(method.toUpperCase(), at, '{"a":{"b":1,"b":2}}', type);
    // A route may refuse the caller or the path before it reads the body.
    if ([401, 403, 404, 405].includes(status)) continue;
    walked.push(path);
    expect([method, path, status, body.code]).toEqual([method, path, 400, "duplicate_property"]);
  }
  expect(walked.length).toBeGreaterThan(15);
});

test("takes empty texts of a unique field as no value", async () => {
  for (const blank of ["", "", "  ", "\u200b"]) {
    const made = await create({ slug: blank, code: { en: blank, de: blank }, secret: blank, plain: "blank" });
    expect([made.status, made.body.values?.slug]).toEqual([201, blank]);
  }
  const found = await call(platform, "GET", `${things}?filter[slug]=`);
  expect(found.body.items).toHaveLength(4);
  expect((await create({ slug: "taken" })).status).toBe(201);
  expect((await create({ slug: " taken" })).status).toBe(409);
  const [one] = found.body.items;
  const path = `${things}/${one.id}`;
  const put = (slug: string) => call(platform, "PATCH", path, { token, body: { values: { slug } } });
  expect((await put("taken")).status).toBe(409);
  expect((await put("free")).status).toBe(200);
  expect((await put("")).status).toBe(200);
  expect((await create({ slug: "free" })).status).toBe(201);
});

test.each([
  ["composed", NFC, NFD],
  ["decomposed", NFD, NFC],
])("finds a %s text in the other Unicode form", async (_, stored, asked) => {
  const mark = stored === NFC ? "one" : "two";
  const values = {
    plain: stored,
    body: `le ${stored} noir`,
    tags: ["x", stored],
    sorted: `${stored} ${mark}`,
    kind: stored,
    slug: `${stored}-${mark}`,
    words: stored,
  };
  const made = await create(values);
  expect([made.status, made.body.values]).toMatchObject([201, { ...values, kind: NFC }]);
  const form = encodeURIComponent(asked);
  for (const query of [
    `filter[plain]=${form}`,
    `filter[plain][in]=a,${form}`,
    `filter[plain][gte]=${form}&filter[plain][lte]=${form}`,
    `filter[plain][contains]=${form}`,
    `filter[plain][startsWith]=${form}`,
    `filter[body]=${encodeURIComponent(`le ${asked} noir`)}`,
    `filter[body][contains]=${encodeURIComponent(`E ${asked}`)}`,
    `filter[body][startsWith]=${encodeURIComponent(`le ${asked}`)}`,
    `filter[tags][contains]=${form}`,
    `filter[sorted]=${encodeURIComponent(`${asked} ${mark}`)}`,
    `filter[sorted]=${encodeURIComponent(`${asked} ${mark}`)}&sort=sorted`,
    `filter[sorted][gte]=${encodeURIComponent(`${asked} ${mark}`)}&sort=sorted`,
    `filter[kind]=${form}`,
    `filter[kind][in]=${form}`,
    `filter[slug]=${encodeURIComponent(`${asked}-${mark}`)}`,
    `search=${form}`,
  ]) {
    const { status, body } = await call(platform, "GET", `${things}?${query}`);
    const ids = body.items?.map(({ id }: { id: string }) => id);
    expect([query, status, ids?.includes(made.body.id)]).toEqual([query, 200, true]);
  }
  const others = await call(platform, "GET", `${things}?filter[plain][ne]=${form}&limit=100`);
  expect(JSON.stringify(others.body)).not.toContain(made.body.id);
});
