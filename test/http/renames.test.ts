/** Renames of fields, components, schemas and modules: stored values follow at once. */
import { beforeAll, describe, expect, test } from "vitest";
import { MASK } from "../../shared/definition/document/text.ts";
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

const put = (id: string, document: object) =>
  ok("PUT", `/api/admin/orbs/${id}?publish=true`, { id, ...document });

async function started(id: string, document: object): Promise<void> {
  await ok("POST", "/api/admin/orbs?publish=true", { id, ...document });
}

const OPEN = { read: "public" } as const;

interface Names {
  module?: object;
  schema?: object;
  component?: object;
  title?: object;
  sku?: object;
  text?: object;
  seo?: object;
  inner?: object;
  pin?: object;
  like?: object;
}

/** A document whose parts have these names. */
const shop = (orb: string, names: Names = {}) => {
  const module = { id: "catalog", ...names.module };
  const schema = { id: "product", ...names.schema };
  const component = { id: "quote", ...names.component };
  return {
    languages: ["en", "de"],
    components: [{ ...component, fields: [{ name: "text", type: "string", ...names.text }] }],
    modules: [
      {
        type: "CONTENT",
        ...module,
        schemas: [
          {
            ...schema,
            access: OPEN,
            fields: [
              { name: "title", type: "string", translatable: true, search: true, ...names.title },
              { name: "sku", type: "string", unique: true, index: "ordered", ...names.sku },
              {
                name: "seo",
                type: "object",
                fields: [{ name: "state", type: "string", enum: ["new", "used"], ...names.inner }],
                ...names.seo,
              },
              { name: "sections", type: "blocks", components: [component.id] },
              { name: "pin", type: "string", sensitive: true, ...names.pin },
              { name: "like", type: "reference", ref: `${orb}/${module.id}/${schema.id}`, ...names.like },
            ],
          },
        ],
      },
    ],
  };
};

const RENAMED: Names = {
  module: { id: "goods", was: "catalog" },
  schema: { id: "article", was: "product" },
  component: { id: "saying", was: "quote" },
  title: { name: "headline", was: "title" },
  sku: { name: "number", was: "sku" },
  text: { name: "words", was: "text" },
  seo: { name: "meta", was: "seo" },
  inner: { name: "condition", was: "state" },
  pin: { name: "code", was: "pin" },
  like: { name: "similar", was: "like" },
};

const VALUES = (number: string) => ({
  title: { en: `The chair ${number}`, de: `Der Stuhl ${number}` },
  sku: number,
  seo: { state: "new" },
  sections: [{ _type: "quote", text: `quoted ${number}` }],
  pin: `pin ${number}`,
});

describe("a field that is removed while one of its type is new", () => {
  const orb = "rename-or-remove";
  const fields = (...all: object[]) => ({
    modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "s", access: OPEN, fields: all }] }],
  });
  const [old, next] = [
    { name: "title", type: "string" },
    { name: "headline", type: "string" },
  ];
  const change = (document: object, query = "") =>
    call("PUT", `/api/admin/orbs/${orb}?publish=true${query}`, { id: orb, ...document });

  test("is asked about as long as an entry has a value of it", async () => {
    await started(orb, fields(old, { name: "count", type: "integer" }));
    // Without entries, nothing can be lost.
    expect((await change(fields(next), "&dryRun=true")).body).toMatchObject({ refused: false });
    await ok("POST", `/api/${orb}/m/s`, { values: { count: 1 } });
    expect((await change(fields(next), "&dryRun=true")).body).toMatchObject({ refused: false });
    const entry = await ok("POST", `/api/${orb}/m/s?publish=true`, { values: { title: "kept" } });
    const dry = await change(fields(next), "&dryRun=true");
    expect(dry.body.refused).toBe(true);
    expect(dry.body.impact.changes).toContainEqual(
      expect.objectContaining({
        severity: "removal",
        code: "removed_field",
        field: "title",
        candidates: ["headline"],
        message: expect.stringContaining(`add "was": "title"`),
        values: 1,
        refused: true,
        forceable: true,
      }),
    );
    const answer = await change(fields(next));
    expect(answer).toMatchObject({ status: 409, body: { code: "incompatible_change" } });
    expect(answer.body.detail).toContain("Rename or remove?");
    expect((await ok("GET", `/api/${orb}/m/s/${entry.id}`)).values).toEqual({ title: "kept" });

    // A field of another type is no candidate.
    const other = { name: "headline", type: "boolean" };
    expect((await change(fields(other), "&dryRun=true")).body).toMatchObject({ refused: false });

    // Both answers are possible.
    expect((await change(fields(next), "&dryRun=true&force=true")).body).toMatchObject({ refused: false });
    await put(orb, fields({ ...next, was: "title" }));
    expect((await ok("GET", `/api/${orb}/m/s/${entry.id}`)).values).toEqual({ headline: "kept" });
    const removed = await change(fields({ name: "heading", type: "string" }), "&force=true");
    expect(removed.status).toBe(200);
    expect((await ok("GET", `/api/${orb}/m/s/${entry.id}`)).values).toEqual({});
  });
});

