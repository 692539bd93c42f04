import { expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { error, faults, look, platform, useSignin, withAccount } from "../support/signin.ts";

useSignin();

test("a user creates a token for a program, copies it and deletes it", async () => {
  await using opened = await withAccount();
  const { page, errors } = opened;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const part = page.getByRole("region", { name: "API tokens" });
  const create = part.getByRole("button", { name: "Create token" });
  await expect.poll(() => create.count()).toBe(0);
  await part.getByRole("button", { name: "New token" }).click();
  await look(page, "tokens-form");
  expect(await faults(page)).toEqual([]);
  await expect
    .poll(() => part.getByRole("combobox", { name: "Expires" }).locator("option").allTextContents())
    .toEqual(["in 30 days", "in 90 days", "in 365 days"]);

  // Each error appears beside its input.
  await create.click();
  const wrong = (name: string) => part.locator(".field.wrong", { has: page.getByLabel(name) });
  await wrong("Name").getByText("must").waitFor();
  await part.getByLabel("Name").fill("Weekly report");
  await part.getByLabel("Orb").fill("Not an id");
  await create.click();
  await wrong("Orb").getByText("must").waitFor();
  await part.getByLabel("Orb").fill("");
  await part.getByRole("checkbox", { name: "Read" }).uncheck();
  await create.click();
  await part.getByRole("group", { name: "Permissions" }).getByText("must").waitFor();
  await look(page, "tokens-error");
  expect(await faults(page)).toEqual([]);

  await part.getByRole("checkbox", { name: "Read" }).check();
  await part.getByRole("checkbox", { name: "Write" }).check();
  await create.click();
  await part.getByText("Copy the token now. It is shown only once.").waitFor();
  const made = part.getByLabel("API token", { exact: true });
  const text = await made.inputValue();
  await expect.poll(() => page.evaluate<string>("document.activeElement.value")).toBe(text);
  await look(page, "tokens-created");
  expect(await faults(page)).toEqual([]);
  await expect
    .poll(() => part.getByRole("listitem").allTextContents())
    .toEqual([
      expect.stringMatching(/^Weekly report May read and write in all orbs · ends .* · not used yetRevoke$/),
    ]);
  await part.getByRole("button", { name: "Copy the token" }).click();
  await part.getByText("Copied. Keep the token secret.").waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(text);
  expect((await call(platform, "GET", "/api/auth/me", { token: text })).status).toBe(200);
  // An API token cannot manage sessions.
  for (const [method, path] of [
    ["GET", "sessions"],
    ["DELETE", "sessions"],
    ["DELETE", "sessions/unknown"],
  ] as const)
    expect((await call(platform, method, `/api/auth/${path}`, { token: text })).status).toBe(403);

  const remove = part.getByRole("button", { name: "Revoke Weekly report" });
  await remove.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Revoke the token Weekly report?" }).waitFor();
  expect((await call(platform, "GET", "/api/auth/me", { token: text })).status).toBe(200);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await part.getByText("You have no tokens.").waitFor();
  expect((await call(platform, "GET", "/api/auth/me", { token: text })).status).toBe(401);
  await expect.poll(() => part.getByRole("listitem").count()).toBe(0);
  // The browser reports each refused form.
  expect(errors.filter((text) => !text.includes("status of 422"))).toEqual([]);
});

test("a user of an orb creates tokens for this orb only, 320 px wide, in dark mode", async () => {
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
    token: await adminToken(platform),
    body: { id: "token-shop", uses: [{ service: "access", handlers: ["passkey", "invitations"] }] },
  });
  expect(made.status).toBe(201);
  const size = { width: 320, height: 640 };
  const account = { realm: "token-shop", role: "admin" };
  await using opened = await withAccount({ viewport: size, colorScheme: "dark" }, account);
  const { page, errors } = opened;
  const part = page.getByRole("region", { name: "API tokens" });
  await part.getByRole("button", { name: "New token" }).click();
  await expect.poll(() => part.getByLabel("Orb").count()).toBe(0);
  await part.getByLabel("Name").fill("Import");
  for (const name of ["Write", "Publish", "Manage"]) await part.getByRole("checkbox", { name }).check();
  await look(page, "tokens-form-dark-320");
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
  expect(await faults(page)).toEqual([]);
  await part.getByLabel("Name").press("Enter");
  const text = part.getByLabel("API token", { exact: true });
  await text.waitFor();
  const listed = await call(platform, "GET", "/api/token-shop/tokens", { token: await text.inputValue() });
  expect(listed.body).toMatchObject([
    { name: "Import", scopes: [{ orb: "token-shop", can: ["read", "write", "publish", "manage"] }] },
  ]);
  await look(page, "tokens-created-dark-320");
  // The browser may forbid copying.
  await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error()), 0");
  await part.getByRole("button", { name: "Copy the token" }).click();
  await error(part).filter({ hasText: "Copy the text from the field" }).waitFor();
  expect(await faults(page)).toEqual([]);
  expect(errors).toEqual([]);
});

test("a platform admin creates a token without an end", async () => {
  await using opened = await withAccount({}, { realm: "_auth", role: "owner" });
  const { page, errors } = opened;
  const part = page.getByRole("region", { name: "API tokens" });
  await part.getByRole("button", { name: "New token" }).click();
  await part.getByLabel("Name").fill("Backup");
  await part.getByLabel("Expires").selectOption("never expires");
  await part.getByRole("button", { name: "Create token" }).click();
  const token = part.getByLabel("API token", { exact: true });
  await token.waitFor();
  await part.getByText("May read in all orbs · never expires · not used yet").waitFor();
  await look(page, "tokens-platform");
  expect(await faults(page)).toEqual([]);
  const orbs = await call(platform, "GET", "/api/admin/orbs", { token: await token.inputValue() });
  expect(orbs.status).toBe(200);
  expect(errors).toEqual([]);
});
