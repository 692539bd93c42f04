/** The schema editor and the history of an orb: from nothing to a served API, in a real browser. */
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { inspect, PHONE, useConsole } from "../support/console.ts";

const console = useConsole();

const saved = (page: Page, text: RegExp | string) =>
  page.getByRole("status").getByText(text).first().waitFor();

/** An orb with a schema, as the first test makes it. */
const club = (id: string) => ({
  id,
  name: "Club",
  languages: ["en", "de"],
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [
        {
          id: "post",
          fields: [
            { name: "title", type: "string", required: true },
            { name: "body", type: "text", translatable: true },
            { name: "day", type: "date" },
            { name: "rank", type: "integer", min: 5, max: 9 },
          ],
        },
      ],
    },
  ],
});

/** Writes a new draft of an orb as another admin. */
async function change(id: string, how: (document: Record<string, unknown>) => object): Promise<void> {
  const path = `/api/admin/orbs/${id}`;
  const { token } = console;
  const { body } = await call(console.platform, "GET", path, { token });
  expect((await call(console.platform, "PUT", path, { token, body: how(body) })).status).toBe(200);
}

/** Returns the document's text. On a phone, chooses to show it instead of the form. */
async function json(page: Page): Promise<Locator> {
  if (console.phone) await page.getByRole("radio", { name: "JSON" }).check();
  return page.getByRole("textbox", { name: /as JSON$/ });
}
/** Shows the form again on a phone. */
async function form(page: Page): Promise<void> {
  if (console.phone) await page.getByRole("radio", { name: "Form" }).check();
}
const parts = (page: Page) => page.getByRole("navigation", { name: "Parts of the document" });

/** Adds a field to the open schema, and returns its row's form. */
async function addField(page: Page, name: string, type: string): Promise<void> {
  await page.getByRole("button", { name: "Add field" }).click();
  const fields = page.getByRole("region", { name: "Fields" });
  await fields.getByLabel("Name required").fill(name);
  await fields.getByLabel("Type required").selectOption(type);
}

test("goes from an orb with nothing to a published API, with faults on the way", async () => {
  await console.seedOrb({ id: "club", name: "Club", languages: ["en", "de"] });
  const page = await console.open("/orbs/club/schema");
  await parts(page).waitFor();

  await page.keyboard.press("n");
  const dialog = page.getByRole("dialog", { name: "New module" });
  await dialog.getByLabel("Id required").fill("News!");
  await dialog.getByRole("button", { name: "Add module" }).click();
  await dialog.getByText("must contain only lower-case letters").waitFor();
  await dialog.getByLabel("Id required").fill("news");
  await dialog.getByRole("button", { name: "Add module" }).click();
  await page.getByRole("button", { name: "Add schema" }).click();
  const tree = page.getByRole("navigation", { name: "Parts of the document" });
  await page.getByLabel("Id required").fill("post");
  await tree.getByRole("button", { name: "post" }).waitFor();

  await addField(page, "body", "text");
  await page.getByLabel("Translatable").check();
  await addField(page, "day", "date");
  await addField(page, "rank", "integer");
  await page.getByLabel("Minimum").fill("5");
  await page.getByLabel("Maximum").fill("3");
  await page.getByText("must not be greater than max").first().waitFor();
  await json(page);
  await expect.poll(() => page.locator(".json mark").allTextContents()).toEqual(["35"]);
  await form(page);
  await expect.poll(() => tree.getByRole("button", { name: /post 1 error/ }).count()).toBe(1);
  await inspect(page, "schema-fault");
  await page.getByLabel("Maximum").fill("9");
  await page.getByText("No errors").waitFor();
  await addField(page, "next", "reference");
  await page.getByText("Not complete yet").waitFor();
  await page.getByLabel("Refers to required").focus();
  await page.keyboard.press("Tab");
  await page
    .getByText(/is required for a field of type reference/)
    .first()
    .waitFor();
  await page.getByLabel("Refers to required").fill("club/news/post");
  await page.getByText("No errors").waitFor();

  const text = await (await json(page)).inputValue();
  expect(JSON.parse(text).modules[0].schemas[0].fields).toEqual([
    { name: "title", type: "string", required: true },
    { name: "body", type: "text", translatable: true },
    { name: "day", type: "date" },
    { name: "rank", type: "integer", min: 5, max: 9 },
    { name: "next", type: "reference", ref: "club/news/post" },
  ]);
  await page.getByRole("button", { name: "Review and publish" }).click();
  const review = page.getByRole("dialog", { name: "Review and publish" });
  await review.getByText("Added module news").waitFor();
  await review.getByText("No stored entry is affected.").waitFor();
  await review.getByRole("button", { name: "Publish" }).click();
  await saved(page, "Published.");

  const token = console.token;
  const values = { title: "First", body: { en: "Hello", de: "Hallo" }, rank: 6 };
  const path = "/api/admin/orbs/club/entries?publish=true";
  const made = await call(console.platform, "POST", path, {
    token,
    body: { module: "news", schema: "post", values },
  });
  expect(made.status).toBe(201);
  const served = await call(console.platform, "GET", `/api/club/news/${made.body.id}?locale=de`);
  expect([served.status, served.body.values.body]).toEqual([200, "Hallo"]);
});

