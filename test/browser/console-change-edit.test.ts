/** Editing within a change set: the address keeps the set, lists and forms read and write in it, and leaving it asks. */
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { inspect, useConsole } from "../support/console.ts";

const console = useConsole();
const ORB = "console-market";
const ENTRIES = `/api/admin/orbs/${ORB}/entries`;
const LIST = `/orbs/${ORB}/entries/catalog/product`;

const document = {
  id: ORB,
  name: "Market",
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        { id: "maker", name: "Maker", fields: [{ name: "name", label: "Name", type: "string" }] },
        {
          id: "product",
          name: "Product",
          access: { read: ["public"] },
          fields: [
            { name: "title", label: "Title", type: "string", required: true },
            { name: "price", label: "Price", type: "number" },
            { name: "maker", label: "Maker", type: "reference", ref: `${ORB}/catalog/maker` },
          ],
        },
      ],
    },
  ],
};

const send = (method: string, path: string, body?: unknown) =>
  call(console.platform, method, path, { token: console.token, ...(body === undefined ? {} : { body }) });

async function openSet(title: string): Promise<string> {
  const made = await send("POST", `/api/admin/orbs/${ORB}/changes`, { title });
  expect(made.status).toBe(201);
  return made.body.id;
}

const product = (values: object) => console.seedEntry(ORB, { module: "catalog", schema: "product", values });
const valuesOf = async (id: string, query = "revision=published") =>
  (await send("GET", `${ENTRIES}/${id}?${query}`)).body.values;
const bar = (page: Page) => page.getByRole("region", { name: "Change set" });

beforeAll(() => console.seedOrb(document));

test("edits and creates entries in a set, which the address keeps until the user leaves it", async () => {
  const title = `Spring sale ${"W".repeat(120)}`;
  const set = await openSet(title);
  const id = await product({ title: "Desk lamp", price: 50 });
  const page = await console.open(`/orbs/${ORB}/changes/${set}`);
  await page.getByRole("link", { name: "Edit in this set" }).click();
  await bar(page).getByRole("link", { name: title }).waitFor();
  await (await console.navigation(page)).getByRole("link", { name: "Product" }).click();
  const row = page.getByRole("link", { name: "Desk lamp" });
  await row.waitFor();
  expect(await row.getAttribute("href")).toContain(`?change=${set}`);
  await inspect(page, "change-edit-list");
  await row.click();

  await page.getByLabel("Price").fill("40");
  await inspect(page, "change-edit-form");
  expect(await page.getByRole("button", { name: /publish/i }).count()).toBe(0);
  await page.getByRole("button", { name: "Save into the set" }).click();
  await page.getByText("Saved into the change set").waitFor();
  expect((await valuesOf(id)).price).toBe(50);
  expect((await valuesOf(id, `change=${set}`)).price).toBe(40);
  await page.getByText("1 value differs from what is live.").waitFor();

  await page.reload();
  await bar(page).waitFor();
  await expect.poll(() => page.getByLabel("Price").inputValue()).toBe("40");

  await page.goto(`${console.platform.origin}/console${LIST}/new?change=${set}`);
  await page.getByLabel("Title").fill("Floor lamp");
  await page.getByRole("button", { name: "Save into the set" }).click();
  await page.getByText("The set creates this entry.").waitFor();
  expect(page.url()).toContain(`change=${set}`);
  // A second save goes into the same version.
  await page.getByLabel("Price").fill("70");
  await page.getByRole("button", { name: "Save into the set" }).click();
  await page.getByText("No unsaved changes").waitFor();

  await page.goto(`${console.platform.origin}/console${LIST}?change=${set}`);
  await page.getByRole("link", { name: "Floor lamp" }).waitFor();
  await bar(page).getByRole("button", { name: "Leave" }).click();
  await expect.poll(() => page.url()).not.toContain("change=");
  await page.getByRole("link", { name: "Desk lamp" }).waitFor();
  await expect.poll(() => page.getByRole("link", { name: "Floor lamp" }).count()).toBe(0);
  const { body } = await send("GET", `/api/admin/orbs/${ORB}/changes/${set}`);
  expect(body.entries).toBe(2);
});

