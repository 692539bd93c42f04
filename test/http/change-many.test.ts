/** Writes of many entries into a change set: by a filter, by a unique value, and uploads of rows. */
import { beforeAll, describe, expect, test } from "vitest";
import { adminToken, call, type SignedIn, user } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { createToken, scope } from "../support/tokens.ts";

let platform: TestPlatform;
let root: string;
let editor: SignedIn;
let reader: SignedIn;

const ACCESS = {
  read: ["public"],
  create: ["editor"],
  update: ["editor"],
  publish: ["editor"],
  delete: ["editor"],
};
const DOCUMENT = {
  id: "sets-many",
  uses: [{ service: "access", handlers: ["passkey", "invitations", "bootstrap"] }],
  roles: [{ id: "editor", name: "Editors" }],
  modules: [
    {
      id: "shop",
      type: "CONTENT",
      schemas: [
        {
          id: "lamp",
          access: ACCESS,
          fields: [
            { name: "code", type: "string", unique: true },
            { name: "title", type: "string" },
            { name: "price", type: "integer" },
          ],
        },
      ],
    },
  ],
};
const lamps = "/api/sets-many/shop/lamp";
const admin = "/api/admin/orbs/sets-many/entries";

const as = (who: SignedIn | string, method: string, path: string, body?: unknown, headers = {}) =>
  call(platform, method, path, {
    token: typeof who === "string" ? who : who.token,
    ...(body === undefined ? {} : { body }),
    headers,
  });

async function opened(): Promise<string> {
  const made = await as(editor, "POST", "/api/sets-many/changes", { title: "Many" });
  expect([made.status, made.body.code]).toEqual([201, undefined]);
  return made.body.id;
}

async function lamp(code: string, title: string, price: number): Promise<string> {
  const made = await as(editor, "POST", `${lamps}?publish=true`, { values: { code, title, price } });
  expect([made.status, made.body.code]).toEqual([201, undefined]);
  return made.body.id;
}

async function upload(who: string, query: string, lines: readonly unknown[]) {
  const response = await fetch(`${platform.origin}${admin}/bulk?${query}`, {
    method: "POST",
    headers: { authorization: `Bearer ${who}`, "content-type": "application/x-ndjson" },
    body: lines.map((line) => JSON.stringify(line)).join("\n"),
  });
  const text = await response.text();
  const parsed = text.split("\n").filter((line) => line !== "");
  const read = (
    line: string,
  ): { status?: number; act?: string; errors?: { path: string }[]; [name: string]: unknown } =>
    JSON.parse(line);
  return { status: response.status, lines: parsed.map(read) };
}

const inSet = async (set: string, query = "") =>
  (await as(editor, "GET", `${lamps}?change=${set}&limit=100&${query}`)).body.items as {
    id: string;
    values: Record<string, unknown>;
  }[];
const live = async (id: string) => (await as(editor, "GET", `${lamps}/${id}`)).body.values;

beforeAll(async () => {
  platform = await sharedPlatform();
  root = await adminToken(platform);
  const made = await as(root, "POST", "/api/admin/orbs?publish=true", DOCUMENT);
  expect([made.status, made.body.errors]).toEqual([201, undefined]);
  editor = await user(platform, "sets-many", "editor");
  reader = await user(platform, "sets-many");
});

