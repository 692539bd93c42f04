/** The header `Orb-Definition`: callers see and write the shape of an earlier revision of the definition. */
import { beforeAll, describe, expect, test } from "vitest";
import { createClient } from "../../shared/client/index.ts";
import { adminToken, call as request, user } from "../support/auth.ts";
import { FIRST, OPEN, SECOND, VALUES } from "../support/pinned-orbs.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { createToken, inSeconds, scope } from "../support/tokens.ts";

let platform: TestPlatform;
let token: string;
beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
});

type Headers = Record<string, string>;
const call = (method: string, path: string, body?: unknown, headers: Headers = {}) =>
  request(platform, method, path, { token, headers, ...(body === undefined ? {} : { body }) });
const anonymous = (path: string, headers: Headers = {}) => request(platform, "GET", path, { headers });

async function ok(method: string, path: string, body?: unknown, headers?: Headers) {
  const answer = await call(method, path, body, headers);
  expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  return answer;
}

const at = (revision: number): Headers => ({ "orb-definition": String(revision) });

/** Publishes a document and returns its revision. */
async function publish(id: string, document: object, method: "POST" | "PUT" = "PUT"): Promise<number> {
  const path = method === "POST" ? "/api/admin/orbs" : `/api/admin/orbs/${id}`;
  return (await ok(method, `${path}?publish=true`, { id, ...document })).body.revision;
}

