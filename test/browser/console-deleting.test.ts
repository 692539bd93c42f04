/** Before something is deleted, the console says how much, and a repeated click confirms nothing. */
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { inspect, useConsole } from "../support/console.ts";

const console = useConsole();

const library = (id: string) => ({
  id,
  name: `Library ${id}`,
  uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
  modules: [
    {
      id: "books",
      type: "CONTENT",
      schemas: [
        { id: "author", fields: [{ name: "name", type: "string" }] },
        {
          id: "book",
          fields: [
            { name: "title", type: "string" },
            { name: "author", type: "reference", ref: `${id}/books/author` },
          ],
        },
      ],
    },
  ],
});

async function seedBooks(orb: string, count: number, author: string | null): Promise<void> {
  const lines = Array.from({ length: count }, (_, number) =>
    JSON.stringify({ module: "books", schema: "book", values: { title: `Book ${number}`, author } }),
  );
  const made = await fetch(`${console.platform.origin}/api/admin/orbs/${orb}/entries/bulk`, {
    method: "POST",
    headers: { authorization: `Bearer ${console.token}`, "content-type": "application/x-ndjson" },
    body: lines.join("\n"),
  });
  expect(made.status).toBe(200);
  expect((await made.text()).split('"status":201').length - 1).toBe(count);
}

/** Clicks a button, and then twice more on the same spot without looking. */
async function clickThrice(page: Page, button: Locator): Promise<void> {
  const box = await button.boundingBox();
  if (box === null) throw new Error("The button is not visible.");
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  await page.mouse.click(x, y);
  await page.getByRole("dialog").first().waitFor();
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  for (const dialog of await page.getByRole("dialog").all())
    for (const danger of await dialog.locator("footer .danger").all()) {
      const other = await danger.boundingBox();
      const covered =
        other !== null &&
        x >= other.x &&
        x <= other.x + other.width &&
        y >= other.y &&
        y <= other.y + other.height;
      expect([await danger.textContent(), covered]).toEqual([await danger.textContent(), false]);
    }
}

const exists = async (path: string) =>
  (await call(console.platform, "GET", path, { token: console.token })).status;

test("says how many entries refer to one that is to be deleted, in the form and in bulk", async () => {
  await console.seedOrb(library("referred"));
  const author = await console.seedEntry("referred", {
    module: "books",
    schema: "author",
    values: { name: "Ann" },
  });
  await seedBooks("referred", 201, author);
  const page = await console.open(`/orbs/referred/entries/books/author/${author}`);
  await page.getByRole("button", { name: "More actions" }).last().click();
  await clickThrice(page, page.getByRole("menuitem", { name: "Delete" }));
  const first = page.getByRole("dialog", { name: "Delete this entry?" });
  await clickThrice(page, first.getByRole("button", { name: "Delete" }));
  const second = page.getByRole("dialog", { name: "Other entries refer to this one" });
  await second.getByText("201 other entries refer to it.").waitFor();
  await inspect(page, "console-delete-referred");
  await second.getByRole("button", { name: "Cancel" }).click();
  await page.goto(`${console.platform.origin}/console/orbs/referred/entries/books/author`);
  await page.getByRole("row", { name: /Ann/ }).getByRole("checkbox").check();
  await page.getByRole("toolbar").getByRole("button", { name: "Delete" }).click();
  await clickThrice(page, page.getByRole("button", { name: "Delete 1 entry" }));
  await page.getByText("201 other entries refer to it.").waitFor();
  // No dialog follows, and this one may be gone at once.
  await page.getByRole("button", { name: "Delete 1 anyway" }).click();
  await expect.poll(() => exists(`/api/admin/orbs/referred/entries/${author}`)).toBe(404);
});

