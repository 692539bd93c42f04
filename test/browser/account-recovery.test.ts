import type { Page } from "playwright-core";
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
  signInButton,
  useSignin,
} from "../support/signin.ts";

useSignin();

/** Registers an account on a page of its own. @returns its id and the token of its session */
async function registered(url: string, name: string): Promise<{ id: string; token: string }> {
  await using opened = await open();
  const { page } = opened;
  await page.goto(url);
  await page.getByLabel("Your name").fill(name);
  await createButton(page).click();
  await signedIn(page);
  const [cookie] = await page.context().cookies();
  const me = await page.evaluate<{ id: string }>(
    "fetch(document.body.dataset.base + '/me').then((answer) => answer.json())",
  );
  return { id: me.id, token: cookie?.value ?? "" };
}

/** A recovery link for an account. */
async function linkFor(path: string): Promise<string> {
  const made = await call(platform, "POST", `${path}/recovery`, { token: await adminToken(platform) });
  expect(made.status).toBe(201);
  return made.body.url;
}

const heading = (page: Page) => page.getByRole("heading", { name: "Get back into your account" }).waitFor();

test("a recovery link adds a passkey, keeps the others and signs in", async () => {
  const lost = await registered((await invite()).url, "Ada <b>Lovelace</b>");
  const url = await linkFor(`/api/auth/users/${lost.id}`);
  await using opened = await open();
  const { page, errors } = opened;
  await page.goto(url);
  await heading(page);
  await page.getByText("This link is for the account Ada <b>Lovelace</b>.").waitFor();
  expect(await page.content()).not.toContain(lost.id);
  await look(page, "recover");
  expect(await faults(page)).toEqual([]);
  await createButton(page).click();
  await signedIn(page);
  await page.getByText("Your new passkey works. All other devices were signed out.").waitFor();
  expect(await page.locator("#who").textContent()).toBe("Ada <b>Lovelace</b>");
  const names = page.getByLabel("Name of the passkey");
  await names.nth(1).waitFor();
  expect(await names.count()).toBe(2);
  expect((await call(platform, "GET", "/api/auth/me", { token: lost.token })).status).toBe(401);
  await look(page, "recovered");
  expect(await faults(page)).toEqual([]);
  expect(errors).toEqual([]);
  await page.goto(url);
  await page.getByRole("heading", { name: "This link was already used" }).waitFor();
  // Only a valid link tells whose account it is for.
  expect(await page.content()).not.toContain("Ada");
});

test("a recovery link of a platform admin can remove the old passkeys, by keyboard, 320 px wide, in dark mode", async () => {
  const lost = await registered((await invite("_auth", "owner")).url, "Grace Hopper");
  const url = await linkFor(`/api/_auth/admins/${lost.id}`);
  await using opened = await open({ viewport: { width: 320, height: 640 }, colorScheme: "dark" });
  const { page, errors } = opened;
  await page.goto(url);
  await heading(page);
  await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowDown");
  expect(await page.getByRole("radio", { name: "Remove" }).isChecked()).toBe(true);
  await look(page, "recover-dark-320");
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
  expect(await faults(page)).toEqual([]);
  await page.keyboard.press("Enter");
  await signedIn(page);
  const names = page.getByLabel("Name of the passkey");
  await names.first().waitFor();
  expect(await names.count()).toBe(1);
  expect(errors).toEqual([]);
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await signInButton(page).click();
  await signedIn(page);
  expect(await page.locator("#who").textContent()).toBe("Grace Hopper");
});

test("a recovery link that ends while its page is open says so", async () => {
  const lost = await registered((await invite()).url, "Alan");
  const url = await linkFor(`/api/auth/users/${lost.id}`);
  await using opened = await open();
  const { page } = opened;
  await page.goto(url);
  await heading(page);
  // A newer link replaces it.
  await linkFor(`/api/auth/users/${lost.id}`);
  await createButton(page).click();
  await error(page).filter({ hasText: "This link was revoked. Ask for a new one." }).waitFor();
  expect(await faults(page)).toEqual([]);
  await page.reload();
  await page.getByRole("heading", { name: "This link was revoked" }).waitFor();
});