describe("a caller that names an earlier revision", () => {
  const orb = "pinned-shop";
  const OLD = `/api/${orb}/catalog/product`;
  const NEW = `/api/${orb}/goods/article`;
  let revision: number;
  let live: number;
  let id: string;
  const now = async (entry = id) => (await ok("GET", `${NEW}/${entry}?locale=*&revision=latest`)).body.values;
  const old = async (entry = id) =>
    (await ok("GET", `${OLD}/${entry}?locale=*&revision=latest`, undefined, at(revision))).body.values;

  beforeAll(async () => {
    revision = await publish(orb, FIRST(orb), "POST");
    id = (await ok("POST", `${OLD}?publish=true`, { values: VALUES })).body.id;
    live = await publish(orb, SECOND(orb));
  });

  test("reads entries and lists in its shape", async () => {
    const answer = await anonymous(`${OLD}/${id}`, at(revision));
    expect(answer.body).toMatchObject({
      module: "catalog",
      schema: "product",
      values: { ...VALUES, pin: "••••••••" },
    });
    expect(Object.keys(answer.body.values).sort()).toEqual(Object.keys(VALUES).sort());
    expect(answer.headers.get("orb-definition")).toBe(String(revision));
    expect(answer.headers.get("deprecation")).toMatch(/^@\d+$/);
    expect(answer.headers.get("vary")).toContain("Orb-Definition");
    const page = await anonymous(`${OLD}?filter[sku]=c-1&sort=-sku&fields=title,sku`, at(revision));
    expect(page.body.items.map((item: { values: object }) => item.values)).toEqual([
      { title: "Chair", sku: "c-1" },
    ]);
    expect((await anonymous(`${OLD}/by/sku/c-1`, at(revision))).body.id).toBe(id);
    // The newest revision has the current shape.
    const newest = await anonymous(`${NEW}/${id}`, at(live));
    expect(newest.body.values.headline).toBe("Chair");
    expect(newest.headers.get("deprecation")).toBeNull();
    expect(newest.headers.get("orb-definition")).toBe(String(live));
  });

  test("has other entity tags, so that no cache mixes the shapes", async () => {
    const plain = await anonymous(`${NEW}/${id}`);
    const tag = plain.headers.get("etag") ?? "";
    const other = await anonymous(`${OLD}/${id}`, { ...at(revision), "if-none-match": tag });
    expect(other.status).toBe(200);
    const own = other.headers.get("etag") ?? "";
    expect((await anonymous(`${OLD}/${id}`, { ...at(revision), "if-none-match": own })).status).toBe(304);
    expect((await anonymous(`${NEW}/${id}`, { "if-none-match": own })).status).toBe(200);
    // The host may keep responses without the header.
    expect((await anonymous(`${NEW}/${id}`)).body.values.headline).toBe("Chair");
    expect((await anonymous(`${NEW}/${id}`, at(live))).body.values.headline).toBe("Chair");
  });

  test("replaces only what its shape has", async () => {
    const values = await now();
    const full = {
      ...values,
      headline: { en: "Chair", de: "Stuhl" },
      seo: { ...values.seo, robots: "none" },
      parts: [
        { ...values.parts[0], by: "Ann" },
        { _type: "video", _key: "v1", href: "https://example.org/v" },
      ],
      extra: "kept",
    };
    await ok("PUT", `${NEW}/${id}`, { values: full });
    const before = await old();
    expect(before).toEqual({ ...VALUES, pin: "••••••••" });
    const sent = {
      ...before,
      title: "Bench",
      blurb: "A bench",
      count: 5,
      sections: [{ ...before.sections[0], text: "Rest" }],
    };
    const written = await ok("PUT", `${OLD}/${id}?locale=*`, { values: sent }, at(revision));
    expect(written.body.values).toEqual(sent);
    expect(written.body).toMatchObject({ module: "catalog", schema: "product" });
    expect(await now()).toEqual({
      ...full,
      headline: { en: "Bench", de: "Stuhl" },
      count: "5.00",
      seo: { summary: "A bench", robots: "none" },
      parts: [
        { _type: "saying", _key: "q1", words: "Rest", by: "Ann" },
        { _type: "video", _key: "v1", href: "https://example.org/v" },
      ],
    });
    // A list that lacks the items which the caller sees keeps those that it does not see.
    await ok("PATCH", `${OLD}/${id}`, { values: { sections: null, tag: null } }, at(revision));
    const left = await now();
    expect(left.parts).toEqual([{ _type: "video", _key: "v1", href: "https://example.org/v" }]);
    expect(left.extra).toBe("kept");
    expect(left.code).toBe("••••••••");
    // A response that is edited and sent back.
    const read = (await ok("GET", `${OLD}/${id}?locale=en&revision=latest`, undefined, at(revision))).body;
    await ok(
      "PUT",
      `${OLD}/${id}?locale=en`,
      { ...read, values: { ...read.values, title: "Stool" } },
      at(revision),
    );
    expect((await now()).headline).toEqual({ en: "Stool", de: "Stuhl" });
  });

  test("is refused a write that would lose something", async () => {
    const made = await ok("POST", NEW, {
      values: { headline: { en: "T" }, tags: ["a", "b"], count: "1.50", number: "c-2" },
    });
    const entry = made.body.id;
    const shown = await old(entry);
    expect(shown).toEqual({ title: "T", tag: "a", sku: "c-2" });
    for (const values of [{ tag: "c" }, { tag: null }, { count: 2 }]) {
      const answer = await call("PATCH", `${OLD}/${entry}`, { values }, at(revision));
      expect(answer, JSON.stringify(values)).toMatchObject({
        status: 409,
        body: {
          code: "shape_conflict",
          errors: [{ path: `/values/${Object.keys(values)[0]}`, code: "hidden_part" }],
        },
      });
    }
    await ok("PUT", `${OLD}/${entry}`, { values: { ...shown, title: "U" } }, at(revision));
    expect(await now(entry)).toMatchObject({ headline: { en: "U" }, tags: ["a", "b"], count: "1.50" });
  });

  test("gets its own names in errors", async () => {
    const errors = async (method: string, path: string, values: object) =>
      (await call(method, path, { values }, at(revision))).body.errors;
    expect(await errors("POST", OLD, { sku: "c-3" })).toEqual([
      expect.objectContaining({ path: "/values/title", code: "required" }),
    ]);
    expect(await errors("POST", OLD, { title: "x", headline: "y" })).toEqual([
      expect.objectContaining({ path: "/values/headline", code: "unknown_property" }),
    ]);
    expect(await errors("POST", OLD, { title: 1 })).toEqual([
      expect.objectContaining({ path: "/values/title", code: "type" }),
    ]);
    expect(await errors("POST", OLD, { title: "x", sku: "c-1" })).toEqual([
      expect.objectContaining({ path: "/values/sku", code: "unique" }),
    ]);
    // The second block of the entry is the first one that the caller sees.
    const made = await ok("POST", NEW, {
      values: {
        headline: { en: "T" },
        parts: [
          { _type: "video", _key: "v", href: "https://example.org/v" },
          { _type: "saying", _key: "s", words: "w" },
        ],
      },
    });
    const sections = [{ _type: "quote", _key: "s", text: 5 }];
    expect(await errors("PATCH", `${OLD}/${made.body.id}`, { sections })).toEqual([
      expect.objectContaining({ path: "/values/sections/0/text", code: "type" }),
    ]);
    const filter = await anonymous(`${OLD}?filter[headline]=x`, at(revision));
    expect(filter.body.errors[0]).toMatchObject({ code: "unknown_field" });
  });

  test("creates, finds and changes entries by their keys, and expands references", async () => {
    const first = await ok(
      "PUT",
      `${OLD}/by/sku/c-9?publish=true`,
      { values: { title: "By key" } },
      at(revision),
    );
    expect(first.status).toBe(201);
    expect(first.headers.get("location")).toBe(`${OLD}/${first.body.id}`);
    const again = await ok(
      "PUT",
      `${OLD}/by/sku/c-9?publish=true`,
      { values: { title: "By key" } },
      at(revision),
    );
    expect(again.body.revision).toBe(first.body.revision);
    const like = await ok(
      "POST",
      `${OLD}?publish=true`,
      { values: { title: "Like", like: first.body.id } },
      at(revision),
    );
    const expanded = await anonymous(`${OLD}/${like.body.id}?expand=like`, at(revision));
    expect(expanded.body.expand.like).toMatchObject({
      schema: "product",
      values: { title: "By key", sku: "c-9" },
    });
    await ok("DELETE", `${OLD}/by/sku/c-9?force=true`, undefined, at(revision));
    expect((await call("GET", `${OLD}/${first.body.id}`, undefined, at(revision))).status).toBe(404);
  });

  test("can use the client, which is pinned to a revision", async () => {
    const pinned = createClient({ url: platform.origin, token, definition: { [orb]: revision } }).orb(orb);
    const products = pinned.catalog?.product;
    const made = await products?.create({ title: "From the client", count: 7 });
    expect(made?.values).toMatchObject({ title: "From the client", count: 7 });
    const changed = await products?.update(made as { id: string; revision: number }, { title: "Changed" });
    expect(changed?.values).toMatchObject({ title: "Changed", count: 7 });
    expect(await now(made?.id)).toMatchObject({ headline: { en: "Changed" }, count: "7.00" });
    const counted = await products?.aggregate({ aggregate: { n: "count" } });
    expect(counted).toMatchObject([{ values: { n: expect.any(Number) } }]);
  });

  test("has idempotency keys of its own", async () => {
    const key = { "idempotency-key": "pinned-1" };
    const body = { values: { title: "Once" } };
    const first = await ok("POST", OLD, body, { ...key, ...at(revision) });
    const again = await ok("POST", OLD, body, { ...key, ...at(revision) });
    expect(again.body).toEqual(first.body);
    expect(again.headers.get("idempotent-replayed")).toBe("true");
    const other = await ok("POST", NEW, { values: { headline: { en: "Once" } } }, key);
    expect(other.body.id).not.toBe(first.body.id);
  });

  test("is refused a revision or a request that the header has no meaning for", async () => {
    for (const header of ["0", "x", "-1", "1.5", "", "1, 2"]) {
      const answer = await anonymous(`${OLD}/${id}`, { "orb-definition": header });
      expect(answer, header).toMatchObject({ status: 400, body: { code: "invalid_header" } });
    }
    for (const unknown of [live + 1, 999_999]) {
      const answer = await anonymous(`${OLD}/${id}`, at(unknown));
      expect(answer).toMatchObject({ status: 404, body: { code: "definition_revision_not_found" } });
    }
    const draft = (await ok("PUT", `/api/admin/orbs/${orb}`, { id: orb, ...SECOND(orb), name: "Draft" })).body
      .revision;
    expect((await anonymous(`${OLD}/${id}`, at(draft))).body.code).toBe("definition_revision_not_found");
    const refused: [string, string, unknown?][] = [
      ["GET", `${OLD}?explain=true`],
      ["GET", `/api/${orb}/changes`],
      ["GET", `/api/admin/orbs/${orb}`],
      ["GET", `/api/admin/orbs/${orb}/activity`],
      ["GET", "/api/discovery"],
      ["GET", "/api/streams"],
    ];
    for (const [method, path, body] of refused) {
      const answer = await call(method, path, body, at(revision));
      expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).toBe(400);
    }
  });
});

