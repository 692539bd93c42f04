/** Change sets in the console: their list, their review, approvals by a second account, publication and its undo. */
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { fits, inspect, PHONE, useConsole } from "../support/console.ts";
import { BLUE, picture, png, RED } from "../support/images.ts";
import { createService, createToken, scope } from "../support/tokens.ts";

const console = useConsole();
/** Timeout in milliseconds. A busy machine takes many times as long for 16 entries on three screens. */
const TIMEOUT = 300_000;
const ORB = "console-sale";
const SETS = `/api/admin/orbs/${ORB}/changes`;
const ENTRIES = `/api/admin/orbs/${ORB}/entries`;

const access = {
  read: ["public"],
  create: ["editor"],
  update: ["editor"],
  publish: ["editor"],
  delete: ["editor"],
};
const document = {
  id: ORB,
  name: "Sale",
  languages: ["en", "ar"],
  uses: [{ service: "access", handlers: ["passkey", "invitations", "bootstrap"] }],
  roles: [{ id: "editor", name: "Editors" }],
  workflow: { review: [{ by: ["editor"], module: "catalog", notAuthor: true }] },
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "product",
          name: "Product",
          access,
          fields: [
            { name: "title", label: "Title", type: "string", required: true },
            { name: "about", label: "About", type: "text", translatable: true },
            { name: "price", label: "Price", type: "number" },
            { name: "photo", label: "Photo", type: "file", accept: ["image/*"] },
          ],
        },
      ],
    },
    {
      id: "pages",
      type: "CONTENT",
      schemas: [{ id: "page", name: "Page", access, fields: [{ name: "title", type: "string" }] }],
    },
  ],
};

async function send(method: string, path: string, body?: unknown, token = console.token) {
  const answer = await call(console.platform, method, path, {
    token,
    ...(body === undefined ? {} : { body }),
  });
  expect([answer.status < 300, answer.body?.errors, answer.body?.detail]).toEqual([
    true,
    undefined,
    undefined,
  ]);
  return answer;
}

const openSet = async (title: string, description?: string): Promise<string> =>
  (await send("POST", SETS, { title, ...(description === undefined ? {} : { description }) })).body.id;

async function upload(color: typeof RED): Promise<{ file: string }> {
  const response = await fetch(`${console.platform.origin}/api/${ORB}/files?name=photo.png`, {
    method: "POST",
    headers: { authorization: `Bearer ${console.token}`, "content-type": "image/png" },
    body: await png(picture(60, 40, color)),
  });
  expect(response.status).toBe(201);
  const { file, id } = (await response.json()) as { file?: string; id?: string };
  return { file: file ?? id ?? "" };
}

const product = (values: object) => console.seedEntry(ORB, { module: "catalog", schema: "product", values });
const page = (title: string) =>
  console.seedEntry(ORB, { module: "pages", schema: "page", values: { title } });
const patch = (set: string, id: string, values: object) =>
  send("PATCH", `${ENTRIES}/${id}?change=${set}`, { values });

beforeAll(() => console.seedOrb(document));

/** Opens a set that changes 16 entries: 12 others, a picture, a new one, one that is unpublished, and a deleted one. */
async function seedMany(): Promise<string> {
  const set = await openSet("Spring sale", "Prices of all lamps, and new texts.");
  const [red, blue] = [await upload(RED), await upload(BLUE)];
  const numbers = Array.from({ length: 12 }, (_, at) => at + 1);
  for (let at = 0; at < numbers.length; at += 6)
    await Promise.all(
      numbers.slice(at, at + 6).map(async (number) => {
        const about = { en: `A lamp for every desk, number ${number}.`, ar: "مصباح لكل مكتب" };
        const id = await product({ title: `Lamp ${number}`, about, price: 50 });
        await patch(set, id, { price: 40, about: { en: `A bright lamp for every desk, number ${number}.` } });
      }),
    );
  const shown = await product({ title: "Pictured", photo: red });
  await patch(set, shown, { photo: blue, title: `Pictured${"w".repeat(120)}` });
  await send("POST", `${ENTRIES}?change=${set}`, {
    module: "catalog",
    schema: "product",
    values: { title: "Brand new", price: 9 },
  });
  const [offline, gone] = [await product({ title: "Offline soon" }), await product({ title: "Gone soon" })];
  await send("POST", `${ENTRIES}/${offline}/unpublish?change=${set}`);
  await send("DELETE", `${ENTRIES}/${gone}?change=${set}`);
  return set;
}

const focusedName = (view: Page) => view.evaluate("document.activeElement.textContent");