test("deletes an orb only after its id is typed, and shows what it contains", async () => {
  await console.seedOrb(library("doomed"));
  await seedBooks("doomed", 3, null);
  const page = await console.open("/orbs/doomed");
  const menu = page.getByRole("button", { name: "More actions" });
  await menu.click();
  await page.getByRole("menuitem", { name: "Unpublish" }).click();
  const unpublish = page.getByRole("dialog", { name: "Unpublish Library doomed?" });
  await unpublish.getByText("3 entries").waitFor();
  await unpublish.getByRole("button", { name: "Cancel" }).click();
  await menu.click();
  await clickThrice(page, page.getByRole("menuitem", { name: "Delete permanently" }));
  const dialog = page.getByRole("dialog", { name: "Delete Library doomed?" });
  await dialog.getByText("3 entries").waitFor();
  await dialog.getByText("0 users").waitFor();
  await dialog.getByText("0 files").waitFor();
  await inspect(page, "console-delete-orb");
  const confirm = dialog.getByRole("button", { name: "Delete permanently" });
  await expect.poll(() => confirm.isDisabled()).toBe(true);
  const typed = dialog.getByLabel("Type doomed to confirm");
  expect(
    await typed.evaluate("this === document.activeElement || document.activeElement.tagName"),
  ).toBeTruthy();
  await typed.fill("Library");
  await typed.press("Enter");
  expect(await exists("/api/admin/orbs/doomed")).toBe(200);
  await typed.fill("doomed");
  await confirm.click();
  await page.getByText("Deleted Library doomed.").waitFor();
  expect(await exists("/api/admin/orbs/doomed")).toBe(404);
});

test("puts the button that confirms away from the one that was pressed, on every page", async () => {
  await console.seedOrb(library("spots"));
  const { platform, token } = console;
  const named = (path: string, body: object) => call(platform, "POST", path, { token, body });
  const robot = await named("/api/spots/users", { name: "Robot", service: true, role: "user" });
  expect(robot.status).toBe(201);
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
  const scopes = [{ orb: "spots", can: ["read"] }];
  const made = await named("/api/spots/tokens", { account: robot.body.id, name: "ci", expiresAt, scopes });
  expect(made.status).toBe(201);
  const page = await console.open("/orbs/spots/people");
  await page.getByRole("button", { name: "Robot" }).click();
  await clickThrice(page, page.getByRole("button", { name: "Remove", exact: true }));
  await page.getByRole("dialog").last().getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Tokens" }).click();
  await clickThrice(page, page.getByRole("button", { name: "Revoke" }));
  await page.getByRole("dialog").last().getByRole("button", { name: "Cancel" }).click();
});

test("a deleted entry comes back by Undo, or from the trash, which also erases it", async () => {
  await console.seedOrb(library("trashed"));
  const id = await console.seedEntry("trashed", {
    module: "books",
    schema: "author",
    values: { name: "Ann" },
  });
  const page = await console.open(`/orbs/trashed/entries/books/author/${id}`);
  const remove = async () => {
    await page.getByRole("button", { name: "More actions" }).last().click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.getByText("Entry deleted").last().waitFor();
  };
  await remove();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("The entry is back as a draft.").waitFor();
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await remove();
  await page.goto(`${console.platform.origin}/console/orbs/trashed/trash`);
  const line = page.locator(".activity > li", { hasText: "Ann" });
  await line.waitFor();
  await inspect(page, "console-trash");
  await line.getByRole("button", { name: "Restore Ann" }).click();
  await page.getByText("Ann is back as a draft.").waitFor();
  await page.getByText("The trash is empty").waitFor();
  expect(await exists(`/api/admin/orbs/trashed/entries/${id}`)).toBe(200);
  await page.goto(`${console.platform.origin}/console/orbs/trashed/entries/books/author/${id}`);
  await remove();
  await page.goto(`${console.platform.origin}/console/orbs/trashed/trash`);
  await line.getByRole("button", { name: "Erase Ann for good" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Erase" }).click();
  await page.getByText("The trash is empty").waitFor();
  expect(await exists(`/api/admin/orbs/trashed/entries/${id}/revisions`)).toBe(404);
});