test("a name that another field has now stands for the field that had it then", async () => {
  const orb = "pinned-swap";
  const fields = (...all: object[]) => ({
    modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "s", access: OPEN, fields: all }] }],
  });
  const [a, b] = [
    { name: "a", type: "string" },
    { name: "b", type: "string" },
  ];
  const revision = await publish(orb, fields(a, b), "POST");
  const entry = (await ok("POST", `/api/${orb}/m/s?publish=true`, { values: { a: "1", b: "2" } })).body;
  await publish(orb, fields({ ...a, was: "b" }, { ...b, was: "a" }));
  const path = `/api/${orb}/m/s/${entry.id}`;
  expect((await anonymous(path)).body.values).toEqual({ a: "2", b: "1" });
  expect((await anonymous(path, at(revision))).body.values).toEqual({ a: "1", b: "2" });
  await ok("PATCH", `${path}?publish=true`, { values: { a: "3" } }, at(revision));
  expect((await anonymous(path)).body.values).toEqual({ a: "2", b: "3" });
  // A publication concerns only what the request names: the draft of the other field stays one.
  await ok("PATCH", path, { values: { a: "draft" } });
  await ok("PATCH", `${path}?publish=true`, { values: { a: "4" } }, at(revision));
  expect((await anonymous(path)).body.values).toEqual({ a: "2", b: "4" });
  expect((await ok("GET", `${path}?revision=latest`)).body.values).toEqual({ a: "draft", b: "4" });
  await ok("PATCH", `${path}?publish=true`, { values: { a: "3" } }, at(revision));
  const page = await anonymous(`/api/${orb}/m/s?filter[a]=3`, at(revision));
  expect(page.body.items).toHaveLength(1);
});

