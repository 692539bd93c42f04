/** The library of files in the console: upload, describe, crop, find, pick for a field, replace and delete. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { inspect, PHONE, useConsole } from "../support/console.ts";
import { picture, png, RED } from "../support/images.ts";

const console = useConsole();
const MEDIA = "/orbs/reel/media";
const POSTERS = "/orbs/reel/entries/content/poster";
const FILES = "/api/admin/orbs/reel/files";

let seeded: Promise<void> | undefined;
const seed = () => {
  const fields = [
    { name: "name", label: "Name", type: "string", required: true },
    { name: "picture", label: "Picture", type: "file", accept: ["image/*"] },
    { name: "photos", label: "Photos", type: "file", accept: ["image/*"], list: true },
  ];
  seeded ??= console.seedOrb({
    id: "reel",
    name: "Reel",
    languages: ["en", "ar"],
    modules: [{ id: "content", type: "CONTENT", schemas: [{ id: "poster", name: "Poster", fields }] }],
  });
  return seeded;
};

let shade = 0;
/** Returns an image that no other test uploads. */
const image = async (name: string, width = 60) => ({
  name,
  mimeType: "image/png",
  buffer: Buffer.from(await png(picture(width, 40, RED, [++shade, 9, 9, 255]))),
});

const button = (page: Page, name: string | RegExp) => page.getByRole("button", { name });
const said = (page: Page, text: string) => page.locator(".toast", { hasText: text }).waitFor();
const tile = (page: Page, name: string) => page.locator(".media-tile", { hasText: name });
const dialog = (page: Page) => page.getByRole("dialog");
const api = (method: string, path: string, body?: unknown) =>
  call(console.platform, method, path, { token: console.token, ...(body === undefined ? {} : { body }) });

async function upload(page: Page, ...files: Awaited<ReturnType<typeof image>>[]): Promise<void> {
  await page.locator("#media-upload").setInputFiles(files);
  for (const { name } of files) await tile(page, name).waitFor();
}

/** Returns the description of the file with a name. */
async function stored(name: string) {
  const { body } = await api("GET", `${FILES}?search=${name}`);
  return body.items[0];
}

test("files are uploaded, described, cropped and found again", async () => {
  await seed();
  const page = await console.open("/orbs/reel");
  await page.goto(`${console.platform.origin}/console${MEDIA}`);
  await page.getByRole("heading", { level: 1, name: "Media" }).waitFor();
  await page.getByText("No files yet").waitFor();
  await upload(page, await image("dawn.png"), await image("dusk.png"));
  expect(await stored("dawn")).toMatchObject({ kept: true, uses: 0 });
  await inspect(page, "media");

  await tile(page, "dawn.png").click();
  await dialog(page).getByRole("heading", { name: "dawn.png" }).waitFor();
  await dialog(page).getByLabel("Alternative text (English)").fill("A red dawn");
  await dialog(page).getByLabel("Alternative text (Arabic)").fill("فجر أحمر");
  await dialog(page).getByLabel("Tags").fill("sky, morning");
  // The keyboard sets the focal point, and dragging the crop.
  await dialog(page).getByText("Set exactly, with the keyboard").click();
  const slider = dialog(page).getByLabel("Focal point from the left");
  await slider.focus();
  for (let i = 0; i < 10; i++) await page.keyboard.press("ArrowRight");
  const shown = dialog(page).locator(".frame svg");
  await shown.scrollIntoViewIfNeeded();
  const box = await shown.boundingBox();
  if (box === null) throw new Error("the image is not visible");
  await page.mouse.move(box.x + box.width * 0.25, box.y + box.height * 0.25);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.75, box.y + box.height * 0.75, { steps: 4 });
  await page.mouse.up();
  await dialog(page).locator(".frame-crop").waitFor();
  await inspect(page, "media-file");
  await button(page, "Save description").click();
  await said(page, "The description is saved.");
  const dawn = await stored("dawn");
  expect(dawn).toMatchObject({
    alt: { en: "A red dawn", ar: "فجر أحمر" },
    tags: ["sky", "morning"],
    focal: { x: 0.6, y: 0.5 },
  });
  for (const [side, wanted] of Object.entries({ x: 0.25, y: 0.25, w: 0.5, h: 0.5 }))
    expect(Math.abs(dawn.crop[side] - wanted), side).toBeLessThan(0.05);
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });

  // A click sets the focal point.
  await tile(page, "dusk.png").click();
  const other = await shown.boundingBox();
  if (other === null) throw new Error("the image is not visible");
  // This waits until the dialog has stopped moving.
  await shown.click({ position: { x: other.width * 0.1, y: other.height * 0.1 } });
  await dialog(page).locator(".frame-focal").waitFor({ state: "attached" });
  await page.keyboard.press("Escape");
  const question = page.getByRole("dialog", { name: "Discard your changes?" });
  await question.getByRole("button", { name: "Cancel" }).click();
  await question.waitFor({ state: "detached" });
  await button(page, "Save description").click();
  await expect.poll(async () => (await stored("dusk")).focal?.x).toBeLessThan(0.2);
  await dialog(page).locator("button:disabled", { hasText: "Save description" }).waitFor();
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });

  await page.getByRole("searchbox", { name: "Search files" }).fill("red dawn");
  await tile(page, "dusk.png").waitFor({ state: "detached" });
  await tile(page, "dawn.png").waitFor();
  await page.getByRole("searchbox", { name: "Search files" }).fill("");
  await tile(page, "dusk.png").waitFor();
  await page.getByLabel("Tags").getByRole("button", { name: "morning" }).click();
  await tile(page, "dusk.png").waitFor({ state: "detached" });
  await page.getByLabel("Tag", { exact: true }).selectOption("All tags");
  await tile(page, "dusk.png").waitFor();
  await page.getByLabel("Type").selectOption("audio/*");
  await page.getByText("No file matches").waitFor();
});

