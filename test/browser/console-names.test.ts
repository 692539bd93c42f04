/** Who changed what: names instead of ids in lists, filters, histories, recent changes and the audit log. */
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { call, register, user } from "../support/auth.ts";
import { inspect, useConsole } from "../support/console.ts";

const console = useConsole();
const ORB = "named-console";
const NOTES = `/orbs/${ORB}/entries/content/note`;
/** An id of an account, or a part of one. Generated names such as `user-1234abcd` are names. */
const HASH = /(?<!user-)\b[0-9a-f]{8,32}\b/;

let first: string;
let second: string;

/** A service account of the orb, with a token for its requests. */
async function robot(name: string): Promise<{ id: string; token: string }> {
  const made = await call(console.platform, "POST", `/api/${ORB}/users`, {
    token: console.token,
    body: { name, service: true, role: "editor" },
  });
  expect(made.status).toBe(201);
  const { id } = made.body;
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
  const token = await call(console.platform, "POST", `/api/${ORB}/tokens`, {
    token: console.token,
    body: {
      account: id,
      name: "Writer",
      expiresAt,
      scopes: [{ orb: ORB, can: ["read", "write", "publish"] }],
    },
  });
  expect([token.status, token.body.errors]).toEqual([201, undefined]);
  return { id, token: token.body.token };
}

const write = async (token: string, title: string, id?: string) => {
  const path = `/api/${ORB}/content/note`;
  const { status, body } =
    id === undefined
      ? await call(console.platform, "POST", `${path}?publish=true`, { token, body: { values: { title } } })
      : await call(console.platform, "PUT", `${path}/${id}`, {
          token,
          headers: { "if-match": '"1"' },
          body: { values: { title } },
        });
  expect([200, 201]).toContain(status);
  return body.id as string;
};

beforeAll(async () => {
  await console.seedOrb({
    id: ORB,
    name: "Named",
    uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
    roles: [{ id: "editor", name: "Editors" }],
    modules: [
      {
        id: "content",
        type: "CONTENT",
        schemas: [
          {
            id: "note",
            name: "Note",
            access: {
              read: ["public"],
              create: ["editor"],
              update: ["editor"],
              publish: ["editor"],
              delete: ["admin"],
            },
            fields: [{ name: "title", label: "Title", type: "string" }],
          },
        ],
      },
    ],
  });
  const ada = await robot("Ada Robot");
  const gone = await robot("Grace Gone");
  first = await write(ada.token, "By Ada");
  second = await write(gone.token, "By Grace");
  await write(ada.token, "Changed by Ada", second);
  await write(gone.token, "By Grace again");
  const removed = await call(console.platform, "DELETE", `/api/${ORB}/users/${gone.id}`, {
    token: console.token,
  });
  expect(removed.status).toBe(204);
});

const text = async (page: Page, selector: string) =>
  (await page.locator(selector).allInnerTexts()).join("\n");

test("lists show who changed an entry, and filter by it", async () => {
  const page = await console.open(`${NOTES}?columns=title,updatedBy,createdBy`);
  await page.getByRole("gridcell", { name: "Grace Gone (removed)" }).first().waitFor();
  await page.getByRole("gridcell", { name: "Ada Robot" }).first().waitFor();
  expect(await text(page, "[role=row]")).not.toMatch(HASH);
  // The panel takes the focus before the next frame. Later, it would take it from the list of options, which closes.
  const focused = await page.evaluate(`(async () => {
    document.querySelector("button[aria-label='Add a filter']").click();
    for (let step = 0; step < 20; step++) await undefined;
    return document.activeElement.closest("[role=dialog]")?.ariaLabel;
  })()`);
  expect(focused).toBe("Add a filter");
  await page.getByLabel("Field").selectOption({ label: "Changed by" });
  await page.getByRole("combobox", { name: "Value" }).fill("ada");
  await page.getByRole("option", { name: /Ada Robot/ }).click();
  await page.getByRole("button", { name: "Apply the filter" }).click();
  await page.locator(".chips", { hasText: "Changed by is Ada Robot" }).waitFor();
  await expect.poll(() => page.locator("tbody [role=row]").count()).toBe(2);
  await inspect(page, "names-list");
});

