/** Callers of the management API that name an earlier revision: entries, batches, uploads, and the command `orb`. */
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { adminToken, call as request } from "../support/auth.ts";
import { orbCommand } from "../support/orb-command.ts";
import { FIRST, SECOND, VALUES } from "../support/pinned-orbs.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { createToken, scope } from "../support/tokens.ts";

const ORB = "pinned-managed";
const ALL = `/api/admin/orbs/${ORB}/entries`;
const OLD = { module: "catalog", schema: "product" };
const NEW = { module: "goods", schema: "article" };
let platform: TestPlatform;
let token: string;
let revision: number;

type Values = Record<string, unknown>;
const send = (
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
  by = token,
) => request(platform, method, path, { token: by, headers, ...(body === undefined ? {} : { body }) });
const old = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  send(method, path, body, { "orb-definition": String(revision), ...headers });

async function ok(answer: ReturnType<typeof send>) {
  const found = await answer;
  expect(found.status, JSON.stringify(found.body)).toBeLessThan(300);
  return found.body;
}

const now = async (id: string): Promise<Values> => (await ok(send("GET", `${ALL}/${id}`))).values;
const make = async (values: Values): Promise<string> =>
  (await ok(old("POST", `${ALL}?publish=true`, { ...OLD, values }))).id;

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  const publish = async (method: string, path: string, document: object) =>
    (await ok(send(method, `${path}?publish=true`, { id: ORB, ...document }))).revision as number;
  revision = await publish("POST", "/api/admin/orbs", FIRST(ORB));
  await ok(send("POST", ALL, { ...OLD, values: { title: "First" } }));
  await publish("PUT", `/api/admin/orbs/${ORB}`, SECOND(ORB));
});

test("entries are created, read, changed and moved in an earlier shape", async () => {
  const created = await old("POST", ALL, { ...OLD, values: VALUES });
  expect(created).toMatchObject({ status: 201, body: { ...OLD, values: { ...VALUES, pin: "••••••••" } } });
  const { id } = created.body;
  const one = `${ALL}/${id}`;
  const read = await old("GET", one);
  expect(read.body).toMatchObject({ ...OLD, values: { ...VALUES, pin: "••••••••" } });
  expect(Object.keys(read.body.values).sort()).toEqual(Object.keys(VALUES).sort());
  expect(read.headers.get("orb-definition")).toBe(String(revision));
  expect(read.headers.get("deprecation")).toMatch(/^@\d+$/);
  expect(read.headers.get("vary")).toContain("Orb-Definition");
  // An entity tag of one shape is not that of another.
  const tag = read.headers.get("etag") ?? "";
  expect((await old("GET", one, undefined, { "if-none-match": tag })).status).toBe(304);
  expect((await send("GET", one, undefined, { "if-none-match": tag })).status).toBe(200);
  expect((await old("GET", one, undefined, { "if-none-match": '"1"' })).status).toBe(200);
  // A response that is edited and sent back, with the names of its module and schema.
  const sent = { ...read.body, values: { ...read.body.values, title: "Bench" } };
  const put = await old("PUT", one, sent, { "if-match": tag });
  expect(put).toMatchObject({ status: 200, body: { ...OLD, values: { title: "Bench", tag: "oak" } } });
  expect((await old("PUT", one, { ...sent, module: "other" })).body.errors).toMatchObject([
    { path: "/module" },
  ]);
  await ok(old("PATCH", one, { values: { count: 4 } }));
  const published = await old("POST", `${one}/publish`);
  expect(published).toMatchObject({ status: 200, body: { ...OLD, values: { title: "Bench", count: 4 } } });
  expect(await now(id)).toMatchObject({ headline: { en: "Bench" }, tags: ["oak"], count: "4.00" });
  const revisions = await ok(old("GET", `${one}/revisions`));
  expect(revisions.items.length).toBeGreaterThan(1);
  expect(await ok(old("GET", `${one}/revisions/1`))).toMatchObject({ ...OLD, values: { title: "Chair" } });
  const compared = await ok(old("GET", `${one}/revisions/2?against=1`));
  expect(compared.patch).toMatchObject([{ path: "/values/title" }]);
  expect((await ok(old("POST", `${one}/revisions/1/restore`))).values).toMatchObject({ title: "Chair" });
  expect((await old("DELETE", one)).status).toBe(204);
});

