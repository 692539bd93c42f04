/** Values inside objects, lists of objects and blocks keep every promise of a field of the schema. */
import { beforeAll, describe, expect, test } from "vitest";
import { MASK } from "../../shared/definition/document/text.ts";
import { adminToken, call } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { sending } from "../support/sending.ts";

const document = {
  id: "magazine",
  languages: ["en", "de"],
  markets: ["US", "EU"],
  components: [
    {
      id: "quote",
      fields: [
        { name: "text", type: "text", translatable: true, required: true, search: true },
        { name: "by", type: "reference", ref: "magazine/people/person" },
      ],
    },
    {
      id: "gallery",
      fields: [
        { name: "caption", type: "string", translatable: true },
        { name: "images", type: "file", list: true, accept: ["text/plain"] },
        { name: "by", type: "reference", ref: "magazine/people/person" },
      ],
    },
    {
      id: "contact",
      fields: [
        { name: "city", type: "string", required: true, max: 20 },
        { name: "kind", type: "string", enum: ["home", "work"], default: "home" },
        { name: "pin", type: "string", sensitive: true },
        { name: "place", type: "object", fields: [{ name: "street", type: "string", pattern: "^[A-Z]" }] },
      ],
    },
  ],
  modules: [
    {
      id: "people",
      type: "CONTENT",
      schemas: [{ id: "person", fields: [{ name: "name", type: "string" }] }],
    },
    {
      id: "pages",
      type: "CONTENT",
      schemas: [
        {
          id: "page",
          fields: [
            { name: "title", type: "string" },
            {
              name: "seo",
              type: "object",
              fields: [
                { name: "title", type: "string", max: 60, translatable: true, search: true },
                { name: "slug", type: "string", unique: true },
                { name: "rank", type: "integer", index: "ordered" },
                { name: "state", type: "string", enum: ["draft", "done"] },
                { name: "author", type: "reference", ref: "magazine/people/person" },
                { name: "secret", type: "string", sensitive: true },
              ],
            },
            {
              name: "teaser",
              type: "object",
              translatable: true,
              fields: [
                { name: "text", type: "string" },
                { name: "link", type: "string" },
              ],
            },
            { name: "contacts", type: "object", list: true, component: "contact" },
            { name: "sections", type: "blocks", components: ["quote", "gallery"] },
          ],
        },
      ],
    },
  ],
};

let platform: TestPlatform;
let token: string;
const base = "/api/magazine/pages";
const people = "/api/magazine/people";

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body: document });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
});

const { ask, send } = sending(() => ({ platform, token }));

const page = (values: object, query = "?publish=true") => send("POST", `${base}${query}`, { values });
const stored = async (id: string) => (await send("GET", `${base}/${id}?locale=*&revision=latest`)).values;
const patch = (id: string, values: object, query = "") => send("PATCH", `${base}/${id}${query}`, { values });
const person = async (name: string) =>
  (await send("POST", `${people}?publish=true`, { values: { name } })).id;
const ids = async (query: string): Promise<string[]> =>
  (await send("GET", `${base}?${query}`)).items.map(({ id }: { id: string }) => id);