test("the form and the history show names, also of removed accounts, to admins and editors", async () => {
  const editor = await console.openAs(ORB, "editor", `${NOTES}/${second}`);
  for (const page of [await console.open(`${NOTES}/${second}`), editor]) {
    await page.locator(".entry-facts", { hasText: "Ada Robot" }).waitFor();
    await page.locator(".entry-facts", { hasText: "Grace Gone (removed)" }).waitFor();
    await page
      .getByRole("link", { name: /history/ })
      .first()
      .click();
    await page.locator(".entry-revisions", { hasText: "Ada Robot" }).waitFor();
    await page.locator(".entry-revisions", { hasText: "Grace Gone (removed)" }).waitFor();
    expect(await text(page, ".entry-revisions")).not.toMatch(HASH);
  }
});

test("the overview lists changes of entries among the recent changes, and the home page counts them", async () => {
  const page = await console.open(`/orbs/${ORB}`);
  const changes = page.locator(".orb-changes li");
  await changes.filter({ hasText: "Grace Gone (removed)" }).first().waitFor();
  await changes.filter({ hasText: "Ada Robot" }).first().waitFor();
  expect(await text(page, ".orb-changes")).toMatch(/Note\s+Created By Grace again/);
  expect(await text(page, ".orb-changes")).not.toMatch(HASH);
  await page.getByRole("link", { name: "By Ada", exact: true }).click();
  await page.getByRole("heading", { level: 1, name: "By Ada" }).waitFor();
  expect(page.url()).toContain(first);
});

test("the activity of an orb and of an entry names people, marks words, and is filtered", async () => {
  const page = await console.open(`/orbs/${ORB}/activity`);
  const lines = page.locator(".activity > li");
  await lines
    .filter({ hasText: "Created By Grace again" })
    .filter({ hasText: "Grace Gone (removed)" })
    .waitFor();
  const changed = lines.filter({ hasText: /Changed\s+Changed by Ada/ });
  await changed.getByRole("button", { name: "What changed" }).click();
  await changed.locator("ins", { hasText: "Changed" }).first().waitFor();
  expect(await text(page, ".activity-line")).not.toMatch(HASH);
  await inspect(page, "activity");
  await page.getByLabel("Kind").selectOption({ label: "Accounts" });
  await expect.poll(() => text(page, ".activity-line")).toMatch(/Accounts\s+Changed Grace Gone \(removed\)/);
  expect(await text(page, ".activity-line")).not.toContain("Ada Robot\nNote");
  await page.goto(page.url().replace(/\/orbs.*/, `${NOTES}/${second}/history`));
  await page.getByRole("tab", { name: "Activity" }).click();
  await expect.poll(() => lines.count()).toBe(2);
  await lines.filter({ hasText: "Grace Gone (removed)" }).waitFor();
});

test("the audit log is filtered by the name of an account", async () => {
  await register(
    console.platform,
    `/api/${ORB}`,
    (
      await call(console.platform, "POST", `/api/${ORB}/invitations`, {
        token: console.token,
        body: { role: "user" },
      })
    ).body.token,
  );
  const page = await console.open(`/audit?realm=${ORB}`);
  await page.locator("tbody tr").first().waitFor();
  const find = page.getByRole("combobox", { name: "Object" });
  await find.fill("grace");
  await page.getByRole("option", { name: /Grace Gone/ }).click();
  await expect.poll(() => text(page, "tbody tr")).toContain("Grace Gone");
  await expect.poll(() => text(page, "tbody tr")).not.toContain("Ada Robot");
  await inspect(page, "names-audit");
  // The address keeps the filter, and the page shows its name again.
  await page.reload();
  await page
    .getByRole("button", { name: /Grace Gone/ })
    .first()
    .waitFor();
});

test("a caller who may not see names sees no ids either", async () => {
  const reader = await user(console.platform, ORB, "user");
  expect(reader.id).toMatch(HASH);
  const page = await console.openAs(ORB, "user", `${NOTES}?columns=title,updatedBy`);
  await page.locator("[role=row]", { hasText: "another account" }).first().waitFor();
  expect(await text(page, "[role=row]")).not.toMatch(HASH);
});
