/** Schemas with ids in CamelCase: every answer shows the id as written, subjects hold it in kebab-case. */
import { beforeAll, describe, expect, test } from "vitest";
import { streams } from "../../shared/store/subjects.ts";
import { adminToken } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { sending } from "../support/sending.ts";

let platform: TestPlatform;
let token: string;
beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
});

const { ask: call, send: ok } = sending(() => ({ platform, token }));

/** An orb whose schema of variants has this id. */
const documentOf = (orb: string, variant: string) => ({
  id: orb,
  uses: [
    { service: "transactions", handlers: ["record", "list"] },
    { service: "settings", handlers: ["get", "set"] },
  ],
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: variant,
          fields: [
            { name: "title", type: "string" },
            { name: "sku", type: "string", unique: true },
            { name: "state", type: "string", enum: ["new", "used"] },
            { name: "like", type: "reference", ref: `${orb}/catalog/${variant}` },
          ],
        },
        { id: "HTTPServer2", fields: [{ name: "title", type: "string" }] },
      ],
    },
    {
      id: "orders",
      type: "TRANSACTIONS",
      schemas: [{ id: `${variant}Order`, fields: [{ name: "total", type: "number" }] }],
    },
    {
      id: "preferences",
      type: "SETTINGS",
      schemas: [{ id: `${variant}View`, fields: [{ name: "theme", type: "string" }] }],
    },
  ],
});

const KEBAB = (orb: string) => {
  const document = documentOf(orb, "product-variant");
  return JSON.parse(
    JSON.stringify(document)
      .replaceAll("product-variantOrder", "product-variant-order")
      .replaceAll("product-variantView", "product-variant-view"),
  ) as typeof document;
};

async function lines(id: string): Promise<(Record<string, unknown> & { kind: string })[]> {
  const headers = { authorization: `Bearer ${token}` };
  const text = await (await fetch(`${platform.origin}/api/admin/orbs/${id}/export`, { headers })).text();
  return text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

const importing = (all: unknown[]) =>
  fetch(`${platform.origin}/api/admin/orbs/import`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
    body: all.map((line) => `${JSON.stringify(line)}\n`).join(""),
  });

/** The messages that a reader of the orb's public stream gets. */
async function streamed(orb: string): Promise<Record<string, unknown>[]> {
  return await ok("GET", `/api/streams/${orb}?offset=-1`);
}

const mapStream = (orb: string) =>
  ok("PUT", `/api/admin/streams/${orb}`, {
    stream: `ø${orb}`,
    subjectFilter: `${orb}.content.public.product-variant.>`,
    read: "public",
  });

