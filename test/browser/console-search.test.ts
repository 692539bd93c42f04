/** The search in the header: pages, and all content and people that the caller may see. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { inspect, useConsole } from "../support/console.ts";

const console = useConsole({});

const library = {
  id: "library",
  name: "Library",
  uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
  modules: [
    {
      id: "books",
      type: "CONTENT",
      schemas: [
        {
          id: "book",
          name: "Book",
          access: { read: ["user"] },
          fields: [
            { name: "title", type: "string" },
            { name: "text", type: "text", search: true },
          ],
        },
        {
          id: "shelf",
          name: "Shelf",
          access: { read: ["user"] },
          fields: [{ name: "name", type: "string" }],
        },
        {
          id: "secret",
          name: "Secret",
          access: { read: ["admin"] },
          fields: [{ name: "name", type: "string" }],
        },
        {
          id: "count",
          name: "Count",
          access: { read: ["user"] },
          fields: [{ name: "amount", type: "integer" }],
        },
      ],
    },
  ],
};

let seeded: Promise<string> | undefined;
/** Returns the id of a book. */
const seed = () => {
  seeded ??= (async () => {
    await console.seedOrb(library);
    const entry = (schema: string, values: object) =>
      console.seedEntry("library", { module: "books", schema, values });
    const book = await entry("book", { title: "Moby Dick", text: "Call me Ishmael, the whale hunter." });
    await entry("shelf", { name: "Shelf of whales" });
    await entry("secret", { name: "Hidden whale" });
    await entry("count", { amount: 3 });
    const robot = { name: "Whale Robot", service: true, role: "user" };
    const made = await call(console.platform, "POST", "/api/library/users", {
      token: console.token,
      body: robot,
    });
    expect(made.status).toBe(201);
    return book;
  })();
  return seeded;
};

async function search(page: Page, text: string): Promise<string[]> {
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Command" }).fill(text);
  await page.getByRole("status").filter({ hasText: "Searching the content" }).waitFor();
  await page.getByRole("status").filter({ hasText: "Searching the content" }).waitFor({ state: "hidden" });
  const options = await page.getByRole("option").allTextContents();
  return options.map((option) => option.trim());
}

test("finds entries by their words, by their titles and by their ids, and people", async () => {
  const book = await seed();
  const page = await console.open("/orbs/library");
  const found = await search(page, "whale");
  for (const wanted of [
    "BookMoby DickCall me Ishmael, the whale hunter.",
    "ShelfShelf of whales",
    "SecretHidden whale",
    "Users & rolesWhale Robot",
  ])
    expect(
      found.some((one) => one.endsWith(wanted.replace("Users & roles", ""))),
      wanted,
    ).toBe(true);
  await inspect(page, "search-content");
  await page.getByRole("option", { name: /Moby Dick/ }).click();
  await page.getByRole("heading", { level: 1, name: "Moby Dick" }).waitFor();
  expect(page.url()).toContain(book);
  expect((await search(page, "moby")).some((one) => one.includes("Moby Dick"))).toBe(true);
  await page.keyboard.press("Escape");
  expect(await search(page, book)).toEqual(["BookMoby Dick"]);
  await page.keyboard.press("Escape");
  await search(page, "whale rob");
  await page.getByRole("option", { name: /Whale Robot/ }).click();
  await page.getByRole("dialog", { name: "Whale Robot" }).waitFor();
});

test("shows a user only what they may read, and says that nothing was found", async () => {
  await seed();
  const page = await console.openAs("library", "user", "/orbs/library");
  const found = await search(page, "whale");
  expect(found.filter((one) => /Moby|Shelf of|Hidden|Robot/.test(one)).sort()).toEqual([
    "BookMoby DickCall me Ishmael, the whale hunter.",
    "ShelfShelf of whales",
  ]);
  await page.getByRole("combobox", { name: "Command" }).fill("zebra");
  await page.getByText("Nothing matches.").waitFor();
  await inspect(page, "search-nothing");
});

test("sends one request for entries, none for a letter, and none after another key", async () => {
  await seed();
  const page = await console.open("/orbs/library");
  await page.getByRole("heading", { level: 1 }).waitFor();
  const sent: string[] = [];
  page.on("request", (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname.endsWith("/library/search")) sent.push(searchParams.get("q") ?? "");
  });
  await page.keyboard.press("Control+k");
  const input = page.getByRole("combobox", { name: "Command" });
  await input.pressSequentially("whale", { delay: 20 });
  await page.getByRole("option", { name: /Moby Dick/ }).waitFor();
  await page.getByRole("option", { name: /Shelf of whales/ }).waitFor();
  expect(sent.at(-1)).toBe("whale");
  expect(sent.every((text) => text.length > 1)).toBe(true);
  const book = page.getByRole("option", { name: /Moby Dick/ });
  expect(await book.locator("mark").allTextContents()).toEqual(["whale"]);
  await input.fill("ishm");
  await page.getByRole("option", { name: /Moby Dick/, selected: true }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Moby Dick" }).waitFor();
  const before = sent.length;
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Command" }).fill("w");
  await page.waitForTimeout(600);
  expect(sent.length).toBe(before);
});
