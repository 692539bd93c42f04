/** Leaving a page of the console: for the account page and back, and with unsaved changes in every form. */
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { useConsole } from "../support/console.ts";

const console = useConsole();
const NOTES = "/orbs/leaving/entries/content/note";

beforeAll(async () => {
  await console.seedOrb({
    id: "leaving",
    name: "Leaving",
    uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
    modules: [
      {
        id: "content",
        type: "CONTENT",
        schemas: [
          {
            id: "note",
            name: "Note",
            access: { read: "user", write: "user" },
            fields: [
              { name: "title", label: "Title", type: "string" },
              { name: "extra", label: "Extra", type: "json" },
            ],
          },
        ],
      },
    ],
  });
  await console.seedOrb({ id: "leaving-other", name: "Other orb", modules: [] });
  await console.seedEntry("leaving", {
    module: "content",
    schema: "note",
    values: { title: "First" },
  });
});

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name }).waitFor();
const sessions = (page: Page, base: string): Promise<number> =>
  page.evaluate(async (path) => ((await (await fetch(path)).json()) as unknown[]).length, `${base}/sessions`);

/** Opens the account page with the menu, looks at it, and goes back. */
async function visitAccount(page: Page): Promise<void> {
  await page.getByRole("button", { name: /^Account: / }).click();
  await page.getByRole("menuitem", { name: "Account and passkeys" }).click();
  await page.getByRole("heading", { name: "Your passkeys" }).waitFor();
  await page.getByRole("heading", { name: "Your sessions" }).waitFor();
  await page.getByRole("heading", { name: "API tokens" }).waitFor();
  await page.goBack();
}

test("leads platform admins and users to their account and back, and begins no session", async () => {
  for (const [page, base] of [
    [await console.open(NOTES), "/api/_auth"],
    [await console.openAs("leaving", "user", NOTES), "/api/leaving"],
  ] as const) {
    await heading(page, "Note");
    const before = await sessions(page, base);
    for (let visit = 0; visit < 2; visit++) {
      await visitAccount(page);
      await page.waitForURL(`${console.platform.origin}/console${NOTES}`);
      await heading(page, "Note");
    }
    expect(await sessions(page, base)).toBe(before);
  }
});

test("keeps the way back when the account page is loaded again", async () => {
  const page = await console.open();
  await page.goto(`${console.platform.origin}/api/_auth/signin?account=true&return=%2Fconsole%2Fadmins`);
  const back = page.getByRole("link", { name: "Back to the console" });
  await back.waitFor();
  await page.reload();
  await back.click();
  await heading(page, "Platform admins");
});

/** Ways to leave a page. Each starts to leave; the page then asks. */
const WAYS: readonly [string, (page: Page) => Promise<unknown>][] = [
  ["Back", (page) => page.evaluate("history.back()")],
  ["two steps back", (page) => page.evaluate("history.go(-2)")],
  ["Forward", (page) => page.evaluate("history.forward()")],
  ["a link in the breadcrumb", (page) => page.locator(".crumbs a").first().click()],
  [
    "the navigation",
    async (page) =>
      (await console.navigation(page)).getByRole("link", { name: "People", exact: true }).click(),
  ],
  [
    "another orb, with the keyboard",
    async (page) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Command" }).fill("Other orb");
      await page
        .getByRole("option", { name: /Other orb/ })
        .first()
        .waitFor();
      await page.keyboard.press("Enter");
    },
  ],
  [
    "the account page",
    async (page) => {
      await page.getByRole("button", { name: /^Account: / }).click();
      await page.getByRole("menuitem", { name: "Account and passkeys" }).click();
    },
  ],
  [
    "signing out",
    async (page) => {
      await page.getByRole("button", { name: /^Account: / }).click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
    },
  ],
];