describe("validation", () => {
  test("reports all faults at once, with pointers to the values", async () => {
    const answer = await ask("POST", base, {
      values: {
        seo: { title: { en: "x".repeat(61), fr: "non" }, rank: 1.5, nope: 1 },
        contacts: [{ city: "Oslo", place: { street: "low" } }, { kind: "car" }, 3, { _key: "-", city: "A" }],
        sections: [{ _type: "quote", text: { de: "nur" } }, { _type: "video" }, { caption: { en: "x" } }],
        teaser: { text: "no language" },
      },
    });
    expect(answer.status).toBe(422);
    const faults = answer.body.errors.map(
      ({ path, code }: { path: string; code: string }) => `${path} ${code}`,
    );
    expect(faults.sort()).toEqual(
      [
        "/values/seo/title/en too_long",
        "/values/seo/title/fr unknown_language",
        "/values/seo/rank type",
        "/values/seo/nope unknown_property",
        "/values/contacts/0/place/street pattern",
        "/values/contacts/1/city required",
        "/values/contacts/1/kind enum",
        "/values/contacts/2 type",
        "/values/contacts/3/_key format",
        "/values/sections/0/text/en required",
        "/values/sections/1/_type enum",
        "/values/sections/2/_type required",
        "/values/teaser/text unknown_language",
      ].sort(),
    );
  });

  test("gives keys to items, applies defaults, and keeps the keys of an unchanged list", async () => {
    const { id, values } = await page({
      contacts: [{ city: "Oslo" }, { _key: "b", city: "Rome", kind: "work" }],
    });
    const [first, second] = values.contacts;
    expect(first).toEqual({ _key: expect.stringMatching(/^[a-z0-9]{12}$/), city: "Oslo", kind: "home" });
    expect(second).toEqual({ _key: "b", city: "Rome", kind: "work" });
    await send("PUT", `${base}/${id}`, {
      values: {
        contacts: [
          { city: "Oslo", kind: "home" },
          { city: "Rome", kind: "work" },
        ],
      },
    });
    expect((await stored(id)).contacts).toEqual([first, second]);
  });

  test("rejects duplicate keys, and too many values in bounded time", async () => {
    const twice = await ask("POST", base, {
      values: {
        contacts: [
          { _key: "a", city: "A" },
          { _key: "a", city: "B" },
        ],
      },
    });
    expect(twice.body.errors).toMatchObject([{ path: "/values/contacts/1/_key", code: "duplicate" }]);
    const many = Array.from({ length: 1_001 }, () => ({ city: "A" }));
    expect((await ask("POST", base, { values: { contacts: many } })).body.errors).toMatchObject([
      { code: "too_many" },
    ]);
  });
});

describe("languages", () => {
  test("shows, keeps and names the languages of values inside objects", async () => {
    const { id } = await page({
      seo: { title: { en: "Hello", de: "Hallo" }, rank: 3 },
      teaser: { en: { text: "Read", link: "/en" } },
      sections: [{ _key: "q", _type: "quote", text: { en: "To be" } }],
    });
    const german = await send("GET", `${base}/${id}?locale=de`);
    expect(german.values).toMatchObject({
      seo: { title: "Hallo", rank: 3 },
      teaser: { text: "Read", link: "/en" },
      sections: [{ _key: "q", _type: "quote", text: "To be" }],
    });
    expect(german.fallback).toEqual({ teaser: { language: "en" }, "sections.text": { language: "en" } });
    // Sending a response back stores nothing that was filled in.
    await send("PUT", `${base}/${id}?locale=de`, german);
    expect((await stored(id)).sections).toEqual([{ _key: "q", _type: "quote", text: { en: "To be" } }]);
    await send("PUT", `${base}/${id}?locale=de`, {
      values: { seo: { title: "Servus" }, sections: [{ _key: "q", _type: "quote", text: "Sein" }] },
    });
    expect(await stored(id)).toMatchObject({
      seo: { title: { en: "Hello", de: "Servus" }, rank: 3 },
      sections: [{ _key: "q", _type: "quote", text: { en: "To be", de: "Sein" } }],
    });
    expect(await ids("missing=de&filter[seo.title][null]=false")).toContain(id);
  });
});