test("a field becomes wider, and its values, indexes and unique values stay", async () => {
  const orb = "wider";
  const fields = (count: string, text: string) => ({
    modules: [
      {
        id: "m",
        type: "CONTENT",
        schemas: [
          {
            id: "s",
            access: OPEN,
            fields: [
              { name: "count", type: count, unique: true, index: "ordered" },
              { name: "text", type: text, search: true, translatable: true },
              { name: "o", type: "object", fields: [{ name: "n", type: count, enum: [1, 2] }] },
            ],
          },
        ],
      },
    ],
  });
  const base = `/api/${orb}/m/s`;
  await started(orb, fields("integer", "string"));
  const one = await ok("POST", `${base}?publish=true`, {
    values: { count: 2, text: { en: "some words" }, o: { n: 1 } },
  });
  await put(orb, fields("number", "text"));
  const half = await ok("POST", `${base}?publish=true`, {
    values: { count: 1.5, text: { en: "x".repeat(20_000) } },
  });
  const ids = async (query: string) =>
    (await ok("GET", `${base}?${query}`)).items.map(({ id }: { id: string }) => id);
  expect(await ids("sort=count")).toEqual([half.id, one.id]);
  expect(await ids("filter[count][gt]=1.75&sort=count")).toEqual([one.id]);
  expect(await ids("filter[count]=2")).toEqual([one.id]);
  expect(await ids("filter[o.n]=1")).toEqual([one.id]);
  expect(await ids("search=words")).toEqual([one.id]);
  expect((await call("POST", base, { values: { count: 2 } })).body).toMatchObject({
    code: "unique_conflict",
  });
  await ok("PATCH", `${base}/${one.id}?publish=true`, { values: { count: 2.5 } });
  expect((await call("POST", base, { values: { count: 2 } })).status).toBe(201);
  const back = await call("PUT", `/api/admin/orbs/${orb}?publish=true`, {
    id: orb,
    ...fields("integer", "string"),
  });
  expect(back).toMatchObject({ status: 409, body: { code: "incompatible_change" } });
});

test("a new field with an earlier name of another one has indexes and unique values of its own", async () => {
  const orb = "used-again";
  const found = { type: "string", unique: true, index: "ordered" };
  const fields = (...all: object[]) => ({
    modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "s", access: OPEN, fields: all }] }],
  });
  await started(orb, fields({ name: "code", ...found }));
  const one = await ok("POST", `/api/${orb}/m/s?publish=true`, { values: { code: "a" } });
  await put(orb, fields({ name: "number", was: "code", ...found }, { name: "code", ...found }));
  const two = await ok("POST", `/api/${orb}/m/s?publish=true`, { values: { number: "b", code: "a" } });
  const ids = async (query: string) =>
    (await ok("GET", `/api/${orb}/m/s?${query}`)).items.map(({ id }: { id: string }) => id);
  expect(await ids("filter[number]=a")).toEqual([one.id]);
  expect(await ids("filter[code]=a")).toEqual([two.id]);
  expect(await ids("filter[code][gte]=a&sort=code")).toEqual([two.id]);
  expect((await call("POST", `/api/${orb}/m/s`, { values: { code: "a" } })).status).toBe(409);
});