test("asks before it leaves a set with unsaved changes, also with Back", async () => {
  const set = await openSet("Asks");
  const id = await product({ title: "Asked", price: 1 });
  const page = await console.open(`${LIST}/${id}`);
  await page.getByLabel("Price").waitFor();
  await page.goto(`${console.platform.origin}/console${LIST}/${id}?change=${set}`);
  await page.getByLabel("Price").fill("2");
  await bar(page).getByRole("button", { name: "Leave" }).click();
  const dialog = page.getByRole("dialog", { name: "Leave without saving?" });
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect(await page.getByLabel("Price").inputValue()).toBe("2");
  expect(page.url()).toContain(`change=${set}`);
  await bar(page).getByRole("button", { name: "Leave" }).click();
  await dialog.getByRole("button", { name: "Leave" }).click();
  await expect.poll(() => page.url()).not.toContain("change=");
  await expect.poll(() => page.getByLabel("Price").inputValue()).toBe("1");
});

test("begins with the live version, and not with a draft beside it", async () => {
  const set = await openSet("Without drafts");
  const id = await product({ title: "Live", price: 1 });
  const draft = await send("PUT", `${ENTRIES}/${id}`, { values: { title: "Draft", price: 2 } });
  expect(draft.status).toBe(200);
  const page = await console.open(`${LIST}/${id}?change=${set}`);
  await expect.poll(() => page.getByLabel("Title").inputValue()).toBe("Live");
  await page.getByLabel("Price").fill("3");
  await page.getByRole("button", { name: "Save into the set" }).click();
  await page.getByText("Saved into the change set").waitFor();
  expect(await valuesOf(id, `change=${set}`)).toMatchObject({ title: "Live", price: 3 });
  expect(await valuesOf(id, "revision=latest")).toMatchObject({ title: "Draft", price: 2 });
});

test("deletes an entry in a set, and creates an entry for a reference in it", async () => {
  const set = await openSet("Deletes");
  const [id, other] = [await product({ title: "Going" }), await product({ title: "Staying" })];
  const page = await console.open(`${LIST}/${id}?change=${set}`);
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Delete" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("The entry is deleted when the set is published.", { exact: false }).waitFor();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("link", { name: "Staying" }).waitFor();
  await expect.poll(() => page.getByRole("link", { name: "Going" }).count()).toBe(0);
  expect((await valuesOf(id)).title).toBe("Going");

  await page.getByRole("link", { name: "Staying" }).click();
  const maker = page.getByRole("combobox", { name: "Maker" });
  await maker.fill("Acme");
  await page.getByRole("option", { name: /Create/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Save into the set" }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Save into the set" }).click();
  await page.getByText("No unsaved changes").waitFor();
  const { body } = await send("GET", `/api/admin/orbs/${ORB}/changes/${set}/diff`);
  const acts = body.items.map(({ schema, act }: { schema: string; act: string }) => `${schema} ${act}`);
  expect(acts.sort()).toEqual(["maker publish", "product delete", "product publish"]);
  expect((await valuesOf(other)).maker ?? null).toBeNull();
});

