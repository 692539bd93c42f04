/** References to one of several schemas: `{ "schema": "guide/people/person", "id": "…" }`. */
import { beforeAll, describe, expect, test } from "vitest";
import { adminToken, call, user } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

const PERSON = "guide/people/person";
const PRODUCT = "guide/catalog/product";
const SECRET = "guide/catalog/secret";
const any = { type: "reference", ref: [PRODUCT, PERSON, SECRET] };

const document = {
  id: "guide",
  languages: ["en", "de"],
  components: [
    {
      id: "quote",
      fields: [
        { name: "text", type: "string" },
        { name: "by", ...any },
      ],
    },
    { id: "list", fields: [{ name: "all", ...any, list: true }] },
  ],
  modules: [
    {
      id: "people",
      type: "CONTENT",
      schemas: [
        {
          id: "person",
          fields: [
            { name: "name", type: "string", unique: true },
            { name: "slug", type: "string", unique: true },
            { name: "born", type: "integer" },
          ],
        },
      ],
    },
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "product",
          fields: [
            { name: "name", type: "string", unique: true },
            { name: "price", type: "decimal", scale: 2 },
          ],
        },
        { id: "secret", access: { read: "admin" }, fields: [{ name: "name", type: "string", unique: true }] },
      ],
    },
    {
      id: "notes",
      type: "CONTENT",
      schemas: [
        {
          id: "note",
          access: { read: "public", write: "user" },
          fields: [
            { name: "title", type: "string", unique: true },
            { name: "slug", type: "string", unique: true },
            { name: "about", ...any },
            { name: "others", ...any, list: true },
            { name: "perLanguage", ...any, translatable: true },
            { name: "only", ...any, unique: true },
            { name: "former", type: "reference", ref: PRODUCT },
            { name: "seo", type: "object", fields: [{ name: "author", ...any }] },
            { name: "credits", type: "object", list: true, fields: [{ name: "to", ...any }] },
            { name: "sections", type: "blocks", components: ["quote", "list"] },
          ],
        },
      ],
    },
  ],
};

let platform: TestPlatform;
let token: string;
let ann: string;
let ada: string;
let bob: string;
let lamp: string;
let hidden: string;
const base = "/api/guide/notes";

const ask = (method: string, path: string, body?: unknown, as = token) =>
  call(platform, method, path, { token: as, ...(body === undefined ? {} : { body }) });

async function send(method: string, path: string, body?: unknown) {
  const answer = await ask(method, path, body);
  expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  return answer.body;
}

const note = (values: object, query = "?publish=true") => send("POST", `${base}${query}`, { values });
const idOf = async (path: string, values: object, query = "?publish=true"): Promise<string> =>
  (await send("POST", `/api/guide/${path}${query}`, { values })).id;
const person = (id: string) => ({ schema: PERSON, id });
const product = (id: string) => ({ schema: PRODUCT, id });
const titles = async (query: string): Promise<string[]> =>
  (await send("GET", `${base}?${query}`)).items.map(
    ({ values }: { values: { title: string } }) => values.title,
  );
const faults = async (values: object, query = "", as = token) => {
  const { status, body } = await ask("POST", `${base}${query}`, { values }, as);
  return [status, ...(body.errors ?? [body]).map(({ path, code }: Record<string, string>) => [path, code])];
};

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  await send("POST", "/api/admin/orbs?publish=true", document);
  ann = (await user(platform, "auth", "user")).token;
  ada = await idOf("people", { name: "Ada", slug: "ada", born: 1815 });
  bob = await idOf("people", { name: "Bob", slug: "bob", born: 1970 }, "");
  lamp = await idOf("catalog/product", { name: "Lamp", price: "12.50" });
  hidden = await idOf("catalog/secret", { name: "Plan" });
});

