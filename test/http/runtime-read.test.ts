import { beforeAll, describe, expect, it } from "vitest";
import { adminToken, call, user } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;

type Entry = {
  id: string;
  revision: number;
  values: Record<string, unknown>;
  expand?: Record<string, unknown>;
};
type Listing = { items: Entry[]; nextCursor: string | null; total?: number };

const DOCUMENT = {
  id: "shop",
  languages: ["en", "de", "fr"],
  markets: ["US", "EU"],
  uses: [{ service: "rules", handlers: ["evaluate"] }],
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        { id: "author", fields: [{ name: "name", type: "string" }] },
        {
          id: "product",
          fields: [
            { name: "title", type: "string", translatable: true },
            { name: "price", type: "number", marketSpecific: true },
            { name: "sku", type: "string", unique: true },
            { name: "state", type: "string", enum: ["new", "used"] },
            { name: "hot", type: "boolean" },
            { name: "count", type: "integer" },
            { name: "secret", type: "string", sensitive: true },
            { name: "tags", type: "string", list: true },
            { name: "sizes", type: "string", list: true, enum: ["S", "M"] },
            { name: "author", type: "reference", ref: "shop/catalog/author" },
          ],
        },
        { id: "offer", fields: [{ name: "product", type: "reference", ref: "shop/catalog/product" }] },
      ],
    },
    {
      id: "notes",
      type: "CONTENT",
      schemas: [
        { id: "note", access: { read: "own", write: "user" }, fields: [{ name: "text", type: "string" }] },
      ],
    },
    { id: "policy", type: "RULES", schemas: [{ id: "rule", fields: [{ name: "name", type: "string" }] }] },
  ],
};

async function create(schema: string, values: unknown, more: Record<string, unknown> = {}, publish = true) {
  const made = await call(platform, "POST", `/api/admin/orbs/shop/entries?publish=${publish}`, {
    token,
    body: { module: "catalog", schema, values, ...more },
  });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return made.body as Entry;
}

const get = (path: string, headers: Record<string, string> = {}, as?: string) =>
  call(platform, "GET", path, { headers, ...(as === undefined ? {} : { token: as }) });

async function listed(query: string): Promise<Listing> {
  const answer = await get(`/api/shop/catalog/product${query}`);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body as Listing;
}

let author: Entry;
let chair: Entry;
let draft: Entry;

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  const made = await call(platform, "POST", "/api/admin/orbs", { token, body: DOCUMENT });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const published = await call(platform, "POST", "/api/admin/orbs/shop/publish", { token });
  expect(published.status, JSON.stringify(published.body)).toBe(200);
  author = await create("author", { name: "Ada" });
  chair = await create("product", {
    title: { en: "Chair", de: "Stuhl" },
    price: { US: 10, EU: 9 },
    sku: "c-1",
    state: "new",
    hot: true,
    count: 1,
    secret: "hidden-plaintext",
    tags: ["wood", "red"],
    author: author.id,
  });
  await create("product", { title: { en: "Table" }, sku: "t-1", state: "used", hot: false, count: 3 });
  draft = await create(
    "product",
    { title: { en: "Draft" }, sku: "d-1", state: "new", hot: true, count: 9 },
    {},
    false,
  );
});

describe("paths", () => {
  it.each([
    ["/api/nothing/catalog", 404, "orb_not_found"],
    ["/api/shop/nothing", 404, "module_not_found"],
    ["/api/shop/catalog", 404, "schema_not_found"],
    ["/api/shop/catalog/nothing", 404, "schema_not_found"],
    ["/api/shop/catalog/product/0nothing00", 404, "entry_not_found"],
    ["/api/shop/catalog/product/*", 404, "entry_not_found"],
    ["/api/shop/policy", 404, "no_automatic_routes"],
    ["/api/shop/catalog/product/0abcdefgh/nothing", 404, "route_not_found"],
  ])("%s answers %i %s", async (path, status, code) => {
    const answer = await get(path);
    expect([answer.status, (answer.body as { code: string }).code]).toEqual([status, code]);
  });

  it("answers 405 with Allow for an unsupported method", async () => {
    const collection = await call(platform, "PUT", "/api/shop/catalog/product", { token, body: {} });
    expect([collection.status, collection.headers.get("allow")]).toEqual([
      405,
      "DELETE, GET, HEAD, PATCH, POST",
    ]);
    const one = await call(platform, "POST", `/api/shop/catalog/product/${chair.id}`, { token, body: {} });
    expect([one.status, one.headers.get("allow")]).toEqual([405, "DELETE, GET, HEAD, PATCH, PUT"]);
    const handler = await get("/api/shop/evaluate");
    expect([handler.status, handler.headers.get("allow")]).toEqual([405, "POST"]);
    const head = await call(platform, "HEAD", `/api/shop/catalog/product/${chair.id}`);
    expect(head.status).toBe(200);
  });

  it("answers 404 for an orb that is not published", async () => {
    await call(platform, "POST", "/api/admin/orbs", {
      token,
      body: { ...DOCUMENT, id: "later", modules: [], uses: [] },
    });
    expect((await get("/api/later/catalog")).status).toBe(404);
  });
});

