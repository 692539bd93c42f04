/** The form of an entry in the console: every field type, languages, states, two people at once, history. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { inspect, PHONE, useConsole } from "../support/console.ts";
import { picture, png } from "../support/images.ts";

const console = useConsole();

const magazine = {
  id: "mag",
  name: "Magazine",
  languages: ["en", "de"],
  markets: ["US", "EU"],
  uses: [
    { service: "access", handlers: ["passkey", "invitations", "bootstrap"] },
    { service: "rules", handlers: ["evaluate"] },
    { service: "transactions", handlers: ["record"] },
    { service: "settings", handlers: ["set"] },
  ],
  roles: [{ id: "editor", name: "Editors" }],
  modules: [
    {
      id: "content",
      type: "CONTENT",
      schemas: [
        { id: "author", name: "Author", fields: [{ name: "name", type: "string", required: true }] },
        {
          id: "poster",
          name: "Poster",
          fields: [
            { name: "name", label: "Name", type: "string", required: true },
            {
              name: "picture",
              label: "Picture",
              type: "file",
              accept: ["image/*"],
              variants: [{ w: 96, h: 96, fit: "cover" }],
            },
            { name: "paper", label: "Paper", type: "file", maxSize: 4_400_000 },
          ],
        },
        {
          id: "story",
          name: "Story",
          access: {
            read: ["public"],
            create: ["editor"],
            update: ["editor"],
            publish: ["admin"],
            delete: ["admin"],
          },
          fields: [
            { name: "title", label: "Title", type: "string", translatable: true, required: true, max: 60 },
            { name: "slug", label: "Slug", type: "string", unique: true, pattern: "^[a-z-]+$" },
            { name: "price", label: "Price", type: "number", marketSpecific: true, min: 0 },
            { name: "author", label: "Author", type: "reference", ref: "mag/content/author" },
            { name: "kind", label: "Kind", type: "string", enum: ["news", "essay"], default: "news" },
            { name: "tags", label: "Tags", type: "string", list: true, max: 20 },
            { name: "extra", label: "Extra", type: "json" },
            { name: "on", label: "Appears on", type: "datetime" },
            { name: "fee", label: "Fee", type: "integer", access: { write: ["admin"] } },
            { name: "cost", label: "Cost", type: "integer", access: { read: ["admin"], write: ["admin"] } },
            { name: "iban", label: "IBAN", type: "string", sensitive: true },
          ],
        },
      ],
    },
    {
      id: "orders",
      type: "TRANSACTIONS",
      schemas: [{ id: "order", fields: [{ name: "total", label: "Total", type: "number" }] }],
    },
    {
      id: "preferences",
      type: "SETTINGS",
      schemas: [{ id: "preference", fields: [{ name: "theme", label: "Theme", type: "string" }] }],
    },
    {
      id: "rules",
      type: "RULES",
      schemas: [
        {
          id: "discount",
          name: "Discount",
          fields: [
            { name: "name", type: "string", required: true },
            { name: "rule", type: "json", required: true },
          ],
        },
      ],
    },
  ],
};

const STORIES = "/orbs/mag/entries/content/story";
let seeded: Promise<{ author: string }> | undefined;

/** Creates the orb and an author at the first call. */
const seed = () => {
  seeded ??= (async () => {
    await console.seedOrb(magazine);
    const place = { module: "content", schema: "author" };
    return { author: await console.seedEntry("mag", { ...place, values: { name: "Ada" } }) };
  })();
  return seeded;
};

let count = 0;
/** Creates a story, and returns its id. */
async function story(values: object = {}, publish = true): Promise<string> {
  await seed();
  const slug = `story-${"abcdefghijklmnopqrstuvwxyz"[count++]}`;
  const body = { module: "content", schema: "story", values: { title: { en: "Rain" }, slug, ...values } };
  return console.seedEntry("mag", body, publish);
}

async function read(id: string, query = "") {
  const path = `/api/admin/orbs/mag/entries/${id}${query}`;
  return (await call(console.platform, "GET", path, { token: console.token })).body;
}

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name }).waitFor();
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const said = (page: Page, text: string) => page.locator(".toast", { hasText: text }).waitFor();