test("a reference to several schemas follows their renames", async () => {
  const orb = "renamed-targets";
  const document = (person: object, also: readonly object[] = []) => {
    const schemas = [{ id: "person", ...person }, ...also].map((one) => ({
      id: "person",
      access: OPEN,
      fields: [{ name: "name", type: "string" }],
      ...one,
    }));
    const refs = schemas.map(({ id }) => `${orb}/m/${id}`);
    const work = { id: "work", access: OPEN, fields: [{ name: "by", type: "reference", ref: refs }] };
    return { modules: [{ id: "m", type: "CONTENT", schemas: [...schemas, work] }] };
  };
  await started(orb, document({}));
  const ann = await ok("POST", `/api/${orb}/m/person?publish=true`, { values: { name: "Ann" } });
  const by = { schema: `${orb}/m/person`, id: ann.id };
  const work = await ok("POST", `/api/${orb}/m/work?publish=true`, { values: { by } });
  await put(orb, document({ id: "artist", was: "person" }, [{ id: "person" }]));
  const read = await ok("GET", `/api/${orb}/m/work/${work.id}?expand=by`);
  expect(read.values.by).toEqual({ schema: `${orb}/m/artist`, id: ann.id });
  expect(read.expand.by).toMatchObject({ schema: "artist", values: { name: "Ann" } });
  const eve = await ok("POST", `/api/${orb}/m/person?publish=true`, { values: { name: "Eve" } });
  const other = await ok("POST", `/api/${orb}/m/work?publish=true`, {
    values: { by: { schema: `${orb}/m/person`, id: eve.id } },
  });
  const second = await ok("GET", `/api/${orb}/m/work/${other.id}?expand=by`);
  expect(second.values.by).toEqual({ schema: `${orb}/m/person`, id: eve.id });
  expect(second.expand.by).toMatchObject({ schema: "person", values: { name: "Eve" } });
  await put(orb, document({ id: "artist" }, [{ id: "person" }]));
  expect((await ok("GET", `/api/${orb}/m/work/${work.id}`)).values.by.schema).toBe(`${orb}/m/artist`);
});

test("a link in rich text follows the rename of its schema", async () => {
  const orb = "renamed-links";
  const document = (id: string, more: object = {}) => {
    const page = { id, access: OPEN, fields: [{ name: "title", type: "string" }], ...more };
    const body = { name: "body", type: "richText", links: [`${orb}/m/${id}`] };
    return {
      modules: [{ id: "m", type: "CONTENT", schemas: [page, { id: "note", access: OPEN, fields: [body] }] }],
    };
  };
  await started(orb, document("page"));
  const page = await ok("POST", `/api/${orb}/m/page?publish=true`, { values: { title: "Home" } });
  const link = { _type: "link", _key: "l", reference: { schema: `${orb}/m/page`, id: page.id } };
  const children = [{ _type: "span", _key: "s", text: "home", marks: ["l"] }];
  const body = [{ _type: "block", _key: "b", markDefs: [link], children }];
  const note = await ok("POST", `/api/${orb}/m/note?publish=true`, { values: { body } });
  const referenceOf = async () =>
    (await ok("GET", `/api/${orb}/m/note/${note.id}`)).values.body[0].markDefs[0].reference;
  const at = (schema: string) => ({
    schema: `${orb}/m/${schema}`,
    id: page.id,
    path: `/api/${orb}/m/${schema}/${page.id}`,
  });
  expect(await referenceOf()).toEqual(at("page"));
  await put(orb, document("article", { was: "page" }));
  expect(await referenceOf()).toEqual(at("article"));
  await ok("PATCH", `/api/${orb}/m/note/${note.id}?publish=true`, {
    values: { body: [{ ...body[0], markDefs: [{ ...link, reference: at("article") }] }] },
  });
  expect(await referenceOf()).toEqual(at("article"));
  await put(orb, document("page", { was: "article" }));
  expect(await referenceOf()).toEqual(at("page"));
});

