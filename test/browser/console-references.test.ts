/** Lists of short values, and references: their names everywhere, and entries that are created for them. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { inspect, useConsole } from "../support/console.ts";

const console = useConsole();

const museum = {
  id: "museum",
  name: "Museum",
  uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
  modules: [
    {
      id: "art",
      type: "CONTENT",
      schemas: [
        {
          id: "artist",
          name: "Artist",
          access: { create: ["user"], read: ["public"], update: ["user"], publish: ["user"] },
          fields: [
            { name: "name", label: "Name", type: "string", required: true },
            { name: "born", label: "Born", type: "integer", required: true },
            { name: "bio", label: "Biography", type: "text" },
          ],
        },
        {
          id: "work",
          name: "Work",
          access: { create: ["user"], read: ["public"], update: ["user"], publish: ["user"] },
          fields: [
            { name: "title", label: "Title", type: "string", required: true },
            { name: "artist", label: "Artist", type: "reference", ref: "museum/art/artist" },
            { name: "helpers", label: "Helpers", type: "reference", ref: "museum/art/artist", list: true },
            { name: "tags", label: "Tags", type: "string", list: true },
            { name: "years", label: "Years", type: "integer", list: true },
          ],
        },
        {
          id: "loan",
          name: "Loan",
          fields: [
            { name: "work", label: "Work", type: "reference", ref: "museum/art/work" },
            { name: "of", label: "Extends", type: "reference", ref: "museum/art/loan" },
          ],
        },
      ],
    },
  ],
};

const WORKS = "/orbs/museum/entries/art/work";
const entry = (schema: string, values: object) =>
  console.seedEntry("museum", { module: "art", schema, values });
const read = async (id: string) =>
  (await call(console.platform, "GET", `/api/admin/orbs/museum/entries/${id}`, { token: console.token })).body
    .values;
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const said = (page: Page, text: string) => page.locator(".toast", { hasText: text }).waitFor();

let seeded: Promise<void> | undefined;
const seed = () => {
  seeded ??= console.seedOrb(museum);
  return seeded;
};

/** Pastes text as a keyboard does, without the permission to read the clipboard. */
const paste = (page: Page, text: string) =>
  page.evaluate(
    `(() => { const data = new DataTransfer(); data.setData("text/plain", ${JSON.stringify(text)});
      document.activeElement.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })); })()`,
  );

test("makes one value of each pasted line, and shows 25 tags in a few lines", async () => {
  await seed();
  const page = await console.open(`${WORKS}/new`);
  await page.getByLabel("Title").fill("Night");
  const tags = page.getByLabel("Tags", { exact: true });
  await tags.focus();
  await paste(page, "oil\r\n  canvas  \n\nnight");
  await paste(page, "red, green, blue");
  await said(page, "Added 3 values to Tags.");
  await tags.fill("typed");
  await button(page, "Save draft").click();
  await said(page, "Draft created");
  const id = page.url().split("/").at(-1) ?? "";
  expect((await read(id)).tags).toEqual(["oil", "canvas", "night", "red", "green", "blue", "typed"]);
  // A value with a comma shows that commas are part of the text.
  await tags.fill("Paris, France");
  await page.keyboard.press("Enter");
  await paste(page, "Rome, Italy");
  await expect.poll(() => page.getByRole("button", { name: /^Change Tags/ }).count()).toBe(8);
  await tags.fill("");
  await paste(page, Array.from({ length: 17 }, (_, at) => `tag ${at}`).join("\n"));
  await expect.poll(() => page.getByRole("button", { name: /^Change Tags/ }).count()).toBe(25);
  const box = await page.getByRole("list", { name: "Values of Tags" }).boundingBox();
  expect(box?.height).toBeLessThan(console.phone ? 520 : 260);
  await inspect(page, "references-tags");
});

test("moves the focus to the next chip before the next key", async () => {
  await seed();
  const page = await console.open(`${WORKS}/new`);
  await page.getByLabel("Years", { exact: true }).focus();
  await paste(page, "1900\n1910\n1920");
  await button(page, "Change Years 3: 1920").focus();
  // All keys arrive before the next timer and the next frame.
  await page.evaluate(`(async () => {
    for (let count = 0; count < 3; count++) {
      const options = { key: "Delete", bubbles: true, cancelable: true };
      document.activeElement.dispatchEvent(new KeyboardEvent("keydown", options));
      await null;
      await null;
    }
  })()`);
  await expect.poll(() => page.locator(".chip").count()).toBe(0);
  expect(await page.evaluate("document.activeElement.tagName")).toBe("INPUT");
});