test("adds the drafts of selected entries to a set, and the unsaved changes of a form", async () => {
  const drafted = await console.seedEntry(
    ORB,
    { module: "catalog", schema: "product", values: { title: "Drafted", price: 5 } },
    false,
  );
  const [newer, plain] = [
    await product({ title: "Newer", price: 1 }),
    await product({ title: "Plain", price: 1 }),
  ];
  expect((await send("PUT", `${ENTRIES}/${newer}`, { values: { title: "Newer", price: 2 } })).status).toBe(
    200,
  );
  const page = await console.open(LIST);
  for (const name of ["Drafted", "Newer", "Plain"])
    await page.getByRole("checkbox", { name: `Select ${name}` }).check();
  await page.getByRole("button", { name: "Add to a change set" }).click();
  const dialog = page.getByRole("dialog", { name: "Add 2 entries to a change set" });
  await dialog.getByText("1 selected entry has no draft.", { exact: false }).waitFor();
  await dialog.getByLabel("Change set").selectOption({ label: "New change set" });
  await inspect(page, "change-add");
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  await dialog.locator(".field.wrong").getByText("must contain more than white space").waitFor();
  await dialog.getByLabel("Title").fill("Collected");
  await dialog.getByRole("button", { name: "Add", exact: true }).click();
  await bar(page).getByRole("link", { name: "Collected" }).waitFor();
  const set = new URL(page.url()).searchParams.get("change") ?? "";
  expect(await valuesOf(newer, `change=${set}`)).toMatchObject({ price: 2 });
  expect(await valuesOf(newer)).toMatchObject({ price: 1 });

  await page.goto(`${console.platform.origin}/console${LIST}/${plain}`);
  await page.getByLabel("Price").fill("9");
  const add = async () => {
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Add to a change set" }).click();
    await page.getByRole("dialog").getByLabel("Change set").selectOption({ label: "Collected" });
    await page.getByRole("dialog").getByRole("button", { name: "Add", exact: true }).click();
  };
  await add();
  await bar(page).getByRole("link", { name: "Collected" }).waitFor();
  await expect.poll(() => page.getByLabel("Price").inputValue()).toBe("9");
  expect((await valuesOf(plain)).price).toBe(1);
  const { body } = await send("GET", `/api/admin/orbs/${ORB}/changes/${set}/diff`);
  expect(body.items.map(({ id, act }: { id: string; act: string }) => `${id} ${act}`).sort()).toEqual(
    [drafted, newer, plain].map((id) => `${id} publish`).sort(),
  );

  // What the set contains already stays as it is.
  await page.goto(`${console.platform.origin}/console${LIST}/${plain}`);
  await page.getByLabel("Price").fill("10");
  await add();
  await page
    .getByRole("dialog")
    .getByText("The set contains this entry already.", { exact: false })
    .waitFor();
  expect((await valuesOf(plain, `change=${set}`)).price).toBe(9);
});

test("saves the schema into the set, whose forms follow it, and leaves the live one", async () => {
  const set = await openSet("Colors");
  const id = await product({ title: "Chair", price: 5 });
  const page = await console.open(`/orbs/${ORB}/schema?at=/modules/0/schemas/1/fields/1&change=${set}`);
  await page.getByText("The set does not change the definition yet.").waitFor();
  const label = page.getByRole("textbox", { name: "Label", exact: true });
  await label.fill("Price in the sale");
  await page.getByRole("button", { name: "Check effects" }).click();
  const dialog = page.getByRole("dialog");
  await dialog
    .getByText(/Price in the sale/)
    .first()
    .waitFor();
  await inspect(page, "change-edit-schema-review");
  await dialog.getByRole("button", { name: "Save into the set" }).click();
  await page.getByText("Saved into the change set.").waitFor();
  await page.getByText("The set contains this definition.").waitFor();
  await inspect(page, "change-edit-schema");
  // The form in the set follows the schema of the set, the one outside the live one.
  await page.goto(`${console.platform.origin}/console${LIST}/${id}?change=${set}`);
  await page.getByLabel("Price in the sale").waitFor();
  await bar(page).getByRole("button", { name: "Leave" }).click();
  await page.getByLabel("Price", { exact: true }).waitFor();
  expect(await page.getByLabel("Price in the sale").count()).toBe(0);
  await page.goto(`${console.platform.origin}/console/orbs/${ORB}/schema?change=${set}`);
  // Another admin publishes another definition.
  await send("PATCH", `/api/admin/orbs/${ORB}?publish=true`, { description: "Live" });
  await page.reload();
  await page.getByText("The orb has published another definition since.").waitFor();
  await inspect(page, "change-edit-schema-behind");
  await page.getByRole("button", { name: "More actions", exact: true }).click();
  await page.getByRole("menuitem", { name: "Take the definition out of the set" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Take out" }).click();
  await page.getByText("The set does not change the definition yet.").waitFor();
  expect((await send("GET", `/api/admin/orbs/${ORB}/changes/${set}`)).body.definition).toBeNull();
});