describe("single entry", () => {
  it("shows the published values in the caller's language and market, with masks", async () => {
    const answer = await get(`/api/shop/catalog/product/${chair.id}?market=EU`, {
      "accept-language": "de-AT, en;q=0.5",
    });
    expect(answer.body).toMatchObject({
      id: chair.id,
      module: "catalog",
      schema: "product",
      status: "PUBLISHED",
      revision: 1,
      values: { title: "Stuhl", price: 9, secret: "••••••••", tags: ["wood", "red"] },
    });
    expect(JSON.stringify(answer.body)).not.toContain("hidden-plaintext");
    expect(JSON.stringify(answer.body)).not.toContain("sealed");
    expect(answer.headers.get("content-language")).toBe("de");
    expect(answer.headers.get("vary")).toContain("Accept-Language");
    expect(answer.headers.get("etag")).toMatch(/^"1-[0-9a-z]+"$/);
  });

  it("falls back to the default language and market, and returns all of them for *", async () => {
    const french = await get(`/api/shop/catalog/product/${chair.id}?locale=fr`);
    expect(french.body).toMatchObject({ values: { title: "Chair", price: 10 } });
    expect(french.headers.get("content-language")).toBe("en");
    expect(french.headers.get("vary") ?? "").not.toContain("Accept-Language");
    const all = await get(`/api/shop/catalog/product/${chair.id}?locale=*`);
    expect(all.body).toMatchObject({
      values: { title: { en: "Chair", de: "Stuhl" }, price: { US: 10, EU: 9 } },
    });
  });

  it("answers 304 only to the same query", async () => {
    const path = `/api/shop/catalog/product/${chair.id}`;
    const etag = (await get(path)).headers.get("etag") ?? "";
    expect((await get(path, { "if-none-match": etag })).status).toBe(304);
    expect((await get(`${path}?locale=de`, { "if-none-match": etag })).status).toBe(200);
    expect((await get(`${path}?fields=sku`, { "if-none-match": etag })).status).toBe(200);
  });

  it("hides drafts from callers who cannot write", async () => {
    const path = `/api/shop/catalog/product/${draft.id}`;
    expect((await get(path)).status).toBe(404);
    expect((await get(`${path}?revision=latest`)).status).toBe(401);
    const guest = await user(platform, "auth", "user");
    expect((await get(`${path}?revision=latest`, {}, guest.token)).status).toBe(403);
    expect((await get(`${path}?revision=latest`, {}, token)).body).toMatchObject({
      values: { title: "Draft" },
    });
    expect((await get(path, {}, token)).status).toBe(404);
  });

  it("expands a reference to its published entry", async () => {
    const answer = await get(`/api/shop/catalog/product/${chair.id}?expand=author&fields=author`);
    expect(answer.body).toMatchObject({
      values: { author: author.id },
      expand: { author: { id: author.id, values: { name: "Ada" } } },
    });
    expect(Object.keys((answer.body as Entry).values)).toEqual(["author"]);
  });

  it("varies by language if only the expanded entry is translated", async () => {
    const { id } = await create("offer", { product: chair.id });
    const path = `/api/shop/catalog/offer/${id}`;
    for (const [language, title] of [
      ["de", "Stuhl"],
      ["en", "Chair"],
    ]) {
      const answer = await get(`${path}?expand=product`, { "accept-language": language ?? "" });
      expect(answer.body.expand.product.values.title).toBe(title);
      expect(answer.headers.get("content-language")).toBe(language);
      expect(answer.headers.get("vary")).toBe("Accept-Language, Authorization, Cookie");
      expect(answer.headers.get("cache-control")).toBe("private, no-cache");
    }
    const page = await get("/api/shop/catalog/offer?expand=product", { "accept-language": "de" });
    expect(page.headers.get("vary")).toContain("Accept-Language");
    const named = await get(`${path}?expand=product&locale=de`);
    expect(named.headers.get("vary")).toBe("Authorization, Cookie");
    expect((await get(path)).headers.get("vary")).toBeNull();
  });

  it("refuses unknown parameters, fields and locales", async () => {
    const answer = await get(`/api/shop/catalog/product/${chair.id}?nope=1&fields=nope&expand=sku&locale=!!`);
    expect(answer.status).toBe(400);
    const { errors } = answer.body as { errors: { path: string; code: string }[] };
    expect(errors.map(({ path, code }) => `${path} ${code}`).sort()).toEqual([
      "/expand not_a_reference",
      "/fields unknown_field",
      "/locale invalid_value",
      "/nope unknown_parameter",
    ]);
  });
});