test("changes, moves and removes values by keyboard, and marks those that are not numbers", async () => {
  await seed();
  const page = await console.open(`${WORKS}/new`);
  await page.getByLabel("Title").fill("Years");
  const years = page.getByLabel("Years", { exact: true });
  await years.focus();
  await paste(page, "1900\nabout 1910\n1920");
  await expect.poll(() => page.locator(".chip.wrong").count()).toBe(1);
  await button(page, "Save draft").click();
  await page.getByText(/must be a number/).waitFor();
  await button(page, "Change Years 2: about 1910").press("Enter");
  const input = page.getByLabel("Years 2", { exact: true });
  await input.fill("1910");
  await input.press("Enter");
  const focused = () => page.evaluate("document.activeElement.getAttribute('aria-label')");
  await expect.poll(focused).toBe("Change Years 2: 1910");
  await page.keyboard.press("Alt+ArrowLeft");
  await expect.poll(focused).toBe("Change Years 1: 1910");
  await page.keyboard.press("Delete");
  await expect.poll(focused).toBe("Change Years 1: 1900");
  await page.keyboard.press("Delete");
  await page.keyboard.press("Delete");
  await expect.poll(() => page.evaluate("document.activeElement.tagName")).toBe("INPUT");
  await page.keyboard.type("1930");
  await page.keyboard.press("Control+s");
  await said(page, "Draft created");
  expect((await read(page.url().split("/").at(-1) ?? "")).years).toEqual([1930]);
});

test("creates the entry that a reference lacks, with its required fields, and picks it", async () => {
  await seed();
  const page = await console.open(`${WORKS}/new`);
  await page.getByLabel("Title").fill("Sunflowers");
  await page.getByRole("combobox", { name: "Artist" }).fill("Vincent");
  await page.getByRole("option", { name: "Create Artist “Vincent”…" }).click();
  const dialog = page.getByRole("dialog", { name: "New entry: Artist" });
  await expect.poll(() => dialog.getByLabel("Name").inputValue()).toBe("Vincent");
  await inspect(page, "references-create");
  await button(page, "Save and publish").last().click();
  await dialog
    .getByText(/required/)
    .last()
    .waitFor();
  await dialog.getByLabel("Born").fill("1853");
  await dialog.getByRole("button", { name: "Save and publish" }).click();
  const chosen = page.getByRole("button", { name: "Artist: Vincent. Open beside" });
  await chosen.waitFor();
  await expect
    .poll(() => page.evaluate("document.activeElement.getAttribute('aria-label')"))
    .toBe("Artist: Vincent. Open beside the form");
  await page.keyboard.press("Control+Enter");
  await page.waitForURL(/\/art\/work\/\d/);
  const { artist } = await read(page.url().split("/").at(-1) ?? "");
  expect(await read(artist)).toMatchObject({ name: "Vincent", born: 1853 });
});

test("offers to create only what the caller may create", async () => {
  await seed();
  const artist = await entry("artist", { name: "Paula", born: 1876 });
  const page = await console.openAs("museum", "user", `${WORKS}/new`);
  await page.getByRole("combobox", { name: "Artist" }).fill("nobody");
  await page.getByRole("option", { name: "Create Artist “nobody”…" }).waitFor();
  await page.getByRole("combobox", { name: "Artist" }).fill("Paula");
  await page.getByRole("option", { name: /^Paula/ }).click();
  await page.getByRole("button", { name: "Artist: Paula. Open beside" }).waitFor();
  await page.getByRole("button", { name: "Artist: Paula. Open beside" }).click();
  await page.getByRole("complementary").getByRole("heading", { name: "Paula" }).waitFor();
  expect(artist).toMatch(/./);
});