describe("a schema whose id is in CamelCase", () => {
  const orb = "camel";
  const path = `/api/${orb}/catalog/ProductVariant`;

  test("serves its entries under its id, and stores them in kebab-case", async () => {
    await ok("POST", "/api/admin/orbs?publish=true", documentOf(orb, "ProductVariant"));
    await mapStream(orb);
    const made = await call("POST", `${path}?publish=true`, {
      values: { title: "A", sku: "1", state: "new" },
    });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ orb, module: "catalog", schema: "ProductVariant" });
    expect(made.headers.get("location")).toBe(`${path}/${made.body.id}`);
    const second = { title: "B", sku: "2", state: "used", like: made.body.id };
    const other = await ok("POST", `/api/admin/orbs/${orb}/entries?publish=true`, {
      module: "catalog",
      schema: "ProductVariant",
      values: second,
    });
    expect(other.schema).toBe("ProductVariant");
    const server = await ok("POST", `/api/${orb}/catalog/HTTPServer2?publish=true`, {
      values: { title: "S" },
    });
    expect(server.schema).toBe("HTTPServer2");

    const store = platform.operatorStore();
    const logs = [
      `${orb}.content.owner.product-variant.${made.body.id}`,
      `${orb}.content.public.product-variant.${other.id}`,
      `${orb}.content.owner.http-server2.${server.id}`,
    ];
    for (const subject of logs) expect(await store.get(streams.orb(orb), subject), subject).not.toBeNull();

    expect((await ok("GET", `${path}/${made.body.id}`)).schema).toBe("ProductVariant");
    const titles = async (query: string) =>
      (await ok("GET", `${path}?${query}`)).items.map(
        (item: { values: { title: string } }) => item.values.title,
      );
    expect(await titles("")).toEqual(["A", "B"]);
    expect(await titles("filter[state]=used")).toEqual(["B"]);
    expect(await titles("filter[sku]=1")).toEqual(["A"]);
    expect(await titles(`filter[like]=${made.body.id}`)).toEqual(["B"]);
    expect(await titles("sort=-title")).toEqual(["B", "A"]);
    const expanded = await ok("GET", `${path}/${other.id}?expand=like`);
    expect(expanded.expand.like).toMatchObject({ id: made.body.id, schema: "ProductVariant" });
    const taken = await call("POST", path, { values: { sku: "2" } });
    expect(taken.body).toMatchObject({ code: "unique_conflict" });
    const sentBack = await call("PUT", `${path}/${other.id}`, {
      ...other,
      values: { ...second, title: "C" },
    });
    expect(sentBack.body).toMatchObject({ schema: "ProductVariant", values: { title: "C" } });

    const listed = await ok("GET", `/api/admin/orbs/${orb}/entries?module=catalog&schema=ProductVariant`);
    expect(listed.items.map((item: { schema: string }) => item.schema)).toEqual([
      "ProductVariant",
      "ProductVariant",
    ]);
    const revisions = `/api/admin/orbs/${orb}/entries/${other.id}/revisions`;
    expect((await ok("GET", `${revisions}/1`)).schema).toBe("ProductVariant");
    expect(await streamed(orb)).toMatchObject([
      { id: made.body.id, schema: "ProductVariant" },
      { id: other.id, schema: "ProductVariant" },
    ]);
  });

  test("has one path, and no other spelling of its id is accepted", async () => {
    for (const id of ["product-variant", "productVariant", "Product-Variant"]) {
      const answer = await call("GET", `/api/${orb}/catalog/${id}`);
      expect(answer).toMatchObject({ status: 404, body: { code: "schema_not_found" } });
      expect(answer.body.detail).toContain("ProductVariant");
    }
    const listed = await call("GET", `/api/admin/orbs/${orb}/entries?module=catalog&schema=product-variant`);
    expect(listed.status).toBe(400);
    const made = await call("POST", `/api/admin/orbs/${orb}/entries`, {
      module: "catalog",
      schema: "product-variant",
      values: {},
    });
    expect(made).toMatchObject({ status: 422, body: { errors: [{ code: "unknown_schema" }] } });
  });

  test("appears under its id in the API description, the overview and the routes", async () => {
    const openapi = await ok("GET", `/api/openapi?orb=${orb}`);
    expect(Object.keys(openapi.paths)).toContain(`${path}/{id}`);
    expect(openapi.paths[path].get.operationId).toBe("listEntriesOf_camel_catalog_ProductVariant");
    expect(Object.keys(openapi.components.schemas)).toContain("camel.catalog.ProductVariant");
    expect(JSON.stringify(openapi)).not.toContain("catalog/product-variant");
    const [view] = (await ok("GET", `/api/discovery?orb=${orb}`)).orbs;
    const [schema] = view.modules[0].schemas;
    expect(schema).toMatchObject({ id: "ProductVariant", href: path });
    expect(schema.fields[3]).toMatchObject({ ref: "camel/catalog/ProductVariant", options: path });
    expect(JSON.stringify(await ok("GET", `/api/admin/routes?orb=${orb}`))).toContain(path);
  });

  test("survives an export and an import", async () => {
    const before = await ok("GET", `/api/admin/orbs/${orb}/entries?sort=id`);
    const exported = await lines(orb);
    await ok("DELETE", `/api/admin/orbs/${orb}`);
    expect((await importing(exported)).status).toBe(201);
    expect((await ok("GET", `/api/admin/orbs/${orb}/entries?sort=id`)).items).toEqual(before.items);
    expect((await ok("GET", path)).items).toHaveLength(2);
  });
});

