/**
 * How a changed definition affects stored entries: a dry run reports it, harmful changes are refused, others are
 * applied.
 */
import { beforeAll, expect, test } from "vitest";
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
    modules: [{ id: "news", type: "CONTENT", schemas: [{ id: "article", fields, ...more }] }],
  };
}

const { call, withEntries } = evolving("evolve", document, () => ({ platform, token }));

test("a dry run reports the changes and the affected entries, and changes nothing", async () => {
  const { id, path } = await withEntries(
    [title, { name: "size", type: "integer" }],
    [
      { title: "a", size: 5 },
      { title: "b", size: 50 },
    ],
  );
  const next = document(id, [
    title,
    { name: "size", type: "integer", max: 10 },
    { name: "x", type: "string", required: true },
  ]);
  const dry = await call("PUT", `${path}?dryRun=true`, next);
  expect(dry.status).toBe(200);
  expect(dry.body).toMatchObject({
    dryRun: true,
    refused: false,
    summary: ["field size: max none → 10 (news/article)", "added field x: string (news/article)"],
    impact: {
      changes: [
        { severity: "tightened", code: "lowered_max", field: "size", entries: 2, refused: false },
        { severity: "tightened", code: "added_required", field: "x", entries: 2, refused: false },
      ],
      invalid: [{ module: "news", schema: "article", checked: 2, invalid: 2 }],
    },
  });
  expect((await call("GET", path)).body.revision).toBe(1);
  expect((await call("PUT", path, next)).status).toBe(200);
  expect((await call("POST", `${path}/publish?dryRun=true`)).body).toMatchObject({
    dryRun: true,
    refused: false,
  });
  expect((await call("POST", `${path}/publish`)).status).toBe(200);
});

test("a dry run of a publication lists the differences from what is live, also after a restore", async () => {
  const { id, path } = await withEntries([title], [{ title: "a" }]);
  expect(
    (await call("PUT", `${path}?publish=true`, document(id, [title, { name: "x", type: "string" }]))).status,
  ).toBe(200);
  expect((await call("POST", `${path}/revisions/1/restore`)).status).toBe(200);
  const { body } = await call("POST", `${path}/publish?dryRun=true`);
  expect(body.summary).toEqual(["removed field x (news/article)"]);
  expect(body.changes).toEqual([{ op: "remove", path: "/modules/0/schemas/0/fields/1" }]);
  expect((await call("POST", `${path}/publish`)).status).toBe(200);
});

test("a dry run counts the entries that have a value of a changed field", async () => {
  const size: Field = { name: "size", type: "integer" };
  const { id, path } = await withEntries(
    [title, size],
    [{ title: "a", size: 5 }, { title: "b" }, { title: "c" }],
  );
  const impactOf = async (fields: Field[]) =>
    (await call("PUT", `${path}?dryRun=true`, document(id, fields))).body.impact.changes;
  expect(await impactOf([title, { name: "size", type: "string" }])).toMatchObject([
    { code: "converted_field", field: "size", entries: 3, values: 1 },
  ]);
  expect(await impactOf([title])).toMatchObject([{ field: "size", entries: 3, values: 1 }]);
});

const dangerous: [string, Field][] = [
  ["type", { name: "title", type: "boolean" }],
  ["sensitive", { ...title, sensitive: true }],
];
test.each(dangerous)(
  "accepts a changed %s as a draft and refuses to publish it with 409 while entries are stored",
  async (attribute, field) => {
    const { id, path, ids } = await withEntries([title], [{ title: "a" }]);
    expect((await call("PUT", `${path}?dryRun=true`, document(id, [field]))).body).toMatchObject({
      refused: true,
      impact: {
        changes: [
          {
            severity: "dangerous",
            code: `changed_${attribute}`,
            entries: 1,
            refused: true,
            forceable: false,
          },
        ],
      },
    });
    expect((await call("PUT", path, document(id, [field]))).status).toBe(200);
    for (const query of ["", "?force=true"]) {
      const refused = await call("POST", `${path}/publish${query}`);
      expect(refused).toMatchObject({
        status: 409,
        body: { code: "incompatible_change", impact: { changes: [{ entries: 1 }] } },
      });
      expect(refused.body.detail).toMatch(
        /^The new document is incompatible with stored entries\. news\/article \(1 entry\): .* Use a new id or name for/,
      );
    }
    expect((await call("GET", `/api/admin/orbs/${id}`)).body).toMatchObject({
      revision: 2,
      publishedRevision: 1,
    });
    // Without entries the change is allowed.
    expect((await call("DELETE", `${path}/entries/${ids[0]}`)).status).toBe(204);
    expect((await call("POST", `${path}/publish`)).status).toBe(200);
  },
);