test("faults have the earlier names, and a write that would lose something is refused", async () => {
  const wrong = await old("POST", ALL, { ...OLD, values: { tag: "x" } });
  expect(wrong).toMatchObject({ status: 422, body: { errors: [{ path: "/values/title" }] } });
  const unknown = await old("POST", ALL, { ...NEW, values: {} });
  expect(unknown.body.errors).toMatchObject([{ path: "/module", code: "unknown_module" }]);
  const { id } = await ok(send("POST", ALL, { ...NEW, values: { headline: { en: "T" }, tags: ["a", "b"] } }));
  expect(await old("PATCH", `${ALL}/${id}`, { values: { tag: "c" } })).toMatchObject({
    status: 409,
    body: { code: "shape_conflict", errors: [{ path: "/values/tag", code: "hidden_part" }] },
  });
  // Publishing checks the values of the draft.
  await ok(send("PATCH", `${ALL}/${id}`, { values: { number: "taken" } }));
  const other = await old("POST", ALL, { ...OLD, values: { title: "Other", sku: "taken" } });
  expect(other).toMatchObject({ status: 409, body: { errors: [{ path: "/values/sku" }] } });
});

test("lists take the earlier names in filters, orders and fields", async () => {
  await make({ title: "B", sku: "list-2", count: 2 });
  const target = await make({ title: "A", sku: "list-1", count: 1 });
  const query = `module=catalog&schema=product&filter[sku][in]=list-1,list-2&sort=sku&fields=sku,title`;
  const { items } = await ok(old("GET", `${ALL}?${query}`));
  expect(items).toMatchObject([
    { ...OLD, values: { sku: "list-1", title: "A" } },
    { ...OLD, values: { sku: "list-2", title: "B" } },
  ]);
  expect(Object.keys(items[0].values).sort()).toEqual(["sku", "title"]);
  await make({ title: "Like", sku: "list-3", like: target });
  const expanded = await ok(old("GET", `${ALL}?module=catalog&filter[sku]=list-3&expand=like`));
  expect(expanded.items[0].expand.like).toMatchObject({ ...OLD, values: { sku: "list-1" } });
  const groups = await ok(
    old("GET", `${ALL}?module=catalog&filter[like]=${target}&group=like&aggregate[n]=count`),
  );
  expect(groups.groups).toEqual([{ key: { like: target }, values: { n: 1 } }]);
  for (const item of (await ok(old("GET", ALL))).items) expect(item).toMatchObject(OLD);
  for (const wrong of ["module=goods", "module=catalog&filter[number]=1", "module=catalog&explain=true"])
    expect((await old("GET", `${ALL}?${wrong}`)).status, wrong).toBe(400);
});

test("many entries, and batches", async () => {
  for (const sku of ["many-1", "many-2"]) await make({ title: sku, sku });
  const filter = "module=catalog&schema=product&filter[sku][in]=many-1,many-2";
  expect(await ok(old("PATCH", `${ALL}?${filter}&publish=true`, { values: { tag: "ash" } }))).toMatchObject({
    changed: 2,
    failed: [],
  });
  const failing = await ok(old("PATCH", `${ALL}?${filter}`, { values: { title: 5 } }));
  for (const { errors } of failing.failed) expect(errors).toMatchObject([{ path: "/values/title" }]);
  expect(failing.failed).toHaveLength(2);
  expect(await ok(old("DELETE", `${ALL}?${filter}`))).toMatchObject({ changed: 2 });
  const { items } = await ok(
    old("POST", `/api/admin/orbs/${ORB}/batch`, {
      do: [{ create: "catalog/product", values: { title: "In a batch", tag: "elm" } }],
    }),
  );
  expect(items).toMatchObject([OLD]);
  expect(await now(items[0].id)).toMatchObject({ headline: { en: "In a batch" }, tags: ["elm"] });
});