describe("writes", () => {
  test("keep the schema and the id, at any depth", async () => {
    const values = {
      title: "whole",
      about: person(ada),
      others: [product(lamp), person(ada)],
      perLanguage: { en: person(ada), de: product(lamp) },
      seo: { author: product(lamp) },
      credits: [{ _key: "a", to: person(ada) }],
      sections: [
        { _type: "quote", _key: "q", by: person(ada) },
        { _type: "list", _key: "l", all: [person(ada), product(lamp)] },
      ],
    };
    const { id } = await note(values);
    expect((await send("GET", `${base}/${id}?locale=*`)).values).toEqual(values);
    expect((await send("GET", `${base}/${id}?locale=de`)).values.perLanguage).toEqual(product(lamp));
  });

  test("take an id alone as an entry of the first schema", async () => {
    const made = await note({ about: lamp, others: [lamp, person(ada)] });
    expect(made.values).toMatchObject({ about: product(lamp), others: [product(lamp), person(ada)] });
    expect(await faults({ about: ada })).toEqual([422, ["/values/about", "unknown_reference"]]);
  });

  test("refuse other forms, schemas and entries, all at once", async () => {
    expect(
      await faults({
        about: { schema: "guide/notes/note", id: ada },
        others: [person("nope"), { id: ada }, { schema: PERSON, id: ada, name: "Ada" }, 7],
        seo: { author: person(lamp) },
        perLanguage: { en: {} },
      }),
    ).toEqual([
      422,
      ["/values/perLanguage/en", "type"],
      ["/values/about/schema", "enum"],
      ["/values/others/0/id", "format"],
      ["/values/others/1/schema", "required"],
      ["/values/others/2", "unknown_property"],
      ["/values/others/3", "type"],
      ["/values/seo/author", "unknown_reference"],
    ]);
  });

  test("refuse another schema for an id that the entry had before", async () => {
    const { id } = await note({ about: person(ada) });
    const wrong = await ask("PATCH", `${base}/${id}`, { values: { about: product(ada) } });
    expect([wrong.status, wrong.body.errors?.[0]?.code]).toEqual([422, "unknown_reference"]);
  });

  test("replace a reference as a whole in a patch", async () => {
    const { id } = await note({ about: person(ada), perLanguage: { en: person(ada) } });
    const values = {
      about: { schema: PRODUCT, name: "Lamp" },
      perLanguage: { de: { schema: PERSON, slug: "ada" } },
    };
    await send("PATCH", `${base}/${id}`, { values });
    const { values: after } = await send("GET", `${base}/${id}?locale=*&revision=latest`);
    expect(after).toMatchObject({ about: product(lamp), perLanguage: { en: person(ada), de: person(ada) } });
  });

  test("hold a unique reference for one entry", async () => {
    await note({ only: person(ada) });
    expect((await ask("POST", base, { values: { only: person(ada) } })).body.code).toBe("unique_conflict");
    await note({ only: product(lamp) });
  });

  test("refuse entries that the caller may not read", async () => {
    expect(await faults({ about: { schema: SECRET, id: hidden } }, "", ann)).toEqual([
      422,
      ["/values/about", "unknown_reference"],
    ]);
  });
});

describe("references by a unique value", () => {
  test("name the schema and the value", async () => {
    const made = await note({
      about: { schema: PERSON, slug: "ada" },
      others: [{ schema: PRODUCT, name: "Lamp" }, person(ada)],
      credits: [{ to: { schema: PERSON, name: "Ada" } }],
    });
    expect(made.values).toMatchObject({
      about: person(ada),
      others: [product(lamp), person(ada)],
      credits: [{ to: person(ada) }],
    });
  });

  test("are refused without a schema, and for values that no entry has", async () => {
    expect(
      await faults({
        about: { slug: "ada" },
        others: [
          { schema: PERSON, slug: "nope" },
          { schema: "x", slug: "a" },
        ],
      }),
    ).toEqual([
      422,
      ["/values/about", "type"],
      ["/values/others/1", "type"],
      ["/values/others/0", "unmatched_reference"],
    ]);
  });

  test("may refer to later lines of an upload", async () => {
    const lines = [
      {
        module: "notes",
        schema: "note",
        values: { title: "late", slug: "late", about: { schema: PERSON, slug: "eve" } },
      },
      { module: "people", schema: "person", values: { name: "Eve", slug: "eve" } },
    ];
    const body = lines.map((line) => JSON.stringify(line)).join("\n");
    const answer = await fetch(
      `${platform.origin}/api/admin/orbs/guide/entries/bulk?match=slug&on=upsert&publish=true`,
      {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
        body,
      },
    );
    const text = await answer.text();
    expect([answer.status, text.includes('"error"')], text).toEqual([200, false]);
    expect(await titles("filter[about.name]=Eve")).toEqual(["late"]);
  });
});

describe("life of the targets", () => {
  test("publishing requires published targets, and deletes name the entries that refer", async () => {
    const draft = await note({ about: person(bob) }, "");
    const refused = await ask("POST", `${base}/${draft.id}/publish`);
    expect([refused.status, refused.body.code, refused.body.errors[0].path]).toEqual([
      409,
      "reference_not_live",
      "/values/about",
    ]);
    const eva = await idOf("people", { name: "Eva", slug: "eva" });
    const { id } = await note({
      sections: [{ _type: "list", _key: "l", all: [product(lamp), person(eva)] }],
    });
    const deleted = await ask("DELETE", `/api/guide/people/${eva}`);
    expect([deleted.status, deleted.body.code]).toEqual([409, "referenced"]);
    expect(deleted.body.referrers).toEqual([{ module: "notes", schema: "note", id, field: "sections.all" }]);
  });

  test("expand gives each entry with its schema, or null", async () => {
    const { id } = await note({
      about: person(ada),
      others: [product(lamp), { schema: SECRET, id: hidden }],
      credits: [{ to: person(ada) }, { to: product(lamp) }],
    });
    const query = "expand=about,others,credits.to";
    const { expand } = await send("GET", `${base}/${id}?${query}`);
    expect(expand.about).toMatchObject({ module: "people", schema: "person", values: { name: "Ada" } });
    expect(expand.others).toMatchObject([
      { schema: "product", values: { price: "12.50" } },
      { schema: "secret" },
    ]);
    expect(expand["credits.to"]).toMatchObject({
      [ada]: { schema: "person" },
      [lamp]: { schema: "product" },
    });
    const anonymous = await call(platform, "GET", `${base}/${id}?${query}`);
    expect(anonymous.body.expand.others[1]).toBeNull();
    const listed = await send("GET", `${base}?filter[id]=${id}&${query}`);
    expect(listed.items[0].expand.about.values.name).toBe("Ada");
  });
});

