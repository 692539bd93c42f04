/** Objects, lists of objects and blocks in the console's form. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { inspect, PHONE, useConsole } from "../support/console.ts";

const console = useConsole();

const leaflet = {
  id: "flyer",
  name: "Leaflet",
  languages: ["en", "de"],
  components: [
    {
      id: "quote",
      name: "Quote",
      fields: [
        { name: "text", label: "Text", type: "text", translatable: true, required: true },
        { name: "by", label: "By", type: "reference", ref: "flyer/content/author" },
      ],
    },
    {
      id: "fact",
      name: "Fact",
      fields: [
        { name: "claim", label: "Claim", type: "string", max: 20, group: "Evidence" },
        {
          name: "source",
          label: "Source",
          type: "object",
          fields: [{ name: "url", label: "Address", type: "string" }],
        },
      ],
    },
  ],
  modules: [
    {
      id: "content",
      type: "CONTENT",
      schemas: [
        { id: "author", name: "Author", fields: [{ name: "name", type: "string", required: true }] },
        {
          id: "page",
          name: "Page",
          fields: [
            { name: "title", label: "Title", type: "string", required: true },
            {
              name: "seo",
              label: "Search engines",
              type: "object",
              fields: [
                { name: "title", label: "Heading", type: "string", translatable: true },
                { name: "rank", label: "Rank", type: "integer" },
              ],
            },
            {
              name: "contacts",
              label: "Contacts",
              type: "object",
              list: true,
              fields: [{ name: "city", label: "City", type: "string", required: true }],
            },
            { name: "parts", label: "Parts", type: "blocks", components: ["quote", "fact"] },
          ],
        },
      ],
    },
  ],
};

const PAGES = "/orbs/flyer/entries/content/page";
let seeded: Promise<void> | undefined;
const seed = () => {
  seeded ??= console.seedOrb(leaflet);
  return seeded;
};

async function read(id: string) {
  const path = `/api/admin/orbs/flyer/entries/${id}`;
  return (await call(console.platform, "GET", path, { token: console.token })).body;
}

const said = (page: Page, text: string) => page.locator(".toast", { hasText: text }).waitFor();
const within = (page: Page, name: string) => page.getByRole("group", { name, exact: true });
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

test("edits objects, lists of objects and blocks", async () => {
  await seed();
  const page = await console.open(`${PAGES}/new`);
  await page.getByLabel("Title").fill("Rain");
  const heading = within(page, "Search engines").getByRole("group", { name: "Heading" });
  await heading.getByLabel("English").fill("All about rain");
  await heading.getByLabel("German").fill("Alles zum Regen");
  await within(page, "Search engines").getByLabel("Rank").fill("3");
  for (const [at, city] of ["Oslo", "Rome", "Bern"].entries()) {
    await button(page, "Add to Contacts").click();
    await within(page, `Contacts ${at + 1}`)
      .getByLabel("City")
      .fill(city);
  }
  await button(page, "Move Contacts 3 up").click();
  await button(page, "Duplicate Contacts 1").click();
  await button(page, "Remove Contacts 4").click();
  await button(page, "Add to Parts").click();
  await page.getByRole("menuitem", { name: "Quote" }).click();
  await within(page, "Quote 1").getByLabel("English").fill("It never rains");
  await button(page, "Add to Parts").click();
  await page.getByRole("menuitem", { name: "Fact" }).click();
  await within(page, "Evidence").getByLabel("Claim").fill("Water is wet");
  await within(page, "Fact 2").getByLabel("Address").fill("x.example");
  await within(page, "Fact 2").getByLabel("Claim").press("Alt+ArrowUp");
  await within(page, "Fact 1").waitFor();
  await inspect(page, "objects-new");
  await page.setViewportSize(PHONE);
  await inspect(page, "objects-phone");
  await page.keyboard.press("Control+Enter");
  await said(page, "Created and published");
  const id = page.url().split("/").at(-1) ?? "";
  const { values } = await read(id);
  const key = expect.any(String);
  expect(values).toEqual({
    title: "Rain",
    seo: { title: { en: "All about rain", de: "Alles zum Regen" }, rank: 3 },
    contacts: ["Oslo", "Oslo", "Bern"].map((city) => ({ _key: key, city })),
    parts: [
      { _type: "fact", _key: key, claim: "Water is wet", source: { url: "x.example" } },
      { _type: "quote", _key: key, text: { en: "It never rains" } },
    ],
  });
  expect(new Set(values.contacts.map(({ _key }: { _key: string }) => _key)).size).toBe(3);
  await button(page, "Move Quote 2 up").click();
  await within(page, "Quote 1").getByLabel("English").fill("It rarely rains");
  await page.keyboard.press("Control+Enter");
  // The toast of the creation can still be there.
  await page.locator(".toast", { hasText: /^Published/ }).waitFor();
  await page.getByRole("link", { name: /history/ }).click();
  const parts = page.getByRole("region", { name: "Comparison" }).getByRole("region", { name: "Parts" });
  await parts.getByText("Quote 1 · moved").waitFor();
  await parts.getByText("Quote 2 · Text · English · changed").waitFor();
  await expect.poll(() => parts.locator("del").allTextContents()).toEqual(["never"]);
  await expect.poll(() => parts.locator("ins").allTextContents()).toEqual(["rarely"]);
});

test("puts faults at the fields inside, and folds items", async () => {
  await seed();
  const contacts = [
    { _key: "a", city: "Oslo" },
    { _key: "b", city: "Rome" },
  ];
  const body = { module: "content", schema: "page", values: { title: "Sun", contacts } };
  const id = await console.seedEntry("flyer", body);
  const page = await console.open(`${PAGES}/${id}`);
  await within(page, "Contacts 2").getByLabel("City").fill("");
  await button(page, "Save draft").click();
  await within(page, "Contacts 2").getByText("is required").waitFor();
  await within(page, "Contacts 2").getByLabel("City").fill("Bern");
  await page.getByRole("button", { name: /^Contacts 1/ }).click();
  await within(page, "Contacts 1").waitFor({ state: "detached" });
  await inspect(page, "objects-folded");
  await button(page, "Save draft").click();
  await said(page, "Saved");
  expect((await read(id)).values.contacts).toEqual([contacts[0], { _key: "b", city: "Bern" }]);
});

test("moves an item with the pointer", async () => {
  await seed();
  const contacts = ["a", "b", "c"].map((_key) => ({ _key, city: _key.toUpperCase() }));
  const id = await console.seedEntry("flyer", {
    ...{ module: "content", schema: "page", values: { title: "Wind", contacts } },
  });
  const page = await console.open(`${PAGES}/${id}`);
  const heads = page.locator(".object-head");
  await heads.nth(2).dragTo(heads.nth(0));
  await expect.poll(() => within(page, "Contacts 1").getByLabel("City").inputValue()).toBe("C");
  await button(page, "Save draft").click();
  await said(page, "Saved");
  expect((await read(id)).values.contacts.map(({ _key }: { _key: string }) => _key)).toEqual(["c", "a", "b"]);
});

test("copies items and pastes them into lists of other entries", async () => {
  await seed();
  const parts = [
    { _type: "quote", _key: "q", text: { en: "It rains" } },
    { _type: "fact", _key: "f", claim: "Water is wet", source: { url: "x.example" } },
  ];
  const contacts = [{ _key: "c", city: "Oslo" }];
  const seedPage = (values: object) =>
    console.seedEntry("flyer", { module: "content", schema: "page", values });
  await seedPage({ title: "From here", parts, contacts });
  const id = await seedPage({ title: "To there" });
  const page = await console.open(PAGES);
  await page.getByRole("link", { name: "From here" }).click();
  await button(page, "Copy Fact 2").click();
  await said(page, "Fact 2 is copied");
  await button(page, "Paste into Parts").waitFor();
  expect(await button(page, "Paste into Contacts").count()).toBe(0);
  await page.goBack();
  await page.getByRole("link", { name: "To there" }).click();
  await button(page, "Paste into Parts").click();
  await within(page, "Fact 1").waitFor();
  await inspect(page, "objects-paste");
  // Another tab finds the copied item on the clipboard.
  const other = await console.open(PAGES);
  await other.getByRole("link", { name: "From here" }).click();
  const quote = other.getByRole("button", { name: /^Quote 1/ });
  await quote.focus();
  await other.keyboard.press("Control+c");
  await said(other, "Quote 1 is copied");
  await page.bringToFront();
  await page.getByRole("button", { name: /^Fact 1/ }).focus();
  await page.keyboard.press("Control+v");
  await within(page, "Quote 2").waitFor();
  await button(page, "Save draft").click();
  await said(page, "Saved");
  const { values } = await read(id);
  expect(values).toEqual({
    title: "To there",
    parts: [
      { ...parts[1], _key: expect.any(String) },
      { ...parts[0], _key: expect.any(String) },
    ],
  });
  expect(values.parts.map(({ _key }: { _key: string }) => _key)).not.toEqual(["f", "q"]);
});