test("filters, sorts and expands by fields whose targets or places have new names", async () => {
  const orb = "pinned-targets";
  const document = (target: object, id: string, fields: object[], languages: string[]) => ({
    languages,
    modules: [
      {
        id: "m",
        type: "CONTENT",
        schemas: [
          {
            id: "s",
            access: OPEN,
            fields: [
              { name: "body", type: "richText", links: [`${orb}/m/${id}`] },
              { name: "rel", type: "reference", ref: [`${orb}/m/${id}`, `${orb}/m/s`] },
              ...fields,
            ],
          },
          { id, ...target, access: OPEN, fields: [{ name: "name", type: "string" }] },
        ],
      },
    ],
  });
  const title = { name: "title", type: "string", translatable: true };
  const blurb = { name: "blurb", type: "string" };
  const old = document({}, "person", [title, blurb, { name: "note", type: "string" }], ["en", "de"]);
  const revision = await publish(orb, old, "POST");
  const ann = (await ok("POST", `/api/${orb}/m/person?publish=true`, { values: { name: "Ann" } })).body.id;
  const rel = { schema: `${orb}/m/person`, id: ann };
  const make = async (blurb: string) => {
    const body = { markdown: `By [Ann](/api/${orb}/m/person/${ann}).` };
    const values = { body, rel, blurb, title: { en: "T", de: "T" } };
    return (await ok("POST", `/api/${orb}/m/s?publish=true`, { values })).body.id;
  };
  const made = [await make("b"), await make("a")];
  const seo = {
    name: "seo",
    type: "object",
    fields: [{ name: "summary", type: "string" }],
    from: { fields: { summary: "blurb" } },
  };
  const note = { name: "note", type: "string", translatable: true };
  await publish(orb, document({ was: "person" }, "author", [title, seo, note], ["en", "de"]));
  const get = async (query: string) => {
    const answer = await anonymous(`/api/${orb}/m/s${query}`, at(revision));
    expect(answer.status, `${query} ${JSON.stringify(answer.body)}`).toBe(200);
    return answer.body;
  };
  expect((await get(`/${made[0]}?expand=body`)).expand.body[ann]).toMatchObject({ values: { name: "Ann" } });
  expect((await get(`/${made[0]}?expand=rel`)).expand.rel).toMatchObject({ values: { name: "Ann" } });
  const idsOf = async (query: string) =>
    (await get(query)).items.map((item: { id: string }) => item.id) as string[];
  expect(new Set(await idsOf(`?filter[rel]=${ann}`))).toEqual(new Set(made));
  expect(await idsOf("?filter[blurb]=a")).toEqual([made[1]]);
  expect(await idsOf("?sort=blurb")).toEqual(made.toReversed());
  // The revision has no languages for the note.
  expect(await idsOf("?missing=de")).toEqual([]);
});

