/** The example `magazine` loads into a new platform, and shows what fields can do. */
import { readFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

const example = (name: string) =>
  readFileSync(new URL(`../../scripts/examples/${name}`, import.meta.url), "utf8");

let platform: TestPlatform;
let token: string;

const get = async (path: string) => (await call(platform, "GET", `/api/magazine${path}`)).body;

beforeAll(async () => {
  platform = await sharedPlatform({ link: true });
  token = await adminToken(platform);
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
    token,
    body: JSON.parse(example("magazine.json")),
  });
  expect([made.status, made.body.errors]).toEqual([201, undefined]);
  const loaded = await fetch(
    `${platform.origin}/api/admin/orbs/magazine/entries/bulk?match=slug&on=upsert&publish=true`,
    {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
      body: example("magazine.jsonl"),
    },
  );
  const text = await loaded.text();
  expect([loaded.status, text.includes('"errors"')], text).toEqual([200, false]);
});

test("places are found by distance, with exact prices", async () => {
  const { items } = await get("/places?filter[point][near]=52.5163,13.3777,20km&filter[ticket][lte]=10");
  const found = items.map(({ values }: { values: Record<string, string> }) => [values.name, values.ticket]);
  expect(found).toEqual([
    ["Botanical Garden", "6.00"],
    ["Teufelsberg", "8.00"],
  ]);
});

test("pages refer to people, places and pages, also in blocks", async () => {
  const { items } = await get(
    "/pages?filter[about.name]=Teufelsberg&expand=about,sections.to,author&locale=de",
  );
  expect(items).toHaveLength(1);
  const [{ values, expand }] = items;
  expect(values).toMatchObject({ title: "Der Berg aus Trümmern", slug: "teufelsberg-hill" });
  expect(expand.about.map(({ schema }: { schema: string }) => schema)).toEqual(["place", "page"]);
  const teased = values.sections.map(({ to }: { to: { id: string } }) => expand["sections.to"][to.id].schema);
  expect(teased).toEqual(["page", "person"]);
  expect((await get("/pages?search=wärmste&locale=de")).items).toHaveLength(1);
  const byAda = await get("/pages?filter[sections.to.name]=Ada Brandt");
  expect(byAda.items.map(({ values: page }: { values: { slug: string } }) => page.slug)).toEqual([
    "teufelsberg-hill",
  ]);
});

test("pages have formatted text in two languages", async () => {
  const { items } = await get("/pages?filter[slug]=greenhouses&locale=de&richText=html&fields=body");
  expect(items[0].values.body).toContain("<h2>Zuerst zu den Farnen</h2>");
  expect(items[0].values.body).toContain("<ol><li>Das Kakteenhaus</li>");
  expect((await get("/pages?search=lily&locale=en")).items).toHaveLength(1);
});