describe("patches", () => {
  test("merge into objects, and change, add, move and remove single items", async () => {
    const { id } = await page({
      seo: { title: { en: "A" }, rank: 1 },
      contacts: ["a", "b", "c"].map((key) => ({ _key: key, city: key.toUpperCase() })),
    });
    await patch(id, { seo: { rank: 2 }, contacts: { b: { city: "Bergen" }, a: null } });
    await patch(id, { contacts: { d: { city: "D", _after: null }, b: { _after: "c" } } });
    const values = await stored(id);
    expect(values.seo).toEqual({ title: { en: "A" }, rank: 2 });
    expect(values.contacts.map(({ _key, city }: { _key: string; city: string }) => [_key, city])).toEqual([
      ["d", "D"],
      ["c", "C"],
      ["b", "Bergen"],
    ]);
    const gone = await ask("PATCH", `${base}/${id}`, { values: { contacts: { a: { city: "Again" } } } });
    expect(gone.body.errors).toMatchObject([{ path: "/values/contacts/a", code: "unknown_item" }]);
  });

  test("change one language of one block", async () => {
    const { id } = await page({
      sections: ["x", "y"].map((_key) => ({ _key, _type: "quote", text: { en: _key } })),
    });
    await patch(id, { sections: { y: { text: "Ypsilon" } } }, "?locale=de");
    await patch(id, { sections: { z: { _type: "gallery", caption: { en: "Z" }, _after: "x" } } });
    expect((await stored(id)).sections).toEqual([
      { _key: "x", _type: "quote", text: { en: "x" } },
      { _key: "z", _type: "gallery", caption: { en: "Z" } },
      { _key: "y", _type: "quote", text: { en: "y", de: "Ypsilon" } },
    ]);
    await patch(id, { teaser: { text: "Los" } }, "?locale=de");
    await patch(id, { teaser: { link: "/de" } }, "?locale=de");
    expect((await stored(id)).teaser).toEqual({ de: { text: "Los", link: "/de" } });
  });

  test("of two editors who change two items at the same time both win", async () => {
    const { id } = await page({ contacts: ["a", "b", "c", "d"].map((_key) => ({ _key, city: "0" })) });
    for (let round = 1; round <= 5; round++)
      await Promise.all(
        ["a", "b", "c", "d"].map((key) => patch(id, { contacts: { [key]: { city: `${round}` } } })),
      );
    expect((await stored(id)).contacts.map(({ city }: { city: string }) => city)).toEqual([
      "5",
      "5",
      "5",
      "5",
    ]);
  });
});

describe("lists", () => {
  test("filter, sort, group and search by values inside objects", async () => {
    const rows = await Promise.all(
      [3, 1, 2].map((rank) =>
        page({
          title: "sorted",
          seo: {
            rank,
            slug: `slug-${rank}`,
            state: rank === 1 ? "draft" : "done",
            title: { en: `Kiwi ${rank}` },
          },
          contacts: [{ city: `City${rank}` }, { city: "Oslo" }],
          sections: [{ _type: "quote", text: { en: `Persimmon ${rank}` } }],
        }),
      ),
    );
    const [three, one, two] = rows.map(({ id }) => id);
    const own = "filter[title]=sorted";
    expect(await ids(`${own}&sort=seo.rank`)).toEqual([one, two, three]);
    expect(await ids("sort=-seo.rank&filter[seo.rank][gte]=2&filter[title]=sorted")).toEqual([three, two]);
    expect(await ids("filter[seo.slug]=slug-2")).toEqual([two]);
    expect(await ids(`${own}&filter[seo.state]=draft`)).toEqual([one]);
    expect(await ids(`${own}&filter[contacts.city]=City3`)).toEqual([three]);
    expect((await ids(`${own}&filter[contacts.city]=Oslo`)).length).toBe(3);
    expect(await ids("search=Kiwi 2")).toEqual([two]);
    expect((await ids("search=persimmon")).length).toBe(3);
    const groups = await send(
      "GET",
      `${base}?aggregate[n]=count&aggregate[sum]=sum(seo.rank)&group=seo.state&${own}`,
    );
    expect(groups.groups).toEqual([
      { key: { "seo.state": "done" }, values: { n: 2, sum: 5 } },
      { key: { "seo.state": "draft" }, values: { n: 1, sum: 1 } },
    ]);
    const refused = await ask("GET", `${base}?sort=contacts.city`);
    expect(refused.body.errors).toMatchObject([{ code: "not_sortable" }]);
  });

  test("reject a duplicate of a unique value inside an object", async () => {
    await page({ seo: { slug: "only" } });
    const again = await ask("POST", base, { values: { seo: { slug: "only" } } });
    expect(again.status).toBe(409);
    expect(JSON.stringify(again.body)).toContain("/values/seo/slug");
  });
});