describe("lists", () => {
  it("neither show, count nor find drafts", async () => {
    const everything = await listed("?count=true");
    expect(everything.items.map(({ values }) => values.title)).toEqual(["Chair", "Table"]);
    expect(everything.total).toBe(2);
    expect((await listed("?filter[sku]=d-1")).items).toEqual([]);
    expect((await listed("?filter[state]=new&count=true")).total).toBe(1);
    expect((await listed(`?filter[id]=${draft.id}`)).items).toEqual([]);
    expect((await listed("?sort=-count")).items.map(({ values }) => values.count)).toEqual([3, 1]);
  });

  it("filter by published values, not by those of a newer draft", async () => {
    const item = await create("product", { title: { en: "Lamp" }, sku: "l-1", state: "used", hot: false });
    const changed = await call(platform, "PUT", `/api/admin/orbs/shop/entries/${item.id}`, {
      token,
      body: { values: { title: { en: "Lamp 2" }, sku: "l-2", state: "new", hot: true } },
    });
    expect(changed.status).toBe(200);
    expect((await listed("?filter[sku]=l-2")).items).toEqual([]);
    expect((await listed("?filter[sku]=l-1")).items).toHaveLength(1);
    expect((await listed(`?filter[state]=new&filter[id]=${item.id}`)).items).toEqual([]);
    expect((await listed("?filter[hot]=true")).items.map(({ id }) => id)).toEqual([chair.id]);
    const one = await get(`/api/shop/catalog/product/${item.id}`);
    expect(one.body).toMatchObject({ revision: 1, values: { title: "Lamp" } });
    expect(one.headers.get("etag")).toMatch(/^"2-/);
    await call(platform, "DELETE", `/api/admin/orbs/shop/entries/${item.id}`, { token });
    expect((await listed("?filter[sku]=l-1")).items).toEqual([]);
  });

  it.each([
    ["filter[title]=Stuhl&locale=de", 1],
    ["filter[title]=Stuhl", 0],
    ["filter[title][contains]=CHA", 1],
    ["filter[title][startsWith]=ab", 0],
    ["filter[count][gte]=1&filter[count][lt]=3", 1],
    ["filter[count][in]=1,3", 2],
    ["filter[state][ne]=new", 1],
    ["filter[tags][contains]=wood", 1],
    ["filter[tags][null]=true", 1],
    ["filter[price][gt]=9.5", 1],
    ["filter[price][gt]=9.5&market=EU", 0],
    ["filter[author][null]=false", 1],
    ["filter[createdAt][gt]=2020-01-01T00:00:00Z", 2],
  ])("%s finds %i", async (query, count) => {
    expect((await listed(`?${query}`)).items).toHaveLength(count);
  });

  it.each([
    ["filter[nope]=1", "unknown_field"],
    ["filter[title][like]=x", "unknown_operator"],
    ["filter[secret]=x", "sensitive_field"],
    ["sort=secret", "sensitive_field"],
    ["sort=tags", "not_sortable"],
    ["filter[count]=abc", "invalid_value"],
    ["filter[__proto__]=x", "unknown_field"],
    ["limit=201", "invalid_value"],
    ["limit=1&limit=2", "repeated"],
    ["offset=3", "unknown_parameter"],
    ["count=yes", "invalid_value"],
    ["filter[sku=x", "unknown_parameter"],
  ])("%s is refused with 400 %s", async (query, code) => {
    const answer = await get(`/api/shop/catalog/product?${query}`);
    expect(answer.status).toBe(400);
    expect((answer.body as { errors: { code: string }[] }).errors.map((error) => error.code)).toEqual([code]);
  });

  it("name the allowed values when a filter on an enum has another one, on both APIs", async () => {
    for (const path of [
      "/api/shop/catalog/product?",
      "/api/admin/orbs/shop/entries?module=catalog&schema=product&",
    ])
      for (const query of ["filter[state]=nonsense", "filter[state][in]=new,nonsense"]) {
        const { status, body } = await call(platform, "GET", path + query, { token });
        expect([status, body.errors[0].code]).toEqual([400, "invalid_value"]);
        expect(body.errors[0].message).toBe('must be one of new, used (is "nonsense")');
      }
    expect((await get("/api/shop/catalog/product?filter[sizes][contains]=S")).status).toBe(200);
    expect((await get("/api/shop/catalog/product?filter[sizes][contains]=XL")).status).toBe(400);
  });

  it("hide entries that are unpublished, archived, expired or not yet valid", async () => {
    const from = (ms: number) => new Date(Date.now() + ms).toISOString();
    const later = await create("product", { sku: "w-1" }, { validFrom: from(3_600_000) });
    const validTo = from(5_000);
    const soon = await create("product", { sku: "w-2" }, { validTo });
    const off = await create("product", { sku: "w-3" });
    const gone = await create("product", { sku: "w-4" });
    await call(platform, "POST", `/api/admin/orbs/shop/entries/${off.id}/unpublish`, { token });
    await call(platform, "POST", `/api/admin/orbs/shop/entries/${gone.id}/archive`, { token });
    await new Promise((resolve) => setTimeout(resolve, Date.parse(validTo) + 20 - Date.now()));
    const { items, total } = await listed("?count=true");
    expect(total).toBe(2);
    expect(items.map(({ values }) => values.sku)).toEqual(["c-1", "t-1"]);
    for (const { id } of [later, soon, off, gone]) {
      expect((await get(`/api/shop/catalog/product/${id}`)).status).toBe(404);
    }
    expect((await listed("?filter[sku][in]=w-1,w-2,w-3,w-4")).items).toEqual([]);
  });
});
