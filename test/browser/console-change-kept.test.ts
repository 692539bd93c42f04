/** What must not be lost in the console's change sets: typed text, the way out of a set, and what the set protects. */
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { useConsole } from "../support/console.ts";

const console = useConsole();
const ORB = "kept";
const SETS = `/api/admin/orbs/${ORB}/changes`;
const ENTRIES = `/api/admin/orbs/${ORB}/entries`;
const LIST = `/orbs/${ORB}/entries/catalog/product`;

const document = {
  id: ORB,
  name: "Kept",
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "product",
          name: "Product",
          access: { read: ["public"] },
          fields: [
            { name: "title", label: "Title", type: "string", required: true },
            { name: "price", label: "Price", type: "number" },
            { name: "link", label: "Link", type: "url" },
            { name: "like", label: "Like", type: "reference", ref: `${ORB}/catalog/product` },
          ],
        },
      ],
    },
  ],
};

async function send(method: string, path: string, body?: unknown) {
  const answer = await call(console.platform, method, path, {
    token: console.token,
    ...(body === undefined ? {} : { body }),
  });
  expect([answer.status < 300, answer.body?.detail]).toEqual([true, undefined]);
  return answer.body;
}
const openSet = async (title: string): Promise<string> => (await send("POST", SETS, { title })).id;
const product = (values: object, publish = true) =>
  console.seedEntry(ORB, { module: "catalog", schema: "product", values }, publish);
const valuesOf = async (id: string, query: string) => (await send("GET", `${ENTRIES}/${id}?${query}`)).values;
const bar = (page: Page) => page.getByRole("region", { name: "Change set" });
const go = (page: Page, path: string) => page.goto(`${console.platform.origin}/console${path}`);

async function more(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name }).click();
}

beforeAll(() => console.seedOrb(document));

test("keeps what is typed when the state of the entry changes", async () => {
  const set = await openSet("States");
  const [draft, live] = [await product({ title: "Stored" }, false), await product({ title: "Live" })];
  const page = await console.open(`${LIST}/${draft}?change=${set}`);
  await page.getByLabel("Title").fill("Typed");
  await more(page, "Go live with the set");
  await page.getByText("Saved into the change set").waitFor();
  await page.getByText("1 unsaved change", { exact: false }).first().waitFor();
  expect(await page.getByLabel("Title").inputValue()).toBe("Typed");
  expect((await valuesOf(draft, `change=${set}`)).title).toBe("Stored");
  await page.getByRole("button", { name: "Save into the set" }).click();
  await page.getByText("No unsaved changes").waitFor();
  expect((await valuesOf(draft, `change=${set}`)).title).toBe("Typed");

  await go(page, `${LIST}/${live}`);
  await page.getByLabel("Title").fill("Typed too");
  for (const [act, status] of [
    ["Unpublish", "UNPUBLISHED"],
    ["Archive", "ARCHIVED"],
  ] as const) {
    await more(page, act);
    await expect
      .poll(async () => (await send("GET", `${ENTRIES}/${live}?revision=latest`)).status)
      .toBe(status);
    await page.getByRole("button", { name: "Undo" }).first().waitFor();
    expect(await page.getByLabel("Title").inputValue()).toBe("Typed too");
  }
});

test("asks before a comment is lost, and shows two that are sent at once", async () => {
  const set = await openSet("Talk");
  const id = await product({ title: "Discussed" });
  await send("PATCH", `${ENTRIES}/${id}?change=${set}`, { values: { price: 1 } });
  const page = await console.open(`/orbs/${ORB}/changes/${set}`);
  await page.getByRole("button", { name: "Comment on Talk" }).click();
  const text = page.getByRole("textbox", { name: "Comment on Talk" });
  await text.pressSequentially("About all");
  await page.getByRole("link", { name: "Edit in this set" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).click();
  expect(await text.inputValue()).toBe("About all");
  await page.getByRole("button", { name: "Comment on Discussed", exact: true }).click();
  await page
    .getByRole("textbox", { name: "Comment on Discussed", exact: true })
    .pressSequentially("About one");
  await page.evaluate(
    `for (const form of document.querySelectorAll(".change-comment-form")) form.requestSubmit();`,
  );
  await page.getByText("About all").waitFor();
  await page.getByText("About one").waitFor();
  await expect.poll(() => page.locator(".change-comment-form").count()).toBe(0);
  expect(await page.getByRole("button", { name: "Resolve" }).count()).toBe(2);
});

test("stops adding entries to a set when the dialog closes, and leaves the user alone", async () => {
  const set = await openSet("Stopped");
  for (const title of ["Stop 1", "Stop 2", "Stop 3"]) await product({ title }, false);
  const page = await console.open(LIST);
  let free = () => {};
  const held = new Promise<void>((resolve) => {
    free = resolve;
  });
  let begun = () => {};
  const asked = new Promise<void>((resolve) => {
    begun = resolve;
  });
  await page.route(/\/publish\?change=/, async (route) => {
    begun();
    await held;
    await route.continue();
  });
  for (const name of ["Stop 1", "Stop 2", "Stop 3"])
    await page.getByRole("checkbox", { name: `Select ${name}` }).check();
  await page.getByRole("button", { name: "Add to a change set" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Change set").selectOption({ label: "Stopped" });
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  await asked;
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  free();
  await page.getByText("Stopped. 1 entry is in the set already.").waitFor();
  expect(page.url()).not.toContain("change=");
  expect((await send("GET", `${SETS}/${set}`)).entries).toBe(1);
});

test("closes the import when the user is in a set again, and the platform refuses one there", async () => {
  const set = await openSet("No import");
  await product({ title: "Listed" });
  const page = await console.open(`${LIST}?change=${set}`);
  await bar(page).getByRole("button", { name: "Leave" }).click();
  await page.getByRole("button", { name: "Import" }).click();
  await page.getByRole("dialog", { name: "Import entries" }).waitFor();
  await page.goBack();
  await bar(page).waitFor();
  await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
  const response = await fetch(
    `${console.platform.origin}${ENTRIES}/bulk?module=catalog&schema=product&change=${set}`,
    {
      method: "POST",
      headers: { authorization: `Bearer ${console.token}`, "content-type": "application/x-ndjson" },
      body: `{"values":{"title":"Past the set"}}\n`,
    },
  );
  expect(response.status).toBe(400);
});