test("creates an entry with every kind of value, by keyboard, and publishes it", async () => {
  const { author } = await seed();
  const page = await console.open(`${STORIES}/new`);
  await heading(page, "New entry: Story");
  const title = page.getByRole("group", { name: "Title" });
  await title.getByLabel("English").fill("Snow");
  await title.getByText("Missing").waitFor();
  await expect.poll(() => page.getByRole("button", { name: /^German/ }).textContent()).toContain("1");
  await title.getByLabel("German").fill("Schnee");
  await page.getByLabel("Slug").fill("snow");
  await page.getByRole("group", { name: "Price" }).getByLabel("EU").fill("8.5");
  await page.getByRole("combobox", { name: "Author" }).fill("ad");
  await page.getByRole("option", { name: /Ada/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "Author: Ada. Open beside" }).waitFor();
  for (const tag of ["cold", "white"]) {
    await page.getByLabel("Tags", { exact: true }).fill(tag);
    await page.keyboard.press("Enter");
  }
  await page.keyboard.press("Backspace");
  await page.keyboard.press("Alt+ArrowUp");
  await page.getByLabel("Extra").fill('{"a": ');
  await page.getByText("is not valid JSON").waitFor();
  await page.keyboard.press("Control+s");
  expect(
    await page.getByLabel("Extra").evaluate((element) => element === element.ownerDocument.activeElement),
  ).toBe(true);
  await page.getByLabel("Extra").fill('{"a": 1}');
  await page.getByLabel("IBAN").fill("DE1");
  await inspect(page, "entry-new");
  await page.keyboard.press("Control+Enter");
  await said(page, "Created and published");
  await heading(page, "Snow");
  const id = page.url().split("/").at(-1) ?? "";
  expect((await read(id, "?reveal=true")).values).toMatchObject({
    title: { en: "Snow", de: "Schnee" },
    slug: "snow",
    price: { EU: 8.5 },
    author,
    kind: "news",
    tags: ["white", "cold"],
    extra: { a: 1 },
    iban: "DE1",
  });
});

test("puts faults at their fields, and shows the language that has one", async () => {
  await story({ slug: "taken" });
  const page = await console.open(`${STORIES}/new?language=de`);
  await page.getByLabel("German").fill("Ohne");
  await page.getByLabel("Slug").fill("taken");
  await button(page, "Save draft").click();
  const english = page.getByRole("group", { name: "Title" }).getByLabel("English");
  await english.waitFor();
  await expect
    .poll(() => english.evaluate((element) => element === element.ownerDocument.activeElement))
    .toBe(true);
  await inspect(page, "entry-faults");
  await english.fill("Without");
  await button(page, "Save draft").click();
  await page.getByText("is already used by another entry").waitFor();
  await expect.poll(() => page.getByLabel("Slug").getAttribute("aria-invalid")).toBe("true");
});

test("shows both versions to the second of two people, who loses nothing", async () => {
  const id = await story({ kind: "news" });
  const [first, second] = await Promise.all([
    console.open(`${STORIES}/${id}`),
    console.open(`${STORIES}/${id}`),
  ]);
  await second.getByLabel("English").fill("Second title");
  await second.getByLabel("Kind").selectOption("essay");
  await first.getByLabel("English").fill("First title");
  await first.getByLabel("German").fill("Erster");
  await button(first, "Save draft").click();
  await said(first, "Draft saved");
  console.allow(/412/);
  await button(second, "Save draft").click();
  const dialog = second.getByRole("dialog", { name: "Two versions of this entry" });
  await dialog.waitFor();
  const save = dialog.getByRole("button", { name: "Save draft" });
  await expect.poll(() => save.isDisabled()).toBe(true);
  await inspect(second, "entry-conflict");
  await dialog
    .getByRole("group", { name: /^Title · English/ })
    .getByLabel(/^Mine/)
    .check();
  await save.click();
  await said(second, "Draft saved");
  expect((await read(id)).values).toMatchObject({
    title: { en: "Second title", de: "Erster" },
    kind: "essay",
  });
});

