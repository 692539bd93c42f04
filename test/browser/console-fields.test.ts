/** References to one of several schemas, points, languages that publishing needs, and fields inside objects. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { inspect, useConsole } from "../support/console.ts";

const console = useConsole();

const guide = {
  id: "notes-guide",
  name: "Guide",
  languages: ["en", "de"],
  components: [
    {
      id: "quote",
      name: "Quote",
      fields: [
        { name: "text", label: "Text", type: "string" },
        { name: "by", label: "By", type: "string" },
      ],
    },
  ],
  modules: [
    {
      id: "content",
      type: "CONTENT",
      schemas: [
        { id: "person", name: "Person", fields: [{ name: "name", type: "string", required: true }] },
        { id: "place", name: "Place", fields: [{ name: "name", type: "string", required: true }] },
        {
          id: "note",
          name: "Note",
          fields: [
            { name: "title", label: "Title", type: "string", translatable: true, required: "allLanguages" },
            {
              name: "about",
              label: "About",
              type: "reference",
              ref: ["notes-guide/content/person", "notes-guide/content/place"],
            },
            { name: "at", label: "Where", type: "point" },
            { name: "parts", label: "Parts", type: "blocks", components: ["quote"] },
          ],
        },
      ],
    },
  ],
};

const NOTES = "/orbs/notes-guide/entries/content/note";
let seeded: Promise<void> | undefined;
const seed = () => {
  seeded ??= console.seedOrb(guide);
  return seeded;
};
const entry = (schema: string, values: object) =>
  console.seedEntry("notes-guide", { module: "content", schema, values });
const read = async (id: string) =>
  (await call(console.platform, "GET", `/api/admin/orbs/notes-guide/entries/${id}`, { token: console.token }))
    .body;
const said = (page: Page, text: string) => page.locator(".toast", { hasText: text }).waitFor();
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

test("chooses the kind of entry, then the entry, and a point by one paste", async () => {
  await seed();
  await entry("person", { name: "Ada" });
  const harbour = await entry("place", { name: "Harbour" });
  const page = await console.open(`${NOTES}/new`);
  const title = page.getByRole("group", { name: "Title" });
  await title.getByLabel("English").fill("Ships");
  await page.getByLabel("About: kind of entry").selectOption("Place");
  await page.getByRole("combobox", { name: "About", exact: true }).click();
  await page.getByRole("option", { name: /Harbour/ }).click();
  await button(page, "About: Harbour. Open beside the form").waitFor();
  await page.getByLabel("Where: latitude").fill("54.32, 10.13");
  await page.getByRole("link", { name: "Show on a map" }).waitFor();
  await expect.poll(() => page.getByLabel("Where: longitude").inputValue()).toBe("10.13");
  await inspect(page, "fields-new");
  await page.keyboard.press("Control+Enter");
  await page.getByText("is required in de before the entry is published").first().waitFor();
  await title.getByLabel("German").fill("Schiffe");
  await page.keyboard.press("Control+Enter");
  await said(page, "Created and published");
  const id = page.url().split("/").at(-1) ?? "";
  const { values } = await read(id);
  expect(values).toMatchObject({
    about: { schema: "notes-guide/content/place", id: harbour },
    at: { lat: 54.32, lon: 10.13 },
  });
  await page.goto(`${console.platform.origin}/console${NOTES}`);
  await page.getByText("Harbour").first().waitFor();
});

test("edits the fields of components, and of objects inside objects", async () => {
  await console.seedOrb({ ...guide, id: "notes-nested", modules: [], components: guide.components });
  const page = await console.open("/orbs/notes-nested/schema");
  const parts = page.getByRole("navigation", { name: "Parts of the document" });
  await parts.getByRole("button", { name: "Components" }).click();
  await page.getByRole("button", { name: /^quote/ }).click();
  await page.getByRole("button", { name: "Add field" }).click();
  await page.getByLabel("Type required").selectOption("object");
  await page.getByRole("button", { name: "Add field" }).last().click();
  await page.getByLabel("Name required").last().fill("street");
  await page.keyboard.press("Control+s");
  await page.getByRole("status").getByText(/saved/i).first().waitFor();
  const { body } = await call(console.platform, "GET", "/api/admin/orbs/notes-nested", {
    token: console.token,
  });
  expect(body.components[0].fields[2]).toMatchObject({
    type: "object",
    fields: [{ name: "street", type: "string" }],
  });
});

test("opens an entry with 300 blocks, and keeps up with typing", async () => {
  await seed();
  const parts = Array.from({ length: 300 }, (_, at) => ({
    _type: "quote",
    text: `Text ${at}`,
    by: `By ${at}`,
  }));
  const id = await entry("note", { title: { en: "Long", de: "Lang" }, parts });
  const page = await console.open(NOTES);
  const began = Date.now();
  await page.goto(`${console.platform.origin}/console${NOTES}/${id}`);
  const last = page.getByRole("group", { name: "Quote 300", exact: true });
  await last.waitFor();
  const opened = Date.now() - began;
  const first = page.getByRole("group", { name: "Quote 1", exact: true }).getByLabel("Text");
  await first.focus();
  const times = await page.evaluate(`(async () => {
    const input = document.activeElement;
    const times = [];
    for (let at = 0; at < 40; at++) {
      const began = performance.now();
      input.setRangeText("x", input.value.length, input.value.length, "end");
      input.dispatchEvent(new InputEvent("input", { bubbles: true }));
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      times.push(performance.now() - began);
    }
    return times.sort((a, b) => a - b);
  })()`);
  const median = (times as number[])[20] ?? 0;
  globalThis.console.info(`300 blocks: open ${opened} ms, ${median.toFixed(1)} ms a key at the median`);
  // The limits are those of a busy machine. Alone, it opens within 1 s and needs less than 50 ms a key.
  expect(opened).toBeLessThan(10_000);
  expect(median).toBeLessThan(500);
});
