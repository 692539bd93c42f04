/** The table of entries: what it shows, filters, keys, selection and bulk work, views, and a long list. */
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { inspect, PHONE, useConsole } from "../support/console.ts";

const console = useConsole();

const LIST = "/orbs/books/entries/library/book";
/** More entries than a list follows (2,000). */
const LONG = 2_500;

const orb = {
  id: "books",
  name: "Books",
  languages: ["en", "de"],
  uses: [{ service: "access", handlers: ["passkey", "invitations", "bootstrap"] }],
  modules: [
    {
      id: "library",
      type: "CONTENT",
      name: "Library",
      schemas: [
        {
          id: "book",
          name: "Book",
          fields: [
            {
              name: "title",
              type: "string",
              label: "Title",
              required: true,
              translatable: true,
              search: true,
            },
            { name: "genre", type: "string", label: "Genre", enum: ["novel", "poetry", "science"] },
            { name: "author", type: "reference", label: "Author", ref: "books/library/author" },
            { name: "pages", type: "integer", label: "Pages" },
            { name: "lent", type: "boolean", label: "Lent" },
            { name: "tags", type: "string", label: "Tags", list: true },
          ],
        },
        { id: "author", name: "Author", fields: [{ name: "name", type: "string", label: "Name" }] },
        { id: "note", name: "Note", fields: [{ name: "text", type: "string", label: "Text" }] },
        {
          id: "label",
          name: "Label",
          access: { read: "public", write: "admin" },
          fields: [
            { name: "code", type: "string", label: "Code", unique: true },
            { name: "text", type: "string", label: "Text" },
            { name: "note", type: "string", label: "Note" },
          ],
        },
        { id: "blank", name: "Blank", fields: [{ name: "text", type: "string", label: "Text" }] },
        {
          id: "sample",
          name: "Sample",
          fields: [
            { name: "name", type: "string", label: "Name" },
            { name: "number", type: "integer", label: "Number" },
            { name: "kind", type: "string", label: "Kind", enum: ["even", "odd"] },
          ],
        },
      ],
    },
  ],
};

async function upload(lines: readonly object[], publish: boolean): Promise<void> {
  const answer = await fetch(
    `${console.platform.origin}/api/admin/orbs/books/entries/bulk${publish ? "?publish=true" : ""}`,
    {
      method: "POST",
      headers: { authorization: `Bearer ${console.token}`, "content-type": "application/x-ndjson" },
      body: lines.map((line) => JSON.stringify(line)).join("\n"),
    },
  );
  const last = (await answer.text()).trimEnd().split("\n").at(-1) ?? "";
  expect(JSON.parse(last)).toMatchObject({ done: true, failed: 0, created: lines.length });
}

const book = (values: object) => ({ module: "library", schema: "book", values });
const rowsOf = (page: Page) => page.locator("tr[data-index]");
const titles = (page: Page) => page.locator("tr[data-index] a.strong").allInnerTexts();

beforeAll(async () => {
  await console.seedOrb(orb);
  const author = await console.seedEntry("books", {
    module: "library",
    schema: "author",
    values: { name: "Ada Writer" },
  });
  await upload(
    Array.from({ length: 30 }, (_, at) =>
      book({
        title: {
          en: `Book ${String(at + 1).padStart(2, "0")}`,
          ...(at % 2 === 0 ? { de: `Buch ${at + 1}` } : {}),
        },
        genre: ["novel", "poetry", "science"][at % 3],
        author: at % 2 === 0 ? author : null,
        pages: 100 + at * 37,
        lent: at % 4 === 0,
        tags: ["new", "paper", "gift", "old"].slice(0, at % 5),
      }),
    ),
    false,
  );
  await upload(
    Array.from({ length: LONG }, (_, at) => ({
      module: "library",
      schema: "sample",
      values: { name: `Sample ${at}`, number: at, kind: at % 2 === 0 ? "even" : "odd" },
    })),
    true,
  );
}, 120_000);