test("keeps the form and the JSON in step, undoes in both, and survives a reload", async () => {
  await console.seedOrb(club("chess"));
  const page = await console.open("/orbs/chess/schema");
  page.on("dialog", (dialog) => void dialog.accept());
  const name = page.getByLabel("Name", { exact: true });
  const text = await (await json(page)).inputValue();
  await (await json(page)).fill(text.replace('"markets": []', '"markets" []'));
  await page.getByText("Line 8, column 13: a colon is missing after the name.").waitFor();
  await form(page);
  await expect.poll(() => name.isDisabled()).toBe(true);
  await expect.poll(() => name.inputValue()).toBe("Club");
  await inspect(page, "schema-broken");
  await (await json(page)).focus();
  await page.keyboard.press("Control+z");
  await expect.poll(async () => (await json(page)).inputValue()).toBe(text);
  await page.keyboard.press("Control+Shift+z");
  await page.getByRole("button", { name: "Discard this text" }).click();
  await form(page);
  await expect.poll(() => name.isDisabled()).toBe(false);
  await (await json(page)).fill(text.replace('"Club"', '"Chess Club"'));
  await form(page);
  await expect.poll(() => name.inputValue()).toBe("Chess Club");

  await name.fill("Chess");
  expect(JSON.parse(await (await json(page)).inputValue()).name).toBe("Chess");
  await form(page);
  await parts(page).getByRole("button", { name: "post" }).click();
  const rows = page.getByRole("region", { name: "Fields" });
  await rows.getByRole("button", { name: /^rank/ }).focus();
  await page.keyboard.press("Alt+ArrowUp");
  await page.keyboard.press("Alt+ArrowUp");
  const order = async () => {
    const { modules } = JSON.parse(await (await json(page)).inputValue());
    await form(page);
    return modules[0].schemas[0].fields.map((field: { name: string }) => field.name);
  };
  expect(await order()).toEqual(["title", "rank", "body", "day"]);
  await rows.getByRole("button", { name: "More actions for day" }).click();
  await page.getByRole("menuitem", { name: "Remove" }).click();
  expect(await order()).toEqual(["title", "rank", "body"]);
  await page.getByRole("button", { name: "Undo", exact: true }).last().click();
  expect(await order()).toEqual(["title", "rank", "body", "day"]);

  await page.reload();
  await saved(page, "Your unsaved changes are restored.");
  expect(await order()).toEqual(["title", "rank", "body", "day"]);
  await (await console.navigation(page)).getByRole("link", { name: "Overview" }).click();
  await page
    .getByRole("dialog", { name: "Leave with unsaved changes?" })
    .getByRole("button", { name: "Cancel" })
    .click();
  expect(new URL(page.url()).pathname).toBe("/console/orbs/chess/schema");
  await page.keyboard.press("Control+s");
  await saved(page, /^Saved as a draft/);
  await page.getByText("Newer draft").waitFor();
});

test("shows both when another admin saved meanwhile, and merges them", async () => {
  await console.seedOrb(club("rowing"));
  const page = await console.open("/orbs/rowing/schema");
  await page.getByLabel("Name", { exact: true }).fill("Mine");
  await page.getByLabel("Markets").fill("US\nEU");
  await page.getByText("No errors").waitFor();
  await change("rowing", (body) => ({ ...body, name: "Theirs", description: "About the club" }));
  console.allow(/412|409/);
  await page.keyboard.press("Control+s");
  const dialog = page.getByRole("dialog", { name: "Someone else saved this orb" });
  await dialog.getByText("Name: Club → Theirs").waitFor();
  await dialog.getByText("Name: Club → Mine").waitFor();
  const merge = dialog.getByRole("button", { name: "Use both" });
  await expect.poll(() => merge.isDisabled()).toBe(true);
  await inspect(page, "schema-conflict");
  await dialog.getByRole("radio", { name: /^Yours/ }).check();
  await merge.click();
  await page.getByText("No errors").waitFor();
  expect(JSON.parse(await (await json(page)).inputValue())).toMatchObject({
    name: "Mine",
    description: "About the club",
    markets: ["US", "EU"],
  });
  await page.keyboard.press("Control+s");
  await saved(page, /^Saved as a draft/);
});

