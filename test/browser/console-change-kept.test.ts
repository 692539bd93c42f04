/** Typed text, the way out of a set, and the live entries: the change sets of the console must lose none of it. */
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { inspect, useConsole } from "../support/console.ts";

const console = useConsole();
const ORB = "console-kept";
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

test("closes the import when the user is in a set again, and the platform writes its rows into the set", async () => {
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
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('"created":1')]);
  expect((await send("GET", `${SETS}/${set}`)).entries).toBe(1);
});

test("warns before approvals end, and lets unsaved changes leave a set that is over", async () => {
  const [own, reviewed] = [await openSet("Mine to close"), await openSet("Reviewed")];
  const id = await product({ title: "Carried", price: 1 });
  await send("PATCH", `${ENTRIES}/${id}?change=${reviewed}`, { values: { price: 2 } });
  await send("POST", `${SETS}/${reviewed}/review`);
  const page = await console.open(`${LIST}/${id}`);
  await page.getByLabel("Price").fill("5");
  await more(page, "Add to a change set");
  const dialog = page.getByRole("dialog");
  const sets = dialog.getByLabel("Change set");
  // Only an open set of the user's own is chosen beforehand.
  expect(await sets.inputValue()).toBe("");
  await sets.selectOption({ label: "Reviewed (In review)" });
  await dialog.getByText("What you save into it ends its approvals", { exact: false }).waitFor();
  await inspect(page, "change-add-reviewed");
  await sets.selectOption({ label: "New change set" });
  await dialog.getByRole("button", { name: "Cancel" }).click();

  await page.getByLabel("Price").fill("1");
  await go(page, `${LIST}/${id}?change=${reviewed}`);
  await page.getByText("What you save into it ends its approvals", { exact: false }).waitFor();
  await go(page, `${LIST}/${id}?change=${own}`);
  await page.getByLabel("Price").fill("7");
  const { revision } = await send("GET", `${SETS}/${own}`);
  const closed = await call(console.platform, "DELETE", `${SETS}/${own}`, {
    token: console.token,
    headers: { "if-match": `"${revision}"` },
  });
  expect(closed.status).toBe(204);
  await page.getByRole("button", { name: "Save into the set" }).click();
  await page.getByText("This set was published or closed", { exact: false }).waitFor();
  await inspect(page, "change-over");
  await page.getByRole("button", { name: "Leave with the unsaved changes" }).click();
  await expect.poll(() => page.url()).not.toContain("change=");
  await expect.poll(() => page.getByLabel("Price").inputValue()).toBe("7");
  await page.getByRole("button", { name: "Save and publish" }).click();
  await page.getByText("No unsaved changes").waitFor();
  expect(await valuesOf(id, "revision=published")).toMatchObject({ title: "Carried", price: 7 });

  // An entry that only the set contained becomes a new one.
  const other = await openSet("Gone with its entry");
  await go(page, `${LIST}/new?change=${other}`);
  await page.getByLabel("Title").fill("New again");
  const gone = await send("GET", `${SETS}/${other}`);
  await call(console.platform, "DELETE", `${SETS}/${other}`, {
    token: console.token,
    headers: { "if-match": `"${gone.revision}"` },
  });
  await page.getByRole("button", { name: "Save into the set" }).click();
  await page.getByRole("button", { name: "Leave with the unsaved changes" }).click();
  await expect.poll(() => page.url()).not.toContain("change=");
  await expect.poll(() => page.getByLabel("Title").inputValue()).toBe("New again");
});