test("searches for words while the user types", async () => {
  const page = await console.open(LIST);
  await page.getByRole("link", { name: "Book 30" }).waitFor();
  await page.keyboard.press("/");
  // The letters arrive about when the search for the earlier ones begins. None may get lost.
  await page.keyboard.type("búch 2", { delay: 255 });
  await page.getByText("of 5").waitFor();
  expect((await titles(page)).sort()).toEqual(["Book 21", "Book 23", "Book 25", "Book 27", "Book 29"]);
  expect(new URL(page.url()).searchParams.get("search")).toBe("búch 2");
});

test("shows entries with their state, and keeps the chosen columns", async () => {
  const page = await console.open(LIST);
  await page.getByRole("link", { name: "Book 30" }).waitFor();
  expect(await titles(page)).toContain("Book 29");
  await page.getByText("Ada Writer").first().waitFor();
  await page.getByText("of 30").waitFor();
  await inspect(page, "table");
  await page.getByRole("button", { name: "Columns" }).click();
  await page.getByRole("checkbox", { name: "Author" }).uncheck();
  await page.getByRole("checkbox", { name: "Tags" }).check();
  await page.keyboard.press("Escape");
  expect(page.url()).toContain("columns=title,");
  await page.goto(`${console.platform.origin}/console${LIST}?locale=de`);
  // Even numbers have no German title, so the list shows the English one and its language.
  await page.getByRole("link", { name: "Buch 29" }).waitFor();
  // A card on a phone has no headings of columns that cannot be sorted.
  if (!console.phone) await page.getByRole("columnheader", { name: "Tags" }).waitFor();
  await expect.poll(() => page.getByRole("columnheader", { name: "Author" }).count()).toBe(0);
  await expect.poll(() => page.getByText("Ada Writer").count()).toBe(0);
  await page.getByTitle("No value in the chosen language. Showing en instead.").first().waitFor();
});

test("filters by state, field and text, and keeps views in the address and by name", async () => {
  const page = await console.open(LIST);
  await page.getByRole("button", { name: "Add a filter" }).click();
  await page.getByLabel("Field").selectOption("genre");
  await page.getByLabel("Value").selectOption("poetry");
  await page.getByRole("button", { name: "Apply the filter" }).click();
  await page.getByText("of 10").waitFor();
  await page.getByRole("button", { name: "Add a filter" }).click();
  await page.getByLabel("Field").selectOption("author");
  await page.getByLabel("Find an entry by its name").fill("ada");
  await page.getByRole("button", { name: "Ada Writer" }).click();
  await page.getByRole("button", { name: "Apply the filter" }).click();
  await page.getByText("of 5").waitFor();
  await page.getByRole("button", { name: "Author is Ada Writer", exact: true }).waitFor();
  expect(new URL(page.url()).search).toContain("filter[genre][eq]=poetry&filter[author][eq]=");
  // 10 poems and 15 books by Ada, of which 5 are both.
  await page.getByLabel("Filters to match").selectOption("Match any");
  await page.getByText("of 20").waitFor();
  expect(page.url()).toContain("match=any");
  await inspect(page, "table-match-any");
  if (console.phone) {
    await page.getByRole("button", { name: /^Search or run/ }).click();
    await page.getByRole("option", { name: "Show this list as code" }).click();
  } else await page.getByRole("link", { name: "Code" }).click();
  await page.getByText("filter[or][0][genre][eq]=poetry&filter[or][1][author][eq]=").waitFor();
  await page.goBack();
  await page.getByText("of 20").waitFor();
  await page.getByLabel("Filters to match").selectOption("Match all");
  await page.getByText("of 5").waitFor();
  await page.getByRole("button", { name: "Save this view" }).click();
  await page.getByLabel("Name of the view").fill("Poems");
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: "All entries" }).click();
  await page.getByText("of 30").waitFor();
  await page.getByRole("button", { name: "Poems", exact: true }).click();
  await page.getByText("of 5").waitFor();
  await page.reload();
  await page.getByText("of 5").waitFor();
  await page.getByRole("button", { name: "Remove the view Poems" }).click();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await page.keyboard.press("/");
  await page.keyboard.type("Book 07");
  await page.getByText("1–1 of 1").waitFor();
  await page.getByLabel("State").selectOption("Archived");
  await page.getByRole("heading", { name: "No entry matches" }).waitFor();
  await page.getByRole("button", { name: "Clear filters" }).last().click();
  await page.getByText("of 30").waitFor();
});