test("tells what a change does to stored entries before it happens", async () => {
  await console.seedOrb(club("tennis"));
  const values = { title: "First", body: { en: "Hello" } };
  const entry = await console.seedEntry("tennis", { module: "news", schema: "post", values });
  const page = await console.open("/orbs/tennis/schema?at=/modules/0/schemas/0");
  const rows = page.getByRole("region", { name: "Fields" });
  await rows.getByRole("button", { name: "More actions for body" }).click();
  await page.getByRole("menuitem", { name: "Remove" }).click();
  await page.getByText("1 entry has a value of body.").waitFor();
  await page.getByRole("button", { name: "Restore body" }).click();
  await page.getByText("1 entry has a value of body.").waitFor({ state: "detached" });
  await page.getByRole("region", { name: "Fields" }).getByRole("button", { name: /^body/ }).waitFor();

  // A field that vanished while one of its type appeared may have been renamed.
  const text = await (await json(page)).inputValue();
  await (await json(page)).fill(text.replace('"name": "body"', '"name": "content"'));
  await form(page);
  await page.getByText("1 entry has a value of body.").waitFor();
  await page.getByText("Rename or remove?").first().waitFor();
  await page.getByRole("button", { name: "It is content now" }).click();
  await page.getByText("Rename or remove?").first().waitFor({ state: "detached" });
  const renamed = JSON.parse(await (await json(page)).inputValue()).modules[0].schemas[0].fields;
  expect(renamed).toContainEqual({ name: "content", type: "text", translatable: true, was: "body" });

  // A change of type that would lose a value names the entries.
  const typed = text.replace('"type": "string"', '"type": "integer"');
  await (await json(page)).fill(typed);
  await form(page);
  await page.getByText("No errors").waitFor();
  await page.getByRole("button", { name: "Review and publish" }).click();
  const lossy = page.getByRole("dialog", { name: "Review and publish" });
  await lossy.getByText("1 entry would lose a value. Change it first:").waitFor();
  await lossy.getByText('cannot become integer: "First"').waitFor();
  await expect.poll(() => lossy.getByRole("link", { name: entry }).count()).toBe(1);
  await expect.poll(() => lossy.getByRole("button", { name: "Publish" }).isDisabled()).toBe(true);
  await inspect(page, "schema-lossy");
  await lossy.getByRole("button", { name: "Cancel" }).click();
  await (await json(page)).fill(text);
  await form(page);
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByText("No errors").waitFor();
  await page.getByRole("button", { name: "Review and publish" }).click();
  const review = page.getByRole("dialog", { name: "Review and publish" });
  await review.getByText("Removed schema news/post").waitFor();
  await review.getByText("Needs confirmation").waitFor();
  await expect.poll(() => review.getByRole("button", { name: "Publish" }).isDisabled()).toBe(true);
  await inspect(page, "schema-effects");
  await review.getByRole("checkbox", { name: /Hide these entries/ }).check();
  await review.getByRole("button", { name: "Publish" }).click();
  await saved(page, "Published.");
});

test("moves a field if the user presses Enter before the published document is there", async () => {
  await console.seedOrb(club("hockey"));
  const page = await console.open("/orbs/hockey/schema?at=/modules/0/schemas/0");
  let release = () => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(/[?&]revision=published/, async (route) => {
    await held;
    await route.continue();
  });
  await page.reload();
  const rows = page.getByRole("region", { name: "Fields" });
  await rows.getByRole("button", { name: "More actions for rank" }).press("Enter");
  await page.getByRole("menuitem", { name: "Move into an object" }).press("Enter");
  const dialog = page.getByRole("dialog", { name: "Move rank into an object" });
  const name = dialog.getByLabel("Name of the new object");
  await name.fill("day");
  await page.keyboard.press("Enter");
  await dialog.getByText("is already used by another field").waitFor();
  await name.fill("league");
  await page.keyboard.press("Enter");
  await expect
    .poll(() => dialog.getByRole("button", { name: "Move" }).getAttribute("aria-disabled"))
    .toBe("true");
  release();
  await saved(page, "Moved rank into league.");
});

