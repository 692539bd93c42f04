/** Two people, and two devices of one person, at the form of an entry: who edits it, and what is not saved yet. */
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { inspect, useConsole } from "../support/console.ts";

const console = useConsole();

const ORB = "console-editing";
const ARTICLES = `/orbs/${ORB}/entries/news/article`;
const EDITING = {
  id: ORB,
  name: "Editing",
  uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [
        {
          id: "article",
          name: "Article",
          access: { read: "public", write: "admin" },
          fields: [
            { name: "title", label: "Title", type: "string" },
            { name: "lead", label: "Lead", type: "string" },
            { name: "pin", label: "Pin", type: "string", sensitive: true },
          ],
        },
      ],
    },
  ],
};

/** Lets a page ask at once who else is there, as if it came to the foreground. */
const look = (page: Page) => page.evaluate('void document.dispatchEvent(new Event("visibilitychange"))');

/** Returns the titles that the server keeps for the person of a page, of one entry or of all. */
async function keptTitles(page: Page, id?: string): Promise<readonly string[]> {
  const path = `/api/admin/orbs/${ORB}/editing/news/article${id === undefined ? "" : `?entry=${id}`}`;
  const { items } = await page.evaluate<{ items: { draft: { values: { title: string } } }[] }>(
    `fetch(${JSON.stringify(path)}).then((response) => response.json())`,
  );
  return items.map(({ draft }) => draft.values.title);
}

async function untilSeen(page: Page, text: string): Promise<void> {
  await expect
    .poll(
      async () => {
        await look(page);
        return page.getByText(text).count();
      },
      { timeout: 20_000, interval: 500 },
    )
    .toBe(1);
}

test("shows who else edits an entry, and in which field, and locks nobody out", async () => {
  await console.seedOrb(EDITING);
  const id = await console.seedEntry(ORB, { module: "news", values: { title: "One" } });
  const mine = await console.open(`${ARTICLES}/${id}`);
  const theirs = await console.openAs(ORB, "admin", `${ARTICLES}/${id}`);
  await theirs.getByLabel("Lead").fill("A lead");
  await mine.getByLabel("Title").click();
  await untilSeen(mine, "edits Lead");
  await untilSeen(theirs, "edits Title");
  await theirs.locator(".field", { hasText: "Title" }).getByText("edits this").waitFor();
  await inspect(mine, "editing-others");
  await theirs.keyboard.press("Control+s");
  await theirs.locator(".toast", { hasText: "Saved" }).waitFor();
  await mine.getByRole("link", { name: "Article", exact: true }).first().click();
  await expect
    .poll(
      async () => {
        await look(theirs);
        return theirs.getByText("has this entry open").or(theirs.getByText("edits Title")).count();
      },
      { timeout: 20_000, interval: 500 },
    )
    .toBe(0);
});

test("offers what is not saved on another device, to this person alone, and compares it with a newer revision", async () => {
  const id = await console.seedEntry(ORB, { module: "news", values: { title: "Draft", lead: "Old" } });
  const first = await console.open(`${ARTICLES}/${id}`);
  await first.getByLabel("Title").fill("Typed here");
  await first.getByLabel("Pin").fill("1234");
  await first.getByText("The server keeps your changes. Only you see them.").waitFor();
  await first.getByText("Not kept, because they are sensitive: Pin.").waitFor();
  expect(await keptTitles(first, id)).toEqual(["Typed here"]);
  const other = await console.openAs(ORB, "admin", `${ARTICLES}/${id}`);
  await other.getByLabel("Title").waitFor();
  const second = await console.open(`${ARTICLES}/${id}`);
  const offer = second.locator(".entry-notice", { hasText: "You have 1 unsaved change from another window" });
  await offer.getByRole("button", { name: "What changed" }).click();
  await second.getByRole("dialog").getByText("Typed here").waitFor();
  await second.keyboard.press("Escape");
  await inspect(second, "editing-offer");
  const path = `/api/admin/orbs/${ORB}/entries/${id}`;
  const patch = { token: console.token, body: { values: { title: "Changed elsewhere", lead: "New" } } };
  expect((await call(console.platform, "PATCH", path, patch)).status).toBe(200);
  await offer.getByRole("button", { name: "Continue" }).click();
  await expect.poll(() => second.getByLabel("Title").inputValue()).toBe("Typed here");
  await second.keyboard.press("Control+s");
  const dialog = second.getByRole("dialog");
  await dialog.getByText("Changed elsewhere").first().waitFor();
  await dialog
    .getByRole("group", { name: /^Title/ })
    .getByRole("radio")
    .last()
    .check();
  await dialog.getByRole("button", { name: "Save draft" }).click();
  await second.locator(".toast", { hasText: "Saved" }).waitFor();
  expect((await call(console.platform, "GET", path, { token: console.token })).body.values).toMatchObject({
    title: "Typed here",
    lead: "New",
  });
  // Nobody else was offered anything, and after the save nothing is left.
  expect(await other.getByText("unsaved change from another window").count()).toBe(0);
  await expect.poll(() => keptTitles(second, id)).toEqual([]);
});

test("lets neither of two windows of one person replace what the other has kept", async () => {
  const id = await console.seedEntry(ORB, { module: "news", values: { title: "Both" } });
  const first = await console.open(`${ARTICLES}/${id}`);
  const second = await console.open(`${ARTICLES}/${id}`);
  await second.getByLabel("Title").waitFor();
  await first.getByLabel("Title").fill("In the first");
  await expect.poll(() => keptTitles(first, id)).toEqual(["In the first"]);
  await second.getByLabel("Title").fill("In the second");
  const offer = second.locator(".entry-notice", { hasText: "from another window" });
  await offer.getByText("Until you choose, only this tab keeps it.").waitFor();
  expect(await keptTitles(first, id)).toEqual(["In the first"]);
  await offer.getByRole("button", { name: "Discard" }).click();
  await expect.poll(() => keptTitles(first, id)).toEqual(["In the second"]);
  await expect.poll(() => second.getByLabel("Title").inputValue()).toBe("In the second");
});

test("offers a new entry that was never saved, until it is discarded", async () => {
  const first = await console.open(`${ARTICLES}/new`);
  await first.getByLabel("Title").fill("Never saved");
  await first.getByText("The server keeps your changes. Only you see them.").waitFor();
  expect(await keptTitles(first)).toContain("Never saved");
  const second = await console.open(`${ARTICLES}/new`);
  const offer = second.locator(".entry-notice", { hasText: "from another window" });
  await offer.getByRole("button", { name: "Discard" }).click();
  await expect.poll(() => offer.count()).toBe(0);
  await expect.poll(() => keptTitles(second)).not.toContain("Never saved");
});
