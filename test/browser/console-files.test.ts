/** Files in the console: uploads before a save, galleries, dropped and pasted files, thumbnails in forms and lists. */
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { inspect, useConsole } from "../support/console.ts";
import { BLUE, picture, png, RED } from "../support/images.ts";

const console = useConsole();
const POSTERS = "/orbs/shows/entries/content/poster";

let seeded: Promise<void> | undefined;
const seed = () => {
  const files = [
    { name: "picture", label: "Picture", type: "file", accept: ["image/*"] },
    { name: "paper", label: "Paper", type: "file" },
    { name: "photos", label: "Photos", type: "file", accept: ["image/*"], list: true },
  ];
  const fields = [{ name: "name", label: "Name", type: "string", required: true }, ...files];
  const schemas = [{ id: "poster", name: "Poster", fields }];
  seeded ??= console.seedOrb({
    id: "shows",
    name: "Shows",
    modules: [{ id: "content", type: "CONTENT", schemas }],
  });
  return seeded;
};

const image = async (name: string, width: number, color = RED) => ({
  name,
  mimeType: "image/png",
  buffer: Buffer.from(await png(picture(width, 20, color))),
});
const paper = { name: "paper.txt", mimeType: "text/plain", buffer: Buffer.alloc(6_000_000, "a line\n") };

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const said = (page: Page, text: string) => page.locator(".toast", { hasText: text }).waitFor();

async function read(page: Page) {
  const path = `/api/admin/orbs/shows/entries/${page.url().split("/").at(-1)}`;
  return (await call(console.platform, "GET", path, { token: console.token })).body.values;
}

/** The widths of images as they were stored. An image that the browser cannot show has the width 0. */
const widthsOf = (images: Locator) =>
  images.evaluateAll((all) => (all as unknown as { naturalWidth: number }[]).map((one) => one.naturalWidth));

/** Holds the second part of each long upload until `release` is called. */
async function holdUploads(page: Page) {
  const { promise, resolve } = Promise.withResolvers<void>();
  let parts = 0;
  await page.route("**/api/shows/files/uploads/*", async (route) => {
    if (route.request().method() === "PATCH" && ++parts === 2) await promise;
    await route.continue().catch(() => undefined);
  });
  return { release: resolve };
}

/** Sends an event with files to one of the fields, as dropping or pasting does. */
async function give(
  page: Page,
  at: number,
  kind: "drop" | "paste",
  files: readonly { name: string; buffer: Buffer }[],
) {
  const sent = files.map(({ name, buffer }) => ({ name, data: buffer.toString("base64") }));
  const event =
    kind === "drop"
      ? 'new DragEvent("drop", { ...options, dataTransfer: transfer })'
      : 'new ClipboardEvent("paste", { ...options, clipboardData: transfer })';
  await page.evaluate(`(() => {
    const transfer = new DataTransfer();
    for (const { name, data } of ${JSON.stringify(sent)}) {
      const bytes = Uint8Array.from(atob(data), (one) => one.charCodeAt(0));
      transfer.items.add(new File([bytes], name, { type: "image/png" }));
    }
    const options = { bubbles: true, cancelable: true };
    document.querySelectorAll(".drop-zone")[${at}].dispatchEvent(${event});
  })()`);
}