describe("an upload in an earlier shape", () => {
  const upload = async (query: string, lines: unknown[], headers: Record<string, string> = {}) => {
    const answer = await fetch(`${platform.origin}${ALL}/bulk?${query}`, {
      method: "POST",
      body: lines.map((line) => JSON.stringify(line)).join("\n"),
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/x-ndjson",
        "orb-definition": String(revision),
        ...headers,
      },
    });
    const text = await answer.text();
    expect(answer.status, text).toBe(200);
    return text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
  };
  const row = (sku: string, more: Values = {}) => ({ ...OLD, values: { title: sku, sku, ...more } });

  test("creates entries, and names faults as the earlier revision does", async () => {
    const [first, second, third, summary] = await upload("", [
      row("up-1", { tag: "oak", count: 3 }),
      row("up-1"),
      { ...OLD, values: { tag: "x" } },
    ]);
    expect(first).toMatchObject({ status: 201 });
    expect(second).toMatchObject({ status: 409, errors: [{ path: "/values/sku" }] });
    expect(third).toMatchObject({ status: 422, errors: [{ path: "/values/title" }] });
    expect(summary).toMatchObject({ done: true, created: 1, failed: 2 });
    expect(await now(first.id)).toMatchObject({ headline: { en: "up-1" }, number: "up-1", tags: ["oak"] });
    const checked = await upload("dryRun=true", [row("up-1"), row("up-2"), row("up-2")]);
    expect(checked.slice(0, -1)).toMatchObject([
      { line: 1, errors: [{ path: "/values/sku" }] },
      { line: 3, errors: [{ path: "/values/sku" }] },
    ]);
  });

  test("matches rows by the earlier name, and keeps what the shape lacks", async () => {
    const [made] = await upload("match=sku", [row("match-1", { blurb: "Words", tag: "oak" })]);
    expect(made).toMatchObject({ status: 201, act: "created" });
    await ok(send("PATCH", `${ALL}/${made.id}`, { values: { extra: "kept", seo: { robots: "none" } } }));
    const rows = [row("match-1", { tag: "elm" }), row("match-2", { like: { sku: "match-1" } })];
    for (const match of ["match=sku&dryRun=true&on=upsert", "match=sku"]) {
      const results = await upload(match, rows);
      expect(results.at(-1), JSON.stringify(results)).toMatchObject({ done: true, failed: 0, updated: 1 });
    }
    expect(await now(made.id)).toMatchObject({
      tags: ["elm"],
      extra: "kept",
      seo: { summary: "Words", robots: "none" },
    });
    const [, other] = await upload("match=sku", rows);
    expect(other).toMatchObject({ act: "unchanged" });
    expect(await now(other.id)).toMatchObject({ similar: made.id });
    const [missing] = await upload("match=sku", [{ ...OLD, values: { title: "No key" } }]);
    expect(missing).toMatchObject({ status: 422, errors: [{ path: "/values/sku" }] });
    const [update] = await upload("match=sku", [row("match-1", { title: 5 })]);
    expect(update).toMatchObject({ status: 422, errors: [{ path: "/values/title" }] });
    // Rows that refer to later ones, and to each other.
    const circle = [
      row("round-1", { like: { sku: "round-2" } }),
      row("round-2", { like: { sku: "round-1" } }),
    ];
    for (const query of ["match=sku&dryRun=true", "match=sku"]) {
      const results = await upload(query, circle);
      expect(results.at(-1), JSON.stringify(results)).toMatchObject({ done: true, failed: 0 });
    }
  });

  test("goes into a change set, and repeats nothing with an idempotency key", async () => {
    const set = (await ok(send("POST", `/api/admin/orbs/${ORB}/changes`, { title: "Upload" }))).id;
    const [created, again] = await upload(`change=${set}&match=sku`, [
      row("set-1", { tag: "oak" }),
      row("set-1", { tag: "elm" }),
    ]);
    expect([created.act, again.act]).toEqual(["created", "updated"]);
    const pending = await ok(old("GET", `${ALL}/${created.id}?change=${set}`));
    expect(pending).toMatchObject({ ...OLD, values: { title: "set-1", tag: "elm" } });
    const key = { "idempotency-key": "upload-pinned" };
    const [first] = await upload("", [row("once-1")], key);
    const [second] = await upload("", [row("once-1")], key);
    expect(second).toMatchObject({ id: first.id, replayed: true });
  });
});