describe("a schema that is renamed from kebab-case to CamelCase", () => {
  const orb = "renamed";
  const [before, after] = [`/api/${orb}/catalog/product-variant`, `/api/${orb}/catalog/ProductVariant`];
  const key = { "idempotency-key": "once" };
  const first = { values: { title: "A", sku: "1", state: "new" } };
  const record = { module: "orders", values: { total: 3 }, key: "order-1" };
  let made: { id: string; schema: string };
  let draft: { id: string };
  let cursor: string;
  let review: { id: string };

  test("is announced as such by a dry run", async () => {
    await ok("POST", "/api/admin/orbs?publish=true", KEBAB(orb));
    await mapStream(orb);
    made = await ok("POST", `${before}?publish=true`, first, key);
    const values = { title: "B", sku: "2", state: "new", like: made.id };
    draft = await ok("POST", `${before}?publish=true`, { values });
    await ok("PUT", `${before}/${draft.id}`, { values: { ...values, title: "C" } });
    cursor = (await ok("GET", `${before}?limit=1`)).nextCursor;
    await ok("POST", `/api/${orb}/record`, record);
    await ok("POST", `/api/${orb}/set`, { module: "preferences", values: { theme: "dark" } });
    const field = { name: "about", type: "reference", ref: `${orb}/catalog/product-variant` };
    await ok("POST", "/api/admin/orbs?publish=true", {
      id: "renamed-reviews",
      modules: [{ id: "reviews", type: "CONTENT", schemas: [{ id: "Review", fields: [field] }] }],
    });
    review = await ok("POST", "/api/renamed-reviews/reviews?publish=true", { values: { about: made.id } });

    const dry = await ok("PUT", `/api/admin/orbs/${orb}?dryRun=true`, documentOf(orb, "ProductVariant"));
    expect(dry).toMatchObject({
      refused: false,
      impact: {
        changes: [
          {
            severity: "renamed",
            code: "renamed_schema",
            schema: "ProductVariant",
            entries: 2,
            refused: false,
          },
          { severity: "renamed", code: "renamed_schema", schema: "ProductVariantOrder", entries: 1 },
          { severity: "renamed", code: "renamed_schema", schema: "ProductVariantView", entries: 1 },
        ],
      },
    });
    expect(dry.summary).toContain("renamed schema product-variant to ProductVariant (catalog)");
  });

  test("keeps its entries under the new path, and loses the old one", async () => {
    await ok("PUT", `/api/admin/orbs/${orb}?publish=true`, documentOf(orb, "ProductVariant"));
    expect((await call("GET", before)).status).toBe(404);
    const listed = await ok("GET", `${after}?revision=latest`);
    expect(listed.items).toMatchObject([
      { id: made.id, schema: "ProductVariant" },
      { id: draft.id, schema: "ProductVariant", values: { title: "C" } },
    ]);
    expect((await ok("GET", `${after}?filter[like]=${made.id}`)).items).toHaveLength(1);
    expect((await ok("GET", `${after}?filter[state]=new`)).items).toHaveLength(2);
    const managed = `/api/admin/orbs/${orb}/entries`;
    for (const query of ["", "?revision=published"])
      expect((await ok("GET", `${managed}/${draft.id}${query}`)).schema).toBe("ProductVariant");
    expect((await ok("GET", `${managed}/${draft.id}/revisions/1`)).schema).toBe("ProductVariant");
    const at = new Date(Date.now() + 1_000).toISOString();
    const items: { schema: string }[] = (await ok("GET", `${managed}?module=catalog&at=${at}`)).items;
    expect(items.map(({ schema }) => schema)).toEqual(["ProductVariant", "ProductVariant"]);
  });

  test("keeps cursors, unique values and the answers of idempotent requests", async () => {
    const next = await ok("GET", `${after}?limit=1&cursor=${cursor}`);
    expect(next.items.map(({ id }: { id: string }) => id)).toEqual([draft.id]);
    const taken = await call("POST", after, { values: { sku: "1" } });
    expect(taken).toMatchObject({ status: 409, body: { code: "unique_conflict" } });
    const again = await call("POST", `${after}?publish=true`, first, key);
    expect(again).toMatchObject({ status: 201, body: { id: made.id, schema: "ProductVariant" } });
    expect(again.headers.get("idempotent-replayed")).toBe("true");
  });

  test("keeps the references of other orbs, in both directions", async () => {
    const expanded = await ok("GET", `/api/renamed-reviews/reviews/${review.id}?expand=about`);
    expect(expanded.expand.about).toMatchObject({ id: made.id, schema: "ProductVariant" });
    await ok("POST", "/api/renamed-reviews/reviews?publish=true", { values: { about: draft.id } });
    const [view] = (await ok("GET", "/api/discovery?orb=renamed-reviews")).orbs;
    expect(view.modules[0].schemas[0].fields[0].options).toBe(after);
    const referred = await call("DELETE", `${after}/${made.id}`);
    expect(referred.body).toMatchObject({
      code: "referenced",
      referrers: [{ module: "catalog", schema: "ProductVariant", id: draft.id, field: "like" }],
    });
  });

  test("keeps records and settings", async () => {
    const repeated = await ok("POST", `/api/${orb}/record`, record);
    expect(repeated.schema).toBe("ProductVariantOrder");
    const { items } = await ok("POST", `/api/${orb}/list`, { module: "orders" });
    expect(items).toMatchObject([{ id: repeated.id, schema: "ProductVariantOrder" }]);
    const settings = await ok("POST", `/api/${orb}/get`, { module: "preferences" });
    expect(settings).toMatchObject({ schema: "ProductVariantView", values: { theme: "dark" }, revision: 1 });
    await ok("POST", `/api/${orb}/set`, { module: "preferences", values: { theme: "light" } });
  });

  test("accepts an entry that was read before, and writes under the new id from then on", async () => {
    const changed = await ok("PUT", `${after}/${made.id}?publish=true`, { ...made, values: first.values });
    expect(changed).toMatchObject({ schema: "ProductVariant", revision: 2 });
    const store = platform.operatorStore();
    const subject = `${orb}.content.owner.product-variant.${made.id}`;
    expect((await store.get(streams.orb(orb), subject))?.json()).toMatchObject({ schema: "ProductVariant" });
    const moved = await call("PUT", `${after}/${made.id}`, { ...made, schema: "HTTPServer2" });
    expect(moved.body.errors).toMatchObject([{ path: "/schema", code: "immutable" }]);
    expect(moved.body.errors[0].message).toContain('"ProductVariant"');
  });

  test("streams every entry and every deletion under the new id", async () => {
    await ok("POST", `${after}/${draft.id}/unpublish`);
    expect(await streamed(orb)).toMatchObject([
      { id: made.id, schema: "ProductVariant" },
      { id: draft.id, schema: "ProductVariant", tombstone: true },
    ]);
  });

  test("is exported under the new id, and an older export is imported under the id of its document", async () => {
    const exported = await lines(orb);
    const schemas = exported.flatMap(({ head }) => (head as { schema: string } | undefined)?.schema ?? []);
    expect(new Set(schemas)).toEqual(
      new Set(["ProductVariant", "ProductVariantOrder", "ProductVariantView"]),
    );
    await ok("DELETE", `/api/admin/orbs/${orb}`);
    const older = JSON.parse(
      JSON.stringify(exported).replaceAll('"schema":"ProductVariant"', '"schema":"product-variant"'),
    );
    expect((await importing(older)).status).toBe(201);
    const { items } = await ok("GET", `${after}?revision=latest`);
    expect(items.map(({ schema }: { schema: string }) => schema)).toEqual([
      "ProductVariant",
      "ProductVariant",
    ]);
  });

  test("can be renamed back", async () => {
    await ok("PUT", `/api/admin/orbs/${orb}?publish=true`, KEBAB(orb));
    expect((await ok("GET", `${before}/${made.id}`)).schema).toBe("product-variant");
  });
});