test("refuses to remove a schema with entries with 409, except with force", async () => {
  const { id, path, ids } = await withEntries([title], [{ title: "a" }, { title: "b" }]);
  const without = { id, modules: [] };
  expect(await call("PUT", `${path}?publish=true`, without)).toMatchObject({
    status: 409,
    body: {
      code: "incompatible_change",
      impact: { changes: [{ code: "removed_module", entries: 2, forceable: true }] },
    },
  });
  expect((await call("PUT", `${path}?publish=true&force=true`, without)).status).toBe(200);
  const feed = await platform
    .operatorStore()
    .scan(`ø${id}`, `${id}.content.public.>`, { fromSeq: 1, limit: 10 });
  expect(feed.messages).toEqual([]);
  // No entry is lost: they are live again when the schema returns.
  expect((await call("PUT", `${path}?publish=true`, document(id, [title]))).status).toBe(200);
  expect((await call("GET", `${path}/entries/${ids[0]}`)).body).toMatchObject({
    values: { title: "a" },
    status: "PUBLISHED",
  });
});

test("reserves stored values when a field becomes unique, and names duplicates in a 409", async () => {
  const { id, path, ids } = await withEntries([title], [{ title: "a" }, { title: "b" }, { title: "a" }]);
  const next = document(id, [{ ...title, unique: true }]);
  expect((await call("PUT", `${path}?dryRun=true`, next)).body).toMatchObject({
    refused: true,
    impact: { duplicates: [{ field: "title", ids: [ids[0], ids[2]] }] },
  });
  const refused = await call("PUT", `${path}?publish=true`, next);
  expect(refused).toMatchObject({
    status: 409,
    body: {
      code: "unique_conflict",
      impact: { duplicates: [{ module: "news", schema: "article", field: "title" }] },
    },
  });
  expect(
    (await call("PUT", `${path}/entries/${ids[2]}?publish=true`, { values: { title: "c" } })).status,
  ).toBe(200);
  expect((await call("PUT", `${path}?publish=true`, next)).status).toBe(200);
  const taken = await call("POST", `${path}/entries`, { module: "news", values: { title: "b" } });
  expect(taken).toMatchObject({
    status: 409,
    body: { code: "unique_conflict", errors: [{ path: "/values/title", code: "unique" }] },
  });
  expect((await call("PUT", `${path}/entries/${ids[1]}`, { values: { title: "b" } })).status).toBe(200);
});

test("moves live entries when a schema's read access changes", async () => {
  const { id, path } = await withEntries([title], [{ title: "a" }]);
  const roles = async () => {
    const store = platform.operatorStore();
    const live: Record<string, string> = {};
    for (const role of ["public", "user", "admin"]) {
      const page = await store.scan(`ø${id}`, `${id}.content.${role}.>`, { fromSeq: 1, limit: 10 });
      for (const message of page.messages)
        live[role] = message.json<{ tombstone?: true }>().tombstone === true ? "left" : "live";
    }
    return live;
  };
  expect(await roles()).toEqual({ public: "live" });
  expect(
    (await call("PUT", `${path}?publish=true`, document(id, [title], { access: { read: "admin" } }))).status,
  ).toBe(200);
  expect(await roles()).toEqual({ public: "left", admin: "live" });
});

test("still shows values that violate a new rule, and refuses them on the next write", async () => {
  const { path, id, ids } = await withEntries([title], [{ title: "long title" }]);
  expect((await call("PUT", `${path}?publish=true`, document(id, [{ ...title, max: 3 }]))).status).toBe(200);
  const entry = `${path}/entries/${ids[0]}`;
  const got = await call("GET", entry);
  expect(got).toMatchObject({ status: 200, body: { values: { title: "long title" } } });
  expect(await call("PUT", entry, got.body)).toMatchObject({
    status: 422,
    body: { errors: [{ path: "/values/title", code: "too_long" }] },
  });
});