describe("PUT by a unique value with ?change", () => {
  const put = (set: string, code: string, values: object, headers = {}) =>
    as(editor, "PUT", `${lamps}/by/code/${code}?change=${set}`, { values }, headers);

  test("creates the entry in the set once, and updates it from then on", async () => {
    const set = await opened();
    const made = await put(set, "put-1", { title: "One", price: 1 });
    expect([made.status, made.body.values]).toEqual([201, { code: "put-1", title: "One", price: 1 }]);
    const same = await put(set, "put-1", { title: "One", price: 1 });
    expect([same.status, same.body.id, same.headers.get("entry-unchanged")]).toEqual([
      200,
      made.body.id,
      "true",
    ]);
    const changed = await put(set, "put-1", { title: "Two", price: 2 });
    expect([changed.status, changed.body.id]).toEqual([200, made.body.id]);
    expect((await as(editor, "GET", `${lamps}/by/code/put-1`)).status).toBe(404);
    expect((await put(set, "put-1", { price: 3 }, { "if-none-match": "*" })).status).toBe(412);
    expect((await as(editor, "POST", `/api/sets-many/changes/${set}/publish`)).status).toBe(200);
    expect((await as(editor, "GET", `${lamps}/by/code/put-1`)).body.values.title).toBe("Two");
  });

  test("updates the entry that is live, and leaves it as it is", async () => {
    const id = await lamp("put-live", "Live", 5);
    const set = await opened();
    const changed = await put(set, "put-live", { title: "New", price: 6 });
    expect([changed.status, changed.body.id]).toEqual([200, id]);
    expect(await live(id)).toEqual({ code: "put-live", title: "Live", price: 5 });
    const refused = await as(editor, "PUT", `${lamps}/by/code/put-live?change=${set}&publish=true`, {
      values: { title: "X" },
    });
    expect([refused.status, refused.body.code]).toEqual([400, "invalid_parameter"]);
  });

  test("creates an entry with a value that another one gives up in the set", async () => {
    const id = await lamp("given-up", "Old", 1);
    const set = await opened();
    const moved = await as(editor, "PATCH", `${lamps}/${id}?change=${set}`, { values: { code: "moved" } });
    expect(moved.status).toBe(200);
    const made = await put(set, "given-up", { title: "New", price: 2 });
    expect([made.status, made.body.code]).toEqual([201, undefined]);
    expect(made.body.id).not.toBe(id);
    expect((await as(editor, "POST", `/api/sets-many/changes/${set}/publish`)).body.code).toBeUndefined();
    expect((await as(editor, "GET", `${lamps}/by/code/given-up`)).body.id).toBe(made.body.id);
    expect((await as(editor, "GET", `${lamps}/by/code/moved`)).body.id).toBe(id);
  });

  test("makes one entry of many requests at once, and one for each value", async () => {
    const set = await opened();
    const codes = ["p-a", "p-b", "p-c", "p-d"];
    const all = await Promise.all(
      codes.flatMap((code) => [1, 2, 3, 4].map((price) => put(set, code, { title: code, price }))),
    );
    expect(all.map(({ status, body }) => [status, body.code]).filter(([status]) => status !== 200)).toEqual(
      codes.map(() => [201, undefined]),
    );
    const listed = (await inSet(set))
      .map(({ values }) => values.code)
      .filter((code) => `${code}`.startsWith("p-"));
    expect(listed.sort()).toEqual(codes);
  });
});

describe("a change of many entries with ?change", () => {
  test("writes into the set what its filter finds there, and nothing into the entries", async () => {
    const ids = [
      await lamp("m-1", "many", 701),
      await lamp("m-2", "many", 702),
      await lamp("m-3", "many", 703),
    ];
    const set = await opened();
    // In the set, the first one has left the range of the filter, and a new one is in it.
    await as(editor, "PATCH", `${lamps}/${ids[0]}?change=${set}`, { values: { price: 1 } });
    const made = await as(editor, "POST", `${lamps}?change=${set}`, {
      values: { code: "m-4", title: "many", price: 704 },
    });
    const filter = `filter[price][gte]=700&filter[price][lte]=710&change=${set}`;
    const dry = await as(editor, "PATCH", `${lamps}?${filter}&dryRun=true`, { values: { title: "x" } });
    expect([dry.status, dry.body.changed]).toEqual([200, 3]);
    expect((await inSet(set, "filter[title][eq]=x")).length).toBe(0);
    const changed = await as(editor, "PATCH", `${lamps}?${filter}`, { values: { title: "sale" } });
    expect([changed.status, changed.body.changed, changed.body.failed]).toEqual([200, 3, []]);
    const found = await inSet(set, "filter[title][eq]=sale");
    expect(found.map(({ id }) => id).sort()).toEqual([ids[1], ids[2], made.body.id].sort());
    expect((await live(ids[1] ?? "")).title).toBe("many");
    const again = await as(editor, "PATCH", `${lamps}?${filter}`, { values: { title: "sale" } });
    expect([again.body.changed, again.body.unchanged]).toEqual([0, 3]);
    const removed = await as(editor, "DELETE", `${lamps}?${filter}`);
    expect([removed.status, removed.body.changed]).toEqual([200, 3]);
    expect((await inSet(set, "filter[title][eq]=sale")).length).toBe(0);
    expect((await as(editor, "POST", `/api/sets-many/changes/${set}/publish`)).body.code).toBeUndefined();
    expect((await as(editor, "GET", `${lamps}/${ids[1]}`)).status).toBe(404);
    expect((await live(ids[0] ?? "")).price).toBe(1);
  });

  test("selects by the live revision, with which a write into the set begins", async () => {
    const id = await lamp("beside", "live", 801);
    expect((await as(editor, "PATCH", `${lamps}/${id}`, { values: { title: "draft" } })).status).toBe(200);
    const set = await opened();
    const change = (title: string) =>
      as(editor, "PATCH", `${lamps}?filter[title][eq]=${title}&filter[price][eq]=801&change=${set}`, {
        values: { price: 802 },
      });
    expect((await change("draft")).body.changed).toBe(0);
    expect((await change("live")).body.changed).toBe(1);
  });

  test("is refused with publish, in a closed set, and for callers without the right", async () => {
    const set = await opened();
    const filter = `filter[price][eq]=-1&change=${set}`;
    const publish = await as(editor, "PATCH", `${lamps}?${filter}&publish=true`, { values: { title: "x" } });
    expect([publish.status, publish.body.code]).toEqual([400, "invalid_parameter"]);
    expect((await as(reader, "PATCH", `${lamps}?${filter}`, { values: { title: "x" } })).status).toBe(403);
    expect((await as(editor, "DELETE", `/api/sets-many/changes/${set}`)).status).toBe(204);
    const closed = await as(editor, "DELETE", `${lamps}?${filter}`);
    expect([closed.status, closed.body.code]).toEqual([409, "wrong_state"]);
  });

  test("is possible in the management API", async () => {
    const id = await lamp("managed", "managed", 901);
    const set = await opened();
    const query = `module=shop&schema=lamp&filter[price][eq]=901&change=${set}`;
    const changed = await as(root, "PATCH", `${admin}?${query}`, { values: { title: "by admin" } });
    expect([changed.status, changed.body.changed]).toEqual([200, 1]);
    expect((await live(id)).title).toBe("managed");
    expect((await as(root, "GET", `${admin}/${id}?change=${set}`)).body.values.title).toBe("by admin");
    const removed = await as(root, "DELETE", `${admin}?${query}`);
    expect([removed.status, removed.body.changed]).toEqual([200, 1]);
    expect((await as(root, "GET", `${admin}/${id}?change=${set}`)).status).toBe(404);
    expect((await live(id)).title).toBe("managed");
  });
});