test(
  "reviews 16 changes entry by entry, on a desktop and on phones",
  async () => {
    const set = await seedMany();
    for (const [name, size] of [
      ["desktop", { width: 1440, height: 900 }],
      ["phone", PHONE],
      ["small-phone", { width: 320, height: 640 }],
    ] as const) {
      const view = await console.open(`/orbs/${ORB}/changes/${set}`, { size });
      await view.getByRole("heading", { level: 1, name: "Spring sale" }).waitFor();
      await expect.poll(() => view.locator(".change-entry").count()).toBe(16);
      // Each entry has a name, also those that the set does not name.
      await expect
        .poll(() => view.locator(".change-entry h3").allTextContents())
        .toEqual(expect.arrayContaining(["Lamp 1", "Lamp 12", "Brand new", "Offline soon", "Gone soon"]));
      if (name === "desktop") {
        const walked = new Set<string>();
        for (let at = 0; at < 16; at++) {
          await view.keyboard.press("j");
          walked.add(String(await focusedName(view)));
        }
        expect(walked.size).toBe(16);
        await view.keyboard.press("k");
      }
      const lamp = view.getByRole("article", { name: "Lamp 7", exact: true });
      await lamp.getByRole("group", { name: "About" }).locator("ins", { hasText: "bright" }).waitFor();
      await lamp.getByRole("group", { name: "Price" }).getByText("40", { exact: true }).waitFor();
      const photos = view.getByRole("group", { name: "Photo" }).locator("img");
      await photos.first().scrollIntoViewIfNeeded();
      await expect
        .poll(() =>
          photos.evaluateAll((all) =>
            (all as unknown as { naturalWidth: number }[]).map((one) => one.naturalWidth),
          ),
        )
        .toEqual([60, 60]);
      await lamp.getByRole("button", { name: "Comment on Lamp 7, Price" }).click();
      await lamp.getByRole("textbox").waitFor();
      const text = lamp.getByRole("textbox", { name: "Comment on Lamp 7, Price" });
      expect(await view.evaluate("document.activeElement.tagName")).toBe("TEXTAREA");
      await text.fill(`Is this the final price on a ${name}? ${"W".repeat(90)}`);
      await text.press("Control+Enter");
      const comment = lamp.getByRole("listitem").filter({ hasText: `final price on a ${name}?` });
      await comment.getByRole("button", { name: "Resolve" }).waitFor();
      if (name === "phone") await fits(view);
      else await inspect(view, `changes-review-${name}`);
      await comment.getByRole("button", { name: "Resolve" }).click();
      await lamp.getByText(/resolved comment/).waitFor();
      await view.evaluate("scrollTo(0, 0)");
      await fits(view);
    }
  },
  TIMEOUT,
);

test("a second account finds the set that waits for it, asks for changes, and approves", async () => {
  const set = await openSet("Summer texts");
  const id = await product({ title: "Desk lamp", price: 50 });
  await patch(set, id, { price: 45 });
  const author = await console.open(`/orbs/${ORB}/changes/${set}`);
  await author.getByRole("button", { name: "Ask for a review" }).click();
  await author.getByText("The set waits for a review now.").waitFor();

  const editor = await console.openAs(ORB, "editor", `/orbs/${ORB}/changes`);
  const inbox = editor.getByRole("region", { name: "Waiting for you" });
  await inbox.getByRole("link", { name: "Summer texts" }).waitFor();
  await inspect(editor, "changes-inbox");
  await inbox.getByRole("link", { name: "Summer texts" }).click();
  await editor.getByText("0 of 1 approval by Editors").waitFor();
  await editor.getByRole("button", { name: "Ask for changes" }).click();
  const dialog = editor.getByRole("dialog");
  await dialog.getByRole("button", { name: "Ask for changes" }).click();
  await dialog.locator(".field.wrong").getByText("must contain more than white space").waitFor();
  await dialog.getByLabel("Comment").fill("Please make it 44.");
  await dialog.getByRole("button", { name: "Ask for changes" }).click();
  await editor.getByText("Please make it 44.").waitFor();
  expect((await send("GET", `${SETS}/${set}`)).body.state).toBe("OPEN");

  await patch(set, id, { price: 44 });
  await send("POST", `${SETS}/${set}/review`);
  await editor.reload();
  await editor.getByRole("group", { name: "Price" }).getByText("44", { exact: true }).waitFor();
  await editor.getByRole("button", { name: "Approve" }).click();
  await editor.getByRole("dialog").getByLabel("Comment").fill("Good.");
  await inspect(editor, "changes-approve");
  await editor.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
  await editor.getByText("1 of 1 approval by Editors").waitFor();

  await editor.getByRole("button", { name: "Publish", exact: true }).click();
  await editor.getByRole("dialog").getByRole("button", { name: "Publish 1 entry" }).click();
  await editor.getByText("published the set").waitFor();
  expect((await call(console.platform, "GET", `/api/${ORB}/catalog/product/${id}`)).body.values.price).toBe(
    44,
  );
  await editor.getByRole("button", { name: "Take it back" }).first().click();
  await editor.getByText("This set takes back another one").waitFor();
  await editor.getByRole("group", { name: "Price" }).getByText("50", { exact: true }).waitFor();
});