test("publishes what it names while there is a newer draft", async () => {
  const orb = "pinned-publish";
  const document = (...fields: object[]) => ({
    languages: ["en", "de"],
    modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "s", access: OPEN, fields }] }],
  });
  const pin = { name: "pin", type: "string", sensitive: true };
  const revision = await publish(orb, document({ name: "title", type: "string" }, pin), "POST");
  await publish(
    orb,
    document({ name: "headline", was: "title", type: "string" }, { name: "more", type: "string" }, pin),
  );
  const made = await ok("POST", `/api/${orb}/m/s?publish=true`, { values: { headline: "a", pin: "1" } });
  const path = `/api/${orb}/m/s/${made.body.id}`;
  await ok("PATCH", path, { values: { more: "draft", pin: "2" } });
  await ok("PATCH", `${path}?publish=true`, { values: { title: "b" } }, at(revision));
  expect((await anonymous(path)).body.values).toMatchObject({ headline: "b" });
  expect((await anonymous(path)).body.values.more).toBeUndefined();
  // A mask may stand for the value of the draft or of the published revision.
  const sent = { title: "c", pin: "••••••••" };
  const refused = await call("PUT", `${path}?publish=true`, { values: sent }, at(revision));
  expect(refused).toMatchObject({
    status: 409,
    body: { code: "shape_conflict", errors: [{ path: "/values/pin", code: "mask" }] },
  });
  await ok("PUT", `${path}?publish=true`, { values: { ...sent, pin: "3" } }, at(revision));
  expect((await anonymous(path)).body.values).toMatchObject({ headline: "c" });
  // Without values, the draft is published.
  await ok("PATCH", `${path}?publish=true&locale=en`, {}, at(revision));
  expect((await anonymous(path)).body.values).toMatchObject({ headline: "c", more: "draft" });
});

