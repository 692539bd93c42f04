import { expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import {
  createButton,
  error,
  faults,
  invite,
  look,
  open,
  platform,
  signedIn,
  useSignin,
} from "../support/signin.ts";

useSignin();

test("a user creates a token for a program, copies it and deletes it", async () => {
  await using opened = await open();
  const { page, errors } = opened;
  await page.goto((await invite()).url);
  await createButton(page).click();
  await signedIn(page);
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const part = page.getByRole("region", { name: "API tokens" });
  const create = part.getByRole("button", { name: "Create token" });
  expect(await create.isVisible()).toBe(false);
  await part.getByText("New token", { exact: true }).click();
  await look(page, "tokens-form");
  expect(await faults(page)).toEqual([]);
  expect(await part.getByRole("combobox", { name: "Works for" }).locator("option").allTextContents()).toEqual(
    ["30 days", "90 days", "1 year"],
  );

  // The error appears next to the form, and the field gets the focus.
  await create.click();
  await error(part).filter({ hasText: "Give the token a name" }).waitFor();
  expect(await page.evaluate("document.activeElement.id")).toBe("api-name");
  await part.getByLabel("Name").fill("Weekly report");
  await part.getByLabel("Application").fill("Not an id");
  await create.click();
  await error(part).filter({ hasText: "Enter the id of one application" }).waitFor();
  await part.getByLabel("Application").fill("");
  await part.getByRole("checkbox", { name: "Read" }).uncheck();
  await create.click();
  await error(part).filter({ hasText: "Choose at least one thing" }).waitFor();
  await look(page, "tokens-error");
  expect(await faults(page)).toEqual([]);

  await part.getByRole("checkbox", { name: "Read" }).check();
  await part.getByRole("checkbox", { name: "Write" }).check();
  await create.click();
  await part.getByText("The token was created. Copy it now").waitFor();
  const text = await part.getByLabel("Your new token").inputValue();
  expect(await page.evaluate("document.activeElement.id")).toBe("api-text");
  await look(page, "tokens-created");
  expect(await faults(page)).toEqual([]);
  expect(await part.getByRole("listitem").allTextContents()).toEqual([
    expect.stringMatching(
      /^Weekly reportMay read and write in all applications, ends .*, not used yetDelete$/,
    ),
  ]);
  await part.getByRole("button", { name: "Copy token" }).click();
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

  const remove = part.getByRole("button", { name: /^Delete (now\? )?Weekly report$/ });
  await remove.focus();
  await page.keyboard.press("Enter");
  expect((await call(platform, "GET", "/api/auth/me", { token: text })).status).toBe(200);
  await page.keyboard.press("Enter");
  await part.getByText("Weekly report was deleted.").waitFor();
  expect((await call(platform, "GET", "/api/auth/me", { token: text })).status).toBe(401);
  expect(await part.getByRole("listitem").count()).toBe(0);
  expect(await page.evaluate("document.activeElement.id")).toBe("tokens-title");
  expect(errors).toEqual([]);
});

test("a user of an orb creates tokens for this orb only, 320 px wide, in dark mode", async () => {
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
    token: await adminToken(platform),
    body: { id: "shop", uses: [{ service: "access", handlers: ["passkey", "invitations"] }] },
  });
  expect(made.status).toBe(201);
  await using opened = await open({ viewport: { width: 320, height: 640 }, colorScheme: "dark" });
  const { page, errors } = opened;
  await page.goto((await invite("shop", "admin")).url);
  await createButton(page).click();
  await signedIn(page);
  const part = page.getByRole("region", { name: "API tokens" });
  await part.getByText("New token", { exact: true }).click();
  expect(await part.getByLabel("Application").count()).toBe(0);
  await part.getByLabel("Name").fill("Import");
  for (const name of ["Write", "Publish", "Manage"]) await part.getByRole("checkbox", { name }).check();
  await look(page, "tokens-form-dark-320");
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
  expect(await faults(page)).toEqual([]);
  await part.getByLabel("Name").press("Enter");
  const text = part.getByLabel("Your new token");
  await text.waitFor();
  const listed = await call(platform, "GET", "/api/shop/tokens", { token: await text.inputValue() });
  expect(listed.body).toMatchObject([
    { name: "Import", scopes: [{ orb: "shop", can: ["read", "write", "publish", "manage"] }] },
  ]);
  await look(page, "tokens-created-dark-320");
  // The browser may forbid copying.
  await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error()), 0");
  await part.getByRole("button", { name: "Copy token" }).click();
  await error(part).filter({ hasText: "Copy the token from the field" }).waitFor();
  expect(await faults(page)).toEqual([]);
  expect(errors).toEqual([]);
});

test("a platform admin creates a token without an end", async () => {
  await using opened = await open();
  const { page, errors } = opened;
  await page.goto((await invite("_auth", "owner")).url);
  await createButton(page).click();
  await signedIn(page);
  const part = page.getByRole("region", { name: "API tokens" });
  await part.getByText("New token", { exact: true }).click();
  await part.getByLabel("Name").fill("Backup");
  await part.getByLabel("Works for").selectOption("No end");
  await part.getByRole("button", { name: "Create token" }).click();
  const token = part.getByLabel("Your new token");
  await token.waitFor();
  await part.getByText("May read in all applications, no end, not used yet").waitFor();
  await look(page, "tokens-platform");
  expect(await faults(page)).toEqual([]);
  const orbs = await call(platform, "GET", "/api/admin/orbs", { token: await token.inputValue() });
  expect(orbs.status).toBe(200);
  expect(errors).toEqual([]);
});