test("an approval of content that has changed since is refused", async () => {
  const set = await openSet("Stale");
  const id = await product({ title: "Stale lamp", price: 50 });
  await patch(set, id, { price: 45 });
  await send("POST", `${SETS}/${set}/review`);
  const editor = await console.openAs(ORB, "editor", `/orbs/${ORB}/changes/${set}`);
  await editor.getByRole("group", { name: "Price" }).getByText("45", { exact: true }).waitFor();
  await patch(set, id, { price: 1 });
  await editor.getByRole("button", { name: "Approve" }).click();
  await editor.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
  await editor.getByRole("dialog").getByRole("alert").waitFor();
  expect((await send("GET", `${SETS}/${set}`)).body.approvals).toEqual([]);
});

test("shows all reasons against a publication, and solves conflicts field by field", async () => {
  const set = await openSet("Pages");
  const ids = [await page("First"), await page("Second")];
  for (const id of ids) {
    await patch(set, id, { title: "From the set" });
    const { revision } = (await send("GET", `${ENTRIES}/${id}`)).body;
    await send("PUT", `${ENTRIES}/${id}?publish=true`, { values: { title: `Live ${revision}` } });
  }
  const view = await console.open(`/orbs/${ORB}/changes/${set}`);
  await expect.poll(() => view.locator(".change-entry.has-conflict").count()).toBe(2);
  await view.getByRole("button", { name: "Publish", exact: true }).click();
  await view.getByRole("dialog").getByRole("button", { name: "Publish 2 entries" }).click();
  const refused = view.getByRole("alert");
  await expect.poll(() => refused.getByRole("listitem").count()).toBe(2);
  await inspect(view, "changes-conflicts");
  await refused.getByRole("button").first().click();
  expect(await focusedName(view)).toBe("From the set");
  for (const side of ["Live now", "In this set"]) {
    const entry = view.locator(".change-entry.has-conflict").first();
    await entry.getByRole("radio", { name: side }).check();
    await entry.getByRole("button", { name: "Use these values" }).click();
    await expect
      .poll(() => view.locator(".change-entry.has-conflict").count())
      .toBe(side === "Live now" ? 1 : 0);
  }
  await view.getByRole("button", { name: "Publish", exact: true }).click();
  await view
    .getByRole("dialog")
    .getByRole("button", { name: /^Publish / })
    .click();
  await view.getByText("published the set").waitFor();
  const titles = await Promise.all(
    ids.map(
      async (id) => (await call(console.platform, "GET", `/api/${ORB}/pages/page/${id}`)).body.values.title,
    ),
  );
  expect(titles.sort()).toEqual(["From the set", "Live 1"]);
});

test("opens, renames and closes a set, and filters the list by state", async () => {
  const view = await console.open(`/orbs/${ORB}`);
  await (await console.navigation(view)).getByRole("link", { name: "Changes" }).click();
  await view.getByRole("heading", { level: 1, name: "Changes" }).waitFor();
  await view.getByRole("button", { name: "New change set" }).first().click();
  const dialog = view.getByRole("dialog");
  await dialog.getByRole("button", { name: "Open it" }).click();
  await dialog.locator(".field.wrong").getByText("must contain more than white space").first().waitFor();
  await dialog.getByLabel("Title").fill(`Autumn ${"W".repeat(100)}`);
  await inspect(view, "changes-open");
  await dialog.getByRole("button", { name: "Open it" }).click();
  await view.getByText("This set contains no entries yet").waitFor();
  await inspect(view, "changes-empty");
  await view.getByRole("button", { name: "More actions" }).click();
  await view.getByRole("menuitem", { name: "Change title and description" }).click();
  await view.getByRole("dialog").getByLabel("Title").fill("Autumn");
  await view.getByRole("dialog").getByRole("button", { name: "Save" }).click();
  await view.getByRole("heading", { level: 1, name: "Autumn", exact: true }).waitFor();
  await view.getByRole("button", { name: "More actions" }).click();
  await view.getByRole("menuitem", { name: "Close the set" }).click();
  await view.getByRole("dialog").getByRole("button", { name: "Close the set" }).click();
  await view.getByText("Closed", { exact: true }).waitFor();
  await view.goto(`${console.platform.origin}/console/orbs/${ORB}/changes`);
  await view.getByLabel("State").selectOption("CLOSED");
  await expect.poll(() => view.locator(".change-sets li").count()).toBe(1);
  await view.getByRole("link", { name: "Autumn" }).waitFor();
  expect(view.url()).toContain("state=CLOSED");
});