test("an API token for a revision serves entries in its shape, and nothing else", async () => {
  const made = await createToken(platform, "/api/_auth", token, [scope(ORB, "read", "write", "manage")], {
    definition: revision,
  });
  const by = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    send(method, path, body, headers, made.token);
  const { id } = await ok(by("POST", ALL, { ...OLD, values: { title: "By token" } }));
  expect((await ok(by("GET", `${ALL}/${id}`))).values).toEqual({ title: "By token" });
  const live = { "orb-definition": String(revision + 1) };
  expect(await by("GET", `${ALL}/${id}`, undefined, live)).toMatchObject({
    status: 403,
    body: { code: "pinned_token" },
  });
  for (const path of [`/api/admin/orbs/${ORB}/activity`, `/api/admin/orbs/${ORB}`])
    expect(await by("GET", path), path).toMatchObject({ status: 403, body: { code: "pinned_token" } });
});

test("requests without a shape refuse the header", async () => {
  const none = [
    ["POST", `${ALL}/rekey`],
    ["GET", `/api/admin/orbs/${ORB}/activity`],
    ["GET", `/api/admin/orbs/${ORB}/changes`],
    ["GET", `/api/admin/orbs/${ORB}`],
    ["GET", "/api/discovery"],
  ] as const;
  for (const [method, path] of none)
    expect(await old(method, path), path).toMatchObject({ status: 400, body: { code: "invalid_header" } });
  const unpublished = { "orb-definition": "99" };
  for (const path of [ALL, `${ALL}/x`])
    expect(await send("GET", path, undefined, unpublished), path).toMatchObject({
      status: 404,
      body: { code: "definition_revision_not_found" },
    });
});

test("the command exports and imports files with the names of an earlier revision", async () => {
  const seen = await ok(old("GET", `/api/discovery?orb=${ORB}`));
  expect(seen.orbs[0].revision).toBe(revision);
  expect(seen.orbs[0].modules).toMatchObject([{ id: "catalog", schemas: [{ id: "product" }] }]);
  const orb = await orbCommand(platform.origin, token);
  await make({ title: "Exported", sku: "file-1", count: 7, tag: "oak" });
  const at = ["--definition", String(revision)];
  const exported = await orb.run("entries", "export", ORB, "catalog/product", "--out", "old.csv", ...at);
  expect(exported.code, exported.err).toBe(0);
  const [head = "", ...rows] = readFileSync(`${orb.folder}/old.csv`, "utf8").trim().split(/\r?\n/);
  expect(head.split(",").slice(0, 4)).toEqual(["title", "sku", "count", "tag"]);
  expect(rows.find((line) => line.includes("file-1"))).toMatch(/^Exported,file-1,7,oak,/);
  orb.file("change.csv", "title,sku,count,tag\nImported,file-1,8,elm\nNew,file-2,9,ash\n");
  const options = ["--match", "sku", "--publish", ...at];
  const imported = await orb.run("entries", "import", ORB, "catalog/product", "change.csv", ...options);
  expect([imported.code, imported.out], imported.err).toEqual([
    0,
    expect.stringContaining("Created 1 entries, changed 1"),
  ]);
  const path = `${ALL}?module=goods&filter[number][in]=file-1,file-2&sort=number`;
  expect((await ok(send("GET", path))).items).toMatchObject([
    { values: { headline: { en: "Imported" }, count: "8.00", tags: ["elm"] } },
    { values: { headline: { en: "New" }, count: "9.00", tags: ["ash"] } },
  ]);
  const wrong = await orb.run("entries", "export", ORB, "catalog/product", "--definition", "0");
  expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining("--definition must be")]);
});