test("keeps what is typed while a save is under way, and when the entry was deleted meanwhile", async () => {
  const id = await story();
  const page = await console.open(`${STORIES}/${id}`);
  const german = page.getByLabel("German");
  await page.getByLabel("English").fill("Sent");
  const answered = Promise.withResolvers<void>();
  await page.route(`**/entries/${id}*`, async (route) => {
    // A read that is under way when the route ends would be answered twice.
    if (route.request().method() !== "PUT") return route.continue();
    const response = await route.fetch();
    await answered.promise;
    await route.fulfill({ response });
  });
  await page.keyboard.press("Control+s");
  await german.fill("Danach");
  answered.resolve();
  await said(page, "Draft saved");
  await expect.poll(() => german.inputValue()).toBe("Danach");
  await page.getByText("1 unsaved change").waitFor();
  await page.unroute(`**/entries/${id}*`);
  const path = `/api/admin/orbs/mag/entries/${id}`;
  expect((await call(console.platform, "DELETE", path, { token: console.token })).status).toBe(204);
  console.allow(/40[49]|410/);
  await page.keyboard.press("Control+s");
  const created = Promise.withResolvers<void>();
  await page.route("**/api/admin/orbs/mag/entries", async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    const response = await route.fetch();
    await created.promise;
    await route.fulfill({ response });
  });
  await button(page, "Save as a new entry").click();
  await page.getByLabel("Kind").selectOption("essay");
  created.resolve();
  await said(page, "Draft created");
  await page.getByText("Your unsaved changes are restored").waitFor();
  await expect.poll(() => page.getByLabel("Kind").inputValue()).toBe("essay");
  const made = page.url().split("/").at(-1) ?? "";
  expect((await read(made)).values).toMatchObject({ title: { en: "Sent", de: "Danach" } });
});

test("saves once, and tells no conflict, when only the response to a save was lost", async () => {
  const id = await story();
  const page = await console.open(`${STORIES}/${id}`);
  await page.getByLabel("English").fill("Sent");
  await page.getByLabel("IBAN").fill("DE2");
  let lost = 1;
  console.allow(/ERR_FAILED|Failed to load resource/);
  await page.route(`**/entries/${id}*`, async (route) => {
    if (route.request().method() !== "PUT" || lost-- <= 0) return route.continue();
    await route.fetch();
    await route.abort();
  });
  await page.keyboard.press("Control+s");
  await said(page, "Draft saved");
  expect(await read(id)).toMatchObject({ revision: 2, values: { title: { en: "Sent" } } });
});

test("keeps what was typed when the session ends, and asks before it is left", async () => {
  const id = await story();
  const page = await console.open(`${STORIES}/${id}`);
  await page.getByLabel("English").fill("Typed");
  await page.getByLabel("IBAN").fill("DE2");
  await (await console.navigation(page)).getByRole("link", { name: "Author", exact: true }).click();
  const question = page.getByRole("dialog", { name: "Leave without saving?" });
  await question.getByRole("button", { name: "Cancel" }).click();
  const cookies = await page.context().cookies();
  await page.context().clearCookies();
  console.allow(/401/);
  await page.keyboard.press("Control+s");
  const ended = page.getByRole("dialog", { name: "Your session has ended" });
  await ended.waitFor();
  await page.context().addCookies(cookies);
  await ended.getByRole("button", { name: "Continue" }).click();
  await expect.poll(() => page.getByLabel("English").inputValue()).toBe("Typed");
  page.on("dialog", (dialog) => dialog.accept());
  await page.reload();
  await page.getByText("Your unsaved changes are restored").waitFor();
  await expect.poll(() => page.getByLabel("English").inputValue()).toBe("Typed");
  await expect.poll(() => page.getByLabel("IBAN").inputValue()).toBe("");
  await page.keyboard.press("Control+s");
  await said(page, "Draft saved");
  expect((await read(id)).values).toMatchObject({ title: { en: "Typed" } });
  await page.goBack();
});

