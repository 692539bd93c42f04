/** The console's editor of rich text. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { inspect, PHONE, useConsole } from "../support/console.ts";

const console = useConsole();

/** An image in the format PNG. */
const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";

const gazette = {
  id: "gazette",
  name: "Gazette",
  languages: ["en", "de", "ar"],
  uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
  components: [
    {
      id: "quote",
      name: "Quote",
      fields: [
        { name: "text", label: "Text", type: "text", translatable: true, required: true },
        { name: "by", label: "By", type: "reference", ref: "gazette/content/author" },
      ],
    },
    {
      id: "figure",
      name: "Figure",
      fields: [
        { name: "image", label: "Image", type: "file", accept: ["image/*"] },
        { name: "caption", label: "Caption", type: "string" },
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
          id: "story",
          name: "Story",
          fields: [
            { name: "title", label: "Title", type: "string", required: true },
            {
              name: "body",
              label: "Body",
              type: "richText",
              styles: ["normal", "h2", "h3", "blockquote", "code"],
              links: ["gazette/content/author"],
              components: ["quote", "figure"],
            },
            { name: "lead", label: "Lead", type: "richText", translatable: true },
            {
              name: "note",
              label: "Note",
              type: "richText",
              styles: ["normal"],
              marks: ["strong"],
              lists: [],
            },
          ],
        },
      ],
    },
  ],
};

const STORIES = "/orbs/gazette/entries/content/story";
let seeded: Promise<string> | undefined;
const seed = () => {
  seeded ??= console
    .seedOrb(gazette)
    .then(() =>
      console.seedEntry("gazette", { module: "content", schema: "author", values: { name: "Ann" } }),
    );
  return seeded;
};

async function read(page: Page) {
  const id = page.url().split("/").at(-1) ?? "";
  const path = `/api/admin/orbs/gazette/entries/${id}`;
  return (await call(console.platform, "GET", path, { token: console.token })).body.values;
}

const said = (page: Page, text: string) => page.locator(".toast", { hasText: text }).waitFor();
const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });
const editor = (page: Page, name: string) => page.getByRole("textbox", { name, exact: true });
const tool = (page: Page, field: string, name: string) =>
  page.getByRole("toolbar", { name: `Format ${field}` }).getByRole("button", { name, exact: true });

async function newStory(title: string): Promise<Page> {
  await seed();
  const page = await console.open(`${STORIES}/new`);
  await page.getByLabel("Title").fill(title);
  await editor(page, "Body").waitFor();
  return page;
}

/** Opens a stored story. */
async function openStory(values: object): Promise<Page> {
  await seed();
  const id = await console.seedEntry("gazette", { module: "content", schema: "story", values });
  const page = await console.open(`${STORIES}/${id}`);
  await editor(page, "Body").waitFor();
  return page;
}

async function save(page: Page): Promise<void> {
  const isNew = page.url().endsWith("/new");
  // The message of an earlier save can still be there. Admins and users of the orb write at different addresses.
  const stored = page.waitForResponse(
    (response) =>
      response.request().method() !== "GET" && /\/(entries|story)\b/.test(response.url()) && response.ok(),
  );
  await page.keyboard.press("Control+s");
  await stored;
  await said(page, isNew ? "Created" : "Saved");
  if (isNew) await page.waitForURL(/story\/[0-9a-z]{10,}$/);
}

/** Pastes into the focused editor. */
const paste = (page: Page, html: string) =>
  page.evaluate(`(() => {
    const clipboardData = new DataTransfer();
    clipboardData.setData("text/html", ${JSON.stringify(html)});
    const event = new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true });
    document.activeElement.dispatchEvent(event);
  })()`);

/** Drops an image at the end of a paragraph. */
const drop = (page: Page, text: string) =>
  page.evaluate(`(() => {
    const target = [...document.querySelectorAll(".rich-text p")].find((one) => one.textContent === "${text}");
    const bytes = Uint8Array.from(atob("${PIXEL}"), (character) => character.charCodeAt(0));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], "dot.png", { type: "image/png" }));
    const { right, bottom } = target.getBoundingClientRect();
    const place = { clientX: right - 2, clientY: bottom - 4, bubbles: true, cancelable: true };
    target.dispatchEvent(new DragEvent("drop", { dataTransfer, ...place }));
  })()`);

/** Returns the label of the focused element, or its role. */
const focused = (page: Page) =>
  page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.role");