test("a form takes a file from the library, and the panel of the file leads back to the entry", async () => {
  await seed();
  const page = await console.open(MEDIA);
  await upload(page, await image("pick-a.png"), await image("pick-b.png"));
  await page.goto(`${console.platform.origin}/console${POSTERS}/new`);
  await page.getByLabel("Name").fill("Matinee");
  await button(page, "Choose from library").first().click();
  await dialog(page).getByRole("heading", { name: "Choose a file" }).waitFor();
  await inspect(page, "media-picker");
  await dialog(page).locator(".media-tile", { hasText: "pick-a.png" }).click();
  await page.locator(".chosen-entry", { hasText: "pick-a.png" }).waitFor();
  await button(page, "Choose from library").click();
  await dialog(page).locator(".media-tile", { hasText: "pick-b.png" }).click();
  await page.locator(".gallery .chosen-entry", { hasText: "pick-b.png" }).waitFor();
  await button(page, "Save draft").click();
  await said(page, "Draft created");
  expect((await stored("pick-a")).uses).toBe(1);

  await page.goto(`${console.platform.origin}/console${MEDIA}?search=pick-a`);
  await tile(page, "pick-a.png").click();
  await dialog(page).getByText("In a draft").waitFor();
  await dialog(page)
    .getByText(/1 entry has the file/)
    .waitFor();
  await dialog(page).getByRole("link", { name: "Matinee" }).click();
  await page.getByRole("heading", { level: 1, name: "Matinee" }).waitFor();

  await page.goto(`${console.platform.origin}/console${POSTERS}`);
  await page.getByLabel("Layout").selectOption("Cards");
  const card = page.getByRole("listitem").filter({ has: page.getByRole("link", { name: "Matinee" }) });
  await expect.poll(() => card.locator("img").evaluate((one) => Reflect.get(one, "naturalWidth"))).toBe(60);
  await page.evaluate('document.documentElement.dir = "rtl"');
  await inspect(page, "table-cards");
});

test("a file is replaced in all entries, and an unused one is deleted", async () => {
  await seed();
  const page = await console.open(MEDIA);
  await upload(page, await image("old-logo.png", 61));
  const { id } = await stored("old-logo");
  const values = { name: "Premiere", picture: { file: id } };
  const entry = await console.seedEntry("reel", { module: "content", values });
  await page.goto(`${console.platform.origin}/console${MEDIA}?file=${id}`);
  await dialog(page).getByText("Live", { exact: true }).waitFor();
  await dialog(page)
    .getByText(/1 entry gets the new file/)
    .waitFor();
  await dialog(page)
    .locator("#media-replace-file")
    .setInputFiles(await image("new-logo.png", 62));
  await said(page, "1 entry has the new file now.");
  await dialog(page).getByRole("heading", { name: "new-logo.png" }).waitFor();
  const { body } = await api("GET", `/api/reel/content/${entry}`);
  expect(body.values.picture).toMatchObject({ name: "new-logo.png", width: 62 });
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  await tile(page, "new-logo.png").waitFor();
  await tile(page, "old-logo.png").waitFor({ state: "detached" });

  await upload(page, await image("spare.png"));
  await tile(page, "spare.png").click();
  await button(page, "Delete file").click();
  await page
    .getByRole("dialog", { name: "Delete spare.png?" })
    .getByRole("button", { name: "Delete file" })
    .click();
  await said(page, "spare.png is deleted.");
  await tile(page, "spare.png").waitFor({ state: "detached" });
  expect(await stored("spare")).toBeUndefined();
});