describe("references", () => {
  test("are checked, expanded and listed at every depth", async () => {
    const [ada, bob] = [await person("Ada"), await person("Bob")];
    const wrong = await ask("POST", base, { values: { sections: [{ _type: "gallery", by: "0zzzzzzzzz" }] } });
    expect(wrong.body.errors).toMatchObject([{ path: "/values/sections/0/by", code: "unknown_reference" }]);
    const { id } = await page({
      seo: { author: ada },
      sections: [
        { _type: "quote", text: { en: "T" }, by: ada },
        { _type: "gallery", by: bob },
      ],
    });
    const { expand } = await send("GET", `${base}/${id}?expand=seo.author,sections.by`);
    expect(expand["seo.author"].values.name).toBe("Ada");
    expect(Object.keys(expand["sections.by"]).sort()).toEqual([ada, bob].sort());
    expect(expand["sections.by"][bob].values.name).toBe("Bob");
    expect(await ids(`filter[seo.author]=${ada}`)).toEqual([id]);
    expect(await ids("filter[seo.author.name]=Ada")).toEqual([id]);
    expect(await ids(`filter[sections.by]=${bob}`)).toEqual([id]);
    const refused = await ask("DELETE", `${people}/${bob}`);
    expect(refused.status).toBe(409);
    expect(refused.body.referrers).toMatchObject([{ id, field: "sections.by" }]);
  });

  test("must be live when the entry is published", async () => {
    const { id: draft } = await send("POST", people, { values: { name: "Draft" } });
    const answer = await ask("POST", `${base}?publish=true`, {
      values: { sections: [{ _type: "gallery", by: draft }] },
    });
    expect(answer.body).toMatchObject({
      code: "reference_not_live",
      errors: [{ path: "/values/sections/0/by" }],
    });
  });
});

describe("sensitive values", () => {
  test("are masked and sealed inside objects and lists, and masks keep them", async () => {
    const { id, values } = await page({
      seo: { secret: "s3cret" },
      contacts: [
        { _key: "a", city: "A", pin: "1111" },
        { _key: "b", city: "B", pin: "2222" },
      ],
    });
    expect(values.seo.secret).toBe(MASK);
    expect(values.contacts.map(({ pin }: { pin: string }) => pin)).toEqual([MASK, MASK]);
    const contacts = [...values.contacts].reverse();
    await send("PUT", `${base}/${id}`, { values: { ...values, contacts } });
    const revealed = await send("GET", `${base}/${id}?reveal=true&locale=*&revision=latest`);
    expect(revealed.values.seo.secret).toBe("s3cret");
    expect(revealed.values.contacts.map(({ pin }: { pin: string }) => pin)).toEqual(["2222", "1111"]);
    const none = await ask("PATCH", `${base}/${id}`, {
      values: { contacts: { c: { city: "C", pin: MASK, _after: "a" } } },
    });
    expect(none.body.errors).toMatchObject([{ code: "mask" }]);
  });
});

test("history shows a moved item as a move", async () => {
  const { id } = await page({ contacts: ["a", "b", "c"].map((_key) => ({ _key, city: _key })) });
  await patch(id, { contacts: { c: { _after: null, city: "Z" } } });
  const path = `/api/admin/orbs/magazine/entries/${id}/revisions/2?against=1`;
  const answer = await ask("GET", path);
  expect(JSON.stringify(answer.body)).toContain(
    '"op":"move","from":"/values/contacts/2","path":"/values/contacts/0"',
  );
});

test("conditions of a batch read values inside objects, and no sensitive ones", async () => {
  const { id } = await page({
    seo: { title: { en: "Hello", de: "Hallo" }, rank: 3, secret: "s3cret" },
    sections: [{ _type: "quote", _key: "q", text: { en: "To be" } }],
  });
  const ranked = async (rule: unknown) => {
    const item = { update: `pages/page/${id}`, values: { title: "Checked" }, if: rule };
    return (await ask("POST", "/api/magazine/batch", { do: [item] })).status;
  };
  expect(await ranked({ "==": [{ var: "values.seo.title" }, "Hello"] })).toBe(200);
  expect(await ranked({ ">": [{ var: "values.seo.rank" }, 2] })).toBe(200);
  const isQuote = { and: [{ "==": [{ var: "_type" }, "quote"] }, { "==": [{ var: "text" }, "To be"] }] };
  expect(await ranked({ some: [{ var: "values.sections" }, isQuote] })).toBe(200);
  expect(await ranked({ ">": [{ var: "values.seo.rank" }, 3] })).toBe(412);
  expect(await ranked({ "!!": [{ var: "values.seo.secret" }] })).toBe(412);
});