const key = expect.any(String);
const span = (text: string, ...marks: string[]) => ({ _type: "span", _key: key, text, marks });
const block = (style: string, children: object[], more: object = {}) => ({
  ...{ _type: "block", _key: key, style, children, markDefs: [], ...more },
});
const plain = (text: string) => block("normal", [span(text)]);
const stored = (text: string, _key: string) => ({
  ...plain(text),
  _key,
  children: [{ ...span(text), _key: `${_key}s` }],
});

test("writes with Markdown, the toolbar and the keyboard", async () => {
  const page = await newStory("Rain");
  const body = editor(page, "Body");
  await page.locator("label", { hasText: /^Body$/ }).click();
  await expect.poll(() => body.evaluate((text) => text.matches(":focus"))).toBe(true);
  await body.pressSequentially("## All about rain\nIt is **very** wet, says *Ann*. ");
  await page.keyboard.press("Control+b");
  await body.pressSequentially("Bold");
  await page.keyboard.press("Control+b");
  await body.pressSequentially(" and ");
  await tool(page, "Body", "Underline").click();
  await body.pressSequentially("lined");
  await tool(page, "Body", "Underline").click();
  await body.pressSequentially("\n- One\nTwo");
  await page.keyboard.press("Tab");
  await body.pressSequentially("\n\n\n1. First\n\n> Quoted");
  await page.keyboard.press("Shift+Enter");
  await body.pressSequentially("twice\n");
  await page.getByLabel("Style of the paragraph").first().selectOption("Heading 3");
  await body.pressSequentially("The end");
  await page.getByText("19 words").waitFor();
  await inspect(page, "rich-text");
  await page.setViewportSize(PHONE);
  await inspect(page, "rich-text-phone");
  await save(page);
  const expected = [
    block("h2", [span("All about rain")]),
    block("normal", [
      ...[span("It is "), span("very", "strong"), span(" wet, says "), span("Ann", "em"), span(". ")],
      ...[span("Bold", "strong"), span(" and "), span("lined", "underline")],
    ]),
    block("normal", [span("One")], { listItem: "bullet", level: 1 }),
    block("normal", [span("Two")], { listItem: "bullet", level: 2 }),
    block("normal", [span("First")], { listItem: "number", level: 1 }),
    block("blockquote", [span("Quoted\ntwice")]),
    block("h3", [span("The end")]),
  ];
  const { body: written } = await read(page);
  expect(written).toEqual(expected);
  // A word more changes one block, and none of the keys.
  await page.reload();
  await editor(page, "Body").getByText("It is").click();
  await page.keyboard.press("End");
  await page.keyboard.type("!");
  await save(page);
  const { body: changed } = await read(page);
  const lined = written[1].children.at(-1);
  expect(changed).toEqual(
    written.with(1, {
      ...written[1],
      children: written[1].children.with(-1, { ...lined, text: "lined!" }),
    }),
  );
});

test("links text to addresses and entries", async () => {
  const author = await seed();
  const page = await newStory("Links");
  const body = editor(page, "Body");
  await body.click();
  await body.pressSequentially("Read this by her");
  for (const _ of "her") await page.keyboard.press("Shift+ArrowLeft");
  await page.keyboard.press("Control+k");
  const dialog = page.getByRole("dialog", { name: "New link" });
  await dialog.getByLabel("Link to").selectOption("Entry");
  await dialog.getByRole("combobox", { name: "Entry" }).fill("An");
  await dialog.getByRole("option", { name: /^Ann/ }).click();
  await inspect(page, "rich-text-link");
  await button(page, "Set link").click();
  await dialog.waitFor({ state: "detached" });
  await page.locator(".rich-foot-link", { hasText: "Ann" }).waitFor();
  for (let count = 0; count < 5; count++) await page.keyboard.press("ArrowLeft");
  for (const _ of "this") await page.keyboard.press("Shift+ArrowLeft");
  await tool(page, "Body", "Link").click();
  await dialog.getByLabel("Address").fill("javascript:alert(1)");
  await button(page, "Set link").click();
  await dialog.getByText("one of these schemes").waitFor();
  await dialog.getByLabel("Address").fill("example.org/this");
  await dialog.getByLabel("Address").press("Enter");
  await dialog.waitFor({ state: "detached" });
  await save(page);
  const [read1] = (await read(page)).body;
  const [toAddress, toEntry] = read1.markDefs;
  expect(read1.children).toEqual([
    ...[span("Read "), span("this", toAddress._key), span(" by "), span("her", toEntry._key)],
  ]);
  expect(read1.markDefs).toEqual([
    { _type: "link", _key: key, href: "https://example.org/this" },
    {
      ...{ _type: "link", _key: key },
      reference: {
        schema: "gazette/content/author",
        id: author,
        path: `/api/gazette/content/author/${author}`,
      },
    },
  ]);
  await page.reload();
  await editor(page, "Body").getByText("this", { exact: true }).click();
  await page.locator(".rich-foot-link").getByRole("button", { name: "Edit" }).click();
  await button(page, "Remove link").click();
  await save(page);
  expect((await read(page)).body[0].markDefs).toEqual([toEntry]);
});