test("a caller sees and sets only what the current rules allow", async () => {
  const orb = "pinned-access";
  const document = (...fields: object[]) => ({
    modules: [
      {
        id: "m",
        type: "CONTENT",
        schemas: [{ id: "s", access: { read: "public", create: ["user"], update: ["user"] }, fields }],
      },
    ],
  });
  const HIDDEN = { read: ["admin"], write: ["admin"] };
  const revision = await publish(
    orb,
    document(
      { name: "title", type: "string" },
      { name: "cost", type: "string", unique: true },
      { name: "old", type: "string" },
    ),
    "POST",
  );
  await ok("POST", `/api/${orb}/m/s?publish=true`, { values: { title: "t", cost: "secret", old: "o" } });
  await publish(
    orb,
    document(
      { name: "name", was: "title", type: "string" },
      { name: "price", was: "cost", type: "string", unique: true, access: HIDDEN },
      { name: "old", type: "string" },
    ),
  );
  const caller = await user(platform);
  const as = (method: string, path: string, body?: unknown) =>
    request(platform, method, path, {
      token: caller.token,
      headers: at(revision),
      ...(body === undefined ? {} : { body }),
    });
  const page = await as("GET", `/api/${orb}/m/s`);
  expect(page.body.items[0].values).toEqual({ title: "t", old: "o" });
  const path = `/api/${orb}/m/s/${page.body.items[0].id}`;
  expect((await as("GET", `/api/${orb}/m/s?filter[cost]=secret`)).body.errors[0].code).toBe("unknown_field");
  expect((await as("GET", `/api/${orb}/m/s/by/cost/secret`)).status).toBe(404);
  expect((await as("PATCH", path, { values: { cost: "x" } })).body.errors).toEqual([
    expect.objectContaining({ path: "/values/cost", code: "unknown_property" }),
  ]);
  expect(JSON.stringify((await as("PATCH", path, { values: { cost: "x" } })).body)).not.toContain("price");
  expect((await as("PUT", path, { values: { title: "u", old: "p" } })).status).toBe(200);
  const all = await ok("GET", `${path}?revision=latest`);
  expect(all.body.values).toEqual({ name: "u", price: "secret", old: "p" });
});