test("a rename amid writes loses none that was answered, and stores none twice", async () => {
  const orb = "amid";
  const [before, after] = [`/api/${orb}/catalog/product-variant`, `/api/${orb}/catalog/ProductVariant`];
  await ok("POST", "/api/admin/orbs?publish=true", KEBAB(orb));
  const renamed = documentOf(orb, "ProductVariant");
  const writes = Array.from({ length: 40 }, async (_, sku) => {
    const body = { values: { sku: String(sku) } };
    const headers = { "idempotency-key": `sku-${sku}` };
    const old = await call("POST", before, body, headers);
    const made = old.status === 404 ? await call("POST", after, body, headers) : old;
    return { sku: String(sku), status: made.status, id: made.body.id as string };
  });
  const [answers] = await Promise.all([
    Promise.all(writes),
    ok("PUT", `/api/admin/orbs/${orb}?publish=true`, renamed),
  ]);
  // A second attempt meets the old path or the new one, whichever is live by now.
  for (const answer of answers.filter(({ status }) => status === 404)) {
    const headers = { "idempotency-key": `sku-${answer.sku}` };
    const made = await call("POST", after, { values: { sku: answer.sku } }, headers);
    Object.assign(answer, { status: made.status, id: made.body.id });
  }
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
  const { items } = await ok("GET", `${after}?revision=latest&limit=200`);
  const stored = items.map(
    ({ id, values }: { id: string; values: { sku: string } }) => `${id} ${values.sku}`,
  );
  expect(stored.sort()).toEqual(answers.map(({ id, sku }) => `${id} ${sku}`).sort());
});

test("a schema with another name in subjects is another schema", async () => {
  const orb = "variants";
  await ok("POST", "/api/admin/orbs?publish=true", documentOf(orb, "ProductVariant"));
  await ok("POST", `/api/${orb}/catalog/ProductVariant`, { values: { title: "A" } });
  const answer = await call("PUT", `/api/admin/orbs/${orb}?publish=true`, documentOf(orb, "Variant"));
  expect(answer).toMatchObject({ status: 409, body: { code: "incompatible_change" } });
  expect(answer.body.detail).toContain("catalog/ProductVariant is removed");
});