test("converts values by a rule, and moves a field into an object, with the keyboard", async () => {
  await console.seedOrb(club("rugby"));
  const entries: string[] = [];
  for (const title of ["yes", "perhaps"]) {
    const values = { title, rank: 6 };
    entries.push(await console.seedEntry("rugby", { module: "news", schema: "post", values }));
  }
  const page = await console.open("/orbs/rugby/schema?at=/modules/0/schemas/0");
  const rows = page.getByRole("region", { name: "Fields" });
  await rows.getByRole("button", { name: /^title/ }).press("Enter");
  await rows.getByLabel("Type required").selectOption("boolean");
  const notice = page.getByText(/Field title: type changes from string to boolean/).first();
  await notice.waitFor();
  await page.getByRole("button", { name: "Convert by a rule" }).press("Enter");
  const rule = rows.getByLabel("Convert earlier values by (JsonLogic)");
  await expect.poll(() => rule.and(page.locator(":focus")).count()).toBe(1);
  // Each entry for which the rule fails is listed, with the reason.
  const failing = page.locator(".schema-notice li");
  await expect.poll(() => failing.count()).toBe(2);
  await inspect(page, "schema-rule");
  await rule.fill('{"==":[{"var":"value"},"yes"');
  await rows.getByText("is not valid JSON").waitFor();
  await rule.fill('{"if":[{"==":[{"var":"value"},"yes"]},true,{"var":"value"}]}');
  await expect.poll(() => failing.count()).toBe(1);
  await page.getByText('The rule returns "perhaps", which must be true or false').waitFor();
  await expect.poll(() => failing.getByRole("link", { name: entries[1] ?? "" }).count()).toBe(1);
  await rule.fill('{"==":[{"var":"value"},"yes"]}');
  await notice.waitFor({ state: "detached" });

  await rows.getByRole("button", { name: "More actions for rank" }).press("Enter");
  await page.getByRole("menuitem", { name: "Move into an object" }).press("Enter");
  const dialog = page.getByRole("dialog", { name: "Move rank into an object" });
  await dialog.getByLabel("Name of the new object").fill("day");
  await page.keyboard.press("Enter");
  await dialog.getByText("is already used by another field").waitFor();
  await dialog.getByLabel("Name of the new object").fill("league");
  await dialog.getByLabel("Name inside the object").fill("place");
  await page.keyboard.press("Enter");
  await saved(page, "Moved rank into league.");
  const row = rows.getByRole("button", { name: /^league/ }).first();
  await expect.poll(() => row.and(page.locator(":focus")).count()).toBe(1);
  await expect
    .poll(() => rows.getByLabel("Members that were fields of the schema").inputValue())
    .toBe("place: rank");
  // A second field joins the same object.
  await rows.getByRole("button", { name: "More actions for day", exact: true }).press("Enter");
  await page.getByRole("menuitem", { name: "Move into an object" }).press("Enter");
  const second = page.getByRole("dialog", { name: "Move day into an object" });
  await expect.poll(() => second.getByLabel("Object", { exact: true }).inputValue()).toBe("league");
  await second.getByRole("button", { name: "Move", exact: true }).click();
  await page.getByText("No errors").waitFor();
  const { fields } = JSON.parse(await (await json(page)).inputValue()).modules[0].schemas[0];
  expect(fields.at(-1)).toEqual({
    name: "league",
    type: "object",
    fields: [
      { name: "place", type: "integer", min: 5, max: 9 },
      { name: "day", type: "date" },
    ],
    from: { fields: { place: "rank", day: "day" } },
  });
  await form(page);
  await page.getByRole("button", { name: "Review and publish" }).click();
  const review = page.getByRole("dialog", { name: "Review and publish" });
  await review.getByText("Field rank becomes league.place.").waitFor();
  await review.getByRole("button", { name: "Publish" }).click();
  await saved(page, "Published.");
  const read = `/api/admin/orbs/rugby/entries/${entries[0]}`;
  const { body } = await call(console.platform, "GET", read, { token: console.token });
  expect(body.values).toEqual({ title: true, league: { place: 6 } });
});