test("asks before unsaved changes of an entry are lost, in every way to leave", async () => {
  const page = await console.open();
  await heading(page, "Orbs");
  await page.getByRole("link", { name: "Leaving", exact: true }).first().click();
  await heading(page, "Leaving");
  await (await console.navigation(page)).getByRole("link", { name: "Note", exact: true }).click();
  await heading(page, "Note");
  await page.getByRole("link", { name: "First" }).first().click();
  await heading(page, "First");
  await (await console.navigation(page)).getByRole("link", { name: "API", exact: true }).click();
  await heading(page, "API");
  await page.goBack();
  await heading(page, "First");
  await page.getByLabel("Title").fill("Typed");
  const question = page.getByRole("dialog", { name: "Leave without saving?" });
  const address = page.url();
  for (const [name, leave] of WAYS) {
    await leave(page);
    await question.waitFor();
    await question.getByRole("button", { name: "Cancel" }).click();
    await question.waitFor({ state: "hidden" });
    expect([name, page.url(), await page.getByLabel("Title").inputValue()]).toEqual([name, address, "Typed"]);
  }
  // The tab asks too.
  const asked = page.waitForEvent("dialog");
  const closed = page.close({ runBeforeUnload: true });
  const dialog = await asked;
  expect(dialog.type()).toBe("beforeunload");
  await dialog.dismiss();
  await closed;
  // Back leads where it would have led without the question, and Forward returns to the entry.
  await page.evaluate("history.back()");
  await question.getByRole("button", { name: "Leave without saving" }).click();
  await heading(page, "Note");
  await page.goForward();
  await heading(page, "First");
  await expect.poll(() => page.getByLabel("Title").inputValue()).toBe("First");
});

test("asks about text in a form that is not valid yet", async () => {
  const page = await console.open(NOTES);
  await page.getByRole("link", { name: "First" }).first().click();
  await heading(page, "First");
  await page.getByLabel("Extra").fill('{"half": ');
  await page.evaluate("history.back()");
  await page.getByRole("dialog", { name: "Leave without saving?" }).waitFor();
});

test("asks before the schema, a new orb and dialogs lose what was typed", async () => {
  const page = await console.open();
  await heading(page, "Orbs");
  await page.getByRole("link", { name: "Leaving", exact: true }).first().click();
  await heading(page, "Leaving");
  await (await console.navigation(page)).getByRole("link", { name: "Schema", exact: true }).click();
  await heading(page, "Schema");
  await page.getByLabel("Name", { exact: true }).first().fill("Renamed");
  await page.evaluate("history.back()");
  const kept = page.getByRole("dialog", { name: "Leave with unsaved changes?" });
  await kept.getByRole("button", { name: "Cancel" }).click();
  await expect.poll(() => page.getByLabel("Name", { exact: true }).first().inputValue()).toBe("Renamed");
  await page.evaluate("history.back()");
  await kept.getByRole("button", { name: "Leave" }).click();
  await heading(page, "Leaving");

  const lost = page.getByRole("dialog", { name: "Discard your changes?" });
  const tries: readonly [string, string, () => Promise<unknown>][] = [
    ["/orbs/new", "New orb", () => page.getByLabel("Name").fill("Typed")],
    [
      "/orbs/leaving/people",
      "People",
      async () => {
        await page.getByRole("button", { name: "New service account" }).click();
        await page.getByRole("dialog").getByLabel("Name").fill("Typed");
      },
    ],
    [
      "/orbs/leaving/people",
      "People",
      async () => {
        await page.getByRole("button", { name: "Invite" }).click();
        await page.getByRole("dialog").getByLabel("Role").selectOption("admin");
      },
    ],
    [
      "/streams",
      "Streams",
      async () => {
        await page.getByRole("button", { name: "New stream" }).click();
        await page.getByRole("dialog").getByLabel("Name").fill("typed");
      },
    ],
    [
      NOTES,
      "Note",
      async () => {
        await page.getByRole("button", { name: "Import" }).click();
        await page.getByLabel("File").setInputFiles({
          name: "notes.csv",
          mimeType: "text/csv",
          buffer: Buffer.from("title\nSecond\n"),
        });
      },
    ],
  ];
  for (const [path, title, type] of tries) {
    const [start, first] = path === "/orbs/new" ? ["", "Orbs"] : ["/orbs/leaving", "Leaving"];
    await page.goto(`${console.platform.origin}/console${start}`);
    await heading(page, first);
    await page.locator(`:is(nav, main) a[href="/console${path}"]`).first().click();
    await heading(page, title);
    await type();
    const address = page.url();
    await page.evaluate("history.back()");
    await lost.getByRole("button", { name: "Cancel" }).click();
    expect(page.url()).toBe(address);
    if (path !== "/orbs/new") {
      await page.keyboard.press("Escape");
      await lost.getByRole("button", { name: "Cancel" }).click();
      await expect.poll(() => page.getByRole("dialog").count()).toBe(1);
    }
    await page.evaluate("history.back()");
    await lost.getByRole("button", { name: "Discard" }).click();
    await heading(page, first);
  }
});
