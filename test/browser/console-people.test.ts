/** People in the console: admins, users of an orb, invitations, tokens of service accounts, and the audit log. */
import { expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { inspect, PHONE, useConsole } from "../support/console.ts";

const console = useConsole({});

const club = {
  id: "club",
  name: "Club",
  uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
  roles: [{ id: "editor", name: "Editors" }],
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [{ id: "post", fields: [{ name: "title", type: "string", required: true }] }],
    },
  ],
};

test("invites an editor, who sees the console after the registration", async () => {
  await console.seedOrb(club);
  const page = await console.open("/orbs/club/people");
  await page.getByRole("heading", { level: 1, name: "People" }).waitFor();
  await inspect(page, "people-empty");
  await page.getByRole("button", { name: "Invite" }).click();
  const dialog = page.getByRole("dialog", { name: "Invite" });
  await dialog.getByLabel("Role").selectOption("editor");
  await dialog.getByRole("button", { name: "Create invitation" }).click();
  const made = page.getByRole("dialog", { name: "Invitation created" });
  await made.getByRole("img", { name: "QR code of the link" }).waitFor();
  await inspect(page, "people-invited");
  const url = await made.getByLabel("Link", { exact: true }).inputValue();
  await made.getByRole("button", { name: "Done" }).click();

  const editor = await console.visit("");
  await editor.goto(url);
  await editor.getByRole("button", { name: "Create passkey" }).click();
  await editor.waitForURL(`${console.platform.origin}/console/orbs/club`);
  await editor.getByRole("heading", { level: 1, name: "Club" }).waitFor();
});

test("changes the role of a user, disables the account and creates a recovery link", async () => {
  const page = await console.open("/orbs/club/people", { size: PHONE });
  await page.getByRole("table").getByRole("button").first().click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Role").selectOption("admin");
  await dialog.getByRole("button", { name: "Change role" }).click();
  await page.getByRole("table").getByRole("cell", { name: "Admin", exact: true }).waitFor();
  await page.getByRole("table").getByRole("button").first().click();
  await inspect(page, "people-person-phone");
  await dialog.getByRole("button", { name: "Disable" }).click();
  await page
    .getByRole("dialog", { name: /^Disable / })
    .getByRole("button", { name: "Disable" })
    .click();
  await page.getByRole("table").getByText("Disabled").waitFor();
  await page.getByRole("table").getByRole("button").first().click();
  await dialog.getByRole("button", { name: "Enable" }).click();
  await dialog.waitFor({ state: "detached" });
  await page.getByRole("table").getByRole("button").first().click();
  await dialog.getByRole("button", { name: "Create recovery link" }).click();
  const link = page.getByRole("dialog", { name: "Recovery link" });
  await expect
    .poll(() => link.getByLabel("Link", { exact: true }).inputValue())
    .toContain("/api/club/signin?invite=");
});

test("lists invitations, and revokes one", async () => {
  const page = await console.open("/orbs/club/people");
  await page.getByRole("tab", { name: "Invitations" }).click();
  const table = page.getByRole("table");
  await table.getByRole("button", { name: "Revoke" }).first().click();
  await table.getByText("Revoked").or(page.getByText("No invitations")).first().waitFor();
});

test("creates a service account with a token that works, and revokes the token", async () => {
  const page = await console.open("/orbs/club/people");
  await page.getByRole("button", { name: "New service account" }).click();
  const dialog = page.getByRole("dialog", { name: "New service account" });
  await dialog.getByLabel("Name").fill("Importer");
  await dialog.getByLabel("Role").selectOption("admin");
  await dialog.getByRole("button", { name: "Create service account" }).click();
  const tokens = page.getByRole("dialog", { name: "API tokens of Importer" });
  await tokens.getByLabel("Name").fill("Nightly");
  await inspect(page, "people-tokens");
  await tokens.getByRole("button", { name: "Create token" }).click();
  const token = await tokens.getByLabel("API token").inputValue();
  const read = () => call(console.platform, "GET", "/api/club/news", { token });
  expect((await read()).status).toBe(200);
  await tokens.getByRole("button", { name: "Revoke" }).click();
  await page
    .getByRole("dialog", { name: /^Revoke/ })
    .getByRole("button", { name: "Revoke" })
    .click();
  await tokens.getByText("This account has no tokens yet.").waitFor();
  expect((await read()).status).toBe(401);
});

test("puts a refused name beside its input", async () => {
  const page = await console.open("/orbs/club/people");
  await page.getByRole("button", { name: "New service account" }).click();
  const dialog = page.getByRole("dialog", { name: "New service account" });
  await dialog.getByRole("button", { name: "Create service account" }).click();
  await dialog.locator(".field.wrong").getByText("must be at least 1 character").waitFor();
});

test("lists platform admins, and invites another one", async () => {
  const page = await console.open("/admins");
  await page.getByRole("heading", { level: 1, name: "Platform admins" }).waitFor();
  await page.getByRole("table").getByRole("button").first().waitFor();
  await inspect(page, "people-admins");
  await page.getByRole("button", { name: "Invite" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Create invitation" }).click();
  const link = page.getByRole("dialog", { name: "Invitation created" }).getByLabel("Link", { exact: true });
  await expect.poll(() => link.inputValue()).toMatch(/\/api\/_auth\/signin\?invite=.*return=%2Fconsole/);
});

test("filters the audit log, and keeps the filter in the address", async () => {
  const page = await console.open("/audit");
  await page.getByRole("heading", { level: 1, name: "Audit log" }).waitFor();
  await page.getByLabel("Realm").fill("club");
  await page.waitForURL(/realm=club/);
  const { items } = (await call(console.platform, "GET", "/api/club/users", { token: console.token })).body;
  const [person] = items as { id: string; name: string }[];
  const named = page.getByRole("table").getByRole("button", { name: person?.name ?? "", exact: true });
  await named.first().waitFor();
  await inspect(page, "audit");
  await named.first().click();
  const chosen = page.locator(".filters .chosen-name");
  // The id stands there until the name has arrived.
  await expect.poll(() => chosen.allInnerTexts()).toEqual([person?.name]);
  expect(new URL(page.url()).search).toContain(`=${person?.id}`);
  await page.reload();
  await expect.poll(() => page.getByLabel("Realm").inputValue()).toBe("club");
  await page.getByLabel("Realm").fill("nothing-here");
  await page.getByRole("heading", { name: "No records" }).waitFor();
  await page.getByRole("button", { name: "Clear the filters" }).click();
  await page.getByRole("table").waitFor();
});

test("shows users of an orb no people unless their role manages them", async () => {
  const page = await console.openAs("club", "editor", "/orbs/club");
  await page.getByRole("heading", { level: 1, name: "Club" }).waitFor();
  const navigation = await console.navigation(page);
  await expect.poll(() => navigation.getByRole("link", { name: "People" }).count()).toBe(0);
  const admin = await console.openAs("club", "admin", "/orbs/club/people");
  await admin.getByRole("button", { name: "Invite" }).click();
  const roles = admin.getByRole("dialog").getByLabel("Role").getByRole("option");
  await expect.poll(() => roles.allTextContents()).toEqual(["User", "Editors"]);
});