test("sorts, and moves, selects and opens by keyboard", async () => {
  const page = await console.open(LIST);
  const pages = page.getByRole("columnheader", { name: "Genre" });
  await pages.getByRole("button").click();
  await expect.poll(() => pages.getAttribute("aria-sort")).toBe("ascending");
  await expect.poll(async () => (await titles(page))[0]).toBe("Book 01");
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.keyboard.press("Shift+ArrowDown");
  await page.keyboard.press("Shift+ArrowDown");
  await page.getByText("3 selected").waitFor();
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  await page.waitForURL(/book\/[0-9a-z]+$/);
  await page.goBack();
  // The list is as it was, and n begins a new entry.
  await expect.poll(async () => (await titles(page))[0]).toBe("Book 01");
  await page.keyboard.press("n");
  await page.waitForURL(/book\/new$/);
});

test("publishes a range, undoes it, and reports why entries failed", async () => {
  const page = await console.open(LIST);
  await page.getByLabel("Select Book 30").click();
  await page.getByLabel("Select Book 26").click({ modifiers: ["Shift"] });
  await page.getByText("5 selected").waitFor();
  await page.getByRole("button", { name: "Publish", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Publish 5 entries" }).click();
  await page.getByText("5 entries published.").waitFor();
  await expect.poll(() => rowsOf(page).filter({ hasText: "Published" }).count()).toBe(5);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Undone for 5 entries.").waitFor();
  await page.goto(`${console.platform.origin}/console/orbs/books/entries/library/author`);
  await page.getByRole("link", { name: "Ada Writer" }).waitFor();
  await page.getByLabel("Select the entries shown so far").click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("button", { name: "Delete 1 entry" }).click();
  await page.getByRole("heading", { name: "1 entry failed" }).waitFor();
  await inspect(page, "table-failed");
  await page.getByRole("button", { name: "Close" }).last().click();
  await page.getByRole("link", { name: "Ada Writer" }).waitFor();
});

test("tells failed requests and lists without an index, and proposes an index", async () => {
  const ask = (query: string) =>
    call(console.platform, "GET", `/api/admin/orbs/books/entries?module=library&schema=sample&${query}`, {
      token: console.token,
    });
  expect([(await ask("sort=number")).status, (await ask("limit=none")).status]).toEqual([200, 400]);
  const page = await console.open("/orbs/books");
  const usage = page.getByRole("region", { name: "The last 7 days" });
  await usage.getByText("400 invalid_parameter").first().waitFor();
  await inspect(page, "orb-usage");
  await page.setViewportSize(PHONE);
  await inspect(page, "orb-usage-phone");
  await usage.getByRole("link", { name: "Add an index to Number" }).click();
  await page.waitForURL(/schema\?/);
  await page.getByText(/index/i).first().waitFor();
});

test("finds what is missing in a language, and sets a value in many entries at once, with undo", async () => {
  const page = await console.open("/orbs/books");
  const glance = page.getByRole("region", { name: "At a glance" });
  await glance.getByRole("link", { name: /^(?!0 ).*(ublications?|published) in the last 7 days$/ }).waitFor();
  await glance.getByRole("button", { name: "Count" }).click();
  const counted = glance.getByRole("link", { name: "Book (15)" });
  await counted.waitFor();
  await inspect(page, "orb-glance");
  await counted.click();
  await page.getByText("of 15").waitFor();
  await page.getByRole("button", { name: "Remove the filter: Missing in German" }).click();
  await page.getByText("of 30").waitFor();
  await page.getByRole("button", { name: "Add a filter" }).click();
  await inspect(page, "table-quick-filters");
  await page.getByRole("button", { name: "Missing in German" }).click();
  await page.getByText("of 15").waitFor();
  expect(page.url()).toContain("missing=de");
  await page.getByLabel("Select the entries shown so far").click();
  await page.getByText("15 selected").waitFor();
  const setGerman = async (text: string) => {
    await page.getByRole("button", { name: "Set a value" }).click();
    const dialog = page.getByRole("dialog", { name: "Set a value in 15 entries" });
    await dialog.getByLabel("Field").selectOption("title");
    await dialog.getByLabel("Language and market").selectOption("German");
    await dialog.getByRole("textbox", { name: "Value" }).fill(text);
    await inspect(page, "table-set-value");
    await dialog.getByRole("button", { name: "Set the value in 15 entries" }).click();
  };
  await setGerman("Fehlt noch");
  await page.getByText("Value set in 15 entries.").waitFor();
  await page.getByRole("heading", { name: "No entry matches" }).waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Undone for 15 entries.").waitFor();
  await page.getByText("of 15").waitFor();
  await page.getByRole("button", { name: "Remove the filter: Missing in German" }).click();
  await page.getByText("of 30").waitFor();
  await page.getByRole("button", { name: "Add a filter" }).click();
  await page.getByRole("button", { name: "Changed by me" }).click();
  await page.waitForURL(/filter\[updatedBy\]\[eq\]=/);
  await page.getByRole("button", { name: /^Changed by is / }).waitFor();
  await page.getByRole("link", { name: "Book 30" }).waitFor();
});

test("shows a list as a board whose cards change their value, and as a calendar", async () => {
  // The list may have a filter of the field by which the board is divided.
  const page = await console.open(`${LIST}?filter[genre][eq]=novel&layout=board:genre`);
  const column = (name: string) => page.getByRole("region", { name, exact: true });
  const card = (name: string, title: string) => column(name).getByRole("link", { name: title });
  await card("novel", "Book 01").waitFor();
  await page.getByRole("button", { name: "Clear filters" }).click();
  await card("science", "Book 02").or(card("poetry", "Book 02")).waitFor();
  await inspect(page, "table-board");
  await page.getByLabel("Genre of Book 01").selectOption("science");
  await page.getByText("Book 01 is now in science.").waitFor();
  await card("science", "Book 01").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await card("novel", "Book 01").waitFor();
  await card("novel", "Book 04").dragTo(column("poetry"));
  await card("poetry", "Book 04").waitFor();
  await page.getByRole("button", { name: "Undo" }).click();
  await card("novel", "Book 04").waitFor();
  expect(page.url()).toContain("layout=board:genre");
  await page.getByLabel("Layout").selectOption("Calendar by Created");
  await page.getByRole("button", { name: "This month" }).click();
  await page.getByRole("link", { name: "Book 30" }).waitFor();
  await inspect(page, "table-calendar");
  await page.getByRole("button", { name: "Month before" }).click();
  await page.getByText("No entries in this month.").waitFor();
  await page.setViewportSize(PHONE);
  await page.getByRole("button", { name: "Month after" }).click();
  await page.getByRole("link", { name: "Book 30" }).waitFor();
  await inspect(page, "table-calendar-phone");
  await page.getByLabel("Layout").selectOption("Board by Genre");
  await card("novel", "Book 01").waitFor();
  await inspect(page, "table-board-phone");
});

test("exports what matches", async () => {
  const page = await console.open(`${LIST}?filter[genre][eq]=novel`);
  await page.getByText("of 10").waitFor();
  await page.getByRole("button", { name: "Export" }).click();
  const downloads = page.waitForEvent("download");
  await page.getByRole("dialog").getByRole("button", { name: "Export" }).click();
  const file = await downloads;
  expect(file.suggestedFilename()).toBe("books-library-book.csv");
  const chunks: Buffer[] = [];
  for await (const chunk of await file.createReadStream()) chunks.push(chunk as Buffer);
  const lines = Buffer.concat(chunks).toString("utf8").trimEnd().split("\r\n");
  expect(lines[0]).toContain("title.en,title.de,genre,author");
  expect(lines).toHaveLength(11);
});

test("imports a file, and says which lines failed and why", async () => {
  const page = await console.open("/orbs/books/entries/library/note");
  await page.getByRole("button", { name: "Import" }).click();
  const dialog = page.getByRole("dialog", { name: "Import entries" });
  const choose = (lines: string) =>
    dialog.getByLabel("File").setInputFiles({
      name: "notes.ndjson",
      mimeType: "application/x-ndjson",
      buffer: Buffer.from(lines),
    });
  await choose('{ "text": "One" }\n{ "text": ');
  await dialog.getByText("Line 2 is not a JSON object. Nothing was imported.").waitFor();
  await choose('{ "text": "One" }\n{ "id": "x", "values": { "text": "Two" } }\n{ "text": 3 }\n');
  await dialog.getByRole("checkbox", { name: "Publish the entries" }).check();
  await inspect(page, "table-import");
  await dialog.getByRole("button", { name: "Import 3 entries" }).click();
  await dialog.getByText("2 entries imported.").waitFor();
  await dialog
    .getByRole("listitem")
    .filter({ hasText: "Line 3" })
    .getByText(/must be a/)
    .waitFor();
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await expect.poll(async () => (await titles(page)).sort()).toEqual(["One", "Two"]);
  await expect.poll(() => rowsOf(page).filter({ hasText: "Published" }).count()).toBe(2);
});

test("undoes an import: deletes what it created, and imports the file again afterwards", async () => {
  const page = await console.open("/orbs/books/entries/library/note");
  await page.getByRole("button", { name: "Import" }).click();
  const dialog = page.getByRole("dialog", { name: "Import entries" });
  const start = async () => {
    const buffer = Buffer.from("text\nUndone 1\nUndone 2\nUndone 3\n");
    await dialog.getByLabel("File").setInputFiles({ name: "undone.csv", mimeType: "text/csv", buffer });
    await dialog.getByRole("button", { name: "Import 3 entries" }).click();
    await dialog.getByText("3 entries imported.").waitFor();
  };
  await start();
  await dialog.getByRole("button", { name: "Undo: delete 3 imported entries" }).click();
  await dialog.getByText("3 imported entries deleted.").waitFor();
  const undone = async () => (await titles(page)).filter((title) => title.startsWith("Undone"));
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await expect.poll(undone).toEqual([]);
  await page.getByRole("button", { name: "Import" }).click();
  await start();
  await dialog.getByRole("button", { name: "Close" }).last().click();
  await expect.poll(undone).toHaveLength(3);
});

test("imports a table: shows which field a column holds, and the lines with faults, before it writes", async () => {
  const page = await console.open(LIST, { size: PHONE });
  await page.getByRole("button", { name: "Import" }).click();
  const dialog = page.getByRole("dialog", { name: "Import entries" });
  const choose = (text: string) =>
    dialog
      .getByLabel("File")
      .setInputFiles({ name: "books.csv", mimeType: "text/csv", buffer: Buffer.from(text) });
  await choose('title.en;genre\n"Open');
  await dialog.getByText("The quote in line 2 is not closed. Nothing was imported.").waitFor();
  const rows = [
    "\uFEFFtitle.en;GENRE;Pages;Remark;id",
    '"Table ""One"";\nfirst";novel;120;x;1',
    "",
    "Table Two;novel;many;y;2",
    "Table Three;science;7;z;3;more",
    "'=Table Four;essay;7;;4",
  ];
  await choose(`${rows.join("\r\n")}\r\n`);
  await dialog.getByRole("listitem").filter({ hasText: "Line 6" }).getByText("1 cell more").waitFor();
  await expect.poll(() => dialog.getByLabel("GENRE").inputValue()).toBe("genre");
  expect([
    await dialog.getByLabel("Remark").inputValue(),
    await dialog.getByLabel("Pages").inputValue(),
  ]).toEqual(["", "pages"]);
  await dialog
    .getByRole("listitem")
    .filter({ hasText: "Line 5" })
    .getByText(/Pages must be a/)
    .waitFor();
  await inspect(page, "table-import-csv");
  await dialog.getByLabel("Pages").selectOption("");
  await dialog.getByLabel("Remark").selectOption("title.de");
  await dialog.getByRole("button", { name: "Import 3 entries" }).click();
  await dialog.getByText("2 entries imported.").waitFor();
  const faults = dialog.getByRole("listitem");
  await expect.poll(() => faults.count()).toBe(2);
  await faults.filter({ hasText: "Line 7" }).getByText(/genre/).waitFor();
  const { items } = await write("GET", "?module=library&schema=book&sort=-createdAt&limit=2");
  const made = items.map(({ values }: { values: { title: object } }) => values.title);
  expect(made).toContainEqual({ en: 'Table "One";\nfirst', de: "x" });
  expect(made).toContainEqual({ en: "Table Two", de: "y" });
  for (const { id } of items) await write("DELETE", `/${id}`);
});

test("imports a corrected file again, as a platform admin and as an editor: rows change their entries", async () => {
  const labels = "/orbs/books/entries/library/label";
  const start = async (page: Page, text: string) => {
    await page.getByRole("button", { name: "Import" }).click();
    const dialog = page.getByRole("dialog", { name: "Import entries" });
    const buffer = Buffer.from(`code,text,note\n${text}`);
    await dialog.getByLabel("File").setInputFiles({ name: "labels.csv", mimeType: "text/csv", buffer });
    await dialog.getByLabel("Rows of existing entries").selectOption("code");
    await dialog.getByRole("button", { name: /Import . entries/ }).click();
    return dialog;
  };
  const close = (page: Page) =>
    page.getByRole("dialog").getByRole("button", { name: "Close" }).last().click();
  const page = await console.open(labels);
  const first = await start(page, "a,One,x\nb,Two,\n");
  await first.getByText("2 entries imported.").waitFor();
  await inspect(page, "table-import-match");
  await close(page);
  // The runtime API, which the console uses for editors, answers 404 for a row without an entry.
  console.allow(/status of 404/);
  const editor = await console.openAs("books", "admin", labels);
  for (const [who, text] of [
    [page, "a,Uno,\nb,Two,\nc,Three,\n"],
    [editor, "c,Tres,\nb,Two,\nd,Four,\n"],
  ] as const) {
    const dialog = await start(who, text);
    await dialog.getByText("1 entry imported.").waitFor();
    await dialog.getByText("1 entry changed.").waitFor();
    await dialog.getByText("1 entry was as it is in the file already.").waitFor();
    await close(who);
  }
  const { items } = await write("GET", "?module=library&schema=label");
  const texts = items.map(({ values, revision }: { values: object; revision: number }) => [
    ...Object.values(values),
    revision,
  ]);
  expect(texts).toEqual([
    ["a", "Uno", 2],
    ["b", "Two", 1],
    ["c", "Tres", 2],
    ["d", "Four", 1],
  ]);
});

/** Sends a request of another user. */
const write = async (method: string, path: string, body?: object) => {
  const answer = await call(console.platform, method, `/api/admin/orbs/books/entries${path}`, {
    token: console.token,
    ...(body === undefined ? {} : { body }),
  });
  expect(answer.status).toBeLessThan(300);
  return answer.body;
};

test("puts changes by others in their places, and announces new entries and those that left", async () => {
  const page = await console.open(LIST);
  await page.getByRole("link", { name: "Book 30" }).waitFor();
  const { items } = await write("GET", "?module=library&schema=book&sort=-createdAt&limit=5");
  const [first, second, third] = items as { id: string }[];
  const row = (at: number) => page.locator(`tr[data-index="${at}"]`);
  await write("PUT", `/${second?.id}`, { values: { title: { en: "Book 29" }, genre: "science" } });
  await row(1).getByText("science").waitFor();
  await expect.poll(() => row(1).getByRole("link").first().textContent()).toBe("Book 29");

  await write("POST", "", book({ title: { en: "Book 31" }, genre: "science" }));
  await page.getByText("1 new entry.").waitFor();
  expect((await titles(page))[0]).toBe("Book 30");
  await write("DELETE", `/${third?.id}`);
  await row(2).getByText("Gone").waitFor();
  await page.getByText("1 new entry. 1 entry left the list.").waitFor();
  await page.getByRole("button", { name: "Show" }).click();
  await expect.poll(async () => (await titles(page)).slice(0, 3)).toEqual(["Book 31", "Book 30", "Book 29"]);
  await expect.poll(() => page.getByRole("button", { name: "Show" }).count()).toBe(0);

  // Nothing changes while entries are selected. Another page shows when the change has arrived.
  await page.getByLabel("Select Book 29").click();
  const other = await console.open(LIST, { size: PHONE });
  await other.getByRole("link", { name: "Book 31" }).waitFor();
  await write("PUT", `/${first?.id}`, { values: { title: { en: "Book 30 again" } } });
  await other.getByRole("link", { name: "Book 30 again" }).waitFor();
  await write("POST", "", book({ title: { en: "Book 32" } }));
  await other.getByText("1 new entry.").waitFor();
  await inspect(other, "table-live-phone");
  expect((await titles(page)).slice(0, 2)).toEqual(["Book 31", "Book 30"]);
  await page.getByRole("button", { name: "Clear selection" }).click();
  await page.getByRole("link", { name: "Book 30 again" }).waitFor();
  await page.getByText("1 new entry.").waitFor();

  // A page in the background holds no connection.
  const ended = page.waitForEvent("requestfailed", (request) => request.url().includes("live=sse"));
  const show = (state: string) =>
    page.evaluate(`Object.defineProperty(document, "visibilityState", { value: "${state}", configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));`);
  await show("hidden");
  await ended;

  // If the session ended meanwhile, the page asks for a new one, and then follows the list again.
  const cookies = await page.context().cookies();
  await page.context().clearCookies();
  console.allow(/status of 401 /);
  await show("visible");
  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  await dialog.waitFor();
  await expect.poll(() => page.getByText("Gone").count()).toBe(0);
  await page.context().addCookies(cookies);
  await dialog.getByRole("button", { name: "Continue" }).click();
  await write("PUT", `/${first?.id}`, { values: { title: { en: "Book 30 at last" } } });
  await page.getByRole("link", { name: "Book 30 at last" }).waitFor();
});

test("shows a schema that refers to itself as a tree, moves entries in it, and refuses circles", async () => {
  await console.seedOrb({
    id: "shelves",
    modules: [
      {
        id: "library",
        type: "CONTENT",
        schemas: [
          {
            id: "shelf",
            name: "Shelf",
            fields: [
              { name: "title", type: "string" },
              { name: "parent", type: "reference", label: "Parent", ref: "shelves/library/shelf" },
              { name: "position", type: "integer" },
            ],
          },
        ],
      },
    ],
  });
  const seed = (title: string, position: number, parent?: string) =>
    console.seedEntry("shelves", { module: "library", schema: "shelf", values: { title, position, parent } });
  const arts = await seed("Arts", 2);
  const science = await seed("Science", 1);
  const music = await seed("Music", 1, arts);
  await seed("Jazz", 1, music);
  const page = await console.open("/orbs/shelves/entries/library/shelf");
  await page.getByLabel("Layout").selectOption({ label: "Tree by Parent" });
  const tree = page.getByRole("region", { name: "Tree by Parent" });
  const names = () => tree.getByRole("link").allTextContents();
  // Only the top level is loaded, in the order of the field that says it.
  await expect.poll(names).toEqual(["Science", "Arts"]);
  await tree.getByRole("button", { name: "Open Arts" }).click();
  await tree.getByRole("button", { name: "Open Music" }).click();
  await expect.poll(names).toEqual(["Science", "Arts", "Music", "Jazz"]);
  await inspect(page, "tree");

  // Nothing can be moved below itself, and Escape stops the move.
  await tree.getByRole("button", { name: "Move Music", exact: true }).click();
  expect(await tree.getByRole("button", { name: "Move Music below Jazz" }).count()).toBe(0);
  await page.keyboard.press("Escape");
  await tree.getByRole("button", { name: "Move Music", exact: true }).focus();
  await page.keyboard.press("Enter");
  await tree.getByRole("button", { name: "Move Music below Science" }).click();
  await page
    .getByText("Moved Music")
    .or(page.getByText(/Music.*Science/))
    .first()
    .waitFor();
  await tree.getByRole("button", { name: "Open Science" }).click();
  await expect.poll(names).toEqual(["Science", "Music", "Arts"]);

  const row = (name: string) => tree.locator(".entry-tree-row", { hasText: name });
  await row("Music").dragTo(row("Arts"));
  await expect.poll(names).toEqual(["Science", "Arts", "Music"]);
  await row("Music").dragTo(row("Science"));
  await expect.poll(names).toEqual(["Science", "Music", "Arts"]);

  // Another user has moved an entry below the one that is being moved.
  await tree.getByRole("button", { name: "Move Music", exact: true }).click();
  const path = `/api/admin/orbs/shelves/entries/${arts}`;
  const { body } = await call(console.platform, "GET", path, { token: console.token });
  const moved = await call(console.platform, "PATCH", path, {
    token: console.token,
    headers: { "if-match": `"${body.revision}"` },
    body: { values: { parent: music } },
  });
  expect(moved.status).toBe(200);
  await tree.getByRole("button", { name: "Move Music below Arts" }).click();
  await page.getByText("Music cannot be below itself.").waitFor();
  await page.setViewportSize(PHONE);
  await page.evaluate("document.documentElement.dir = 'rtl'");
  await tree.getByRole("button", { name: "Look for entries outside of the tree" }).click();
  await tree.getByText("All entries are in the tree.").waitFor();
  await inspect(page, "tree-phone");
  expect(science).not.toBe(arts);
});

test("says that others changed a list that is too long to follow", async () => {
  const page = await console.open("/orbs/books/entries/library/sample", { alone: true });
  await page.clock.install();
  // The user returns to the window while the next page of the list is being read.
  const reading = Promise.withResolvers<void>();
  const answering = Promise.withResolvers<void>();
  await page.route(/[?&]cursor=/, async (route) => {
    reading.resolve();
    await answering.promise;
    await route.continue();
  });
  await page.reload();
  await page.getByRole("link", { name: `Sample ${LONG - 1}` }).waitFor();
  await page.locator(".grid-box").evaluate((element) => element.scrollBy({ top: 300 }));
  await reading.promise;
  const { id } = await write("POST", "", {
    module: "library",
    schema: "sample",
    values: { name: "Another" },
  });
  try {
    await page.clock.fastForward(10_000);
    await page.evaluate("dispatchEvent(new Event('focus'))");
    answering.resolve();
    await page.getByText("1 entry changed.").waitFor();
    await page.getByRole("button", { name: "Show" }).click();
    await page.getByRole("link", { name: "Another" }).waitFor();
  } finally {
    await write("DELETE", `/${id}`);
  }
});

test("offers to create the first entry, and fits a phone", async () => {
  const page = await console.open("/orbs/books/entries/library/blank", { size: PHONE });
  await page.getByRole("link", { name: "Create the first entry" }).waitFor();
  await inspect(page, "table-empty-phone");
  await page.goto(`${console.platform.origin}/console${LIST}`);
  await page.getByLabel("Select Book 29").click();
  await page.getByText("1 selected").waitFor();
  await inspect(page, "table-phone");
});

test("scrolls and filters long lists without holding more than what is shown", async () => {
  const page = await console.open("/orbs/books/entries/library/sample");
  await page.getByRole("link", { name: `Sample ${LONG - 1}` }).waitFor();
  await page.getByText(`of ${LONG.toLocaleString("en")}`).waitFor();
  const most = { rows: 0 };
  const shown = async () => {
    const count = await rowsOf(page).count();
    most.rows = Math.max(most.rows, count);
    return (await titles(page)).at(-1) ?? "";
  };
  const number = async () => Number((await shown()).replace("Sample ", "") || LONG);
  const box = page.locator(".grid-box");
  for (let seen = LONG; seen > LONG - 1_500; seen = await number())
    await box.evaluate((element) => element.scrollBy({ top: 3_000 }));
  expect(most.rows).toBeLessThan(60);
  // The first entries were forgotten. They are read again.
  await box.evaluate((element) => element.scrollTo({ top: 0 }));
  await page.getByRole("link", { name: `Sample ${LONG - 1}` }).waitFor();
  await page.getByRole("button", { name: "Add a filter" }).click();
  await page.getByLabel("Field").selectOption("number");
  await page.getByLabel("Value").fill("1321");
  await page.getByRole("button", { name: "Apply the filter" }).click();
  await page.getByText("1–1 of 1").waitFor();
  await page.getByRole("link", { name: "Sample 1321" }).waitFor();
});

test("shows users only the acts that their role allows", async () => {
  const page = await console.openAs("books", "user", "/orbs/books/entries/library/author");
  await page.getByRole("link", { name: "Ada Writer" }).waitFor();
  await expect.poll(() => page.getByRole("link", { name: "New entry" }).count()).toBe(0);
  await page.getByLabel("Select Ada Writer").click();
  await expect
    .poll(() => page.getByRole("toolbar").getByRole("button").allInnerTexts())
    .toEqual(["Export", "Clear selection"]);
});