test("shows names instead of ids in lists, beside the form and in the history, with few requests", async () => {
  await seed();
  const artists: string[] = [];
  for (let at = 0; at < 12; at++) artists.push(await entry("artist", { name: `Helper ${at}`, born: 1900 }));
  const [artist = ""] = artists;
  const work = await entry("work", { title: "Big", artist, helpers: artists });
  for (let at = 0; at < 8; at++) await entry("work", { title: `W${at}`, helpers: artists.slice(at, at + 3) });
  const loan = await entry("loan", { work });
  const second = await entry("loan", { work, of: loan });
  const page = await console.open(`${WORKS}?columns=title,artist,helpers`);
  const requests: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("filter%5Bid%5D%5Bin%5D")) requests.push(request.url());
  });
  await page.reload();
  await page
    .getByRole("gridcell", { name: /Helper 0.*Helper 1.*Helper 2/ })
    .first()
    .waitFor();
  expect(requests.length).toBeLessThanOrEqual(2);
  await inspect(page, "references-list");
  for (const place of [`loan/${second}`, `loan/${second}/history`]) {
    await page.goto(`${console.platform.origin}/console/orbs/museum/entries/art/${place}`);
    await page.getByRole("heading", { level: 1, name: place.endsWith("history") ? /./ : "Big" }).waitFor();
    if (place.endsWith("history")) continue;
    await page.getByRole("button", { name: "Work: Big. Open beside" }).click();
    const beside = page.getByRole("complementary");
    await beside.getByText("Helper 11").waitFor();
    await expect.poll(() => beside.getByText(artist).count()).toBe(0);
    // A loan has no text of its own. Its name is that of the work.
    await page
      .getByRole("button", { name: /^Extends/ })
      .getByText("Big")
      .waitFor();
    await inspect(page, "references-beside");
  }
});

test("changes a referenced entry beside the form, which saves on its own, and moves items by dragging", async () => {
  await seed();
  const rosa = await entry("artist", { name: "Rosa", born: 1822 });
  const marc = await entry("artist", { name: "Marc", born: 1880 });
  const work = await entry("work", { title: "Horses", artist: rosa, helpers: [rosa, marc] });
  const page = await console.open(`${WORKS}/${work}`);
  await page.getByLabel("Title").fill("The horses");
  await page.getByRole("button", { name: "Artist: Rosa. Open beside" }).click();
  const beside = page.getByRole("complementary");
  await beside.getByRole("button", { name: "Edit here" }).click();
  await beside.getByLabel("Name").fill("Rosa Bonheur");
  await beside.getByLabel("Born").fill("x");
  await page.keyboard.press("Control+s");
  await expect.poll(() => page.evaluate("document.activeElement.closest('.beside') !== null")).toBe(true);
  await beside.getByLabel("Born").fill("1823");
  await page.keyboard.press("Control+s");
  await said(page, "Draft saved");
  await page.getByRole("button", { name: "Artist: Rosa Bonheur. Open beside" }).waitFor();
  expect(await read(rosa)).toEqual({ name: "Rosa Bonheur", born: 1823 });
  expect(await read(work)).toMatchObject({ title: "Horses" });
  await inspect(page, "references-edit-beside");

  // Closing the panel asks about what is unsaved in it, and the form behind it stays as it is.
  await beside.getByLabel("Name").fill("Nobody");
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await expect
    .poll(() => page.evaluate("document.activeElement.closest('.beside form') !== null"))
    .toBe(true);
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").getByRole("button", { name: "Leave" }).click();
  await beside.waitFor({ state: "detached" });
  expect(await page.getByLabel("Title").inputValue()).toBe("The horses");

  const grips = page.locator(".list-input .grip");
  await grips.nth(1).dragTo(grips.nth(0));
  await page.keyboard.press("Control+s");
  await expect.poll(() => read(work)).toMatchObject({ title: "The horses", helpers: [marc, rosa] });
  expect(await read(rosa)).toMatchObject({ name: "Rosa Bonheur" });

  // The panel creates an entry again that is gone. The form behind it still asks before the user leaves.
  await page.getByLabel("Title").fill("Some horses");
  await page.getByRole("button", { name: "Artist: Rosa Bonheur. Open beside" }).click();
  await beside.getByRole("button", { name: "Edit here" }).click();
  await beside.getByLabel("Name").fill("Rosa again");
  const gone = await call(console.platform, "DELETE", `/api/admin/orbs/museum/entries/${rosa}?force=true`, {
    token: console.token,
    headers: { "if-match": '"2"' },
  });
  expect(gone.status).toBe(204);
  console.allow(/status of 4(04|10) /);
  await page.keyboard.press("Control+s");
  await button(page, "Save as a new entry").click();
  await said(page, "Created");
  await page.getByRole("link", { name: "Work", exact: true }).first().click();
  await page.getByRole("dialog").getByRole("button", { name: "Leave" }).click();
  await page.getByRole("heading", { level: 1, name: "Work" }).waitFor();
});