test("inserts, edits and moves blocks of components, and takes changes back", async () => {
  const page = await openStory({ title: "Blocks", body: [stored("One", "a"), stored("Two", "b")] });
  const body = editor(page, "Body");
  await body.getByText("One").click();
  await page.keyboard.press("End");
  await button(page, "Insert a block").first().click();
  await page.getByRole("menuitem", { name: "Quote" }).click();
  const dialog = page.getByRole("dialog", { name: "Quote" });
  await dialog.getByLabel("English").fill("To be");
  await dialog.getByRole("combobox").fill("Ann");
  await dialog.getByRole("option", { name: /^Ann/ }).click();
  await button(page, "Done").click();
  await body.getByText("To be").waitFor();
  await inspect(page, "rich-text-card");
  // All changes of the dialog are one step.
  await tool(page, "Body", "Undo").click();
  await body.getByText("To be").waitFor({ state: "detached" });
  await body.getByRole("button", { name: "Edit Quote" }).waitFor();
  await tool(page, "Body", "Redo").click();
  await body.getByText("To be").waitFor();
  await save(page);
  const quote = { _type: "quote", _key: key, text: { en: "To be" }, by: await seed() };
  expect((await read(page)).body).toEqual([stored("One", "a"), quote, stored("Two", "b")]);
  await body.getByRole("button", { name: "Move Quote down" }).click();
  await body.getByRole("button", { name: "Edit Quote" }).click();
  await dialog.getByLabel("English").fill("");
  await button(page, "Done").click();
  await page.keyboard.press("Control+s");
  await body.getByText("Has errors").waitFor();
  await page.getByText("paragraph 3: is required").waitFor();
  await body.getByRole("button", { name: "Edit Quote" }).click();
  await dialog.getByText("is required").waitFor();
  await dialog.getByLabel("English").fill("Not to be");
  await button(page, "Done").click();
  await save(page);
  const moved = { ...quote, text: { en: "Not to be" } };
  expect((await read(page)).body).toEqual([stored("One", "a"), stored("Two", "b"), moved]);
  await body.getByRole("button", { name: "Remove Quote" }).click();
  await body.getByText("Not to be").waitFor({ state: "detached" });
  await tool(page, "Body", "Undo").click();
  await body.getByText("Not to be").waitFor();
  await tool(page, "Body", "Redo").click();
  await save(page);
  expect((await read(page)).body).toEqual([stored("One", "a"), stored("Two", "b")]);
});

test("pastes from other programs only what the field allows, and says what it left out", async () => {
  const page = await newStory("Paste");
  await editor(page, "Body").click();
  await paste(
    page,
    `<style>p{color:red}</style><h1 style="color:red">Big</h1><h2 onclick="x()">Title</h2>
      <p style="font-size:9px">Some <b style="color:red">bold</b> <a href="javascript:x()">bad</a>
      <a href="https://a.example">good</a><script>x()</script></p><ul><li>One<ul><li>Two</li></ul></li></ul>`,
  );
  const notes = page.locator(".rich-notes");
  await notes.getByText("style h1, which it does not allow").waitFor();
  await notes.getByText("a link with an address that is not allowed").waitFor();
  await inspect(page, "rich-text-paste");
  await button(page, "Dismiss").click();
  await notes.waitFor({ state: "detached" });
  // Copies go to other fields with what these allow.
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Control+c");
  await editor(page, "Note").click();
  await page.keyboard.press("Control+v");
  await notes.getByText("bullet, which this field does not allow").waitFor();
  await save(page);
  const values = await read(page);
  const [{ _key: link }] = values.body[2].markDefs;
  const children = (...marks: string[]) => [
    ...[span("Some "), span("bold", "strong"), span(" bad "), span("good", ...marks)],
  ];
  expect(values.body).toEqual([
    plain("Big"),
    block("h2", [span("Title")]),
    block("normal", children(link), { markDefs: [{ _type: "link", _key: key, href: "https://a.example" }] }),
    block("normal", [span("One")], { listItem: "bullet", level: 1 }),
    block("normal", [span("Two")], { listItem: "bullet", level: 2 }),
  ]);
  const [{ _key: copied }] = values.note[2].markDefs;
  expect(values.note).toEqual([
    ...[plain("Big"), plain("Title")],
    block("normal", children(copied), {
      markDefs: [{ _type: "link", _key: key, href: "https://a.example" }],
    }),
    ...[plain("One"), plain("Two")],
  ]);
});