test("leaves a set that the user publishes, and asks before taking it back loses a comment", async () => {
  const set = await openSet("Published here");
  const long = `https://example.com/${"a".repeat(60)}`;
  const id = await product({ title: "Linked", link: `${long}/1` });
  await send("PATCH", `${ENTRIES}/${id}?change=${set}`, { values: { link: `${long}/2` } });
  const page = await console.open(`/orbs/${ORB}/changes/${set}?change=${set}`);
  await bar(page).waitFor();
  const link = page.getByRole("group", { name: "Link" });
  await link.locator("ins").waitFor();
  await link.locator("del").waitFor();

  // Another client has changed the set: a second try begins with the newest revision.
  await more(page, "Change title and description");
  const dialog = page.getByRole("dialog");
  const { revision } = await send("GET", `${SETS}/${set}`);
  const renamed = await call(console.platform, "PATCH", `${SETS}/${set}`, {
    token: console.token,
    headers: { "if-match": `"${revision}"` },
    body: { title: "By another client" },
  });
  expect(renamed.status).toBe(200);
  await dialog.getByLabel("Title").fill("By me");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByRole("alert").waitFor();
  await page.getByRole("heading", { level: 1, name: "By another client", includeHidden: true }).waitFor();
  await dialog.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { level: 1, name: "By me" }).waitFor();

  await page.getByRole("button", { name: "Publish", exact: true }).click();
  await dialog.getByRole("button", { name: "Publish 1 entry" }).click();
  await expect.poll(() => page.url()).not.toContain("change=");
  await expect.poll(() => bar(page).count()).toBe(0);
  await page.getByRole("button", { name: "Comment on By me" }).click();
  const text = page.getByRole("textbox", { name: "Comment on By me" });
  await text.pressSequentially("Wait");
  await page.getByRole("button", { name: "Take it back" }).first().click();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect(await text.inputValue()).toBe("Wait");
});

test("acts in a set on the live version, also from the list and beside a form", async () => {
  const set = await openSet("On live versions");
  const [id, saved] = [
    await product({ title: "Live beside", price: 1 }),
    await product({ title: "Saved" }, false),
  ];
  const other = await product({ title: "Pointing", like: id });
  await send("PUT", `${ENTRIES}/${id}`, { values: { title: "Draft beside", price: 2 } });
  const page = await console.open(`${LIST}/${other}?change=${set}`);
  await page.getByRole("button", { name: /^Like: .* Open beside/ }).click();
  const tab = page.getByRole("link", { name: "Open in a new tab" });
  expect(await tab.getAttribute("href")).toContain(`change=${set}`);

  await go(page, `${LIST}/new?from=${id}&change=${set}`);
  await expect.poll(() => page.getByLabel("Title").inputValue()).toBe("Live beside");
  await go(page, `${LIST}/${saved}?change=${set}`);
  await page.getByText("This is the entry as it will be once the set is published.").waitFor();

  await go(page, `${LIST}?change=${set}`);
  await page.getByRole("checkbox", { name: "Select Live beside" }).check();
  await page.getByRole("button", { name: "Unpublish" }).click();
  await page
    .getByRole("dialog")
    .getByRole("button", { name: /^Unpublish/ })
    .click();
  await page.getByText("1 entry changed in the set.").waitFor();
  const { items } = await send("GET", `${SETS}/${set}/diff`);
  expect(items.map((item: { id: string; act: string }) => [item.id, item.act])).toEqual([[id, "unpublish"]]);

  // The button says what becomes of the entry.
  await send("PATCH", `${ENTRIES}/${other}?change=${set}`, { values: { price: 3 } });
  await send("POST", `${ENTRIES}/${other}/unpublish`);
  await go(page, `/orbs/${ORB}/changes/${set}`);
  await page.getByText("The entry is no longer live.").waitFor();
  await page.getByRole("button", { name: "Publish it anyway" }).click();
  await page.getByText("The conflicts are solved.").waitFor();
  await expect.poll(() => page.locator(".has-conflict").count()).toBe(0);
});

test("says how many entries an approval has not shown, and why a review does not open", async () => {
  const set = await openSet("Many");
  const body = { module: "catalog", schema: "product" };
  for (let at = 0; at < 51; at += 3)
    await Promise.all(
      [0, 1, 2].map((more) =>
        send("POST", `${ENTRIES}?change=${set}`, { ...body, values: { title: `Many ${at + more}` } }),
      ),
    );
  await send("POST", `${SETS}/${set}/review`);
  const page = await console.open(`/orbs/${ORB}/changes/${set}`);
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Approve" }).click();
  await dialog.getByText("1 entry is not shown yet.", { exact: false }).waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("button", { name: "Show more entries" }).click();
  await expect.poll(() => page.locator(".change-entry").count()).toBe(51);
  await page.getByRole("button", { name: "Publish", exact: true }).click();
  await dialog.getByRole("button", { name: "Publish 51 entries" }).waitFor();
  expect(await dialog.getByText("not shown yet", { exact: false }).count()).toBe(0);

  console.allow(/status of 404/);
  await go(page, `/orbs/none/changes/${set}`);
  await page.getByRole("alert").first().waitFor();
  await go(page, "/orbs/%zz");
  await page.getByRole("heading", { level: 1 }).waitFor();
});