test("a set that a token has proposed stands out", async () => {
  const account = await createService(console.platform, `/api/${ORB}`, "admin");
  const { token } = await createToken(
    console.platform,
    `/api/${ORB}`,
    console.token,
    [scope(ORB, "read", "propose")],
    { account },
  );
  const id = await page("Proposed page");
  const base = `/api/${ORB}/changes`;
  const set = (await send("POST", base, { title: "An agent's idea" }, token)).body.id;
  await send("PATCH", `/api/${ORB}/pages/page/${id}?change=${set}`, { values: { title: "Better" } }, token);
  await send("POST", `${base}/${set}/comments`, { text: "I have read the guide." }, token);
  const view = await console.open(`/orbs/${ORB}/changes`);
  const item = view.getByRole("listitem").filter({ hasText: "An agent's idea" }).first();
  await item.getByText("with an API token").waitFor();
  await item.getByRole("link").click();
  await expect.poll(() => view.getByText("with an API token").count()).toBe(2);
  await inspect(view, "changes-token");
});

test("publishes a set at a time, and shows it in the calendar until the time is removed", async () => {
  const set = await openSet(`New year ${"W".repeat(90)}`);
  await patch(set, await page("Fireworks"), { title: "Fireworks at midnight" });
  const view = await console.open(`/orbs/${ORB}/changes/${set}`);
  const more = async (name: string) => {
    await view.getByRole("button", { name: "More actions" }).click();
    await view.getByRole("menuitem", { name }).click();
  };
  await more("Publish at a time");
  const year = new Date().getFullYear() + 2;
  const time = view.getByRole("dialog").getByLabel("Time");
  await time.fill("2001-01-01T00:00:00");
  await view.getByRole("dialog").getByRole("button", { name: "Set the time" }).click();
  await view.getByRole("dialog").locator(".problem, .field.wrong").first().waitFor();
  await time.fill(`${year}-01-01T00:00:00`);
  await inspect(view, "changes-schedule");
  await view.getByRole("dialog").getByRole("button", { name: "Set the time" }).click();
  await view.getByText(/^Goes live on /).waitFor();
  expect((await send("GET", `${SETS}/${set}`)).body.state).toBe("SCHEDULED");
  await inspect(view, "changes-scheduled");
  await view.goto(`${console.platform.origin}/console/orbs/${ORB}/changes`);
  const calendar = view.getByRole("region", { name: "Goes live next" });
  await calendar.getByText(String(year)).waitFor();
  await inspect(view, "changes-calendar");
  await calendar.getByRole("link", { name: /^New year/ }).click();
  await more("Remove the time");
  await view.getByText("The set no longer goes live by itself.").waitFor();
  await expect.poll(() => view.getByText(/^Goes live on /).count()).toBe(0);
});

test("shows what a set changes in the definition of the orb", async () => {
  const set = await openSet("Badges");
  const modules = structuredClone(document.modules);
  modules[1]?.schemas[0]?.fields.push({ name: "badge", label: "Badge", type: "string" });
  await send("PATCH", `/api/admin/orbs/${ORB}?change=${set}`, { modules });
  const view = await console.open(`/orbs/${ORB}/changes/${set}`);
  const card = view.getByRole("region", { name: "Definition of the orb" });
  await card.getByText("badge").first().waitFor();
  expect(await card.getByText("Conflict").count()).toBe(0);
  // A set without entries can be reviewed and published if it has a definition.
  expect(await view.getByRole("button", { name: "Publish", exact: true }).isEnabled()).toBe(true);
  // Another admin renames what the set renames too, and adds something else.
  await send("PATCH", `/api/admin/orbs/${ORB}?change=${set}`, { description: "In the set" });
  await send("PATCH", `/api/admin/orbs/${ORB}?publish=true`, {
    description: "Live",
    branding: { color: "#123456" },
  });
  await view.reload();
  await card.getByText("Both this set and the orb have changed these places.").waitFor();
  const merge = card.getByRole("button", { name: "Merge with the live definition" });
  expect(await merge.isDisabled()).toBe(true);
  await card.getByRole("radio", { name: "Live now" }).check();
  await inspect(view, "changes-definition-conflict");
  await view.setViewportSize(PHONE);
  await inspect(view, "changes-definition-conflict-phone");
  await merge.click();
  await view.getByText("The set now starts from the live definition.").waitFor();
  await expect.poll(() => card.getByText("Conflict").count()).toBe(0);
  const within = await send("GET", `/api/admin/orbs/${ORB}?change=${set}`);
  expect(within.body).toMatchObject({ description: "Live", branding: { color: "#123456" } });
  await card.getByRole("button", { name: "Take the definition out of the set" }).click();
  await view.getByRole("dialog").getByRole("button", { name: "Take out" }).click();
  await view.getByText("The definition is no longer in the set.").waitFor();
  expect((await send("GET", `${SETS}/${set}`)).body.definition).toBeNull();
});