describe("an upload of rows with ?change", () => {
  test("writes rows into the set, matched with the entries that the set leaves", async () => {
    const id = await lamp("row-live", "live", 10);
    const set = await opened();
    const row = (code: string, title: string) => ({ values: { code, title, price: 10 } });
    const query = `module=shop&schema=lamp&match=code&change=${set}`;
    const first = await upload(root, query, [
      row("row-live", "changed"),
      row("row-new", "new"),
      row("row-new", "newer"),
    ]);
    expect(first.lines.map(({ status, act }) => [status, act])).toEqual([
      [200, "updated"],
      [201, "created"],
      [200, "updated"],
      [undefined, undefined],
    ]);
    expect(first.lines.at(-1)).toMatchObject({ done: true, total: 3, created: 1, updated: 2, failed: 0 });
    expect((await live(id)).title).toBe("live");
    const again = await upload(root, query, [row("row-live", "changed"), row("row-new", "newer")]);
    expect(again.lines.at(-1)).toMatchObject({ unchanged: 2, created: 0, updated: 0 });
    expect((await upload(root, `${query}&on=skip`, [row("row-new", "x")])).lines[0]?.act).toBe("skipped");
    const missing = await upload(root, `${query}&on=update`, [row("row-none", "x")]);
    expect([missing.lines[0]?.status, missing.lines[0]?.code]).toEqual([404, "entry_not_found"]);
    const titles = (await inSet(set, "filter[price][eq]=10")).map(({ values }) => values.title);
    expect(titles.sort()).toEqual(["changed", "newer"]);
  });

  test("creates an entry for each row once", async () => {
    const set = await opened();
    const query = `module=shop&schema=lamp&change=${set}`;
    const rows = [1, 2].map((n) => ({
      values: { code: `once-${n}`, title: "once", price: n },
      idempotencyKey: `key-${n}`,
    }));
    expect((await upload(root, query, rows)).lines.at(-1)).toMatchObject({ created: 2, failed: 0 });
    expect((await upload(root, query, rows)).lines.at(-1)).toMatchObject({ replayed: 2, failed: 0 });
    expect((await inSet(set, "filter[title][eq]=once")).length).toBe(2);
  });

  test("checks rows in a dry run as the set has its entries, and writes none", async () => {
    const set = await opened();
    const query = `module=shop&schema=lamp&match=code&change=${set}`;
    const row = (code: string, price: unknown = 1) => ({ values: { code, title: "dry", price } });
    await upload(root, query, [row("dry-in-set")]);
    const rows = [row("dry-in-set", 2), row("dry-in-set"), row("dry-new"), row("dry-bad", "much")];
    const tried = await upload(root, `${query}&dryRun=true`, [
      ...rows,
      { ...row("dry-live"), status: "PUBLISHED" },
    ]);
    expect(tried.lines.map(({ line, errors }) => [line, errors?.[0]?.path])).toEqual([
      [4, "/values/price"],
      [5, "/status"],
      [undefined, undefined],
    ]);
    expect(tried.lines.at(-1)).toMatchObject({ done: true, total: 5, updated: 1, unchanged: 1, failed: 2 });
    const own = await upload(root, `module=shop&schema=lamp&change=${set}&dryRun=true`, [
      row("dry-2"),
      row("dry-3", "x"),
    ]);
    expect(own.lines.at(-1)).toMatchObject({ total: 2, created: 0, failed: 1 });
    expect((await inSet(set, "filter[title][eq]=dry")).map(({ values }) => values)).toEqual([
      { code: "dry-in-set", title: "dry", price: 1 },
    ]);
  });

  test("follows the definition of the set", async () => {
    const set = await opened();
    const { modules } = (await as(root, "GET", "/api/admin/orbs/sets-many")).body;
    modules[0].schemas
      .find(({ id }: { id: string }) => id === "lamp")
      .fields.push({ name: "note", type: "string" });
    expect((await as(root, "PATCH", `/api/admin/orbs/sets-many?change=${set}`, { modules })).status).toBe(
      200,
    );
    const rows = [{ values: { code: "noted", title: "t", note: "n" } }];
    const query = `module=shop&schema=lamp&match=code&change=${set}`;
    expect((await upload(root, `${query}&dryRun=true`, rows)).lines.at(-1)).toMatchObject({
      failed: 0,
      total: 1,
    });
    expect((await upload(root, query, rows)).lines[0]).toMatchObject({ status: 201 });
    expect((await inSet(set, "filter[code][eq]=noted"))[0]?.values).toMatchObject({ note: "n" });
  });

  test("refuses what has no meaning in a set", async () => {
    const set = await opened();
    const query = `module=shop&schema=lamp&change=${set}`;
    for (const one of ["publish", "checkFirst", "takeBack", "end"]) {
      const refused = await upload(root, `${query}&${one}=true`, []);
      expect([one, refused.status, refused.lines[0]?.code]).toEqual([one, 400, "invalid_parameter"]);
    }
    const live = await upload(root, query, [{ values: { code: "no" }, status: "PUBLISHED" }]);
    expect(live.lines[0]?.errors).toMatchObject([{ path: "/status", code: "not_applicable" }]);
    const none = await upload(root, "module=shop&schema=lamp&change=nosuchset", [{ values: {} }]);
    expect([none.status, none.lines[0]?.code]).toEqual([404, "change_not_found"]);
    expect((await as(editor, "DELETE", `/api/sets-many/changes/${set}`)).status).toBe(204);
    const closed = await upload(root, query, [{ values: {} }]);
    expect([closed.status, closed.lines[0]?.code]).toEqual([409, "wrong_state"]);
  });
});