test("has an editor for each language, in its direction", async () => {
  const page = await newStory("Languages");
  const group = page.getByRole("group", { name: "Lead" });
  const lead = (language: string) => group.getByRole("textbox", { name: language, exact: true });
  await lead("English").click();
  await page.keyboard.type("Rain");
  await lead("Arabic").click();
  await page.keyboard.type("- مطر");
  await lead("Arabic").locator("[data-list]").waitFor();
  const direction = "getComputedStyle(document.querySelector('[lang=ar] [data-list]')).direction";
  expect(await page.evaluate(direction)).toBe("rtl");
  await expect.poll(() => lead("Arabic").getAttribute("lang")).toBe("ar");
  await inspect(page, "rich-text-languages");
  await save(page);
  expect((await read(page)).lead).toEqual({
    en: [plain("Rain")],
    ar: [block("normal", [span("مطر")], { listItem: "bullet", level: 1 })],
  });
  await lead("English").click();
  await page.keyboard.press("Control+a");
  await page.keyboard.press("Delete");
  await save(page);
  expect(Object.keys((await read(page)).lead)).toEqual(["ar"]);
});

test("can be used with the keyboard alone", async () => {
  const page = await newStory("Keys");
  await page.getByLabel("Title").focus();
  await page.keyboard.press("Tab");
  await expect.poll(() => focused(page)).toBe("Style of the paragraph");
  await page.keyboard.press("Tab");
  await page.keyboard.type("One");
  await page.keyboard.press("Shift+Home");
  await page.keyboard.press("Alt+F10");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await expect.poll(() => tool(page, "Body", "Bold").getAttribute("aria-pressed")).toBe("true");
  for (let at = 0; at < 5; at++) await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Space");
  await expect.poll(() => tool(page, "Body", "Bulleted list").getAttribute("aria-pressed")).toBe("true");
  await page.keyboard.press("End");
  expect(await focused(page)).toBe("Redo");
  await page.keyboard.press("Escape");
  await expect.poll(() => focused(page)).toBe("textbox");
  await page.keyboard.press("End");
  await page.keyboard.type(" two\nthree");
  await page.keyboard.press("Tab");
  await page.keyboard.type("!");
  // The item cannot be deeper, so the key leaves the text.
  await page.keyboard.press("Tab");
  await expect.poll(() => focused(page)).not.toBe("textbox");
  await save(page);
  expect((await read(page)).body).toEqual([
    block("normal", [span("One two", "strong")], { listItem: "bullet", level: 1 }),
    block("normal", [span("three!", "strong")], { listItem: "bullet", level: 2 }),
  ]);
});

test("offers an orb's user only what the field allows", async () => {
  await seed();
  const page = await console.openAs("gazette", "admin", `${STORIES}/new`);
  await page.getByLabel("Title").fill("Little");
  await editor(page, "Note").click();
  const tools = page.getByRole("toolbar", { name: "Format Note" }).getByRole("button");
  expect(await tools.evaluateAll((all) => all.map((one) => one.getAttribute("aria-label")))).toEqual([
    ...["Bold", "Link", "Undo", "Redo"],
  ]);
  await page.keyboard.type("## **No** *heading*\n- no list");
  await page.keyboard.press("Control+i");
  await save(page);
  expect((await read(page)).note).toEqual([
    block("normal", [span("## "), span("No", "strong"), span(" *heading*")]),
    plain("- no list"),
  ]);
  const body = page.getByRole("toolbar", { name: "Format Body" });
  await body.getByRole("button", { name: "Insert a block" }).click();
  await page.getByRole("menuitem", { name: "Figure" }).waitFor();
});

test("inserts a block for an image that is dropped", async () => {
  const page = await openStory({ title: "Images", body: [stored("One", "a"), stored("Two", "b")] });
  await drop(page, "One");
  await editor(page, "Body").getByText("Figure").waitFor();
  await editor(page, "Note").click();
  await page.keyboard.type("Here");
  await drop(page, "Here");
  await page.getByText("no block for images").waitFor();
  await save(page);
  const image = expect.objectContaining({ file: key, type: "image/png", name: "dot.png" });
  expect((await read(page)).body).toEqual([
    ...[stored("One", "a"), { _type: "figure", _key: key, image }, stored("Two", "b")],
  ]);
});