test("several files get a tag, which is renamed and removed everywhere, and unused ones are deleted", async () => {
  await seed();
  const page = await console.open(MEDIA);
  await upload(page, await image("bulk-a.png"), await image("bulk-b.png"), await image("bulk-c.png"));
  const tags = async (name: string) => (await stored(name)).tags;
  await page.getByRole("checkbox", { name: "Select bulk-a.png" }).check();
  await page.getByRole("checkbox", { name: "Select bulk-b.png" }).check();
  const bar = page.getByRole("toolbar", { name: "Selected files" });
  await bar.getByText("2 selected").waitFor();
  await inspect(page, "media-selection");
  await bar.getByLabel("Tag", { exact: true }).fill("backstage");
  await page.keyboard.press("Enter");
  await said(page, "2 files are changed.");
  await bar.waitFor({ state: "detached" });
  expect([await tags("bulk-a"), await tags("bulk-b")]).toEqual([["backstage"], ["backstage"]]);

  await button(page, "Manage tags").click();
  await dialog(page).getByLabel("backstage", { exact: true }).fill("behind");
  await page.keyboard.press("Enter");
  await said(page, "All files with backstage have behind now.");
  await dialog(page).getByLabel("behind", { exact: true }).waitFor();
  await inspect(page, "media-tags");
  expect(await tags("bulk-a")).toEqual(["behind"]);
  await page.keyboard.press("Escape");
  await dialog(page).waitFor({ state: "detached" });
  await page.getByLabel("Tag", { exact: true }).selectOption("behind");
  await tile(page, "bulk-c.png").waitFor({ state: "detached" });
  await button(page, "Manage tags").click();
  await button(page, "Remove behind").click();
  const question = page.getByRole("dialog", { name: "Remove behind from all files?" });
  await question.getByRole("button", { name: "Remove tag" }).click();
  await said(page, "No file has behind now.");
  expect(await tags("bulk-b")).toEqual([]);
  await page.keyboard.press("Escape");

  await page.getByLabel("Tag", { exact: true }).selectOption("All tags");
  for (const name of ["bulk-a", "bulk-b"])
    await page.getByRole("checkbox", { name: `Select ${name}.png` }).check();
  const { id } = await stored("bulk-a");
  await console.seedEntry("reel", { module: "content", values: { name: "Bulk", picture: { file: id } } });
  await bar.getByRole("button", { name: "Delete file" }).click();
  await dialog(page).getByRole("button", { name: "Delete 2 files" }).click();
  await said(page, "1 file is deleted.");
  await said(page, "1 file stays");
  await tile(page, "bulk-b.png").waitFor({ state: "detached" });
  await tile(page, "bulk-a.png").waitFor();
});

test("dropped and pasted files are uploaded, on a phone and from right to left too", async () => {
  await seed();
  const page = await console.open(MEDIA, { size: PHONE });
  await page.evaluate('document.documentElement.dir = "rtl"');
  const [one, other] = [await image("dropped.png"), await image("pasted.png")];
  for (const [kind, { name, buffer }] of [
    ["drop", one],
    ["paste", other],
  ] as const) {
    const transfer = kind === "drop" ? "dataTransfer" : "clipboardData";
    const type = kind === "drop" ? "DragEvent" : "ClipboardEvent";
    await page.locator(".drop-zone").first().waitFor();
    await page.evaluate(`(() => {
      const transfer = new DataTransfer();
      const bytes = Uint8Array.from(atob(${JSON.stringify(buffer.toString("base64"))}), (one) => one.charCodeAt(0));
      transfer.items.add(new File([bytes], ${JSON.stringify(name)}, { type: "image/png" }));
      const options = { bubbles: true, cancelable: true, ${transfer}: transfer };
      document.querySelector(".drop-zone").dispatchEvent(new ${type}(${JSON.stringify(kind)}, options));
    })()`);
    await tile(page, name).waitFor();
  }
  await tile(page, "pasted.png").click();
  await dialog(page).getByLabel("Alternative text (English)").waitFor();
  await inspect(page, "media-phone-file");
});

test("an orb without files has no library in its navigation", async () => {
  await seed();
  await console.seedOrb({
    id: "plainreel",
    name: "Plain",
    modules: [
      { id: "news", type: "CONTENT", schemas: [{ id: "post", fields: [{ name: "title", type: "string" }] }] },
    ],
  });
  const page = await console.open("/orbs/plainreel");
  await page.getByRole("heading", { level: 1, name: "Plain" }).waitFor();
  await expect.poll(() => page.locator("nav a", { hasText: "Changes" }).count()).toBeGreaterThan(0);
  expect(await page.locator("nav a", { hasText: "Media" }).count()).toBe(0);
});