test("an orb whose entries a set and an API token have published can be exported and imported", async () => {
  const set = await opened();
  const made = await as(editor, "PUT", `${lamps}/by/code/exported?change=${set}`, {
    values: { title: "Moved" },
  });
  expect((await as(editor, "POST", `/api/sets-many/changes/${set}/publish`)).status).toBe(200);
  const agent = await createToken(platform, "/api/_auth", root, [
    scope("sets-many", "read", "write", "publish"),
  ]);
  const written = await as(agent.token, "POST", `${admin}?publish=true`, {
    module: "shop",
    schema: "lamp",
    values: { code: "by-token" },
  });
  expect([written.status, written.body.code]).toEqual([201, undefined]);
  const undo = `/api/admin/orbs/sets-many/changes/tokens/${agent.id}/undo`;
  expect((await as(root, "POST", `${undo}?cursor=x`)).body.code).toBe("invalid_cursor");
  const undone = await as(root, "POST", undo);
  expect([undone.status, undone.body]).toMatchObject([
    201,
    { undoesToken: agent.id, entries: 1, more: false, nextCursor: null },
  ]);
  const headers = { authorization: `Bearer ${root}` };
  const file = await (await fetch(`${platform.origin}/api/admin/orbs/sets-many/export`, { headers })).text();
  const response = await fetch(`${platform.origin}/api/admin/orbs/import`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/x-ndjson" },
    body: file.replaceAll("sets-many", "sets-moved"),
  });
  expect([response.status, await response.text()]).toEqual([201, expect.anything()]);
  const moved = await as(root, "GET", `/api/admin/orbs/sets-moved/entries/${made.body.id}`);
  expect(moved.body.values?.title).toBe("Moved");
});
