import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { adminToken, begin, call, complete, subjectOf } from "../support/auth.ts";
import { Authenticator } from "../support/authenticator.ts";
import {
  createButton,
  error,
  faults,
  invite,
  leave,
  look,
  open,
  platform,
  signedIn,
  signInButton,
  signinUrl,
  useSignin,
  withAccount,
} from "../support/signin.ts";

useSignin();

/** Registers an account over HTTP. @returns its id and the token of its session */
async function registered(
  realm: string,
  name: string,
  role?: string,
): Promise<{ id: string; token: string }> {
  const base = `/api/${realm}`;
  const body = { invite: (await invite(realm, role)).token, name };
  const { sessionId, publicKey } = await begin(platform, base, { body });
  const device = new Authenticator(platform.origin);
  const { token } = (await complete(platform, base, sessionId, device.create(publicKey))).body;
  return { id: subjectOf(token), token };
}

/** A recovery link for an account. */
async function linkFor(path: string): Promise<string> {
  const made = await call(platform, "POST", `${path}/recovery`, { token: await adminToken(platform) });
  expect(made.status).toBe(201);
  return made.body.url;
}

const heading = (page: Page) => page.getByRole("heading", { name: "Get back into your account" }).waitFor();

test("a recovery link adds a passkey, keeps the others and signs in", async () => {
  const lost = await registered("auth", "Ada <b>Lovelace</b>");
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
  await expect.poll(() => page.locator("#who").textContent()).toBe("Ada <b>Lovelace</b>");
  const names = page.getByLabel("Name of the passkey");
  await names.nth(1).waitFor();
  await expect.poll(() => names.count()).toBe(2);
  expect((await call(platform, "GET", "/api/auth/me", { token: lost.token })).status).toBe(401);
  await look(page, "recovered");
  expect(await faults(page)).toEqual([]);
  expect(errors).toEqual([]);
  await page.goto(url);
  await page.getByRole("heading", { name: "This link was already used" }).waitFor();
  // The page reveals the name of the account only if the link is valid.
  expect(await page.content()).not.toContain("Ada");
});

test("a recovery link of a platform admin can remove the old passkeys, by keyboard, 320 px wide, in dark mode", async () => {
  const lost = await registered("_auth", "Grace Hopper", "owner");
  const url = await linkFor(`/api/_auth/admins/${lost.id}`);
  await using opened = await open({ viewport: { width: 320, height: 640 }, colorScheme: "dark" });
  const { page, errors } = opened;
  await page.goto(url);
  await heading(page);
  await page.keyboard.press("Tab");
  await page.keyboard.press("ArrowDown");
  await expect.poll(() => page.getByRole("radio", { name: "Remove" }).isChecked()).toBe(true);
  await look(page, "recover-dark-320");
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
  expect(await faults(page)).toEqual([]);
  await page.keyboard.press("Enter");
  await signedIn(page);
  const names = page.getByLabel("Name of the passkey");
  await names.first().waitFor();
  await expect.poll(() => names.count()).toBe(1);
  expect(errors).toEqual([]);
  await page.getByRole("main").getByRole("button", { name: "Sign out", exact: true }).click();
  await signInButton(page).click();
  await signedIn(page);
  await expect.poll(() => page.locator("#who").textContent()).toBe("Grace Hopper");
});

test("a recovery link that ends while its page is open says so", async () => {
  const lost = await registered("auth", "Alan");
  const url = await linkFor(`/api/auth/users/${lost.id}`);
  await using opened = await open();
  const { page } = opened;
  await page.goto(url);
  await heading(page);
  // A newer link replaces the first one.
  await linkFor(`/api/auth/users/${lost.id}`);
  await createButton(page).click();
  await error(page).filter({ hasText: "This link was revoked. Ask for a new one." }).waitFor();
  expect(await faults(page)).toEqual([]);
  await page.reload();
  await page.getByRole("heading", { name: "This link was revoked" }).waitFor();
});

const codesOf = (page: Page) => page.getByRole("region", { name: "Recovery codes" });