describe("an API token for a revision of the definition", () => {
  const orb = "pinned-token";
  const OLD = `/api/${orb}/catalog/product`;
  const NEW = `/api/${orb}/goods/article`;
  let revision: number;
  let live: number;
  let id: string;
  let pinned: string;
  const as = (method: string, path: string, body?: unknown, headers: Headers = {}) =>
    request(platform, method, path, { token: pinned, headers, ...(body === undefined ? {} : { body }) });
  const tokenFor = async (definition: number, by = token) =>
    createToken(platform, "/api/_auth", by, [scope(orb, "read", "write", "publish", "manage")], {
      definition,
    });

  beforeAll(async () => {
    revision = await publish(orb, FIRST(orb), "POST");
    id = (await ok("POST", `${OLD}?publish=true`, { values: VALUES })).body.id;
    live = await publish(orb, SECOND(orb));
    const made = await tokenFor(revision);
    expect(made).toMatchObject({ definition: revision });
    pinned = made.token;
  });

  test("sees and writes the shape of the revision without a header", async () => {
    const read = await as("GET", `${OLD}/${id}`);
    expect(read.body).toMatchObject({
      module: "catalog",
      schema: "product",
      values: { title: "Chair", tag: "oak" },
    });
    expect(read.headers.get("orb-definition")).toBe(String(revision));
    expect(read.headers.get("deprecation")).toMatch(/^@\d+$/);
    const written = await as("PATCH", `${OLD}/${id}?publish=true`, { values: { title: "Stool" } });
    expect(written.body.values.title).toBe("Stool");
    const now = (await ok("GET", `${NEW}/${id}?locale=*`)).body.values;
    expect(now).toMatchObject({ headline: { en: "Stool" }, tags: ["oak"] });
    const list = await as("GET", `${OLD}?filter[sku]=c-1`);
    expect(list.body.items.map((one: { id: string }) => one.id)).toEqual([id]);
    // The current names lead nowhere.
    expect((await as("GET", `${NEW}/${id}`)).status).toBe(404);
  });

  test("names no other revision in the header", async () => {
    expect((await as("GET", `${OLD}/${id}`, undefined, at(revision))).status).toBe(200);
    const other = await as("GET", `${NEW}/${id}`, undefined, at(live));
    expect(other).toMatchObject({ status: 403, body: { code: "pinned_token" } });
  });

  test("is refused by routes that only have the current shape", async () => {
    const refused: [string, string][] = [
      ["GET", `/api/admin/orbs/${orb}/activity`],
      ["GET", `/api/admin/orbs/${orb}`],
      ["GET", `/api/admin/orbs/${orb}/export`],
      ["GET", `/api/${orb}/changes`],
      ["GET", "/api/streams/"],
      ["GET", "/api/_auth/tokens"],
    ];
    for (const [method, path] of refused) {
      const answer = await as(method, path);
      expect(answer, path).toMatchObject({ status: 403, body: { code: "pinned_token" } });
    }
    const child = { name: "child", expiresAt: inSeconds(60), scopes: [scope(orb, "read")] };
    expect((await as("POST", "/api/_auth/tokens", child)).status).toBe(403);
  });

  test("calls handlers, which have no shape, but not those that show entries", async () => {
    const called = "pinned-calls";
    const uses = [
      { service: "rules", handlers: ["evaluate"] },
      { service: "settings", handlers: ["get"] },
    ];
    const settings = {
      ...{ id: "prefs", type: "SETTINGS" },
      schemas: [{ id: "mine", fields: [{ name: "theme", type: "string" }] }],
    };
    const withUses = ({ modules, ...rest }: ReturnType<typeof FIRST>) => ({
      ...{ ...rest, uses, modules: [...modules, settings] },
    });
    const first = await publish(called, withUses(FIRST(called)), "POST");
    const scopes = [scope(called, "read", "write", "publish", "manage")];
    const { token: by } = await createToken(platform, "/api/_auth", token, scopes, { definition: first });
    const body = { definition: "unknown", facts: {} };
    const post = (path: string, bearer: string, headers: Headers = {}) =>
      request(platform, "POST", `/api/${called}/call/${path}`, { token: bearer, body, headers });
    const [own, plain] = [await post("rules/evaluate", by), await post("rules/evaluate", token)];
    expect([own.status, own.body.code]).toEqual([plain.status, plain.body.code]);
    expect(own.body.code).not.toBe("invalid_header");
    expect(own.headers.get("orb-definition")).toBeNull();
    expect(await post("settings/get", by)).toMatchObject({ status: 403, body: { code: "pinned_token" } });
    expect(await post("rules/evaluate", token, at(first))).toMatchObject({
      status: 400,
      body: { code: "invalid_header", detail: expect.stringContaining("handler") },
    });
  });

  test("can read itself and its account", async () => {
    expect((await as("GET", "/api/_auth/tokens/current")).body).toMatchObject({ definition: revision });
    expect((await as("GET", "/api/_auth/me")).status).toBe(200);
    expect((await as("GET", `/api/discovery/me?orb=${orb}`)).status).toBe(200);
  });

  test("needs one scope of an orb, and a revision that was published", async () => {
    const create = async (definition: unknown, ...scopes: object[]) => {
      const body = { name: "t", expiresAt: inSeconds(600), scopes, definition };
      const answer = await call("POST", "/api/_auth/tokens", body);
      return [answer.status, answer.body.errors?.[0]?.path, answer.body.errors?.[0]?.code];
    };
    expect(await create(revision, scope("*", "read"))).toEqual([422, "/definition", "not_applicable"]);
    expect(await create(revision, scope(orb, "read"), scope("shop", "read"))).toEqual([
      422,
      "/definition",
      "not_applicable",
    ]);
    expect(await create(live + 1, scope(orb, "read"))).toEqual([422, "/definition", "unknown_revision"]);
    expect(await create(1, scope("no-such-orb", "read"))).toEqual([422, "/definition", "unknown_revision"]);
    expect((await create("1", scope(orb, "read")))[0]).toBe(422);
  });

  test("has the live shape for the newest revision", async () => {
    const newest = (await tokenFor(live)).token;
    const read = await request(platform, "GET", `${NEW}/${id}`, { token: newest });
    expect(read.status).toBe(200);
    expect(read.headers.get("deprecation")).toBeNull();
  });
});