test("makes a module from a template", async () => {
  const module = {
    id: "blog",
    type: "CONTENT",
    schemas: [{ id: "post", fields: [{ name: "next", type: "reference", ref: "template/blog/post" }] }],
  };
  const stored = await call(console.platform, "PUT", "/api/admin/definitions/modules/blog", {
    token: console.token,
    body: { description: "Posts", module },
  });
  expect(stored.status).toBe(201);
  await console.seedOrb({ id: "paper" });
  const page = await console.open("/orbs/paper/schema");
  await page.getByRole("button", { name: "Add module" }).click();
  const dialog = page.getByRole("dialog", { name: "New module" });
  await dialog.getByLabel("Template").selectOption("blog");
  await dialog.getByLabel("Id required").fill("stories");
  await dialog.getByRole("button", { name: "Add module" }).click();
  await parts(page).getByRole("button", { name: "post" }).waitFor();
  const { modules } = JSON.parse(await (await json(page)).inputValue());
  expect([modules[0].id, modules[0].schemas[0].fields[0].ref]).toEqual(["stories", "paper/stories/post"]);
  await form(page);
  // The module becomes a template in turn, free of the orb.
  await parts(page).getByRole("button", { name: "stories" }).click();
  await page.getByRole("button", { name: "Save as template" }).click();
  const saving = page.getByRole("dialog", { name: "Save as template" });
  await saving.getByLabel("ID").fill("blog");
  await saving.getByText("Saving stores a new version of it.").waitFor();
  await saving.getByLabel("ID").fill("tales");
  await inspect(page, "schema-template");
  await saving.getByRole("button", { name: "Save as template" }).click();
  await saved(page, "Saved the template tales.");
  const path = "/api/admin/definitions/modules/tales/module?orb=other&module=news";
  const made = await call(console.platform, "GET", path, { token: console.token });
  expect(made.body).toMatchObject({ id: "news", schemas: [{ fields: [{ ref: "other/news/post" }] }] });
});

test("makes the secret of a webhook, and says before publishing which handler is missing", async () => {
  const on = ["entry.published"];
  const uses = [{ service: "mail", handlers: ["send"] }];
  const document = { id: "press", hooks: [{ id: "tell", on, url: "https://example.com/hook" }], modules: [] };
  await console.seedOrb(document);
  await change("press", (body) => ({ ...body, uses }));
  const page = await console.open("/orbs/press/schema?at=/hooks/0");
  await page.getByRole("button", { name: "Signing secret" }).click();
  const dialog = page.getByRole("dialog", { name: "Signing secret of tell" });
  await dialog.getByRole("button", { name: "Create secret" }).click();
  await expect.poll(() => dialog.getByLabel("Signing secret").inputValue()).toMatch(/^whsec_/);
  await inspect(page, "schema-secret");
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await page.getByRole("button", { name: "Review and publish" }).click();
  const review = page.getByRole("dialog", { name: "Review and publish" });
  await review
    .getByText(/mail\.send/)
    .first()
    .waitFor();
  await expect.poll(() => review.getByRole("button", { name: "Publish" }).isDisabled()).toBe(true);
});

test("compares revisions, and restores one as a draft", async () => {
  await console.seedOrb(club("golf"));
  await change("golf", (body) => ({ ...body, description: "Eighteen holes", markets: ["US"] }));
  await change("golf", (body) => ({ ...body, modules: [] }));
  const page = await console.open("/orbs/golf/history");
  await page.getByText("Live", { exact: true }).waitFor();
  await page.getByText("removed module news").first().waitFor();
  await page.getByRole("button", { name: /^Revision 2\b/ }).click();
  const detail = page.getByRole("region", { name: "Revision 2" });
  await detail.getByText("description none → Eighteen holes").waitFor();
  await detail.getByText(/"description": "Eighteen holes"/).waitFor();
  await inspect(page, "schema-history");
  await detail.getByLabel("Compare with").selectOption("Revision 3");
  await detail.getByText("added module news").waitFor();
  await detail.getByRole("button", { name: "Restore as a draft" }).click();
  const dialog = page.getByRole("dialog", { name: "Restore revision 2?" });
  await dialog.getByText("added module news").waitFor();
  await dialog.getByRole("button", { name: "Restore as a draft" }).click();
  await page.getByRole("heading", { level: 1, name: "Schema" }).waitFor();
  await parts(page).getByRole("button", { name: "post" }).waitFor();
});

test("fits a phone", async () => {
  await console.seedOrb(club("swim"));
  const page = await console.open("/orbs/swim/schema", { size: PHONE });
  await parts(page).getByRole("button", { name: "post" }).click();
  await page
    .getByRole("region", { name: "Fields" })
    .getByRole("button", { name: /^title/ })
    .click();
  await page.getByRole("radio", { name: "JSON" }).check();
  await (await json(page)).waitFor();
  await page.goto(page.url().replace(/schema.*/, "history"));
  await page.getByText("Live", { exact: true }).waitFor();
  await inspect(page, "schema-phone-history");
});