test("drops values of removed languages and markets on the next write, instead of refusing it", async () => {
  const id = "evolve-places";
  const path = `/api/admin/orbs/${id}`;
  const fields: Field[] = [
    { ...title, translatable: true, required: true },
    { name: "teaser", type: "string", translatable: true },
    { name: "price", type: "number", marketSpecific: true },
    { name: "tags", type: "string", translatable: true, marketSpecific: true, list: true },
    { name: "secret", type: "string", translatable: true, marketSpecific: true, sensitive: true },
    { name: "data", type: "json", translatable: true },
  ];
  const at = (languages: string[], markets: string[]) => ({ ...document(id, fields), languages, markets });
  const before = at(["en", "de"], ["US", "EU"]);
  expect((await call("POST", "/api/admin/orbs?publish=true", before)).status).toBe(201);
  const values = {
    title: { en: "a", de: "A" },
    teaser: { de: "T" },
    price: { US: 1, EU: 2 },
    tags: { US: { en: ["x"], de: ["y"] }, EU: { de: ["z"] } },
    secret: { US: { en: "s1", de: "s2" }, EU: { en: "s3" } },
    data: { en: { de: 1, fr: 2 }, de: 3 },
  };
  const ids: string[] = [];
  for (const [query, sent] of [
    ["?publish=true", values],
    ["?publish=true", values],
    ["", values],
    ["", { title: { en: "only" } }],
  ] as const) {
    const made = await call("POST", `${path}/entries${query}`, { module: "news", values: sent });
    expect(made.status).toBe(201);
    ids.push(made.body.id);
  }

  const after = at(["en"], ["US"]);
  const { impact } = (await call("PUT", `${path}?dryRun=true`, after)).body;
  const codes = impact.changes.map(({ code, field }: { code: string; field: string }) => `${field} ${code}`);
  expect(codes).toEqual(expect.arrayContaining(["title removed_language", "tags removed_market"]));
  expect(impact.invalid).toEqual([
    { module: "news", schema: "article", checked: 4, invalid: 0, examples: [] },
  ]);
  // A required value is missing if its only languages were removed.
  const german = (await call("PUT", `${path}?dryRun=true`, at(["de"], ["US"]))).body.impact.invalid;
  expect(german).toMatchObject([
    { invalid: 1, examples: [{ id: ids[3], errors: [{ path: "/values/title/de", code: "required" }] }] },
  ]);
  expect((await call("PUT", `${path}?publish=true`, after)).status).toBe(200);

  const left = {
    title: { en: "a" },
    price: { US: 1 },
    tags: { US: { en: ["x"] } },
    secret: { US: { en: "s1" } },
    data: { en: { de: 1, fr: 2 } },
  };
  const entry = (index: number, more = "") => `${path}/entries/${ids[index]}${more}`;
  const revealed = async (index: number) => (await call("GET", entry(index, "?reveal=true"))).body.values;
  expect((await call("PUT", entry(0, "?locale=en"), { values: { title: "b" } })).status).toBe(200);
  expect(await revealed(0)).toEqual({ ...left, title: { en: "b" } });
  expect((await call("PUT", entry(1, "?market=US"), { values: { price: 5 } })).status).toBe(200);
  expect(await revealed(1)).toEqual({ ...left, price: { US: 5 } });
  expect((await call("POST", entry(2, "/publish"))).status).toBe(200);
  expect(await revealed(2)).toEqual(left);
  expect((await call("POST", entry(0, "/revisions/1/restore"))).status).toBe(200);
  expect(await revealed(0)).toEqual(left);

  // Values for removed languages and markets in the request itself are refused.
  const sent = await call("PUT", entry(0), { values: { title: { en: "a", de: "A" }, price: { EU: 2 } } });
  expect(sent).toMatchObject({
    status: 422,
    body: {
      errors: [
        { path: "/values/title/de", code: "unknown_language" },
        { path: "/values/price/EU", code: "unknown_market" },
      ],
    },
  });
});

test("accepts a change of the validity window alone, although the entry holds a removed language", async () => {
  const id = "evolve-window";
  const path = `/api/admin/orbs/${id}`;
  const fields = [{ ...title, translatable: true }];
  const both = { ...document(id, fields), languages: ["en", "de"] };
  expect((await call("POST", "/api/admin/orbs?publish=true", both)).status).toBe(201);
  const values = { title: { en: "a", de: "A" } };
  const made = await call("POST", `${path}/entries`, { module: "news", values });
  expect((await call("PUT", `${path}?publish=true`, document(id, fields))).status).toBe(200);
  const window = { validTo: "2100-01-01T00:00:00Z" };
  const put = await call("PUT", `${path}/entries/${made.body.id}`, window);
  expect(put).toMatchObject({ status: 200, body: { values: { title: { en: "a" } } } });
});

test("checks an update against stored entries while no revision is published", async () => {
  const id = "evolve-unpublished";
  const path = `/api/admin/orbs/${id}`;
  await call("POST", "/api/admin/orbs", document(id, [title]));
  expect((await call("POST", `${path}/entries`, { module: "news", values: { title: "a" } })).status).toBe(
    201,
  );
  expect((await call("PUT", path, document(id, [{ name: "title", type: "integer" }]))).status).toBe(409);
  expect((await call("PUT", path, document(id, [title, { name: "more", type: "string" }]))).status).toBe(200);
});