test("a save waits for the file that is being uploaded, and leaving asks", async () => {
  await seed();
  const page = await console.open(`${POSTERS}/new`);
  const { release } = await holdUploads(page);
  await page.getByLabel("Name").fill("Fair");
  await page.getByLabel("Paper").setInputFiles(paper);
  await page.getByText("Uploading 1 file: 69%").waitFor();
  await button(page, "Save draft").click();
  await page.getByText("Saves as soon as 1 file is uploaded: 69%").waitFor();
  // The user may change their mind, and save with the keyboard.
  await button(page, "Do not save yet").click();
  await page.getByText("Uploading 1 file: 69%").waitFor();
  await inspect(page, "entry-uploads");
  await page.getByRole("link", { name: "Poster" }).first().click();
  await page.getByRole("dialog").getByText("Leave without saving?").waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("Control+s");
  await page.getByText("Saves as soon as").waitFor();
  expect(page.url()).toMatch(/\/new$/);
  release();
  await said(page, "Draft created");
  await page.getByRole("heading", { level: 1, name: "Fair" }).waitFor();
  expect(await read(page)).toMatchObject({ name: "Fair", paper: { name: "paper.txt", size: 6_000_000 } });

  // Nothing but an upload changes the entry.
  await button(page, "Clear Paper").click();
  await page.keyboard.press("Control+s");
  await said(page, "Saved");
  const again = await holdUploads(page);
  await page.getByLabel("Paper").setInputFiles(paper);
  await page.getByText("Uploading 1 file: 69%").waitFor();
  await button(page, "Save and publish").click();
  await page.getByText("Publishes as soon as 1 file is uploaded: 69%").waitFor();
  again.release();
  await expect.poll(async () => (await read(page)).paper?.name).toBe("paper.txt");
});

test("a save that waits does not happen if the upload fails", async () => {
  await seed();
  const page = await console.open(`${POSTERS}/new`);
  const { release } = await holdUploads(page);
  await page.getByLabel("Name").fill("Rain");
  await page.getByLabel("Picture").setInputFiles({ ...paper, name: "words.png" });
  await page.getByText(/Uploading 1 file/).waitFor();
  await button(page, "Save draft").click();
  await page.getByText("Saves as soon as").waitFor();
  release();
  await page.getByText("The file must be of type image/* (is text/plain).").first().waitFor();
  expect(page.url()).toMatch(/\/new$/);
  await button(page, "Dismiss").click();
  await button(page, "Save draft").click();
  await said(page, "Draft created");
});

test("a gallery takes several files at once, chosen, dropped and pasted, and shows them without variants", async () => {
  await seed();
  const page = await console.open(`${POSTERS}/new`);
  await page.getByLabel("Name").fill("Tour");
  const input = page.getByLabel("Photos", { exact: true });
  await input.setInputFiles([
    await image("a.png", 31),
    await image("b.png", 32, BLUE),
    await image("c.png", 33),
  ]);
  const shown = page.locator(".gallery img");
  await expect.poll(() => widthsOf(shown)).toEqual([31, 32, 33]);
  await give(page, 2, "drop", [await image("d.png", 34), await image("e.png", 35)]);
  await expect.poll(() => widthsOf(shown)).toEqual([31, 32, 33, 34, 35]);
  await give(page, 2, "paste", [await image("f.png", 36)]);
  await expect.poll(() => widthsOf(shown)).toEqual([31, 32, 33, 34, 35, 36]);
  await input.setInputFiles([await image("g.png", 37), { ...paper, buffer: Buffer.from("words") }]);
  await page.getByText("paper.txt: The file must be of type image/* (is text/plain).").waitFor();
  await button(page, "Dismiss").click();
  await button(page, "Move Photos 2 up").click();
  await button(page, "Remove Photos 3").click();
  await expect.poll(() => widthsOf(shown)).toEqual([32, 31, 34, 35, 36, 37]);
  await give(page, 0, "drop", [await image("h.png", 38)]);
  await page.getByText("h.png", { exact: true }).waitFor();
  await inspect(page, "entry-gallery");
  await button(page, "Save and publish").click();
  await said(page, "Published");
  const values = await read(page);
  expect(values.photos.map(({ name }: { name: string }) => name)).toEqual([
    "b.png",
    "a.png",
    "d.png",
    "e.png",
    "f.png",
    "g.png",
  ]);
  expect(values.picture).toMatchObject({ name: "h.png", width: 38 });
  // The list shows the images, too.
  await page.goto(`${console.platform.origin}/console${POSTERS}`);
  const row = page.getByRole("row", { name: /Tour/ });
  await expect.poll(async () => (await widthsOf(row.locator("img"))).includes(38)).toBe(true);
  await inspect(page, "entries-thumbnails");
});