describe("the list of revisions in use", () => {
  const orb = "pinned-used";
  const OLD = `/api/${orb}/catalog/product`;
  const USED = `/api/admin/orbs/${orb}/definitions/used`;
  const used = async () => (await ok("GET", USED)).body;
  let revision: number;
  let live: number;
  let id: string;

  beforeAll(async () => {
    revision = await publish(orb, FIRST(orb), "POST");
    id = (await ok("POST", `${OLD}?publish=true`, { values: VALUES })).body.id;
    live = await publish(orb, SECOND(orb));
  });

  test("names each caller once, and the days", async () => {
    expect((await used()).items).toEqual([]);
    const robot = await createToken(platform, "/api/_auth", token, [scope(orb, "read")], {
      definition: revision,
      name: "old site",
    });
    const as = (by?: string) =>
      request(platform, "GET", `${OLD}/${id}`, {
        headers: at(revision),
        ...(by === undefined ? {} : { token: by }),
      });
    for (const by of [undefined, token, robot.token, undefined, robot.token])
      expect((await as(by)).status).toBe(200);
    // The current shape without a header is no use.
    expect((await ok("GET", `/api/${orb}/goods/article/${id}`)).status).toBe(200);
    // An unknown revision, and a token that does not work, are none either.
    await as("orbtok_wrong");
    await call("GET", `${OLD}/${id}`, undefined, at(999));
    await expect.poll(async () => (await used()).items.length).toBe(3);
    const { items, publishedRevision } = await used();
    expect(publishedRevision).toBe(live);
    const kinds = items.map(({ kind, name }: { kind: string; name: string | null }) => [kind, name]);
    expect(kinds.sort()).toEqual([
      ["account", expect.any(String)],
      ["anonymous", null],
      ["token", "old site"],
    ]);
    for (const item of items) {
      expect(item.revision).toBe(revision);
      expect(item.first).toMatch(/^\d{4}-\d\d-\d\d$/);
      expect(item.last >= item.first).toBe(true);
    }
    expect(items.find(({ kind }: { kind: string }) => kind === "token").token).toBe(robot.id);
  });

  test("is for platform admins, and begins again with an orb", async () => {
    expect((await anonymous(USED)).status).toBe(401);
    expect((await call("GET", "/api/admin/orbs/no-such-orb/definitions/used")).status).toBe(404);
    await expect.poll(async () => (await used()).items.length).toBeGreaterThan(0);
    await ok("DELETE", `/api/admin/orbs/${orb}`);
    await publish(orb, FIRST(orb), "POST");
    expect((await used()).items).toEqual([]);
  });
});

test("OpenAPI describes the shape of a revision, without what is gone", async () => {
  const orb = "pinned-openapi";
  const revision = await publish(orb, FIRST(orb), "POST");
  await ok("POST", `/api/${orb}/catalog/product?publish=true`, { values: VALUES });
  const second = SECOND(orb);
  const live = await publish(orb, second);
  const describe = (headers: Headers = {}) => anonymous(`/api/openapi?orb=${orb}`, headers);
  const [now, old] = [await describe(), await describe(at(revision))];
  const fieldsOf = (answer: typeof now, name: string) =>
    Object.keys(answer.body.components.schemas[`${orb}.${name}.Values`].properties).sort();
  expect(fieldsOf(now, "goods.article")).toContain("headline");
  expect(fieldsOf(old, "catalog.product")).toEqual([
    "blurb",
    "count",
    "like",
    "pin",
    "sections",
    "sku",
    "tag",
    "title",
  ]);
  expect(Object.keys(old.body.paths)).toContain(`/api/${orb}/catalog`);
  expect(Object.keys(old.body.paths)).not.toContain(`/api/${orb}/goods`);
  expect(old.headers.get("orb-definition")).toBe(String(revision));
  expect(old.headers.get("vary")).toContain("Orb-Definition");
  expect(old.headers.get("etag")).not.toBe(now.headers.get("etag"));
  expect((await describe(at(live))).body).toEqual(now.body);
  expect((await describe(at(999))).body.code).toBe("definition_revision_not_found");
  expect((await anonymous("/api/openapi", at(revision))).status).toBe(400);
  const seen = (await anonymous(`/api/discovery?orb=${orb}`, at(revision))).body;
  expect(seen.orbs).toMatchObject([{ revision, modules: [{ id: "catalog", schemas: [{ id: "product" }] }] }]);
  // What an earlier revision has and the current one has not.
  const schemas = second.modules.flatMap(({ schemas: all }) => all);
  for (const schema of schemas) schema.fields = schema.fields.filter(({ name }) => name !== "tags");
  await publish(orb, second);
  expect(fieldsOf(await describe(at(revision)), "catalog.product")).not.toContain("tag");
});
