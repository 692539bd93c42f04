/** `required: "allLanguages"`: drafts may lack languages, published entries may not. */
import { beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

const text = { type: "string", translatable: true, required: "allLanguages" };
const document = {
  id: "leaflet",
  languages: ["en", "de", "fr"],
  markets: ["US", "EU"],
  components: [{ id: "quote", fields: [{ name: "text", ...text }] }],
  modules: [
    {
      id: "pages",
      type: "CONTENT",
      schemas: [
        {
          id: "page",
          fields: [
            { name: "title", ...text },
            { name: "deal", ...text, marketSpecific: true, required: false },
            { name: "seo", type: "object", fields: [{ name: "title", ...text }] },
            { name: "sections", type: "blocks", components: ["quote"] },
          ],
        },
      ],
    },
  ],
};

let platform: TestPlatform;
let token: string;
const base = "/api/leaflet/pages";
const all = { en: "a", de: "b", fr: "c" };

const ask = (method: string, path: string, body?: unknown) =>
  call(platform, method, path, { token, ...(body === undefined ? {} : { body }) });
const places = (body: { errors?: { path: string; code: string }[] }) =>
  body.errors?.map(({ path, code }) => `${code} ${path}`);

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  const made = await ask("POST", "/api/admin/orbs?publish=true", document);
  expect(made.status, JSON.stringify(made.body)).toBe(201);
});

test("drafts need the default language only; publishing names every missing language, at any depth", async () => {
  const none = await ask("POST", base, { values: { title: { de: "b" } } });
  expect([none.status, places(none.body)]).toEqual([422, ["required /values/title/en"]]);
  const values = {
    title: { en: "a", fr: "" },
    seo: { title: { en: "a", de: "b" } },
    sections: [{ _type: "quote", _key: "q", text: { en: "a" } }],
  };
  const draft = await ask("POST", base, { values });
  expect(draft.status).toBe(201);
  const missing = [
    "required /values/title/de",
    "required /values/title/fr",
    "required /values/seo/title/fr",
    "required /values/sections/0/text/de",
    "required /values/sections/0/text/fr",
  ];
  const published = await ask("POST", `${base}/${draft.body.id}/publish`);
  expect([published.status, places(published.body)]).toEqual([422, missing]);
  expect(published.body.errors[0].message).toBe("is required in de before the entry is published");
  const atOnce = await ask("POST", `${base}?publish=true`, { values });
  expect([atOnce.status, places(atOnce.body)]).toEqual([422, missing]);
  const whole = {
    title: all,
    seo: { title: all },
    sections: [{ _type: "quote", _key: "q", text: all }],
  };
  expect((await ask("PATCH", `${base}/${draft.body.id}?publish=true`, { values: whole })).status).toBe(200);
  // A later draft may lack a language again.
  expect((await ask("PATCH", `${base}/${draft.body.id}`, { values: { title: { de: null } } })).status).toBe(
    200,
  );
});

test("a required field of each market needs all languages in the markets that have a value", async () => {
  const changed = structuredClone(document);
  const [, deal] = changed.modules[0]?.schemas[0]?.fields ?? [];
  Object.assign(deal ?? {}, { required: "allLanguages" });
  expect((await ask("PUT", "/api/admin/orbs/leaflet", changed)).status).toBe(200);
  const dry = await ask("POST", "/api/admin/orbs/leaflet/publish?dryRun=true");
  expect(JSON.stringify(dry.body)).toContain("added_required");
  expect((await ask("POST", "/api/admin/orbs/leaflet/publish")).status).toBe(200);
  const values = { title: all, deal: { US: all, EU: { de: "b" } } };
  const { body } = await ask("POST", `${base}?publish=true`, { values });
  expect(places(body)).toEqual(["required /values/deal/EU/en", "required /values/deal/EU/fr"]);
});

test("is refused for a field that is not translatable", async () => {
  const changed = structuredClone(document);
  changed.modules[0]?.schemas[0]?.fields.push({
    name: "x",
    type: "string",
    required: "allLanguages",
  } as never);
  const { status, body } = await ask("PUT", "/api/admin/orbs/leaflet", changed);
  expect([status, places(body)]).toEqual([422, ["not_applicable /modules/0/schemas/0/fields/4/required"]]);
});