test("compares the draft with the live version, schedules it, and undoes", async () => {
  const id = await story({ iban: "DE3" });
  const page = await console.open(`${STORIES}/${id}`);
  // Screen readers pronounce the title in its own language.
  await page.locator('h1[lang="en"]').waitFor();
  await page.getByLabel("English").fill("Better");
  await page.getByText("Draft differs from live in 1 value.").waitFor();
  await button(page, "Compare with live").click();
  const dialog = page.getByRole("dialog", { name: "Live and draft" });
  await dialog.getByText("Better").waitFor();
  await inspect(page, "entry-compare");
  await page.keyboard.press("Escape");
  await page.getByRole("heading", { name: "Schedule" }).click();
  await page.getByLabel("Visible from").fill("2040-01-01T10:00");
  await page.getByText(/Until then, the live version is offline too/).waitFor();
  await page.getByLabel("Visible until").fill("2039-01-01T10:00");
  await page.getByText("must be later than").waitFor();
  await page.getByLabel("Visible until").fill("");
  await button(page, "Save draft").click();
  await said(page, "Draft saved");
  expect(await read(id)).toMatchObject({ revision: 2, validFrom: "2040-01-01T10:00:00.000Z" });
  await inspect(page, "entry-schedule");
  await page.locator(".toast", { hasText: "Draft saved" }).getByRole("button", { name: "Undo" }).click();
  await expect.poll(() => page.getByLabel("English").inputValue()).toBe("Rain");
  await button(page, "Reveal").click();
  await expect.poll(() => page.getByLabel("IBAN").inputValue()).toBe("DE3");
  await button(page, "More actions").click();
  await page.getByRole("menuitem", { name: "Unpublish" }).click();
  await page.getByText("Offline. Only editors see it.").waitFor();
  await button(page, "More actions").click();
  await page.getByRole("menuitem", { name: "Duplicate" }).click();
  await heading(page, "New entry: Story");
  await expect.poll(() => page.getByLabel("English").inputValue()).toBe("Rain");
  await expect.poll(() => page.getByLabel("Slug").inputValue()).toBe("");
  await page.goBack();
  await button(page, "More actions").click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await said(page, "Entry deleted");
});

test("compares revisions, restores an old one, and shows a time in the past", async () => {
  const id = await story({ kind: "news" });
  const page = await console.open(`${STORIES}/${id}`);
  await page.getByLabel("English").fill("Hail");
  await page.keyboard.press("Control+Enter");
  await said(page, "Published");
  await page.getByRole("link", { name: /history/ }).click();
  await heading(page, "History of Hail");
  const comparison = page.getByRole("region", { name: "Comparison" });
  await comparison.getByText("Rain").waitFor();
  await inspect(page, "entry-history");
  await page.getByRole("button", { name: /^Restore revision 1/ }).click();
  await said(page, "Revision 1 is the new draft");
  await expect.poll(() => page.getByLabel("English").inputValue()).toBe("Rain");
  await page.goto(`${page.url()}/history?at=${encodeURIComponent((await read(id)).createdAt)}`);
  await page.getByText(/this was revision 1/).waitFor();
  await inspect(page, "entry-as-of");
});

test("gives users the fields that their role may read and set", async () => {
  const id = await story({ fee: 5, cost: 7 });
  const page = await console.openAs("mag", "editor", `${STORIES}/${id}`);
  await heading(page, "Rain");
  await expect.poll(() => page.getByLabel("Cost").count()).toBe(0);
  await expect.poll(() => page.getByLabel("Fee").isDisabled()).toBe(true);
  await page.getByText("Your role can read this field but cannot change it.").waitFor();
  await expect.poll(() => button(page, "Save and publish").count()).toBe(0);
  await page.getByLabel("Kind").selectOption("essay");
  await button(page, "Save draft").click();
  await said(page, "Draft saved");
  expect((await read(id)).values).toMatchObject({ kind: "essay", fee: 5, cost: 7 });
  await inspect(page, "entry-user");
  await page.locator(".toast", { hasText: "Draft saved" }).getByRole("button", { name: "Undo" }).click();
  await expect.poll(() => page.getByLabel("Kind").inputValue()).toBe("news");
  await page.getByRole("link", { name: /history/ }).click();
  await heading(page, "History of Rain");
  await page.getByRole("region", { name: "Comparison" }).getByText("essay").waitFor();
  await page.getByRole("button", { name: /^Restore revision 2/ }).click();
  await said(page, "Revision 2 is the new draft");
  await expect.poll(() => page.getByLabel("Kind").inputValue()).toBe("essay");
  expect((await read(id)).values).toMatchObject({ kind: "essay", fee: 5, cost: 7 });
  await page.goto(`${page.url()}/history?at=${encodeURIComponent((await read(id)).createdAt)}`);
  await page.getByText(/this was revision 1/).waitFor();
  await expect.poll(() => page.getByText("Cost").count()).toBe(0);
});