test("checks an older draft when it is published after the orb was unpublished", async () => {
  const { id, path } = await withEntries([title], [{ title: "a" }]);
  expect((await call("PUT", path, document(id, [{ name: "title", type: "integer" }]))).status).toBe(200);
  expect((await call("POST", `${path}/unpublish`)).status).toBe(200);
  expect((await call("POST", `${path}/publish`)).status).toBe(409);
});

test("a field that exists gets what a rule makes of several ones, until the earlier document is back", async () => {
  const factor: Field = { name: "factor", type: "integer" };
  const price: Field = { name: "price", type: "integer", index: "ordered" };
  const by = (convert: unknown) => ({ from: { convert } });
  const product = { "*": [{ var: "values.price" }, { var: "values.factor" }] };
  const total: Field = { name: "price", type: "decimal", scale: 2, index: "ordered", ...by(product) };
  const { id, path, ids } = await withEntries(
    [price, factor],
    [
      { price: 3, factor: 2 },
      { price: 5, factor: 2 },
      { price: 900, factor: 2 },
    ],
  );
  const [one, other, large] = ids;
  const entry = (which: string | undefined) => `${path}/entries/${which}`;
  const before = (await call("GET", path)).body.revision;
  const next = document(id, [{ ...total, max: "1000" }, factor]);
  expect((await call("PUT", `${path}?dryRun=true&publish=true`, next)).body).toMatchObject({
    refused: true,
    impact: {
      changes: expect.arrayContaining([
        expect.objectContaining({
          ...{ code: "converted_field", field: "price", refused: true },
          lossy: { entries: 1, examples: [{ id: large, reason: expect.stringContaining("1000") }] },
        }),
      ]),
    },
  });
  expect((await call("DELETE", entry(large))).status).toBe(204);
  expect((await call("PUT", `${path}?publish=true`, next)).status).toBe(200);
  const listed = async (query: string) =>
    (await call("GET", `/api/${id}/news?${query}`)).body.items.map(
      ({ values }: { values: { price: unknown } }) => values.price,
    );
  expect(await listed("sort=-price")).toEqual(["10.00", "6.00"]);
  expect(await listed("filter[price][gt]=7")).toEqual(["10.00"]);
  // A caller that names the earlier revision sees a value that no write has changed, and can neither replace nor remove it.
  const pinned = async (which: string | undefined) =>
    (await call("GET", `/api/${id}/news/${which}`, undefined, { "orb-definition": String(before) })).body
      .values;
  expect(await pinned(one)).toEqual({ price: 3, factor: 2 });
  expect((await call("PATCH", entry(one), { values: { factor: 2 } })).status).toBe(200);
  expect((await call("POST", `${entry(one)}/publish`)).status).toBe(200);
  expect(await pinned(one)).toEqual({ price: 3, factor: 2 });
  const old = { "orb-definition": String(before) };
  for (const values of [{ price: 4 }, { price: null }])
    expect((await call("PATCH", `/api/${id}/news/${one}`, { values }, old)).body.code).toBe("shape_conflict");
  expect((await call("PUT", `/api/${id}/news/${one}`, { values: { factor: 2 } }, old)).status).toBe(409);
  expect((await call("PATCH", entry(other), { values: { price: "12.00" } })).status).toBe(200);
  expect((await call("POST", `${entry(other)}/publish`)).status).toBe(200);

  // The earlier document lacks the value that was written meanwhile, until its rule makes it.
  const back = (field: Field) => document(id, [field, factor]);
  expect((await call("PUT", `${path}?publish=true`, back(price))).body.code).toBe("incompatible_change");
  const halved = { ...price, ...by({ "/": [{ var: "value" }, 2] }) };
  expect((await call("PUT", `${path}?publish=true`, back(halved))).status).toBe(200);
  expect(await listed("sort=price")).toEqual([3, 6]);
  // No response shows the mark of the rule.
  const revision = await call("GET", `${entry(one)}/revisions/2`);
  expect(revision.body.values).toEqual({ price: 3, factor: 2 });
  const past = await call("GET", `${entry(one)}?at=${encodeURIComponent(revision.body.at)}`);
  expect(past.body.values).toEqual({ price: 3, factor: 2 });
  expect((await call("GET", `${entry(one)}/revisions/2?against=1`)).body.patch).toEqual([]);
  // With the way back, such a caller sees the values of the rule, too.
  expect((await call("PUT", `${path}?publish=true`, document(id, [total, factor]))).status).toBe(200);
  expect(await listed("sort=price")).toEqual(["6.00", "12.00"]);
  expect([await pinned(one), await pinned(other)]).toEqual([
    { price: 3, factor: 2 },
    { price: 6, factor: 2 },
  ]);
});