describe("a rename of everything", () => {
  test("keeps values, history, indexes, unique values, search, references and secrets", async () => {
    const orb = "renamed-all";
    await started(orb, shop(orb));
    const old = `/api/${orb}/catalog/product`;
    const first = await ok("POST", `${old}?publish=true`, { values: VALUES("a1") });
    const second = await ok("POST", `${old}?publish=true`, { values: { ...VALUES("b2"), like: first.id } });
    await ok("PATCH", `${old}/${second.id}`, { values: { sku: "b3" } });

    const dry = await ok("PUT", `/api/admin/orbs/${orb}?publish=true&dryRun=true`, {
      id: orb,
      ...shop(orb, RENAMED),
    });
    expect(dry.refused).toBe(false);
    const codes = dry.impact.changes.map(({ code, field }: Record<string, unknown>) => [code, field]);
    expect(codes).toEqual([
      ["renamed_module", undefined],
      ["renamed_schema", undefined],
      ["renamed_field", "headline"],
      ["renamed_field", "number"],
      ["renamed_field", "meta"],
      ["renamed_field", "meta.condition"],
      ["renamed_component", "sections"],
      ["renamed_field", "sections.words"],
      ["renamed_field", "code"],
      ["renamed_field", "similar"],
    ]);
    await put(orb, shop(orb, RENAMED));
    await allFound(orb, first.id, second.id);

    // The document may keep `was`, or lose it.
    await put(orb, { ...shop(orb, RENAMED), name: "Shop" });
    await allFound(orb, first.id, second.id);
    const without = Object.fromEntries(
      Object.entries(RENAMED).map(([part, { was: _, ...names }]) => [part, names]),
    );
    await put(orb, shop(orb, without));
    await allFound(orb, first.id, second.id);

    // The earlier document leads back to the same values, also to those that were written meanwhile.
    const article = `/api/${orb}/goods/article`;
    const third = await ok("POST", `${article}?publish=true`, {
      values: { headline: { en: "Third" }, number: "c4", sections: [{ _type: "saying", words: "new" }] },
    });
    await put(orb, shop(orb));
    const back = await ok("GET", `${old}/${first.id}?locale=*`);
    expect(back.values).toMatchObject({
      ...VALUES("a1"),
      pin: MASK,
      sections: [{ _type: "quote", text: "quoted a1" }],
    });
    expect((await ok("GET", `${old}/${third.id}`)).values).toMatchObject({
      title: "Third",
      sku: "c4",
      sections: [{ _type: "quote", text: "new" }],
    });
    expect((await ok("GET", `${old}?sort=sku`)).items.map((one: { id: string }) => one.id)).toEqual([
      first.id,
      second.id,
      third.id,
    ]);
  });

  async function allFound(orb: string, first: string, second: string): Promise<void> {
    const base = `/api/${orb}/goods/article`;
    const one = await ok("GET", `${base}/${first}?locale=*`);
    expect(one).toMatchObject({ module: "goods", schema: "article" });
    expect(one.values).toMatchObject({
      headline: { en: "The chair a1", de: "Der Stuhl a1" },
      number: "a1",
      meta: { condition: "new" },
      sections: [{ _type: "saying", words: "quoted a1" }],
      code: MASK,
    });
    expect(Object.keys(one.values)).not.toContain("title");
    const ids = async (query: string) =>
      (await ok("GET", `${base}?${query}`)).items.map(({ id }: { id: string }) => id);
    expect(await ids("filter[number]=a1")).toEqual([first]);
    expect(await ids("filter[meta.condition]=new&sort=-number")).toEqual([second, first]);
    expect(await ids("search=Stuhl&locale=de")).toHaveLength(2);
    expect(await ids(`filter[similar]=${first}`)).toEqual([second]);
    expect(await ids("filter[similar.number]=a1")).toEqual([second]);
    expect((await ok("GET", `${base}/by/number/a1`)).id).toBe(first);
    const expanded = await ok("GET", `${base}/${second}?expand=similar`);
    expect(expanded.expand.similar.values.headline).toBe("The chair a1");
    const revealed = await ok("GET", `/api/admin/orbs/${orb}/entries/${first}?reveal=true`);
    expect(revealed.values.code).toBe("pin a1");
    const taken = await call("POST", base, { values: { number: "a1" } });
    expect(taken.status).toBe(409);
    expect(taken.body.errors).toMatchObject([{ path: "/values/number", code: "unique" }]);
    const draft = await ok("GET", `${base}/${second}?revision=latest`);
    expect(draft.values.number).toBe("b3");
    const old = await ok("GET", `/api/admin/orbs/${orb}/entries/${second}/revisions/1`);
    expect(old.values).toMatchObject({ number: "b2", meta: { condition: "new" } });
    const compared = await ok(
      "GET",
      `/api/admin/orbs/${orb}/entries/${second}/revisions/2/compare?against=1`,
    ).catch(() => undefined);
    if (compared !== undefined)
      expect(compared.patch).toContainEqual({ op: "replace", path: "/values/number", value: "b3" });
    const referrers = await call("DELETE", `/api/admin/orbs/${orb}/entries/${first}`);
    expect(referrers.status).toBe(409);
    expect(JSON.stringify(referrers.body)).toContain('"field":"similar"');
  }
});