test("uploads an image and a long file, shows preview and progress, and removes a file", async () => {
  await seed();
  const page = await console.open("/orbs/mag/entries/content/poster/new");
  await page.getByLabel("Name").fill("Fair");
  const image = { name: "red.png", mimeType: "image/png", buffer: Buffer.from(await png(picture(320, 200))) };
  const text = { name: "paper.txt", mimeType: "text/plain", buffer: Buffer.alloc(4_400_000, "a line\n") };
  await page.getByLabel("Picture").setInputFiles({ ...text, buffer: Buffer.from("words") });
  await page.getByText("The file must be of type image/* (is text/plain).").waitFor();
  await page.getByLabel("Paper").setInputFiles({ ...text, buffer: Buffer.alloc(4_400_001, "a line\n") });
  await page.getByText("The file must have at most 4,400,000 bytes (has 4,400,001).").waitFor();
  await page.getByLabel("Picture").setInputFiles(image);
  const preview = page.locator(".chosen-entry img");
  const width = () => preview.evaluate((element: { naturalWidth: number }) => element.naturalWidth);
  await expect.poll(width).toBe(96);

  // The file has two parts. The second one waits until the page has shown the progress.
  const shown = Promise.withResolvers<void>();
  let parts = 0;
  await page.route("**/api/mag/files/uploads/*", async (route) => {
    if (route.request().method() === "PATCH" && ++parts === 2) await shown.promise;
    await route.continue();
  });
  await page.getByLabel("Paper").setInputFiles(text);
  await page.getByText("paper.txt: 95%").waitFor();
  await inspect(page, "entry-uploading");
  shown.resolve();
  await page.getByText("paper.txt", { exact: true }).waitFor();
  await page.keyboard.press("Control+s");
  await said(page, "Draft created");
  await heading(page, "Fair");
  await expect.poll(width).toBe(96);
  await inspect(page, "entry-files");
  const id = page.url().split("/").at(-1) ?? "";
  expect((await read(id)).values).toMatchObject({
    picture: { name: "red.png", width: 320, height: 200 },
    paper: { name: "paper.txt", size: text.buffer.length },
  });
  const popup = page.waitForEvent("popup");
  await page.getByRole("link", { name: "paper.txt", exact: true }).click();
  await (await popup).close();
  await button(page, "Clear Paper").click();
  await page.keyboard.press("Control+s");
  await said(page, "Draft saved");
  expect((await read(id)).values).not.toHaveProperty("paper");
});

test("fits a phone, and opens a reference beside the form", async () => {
  const { author } = await seed();
  const id = await story({ author, tags: ["one", "two"] });
  const page = await console.open(`${STORIES}/${id}`, { size: PHONE });
  await heading(page, "Rain");
  const reference = page.getByRole("button", { name: "Author: Ada. Open beside" });
  await reference.click();
  await page.getByRole("complementary").getByRole("heading", { name: "Ada" }).waitFor();
  await inspect(page, "entry-phone-beside");
  await page.keyboard.press("Escape");
  await expect
    .poll(() => reference.evaluate((element) => element === element.ownerDocument.activeElement))
    .toBe(true);
});

test("runs the live rules from the page of a rule", async () => {
  await seed();
  const rule = { ">": [{ var: "total" }, 10] };
  const body = { module: "rules", schema: "discount", values: { name: "big", rule } };
  const id = await console.seedEntry("mag", body);
  const page = await console.open(`/orbs/mag/entries/rules/discount/${id}`);
  await page.getByLabel("Facts").fill('{"total": 12}');
  await button(page, "Run").click();
  await page.getByText("1 of 1 rules fired.").waitFor();
  await inspect(page, "entry-rules");
});

test.each([
  ["orders/order", "transactions/record", { total: 12 }, "Transaction records cannot be changed.", "Total"],
  ["preferences/preference", "settings/set", { theme: "dark" }, "Settings belong to an account", "Theme"],
])(
  "shows what handlers have written in %s, and changes nothing",
  async (place, handler, values, reason, label) => {
    await seed();
    const { token } = console;
    const page = await console.open(`/orbs/mag/entries/${place}`);
    await page.getByText("Handlers write these entries.").waitFor();
    const written = await call(console.platform, "POST", `/api/mag/call/${handler}`, {
      token,
      body: { values },
    });
    expect(written.status).toBe(200);
    const [module, schema] = place.split("/");
    const path = `/api/admin/orbs/mag/entries?module=${module}&schema=${schema}`;
    const { items } = (await call(console.platform, "GET", path, { token })).body;
    await page.goto(`${console.platform.origin}/console/orbs/mag/entries/${place}/${items[0].id}`);
    await page.getByText(reason).waitFor();
    const input = page.getByLabel(label);
    expect([await input.isDisabled(), await input.inputValue()]).toEqual([
      true,
      String(Object.values(values)[0]),
    ]);
    await expect.poll(() => button(page, "Save draft").count()).toBe(0);
  },
);