test("a new field has what a rule makes of several earlier ones, until the earlier document is back", async () => {
  const names = ["first", "last"].map((name): Field => ({ name, type: "string", index: "ordered" }));
  const full: Field = {
    name: "name",
    type: "string",
    unique: true,
    index: "ordered",
    search: true,
    from: { convert: { cat: [{ var: "values.first" }, " ", { var: "values.last" }] } },
  };
  const { id, path, ids } = await withEntries(names, [
    { first: "Ann", last: "Lee" },
    { first: "Bo", last: "Ray" },
    { first: "Bo", last: "Ray" },
    { first: "A name that is", last: "too long for the field" },
  ]);
  const [ann, , twin, long] = ids;
  const next = document(id, [{ ...full, max: 20 }]);
  const dry = await call("PUT", `${path}?dryRun=true&publish=true`, next);
  expect(dry.body).toMatchObject({
    refused: true,
    summary: expect.arrayContaining([
      'field name: from none → {"convert":{"cat":[{"var":"values.first"}," ",{"var":"values.last"}]}} (news/article)',
    ]),
    impact: {
      changes: expect.arrayContaining([
        expect.objectContaining({
          code: "converted_field",
          field: "name",
          refused: true,
          values: 4,
          lossy: { entries: 1, examples: [{ id: long, reason: expect.stringContaining("at most 20") }] },
        }),
      ]),
    },
  });
  expect((await call("PUT", `${path}?publish=true`, next)).body.code).toBe("incompatible_change");
  const entry = (one: string | undefined) => `${path}/entries/${one}`;
  expect((await call("DELETE", entry(long))).status).toBe(204);
  // Two entries would have the same unique value.
  expect((await call("PUT", `${path}?publish=true`, next)).body.code).toBe("unique_conflict");
  expect((await call("PATCH", entry(twin), { values: { first: "Cy" } })).status).toBe(200);
  expect((await call("POST", `${entry(twin)}/publish`)).status).toBe(200);
  expect((await call("PUT", `${path}?publish=true`, next)).status).toBe(200);

  const listed = async (query: string) =>
    (await call("GET", `/api/${id}/news?${query}`)).body.items.map(
      ({ values }: { values: { name: string } }) => values.name,
    );
  expect(await listed("sort=-name")).toEqual(["Cy Ray", "Bo Ray", "Ann Lee"]);
  expect(await listed("filter[name]=Ann%20Lee")).toEqual(["Ann Lee"]);
  await expect.poll(() => listed("search=ray&sort=name")).toEqual(["Bo Ray", "Cy Ray"]);
  expect((await call("GET", `/api/${id}/news/by/name/Cy%20Ray`)).body.id).toBe(twin);
  const copy = await call("POST", `${path}/entries`, { module: "news", values: { name: "Ann Lee" } });
  expect(copy.body.code).toBe("unique_conflict");
  // The history shows the field, too.
  const past = await call("GET", `${entry(twin)}/revisions/1`);
  expect(past.body.values).toMatchObject({ name: "Bo Ray" });
  expect((await call("PATCH", entry(ann), { values: { name: "Ann Poe" } })).body.values).toEqual({
    name: "Ann Poe",
  });

  // The earlier document lacks the values that were written meanwhile, until its rules make them.
  const earlier = document(id, names);
  const refused = await call("PUT", `${path}?publish=true`, earlier);
  expect([refused.status, refused.body.code]).toEqual([409, "incompatible_change"]);
  expect(JSON.stringify(refused.body.impact)).toContain("Ann Poe");
  const cut = (from: number, length?: number) => ({
    from: { convert: { substr: [{ var: "values.name" }, from, ...(length === undefined ? [] : [length])] } },
  });
  const [one, two] = names as [Field, Field];
  const back = document(id, [
    { ...one, ...cut(0, 3) },
    { ...two, ...cut(4) },
  ]);
  expect((await call("PUT", `${path}?publish=true`, back)).status).toBe(200);
  expect((await call("GET", entry(ann))).body.values).toEqual({ first: "Ann", last: "Poe" });
  expect((await call("GET", entry(twin))).body.values).toEqual({ first: "Cy", last: "Ray" });
  const sorted = await call("GET", `/api/${id}/news?sort=first&filter[last]=Ray`);
  expect(sorted.body.items.map(({ values }: { values: object }) => values)).toEqual([
    { first: "Bo", last: "Ray" },
    { first: "Cy", last: "Ray" },
  ]);
});