describe("queries", () => {
  beforeAll(async () => {
    await note({ title: "q1", about: person(ada), others: [product(lamp)] });
    await note({ title: "q2", about: product(lamp), credits: [{ to: person(ada) }] });
    await note({ title: "q3" });
  });
  const only = "filter[title][in]=q1,q2,q3";

  test("filter by the id, through the references, and group", async () => {
    expect(await titles(`${only}&filter[about]=${ada}`)).toEqual(["q1"]);
    expect(await titles(`${only}&filter[about][in]=${ada},${lamp}`)).toEqual(["q1", "q2"]);
    expect(await titles(`${only}&filter[about][null]=true`)).toEqual(["q3"]);
    expect(await titles(`${only}&filter[others][contains]=${lamp}`)).toEqual(["q1"]);
    expect(await titles(`${only}&filter[credits.to]=${ada}`)).toEqual(["q2"]);
    expect(await titles(`${only}&filter[about.name]=Ada`)).toEqual(["q1"]);
    expect(await titles(`${only}&filter[about.name][in]=Ada,Lamp`)).toEqual(["q1", "q2"]);
    expect(await titles(`${only}&filter[about.price][gte]=12`)).toEqual(["q2"]);
    expect(await titles(`${only}&filter[not][about.born]=1815`)).toEqual(["q2", "q3"]);
    const grouped = await send("GET", `${base}?${only}&aggregate[n]=count&group=about`);
    expect(grouped.groups).toEqual(
      [ada, lamp, null].sort().map((about) => ({ key: { about }, values: { n: 1 } })),
    );
    const explained = await send("GET", `${base}?filter[about]=${ada}&explain=true`);
    expect(explained.explain.index).toBe("reference");
  });

  test("refuse a field that none of the schemas has, and orders", async () => {
    const wrong = await ask("GET", `${base}?filter[about.nope]=1`);
    expect([wrong.status, wrong.body.errors[0].code]).toEqual([400, "unknown_field"]);
    expect((await ask("GET", `${base}?sort=about`)).body.errors[0].code).toBe("not_sortable");
  });
});

describe("definitions", () => {
  const published = async (fields: object) => {
    const changed = structuredClone(document);
    changed.modules[2]?.schemas[0]?.fields.splice(6, 1, fields as never);
    const draft = await ask("PUT", "/api/admin/orbs/guide", changed);
    expect(draft.status, JSON.stringify(draft.body)).toBe(200);
    return ask("POST", "/api/admin/orbs/guide/publish");
  };
  const former = { name: "former", type: "reference" };

  test("one schema can become several: stored ids belong to the first one", async () => {
    const { id } = await note({ title: "old", former: lamp });
    const several = await published({ ...former, ref: [PRODUCT, PERSON] });
    expect(several.status, JSON.stringify(several.body)).toBe(200);
    expect((await send("GET", `${base}/${id}`)).values.former).toEqual(product(lamp));
    expect((await send("GET", `${base}/${id}?locale=*`)).values.former).toEqual(product(lamp));
    expect((await send("GET", `/api/admin/orbs/guide/entries/${id}`)).values.former).toEqual(product(lamp));
    expect((await send("GET", `${base}/${id}?expand=former`)).expand.former.values.name).toBe("Lamp");
    expect(await titles("filter[former.name]=Lamp")).toEqual(["old"]);
    await send("PATCH", `${base}/${id}?publish=true`, { values: { title: "older" } });
    expect(await titles(`filter[former]=${lamp}`)).toEqual(["older"]);
    expect((await ask("DELETE", `/api/guide/catalog/product/${lamp}`)).body.code).toBe("referenced");
    const back = await published({ ...former, ref: PRODUCT });
    expect([back.status, back.body.code]).toEqual([409, "incompatible_change"]);
    expect((await published({ ...former, ref: [PRODUCT] })).status).toBe(200);
  });

  test("list each schema once, and only schemas that exist", async () => {
    const broken = structuredClone(document);
    broken.modules[2]?.schemas[0]?.fields.push({
      name: "x",
      type: "reference",
      ref: [PERSON, PERSON, "guide/people/nope"],
    } as never);
    const { body } = await ask("PUT", "/api/admin/orbs/guide", broken);
    expect(body.errors.map(({ path, code }: Record<string, string>) => [path, code])).toEqual([
      ["/modules/2/schemas/0/fields/10/ref/1", "duplicate"],
      ["/modules/2/schemas/0/fields/10/ref/2", "unknown_reference"],
    ]);
  });
});