test("recovery codes are made, copied and printed, and one of them gives access again", async () => {
  await using opened = await withAccount({}, { name: "Edsger Dijkstra" });
  const { page, errors } = opened;
  const codes = codesOf(page);
  await codes.getByText("You have no codes.").waitFor();
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await codes.getByRole("button", { name: "Make ten recovery codes" }).click();
  await codes.getByText("These are your new codes.").waitFor();
  const shown = await codes.getByRole("listitem").allTextContents();
  expect(shown).toHaveLength(10);
  await codes.getByText(/^You have 10 codes, made /).waitFor();
  await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("codes-title");
  await look(page, "codes");
  expect(await faults(page)).toEqual([]);
  await codes.getByRole("button", { name: "Copy codes" }).click();
  await codes.getByText("Copied. Keep the codes secret.").waitFor();
  expect(await page.evaluate("navigator.clipboard.readText()")).toBe(shown.join("\n"));
  await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error()), 0");
  await codes.getByRole("button", { name: "Copy codes" }).click();
  await error(page).filter({ hasText: "Print the codes, or write them down." }).waitFor();
  await page.evaluate("globalThis.print = () => { document.body.dataset.printed = 'yes'; }, 0");
  await codes.getByRole("button", { name: "Print codes" }).click();
  expect(await page.evaluate("document.body.dataset.printed")).toBe("yes");
  // Only the codes and the name of their account are printed.
  await page.emulateMedia({ media: "print" });
  await expect.poll(() => page.getByRole("button").count()).toBe(0);
  await expect
    .poll(() => page.getByRole("main").getByRole("heading", { level: 2 }).allTextContents())
    .toEqual(["Recovery codes"]);
  await look(page, "codes-print");
  await page.emulateMedia({ media: "screen" });
  expect(errors).toEqual([]);

  // All passkeys are lost.
  await using other = await open();
  await other.page.goto(signinUrl());
  await other.page.getByRole("link", { name: "Use a recovery code" }).click();
  await heading(other.page);
  await createButton(other.page).click();
  await error(other.page).filter({ hasText: "Enter one of your recovery codes." }).waitFor();
  await expect.poll(() => other.page.evaluate("document.activeElement.id")).toBe("code");
  await other.page.getByRole("textbox", { name: "Recovery code" }).fill("K7QM-2XWB-9HTC-PD4R-VN3E-8JZL");
  await createButton(other.page).click();
  await error(other.page).filter({ hasText: "This code was not accepted." }).waitFor();
  await look(other.page, "code-refused");
  expect(await faults(other.page)).toEqual([]);
  // The code may be entered in lower case and with spaces.
  await other.page
    .getByRole("textbox", { name: "Recovery code" })
    .fill(` ${shown[3]?.toLowerCase().replaceAll("-", " ")}`);
  await createButton(other.page).click();
  await signedIn(other.page);
  await other.page.getByText("Your recovery codes no longer work: make new ones.").waitFor();
  await expect.poll(() => other.page.locator("#who").textContent()).toBe("Edsger Dijkstra");
  await codesOf(other.page).getByText("You have no codes.").waitFor();
  expect(await faults(other.page)).toEqual([]);
  await page.reload();
  await page.getByRole("link", { name: "Sign in" }).click();
  await page.getByText("New here?").waitFor();
});

test("recovery codes of an orb are replaced only when the user confirms, 320 px wide, in dark mode", async () => {
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
    token: await adminToken(platform),
    body: { id: "recovering", uses: [{ service: "access", handlers: ["passkey", "invitations"] }] },
  });
  expect(made.status).toBe(201);
  const size = { width: 320, height: 640 };
  await using opened = await withAccount({ viewport: size, colorScheme: "dark" }, { realm: "recovering" });
  const { page, errors } = opened;
  const codes = codesOf(page);
  await codes.getByRole("button", { name: "Make ten recovery codes" }).click();
  const items = codes.getByRole("listitem");
  await items.nth(9).waitFor();
  const [old] = await items.allTextContents();
  await look(page, "codes-dark-320");
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
  await codes.getByRole("button", { name: "Make new codes" }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("dialog", { name: "Replace the old codes?" }).waitFor();
  await expect.poll(() => items.first().textContent()).toBe(old);
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await items
    .filter({ hasNotText: old?.slice(0, 9) ?? "" })
    .nth(9)
    .waitFor();
  expect(errors).toEqual([]);
  await leave(page);
  await page.goto(`${platform.origin}/api/recovering/signin?recover=true`);
  await heading(page);
  await look(page, "code-dark-320");
  expect(await faults(page)).toEqual([]);
  await page.getByRole("textbox", { name: "Recovery code" }).fill(old ?? "");
  await createButton(page).click();
  await error(page).filter({ hasText: "This code was not accepted." }).waitFor();
});
