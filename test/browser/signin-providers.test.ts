import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { type OidcProvider, passProvider, startOidcProvider } from "../support/oidc.ts";
import {
  accountUrl,
  confirmIn,
  createButton,
  faults,
  invite,
  look,
  open,
  platform,
  signedIn,
  useSignin,
} from "../support/signin.ts";

useSignin();

let provider: OidcProvider;
beforeAll(async () => {
  const callbackOf = (id: string) => `${platform.origin}/api/${id}/oauth/home/callback`;
  provider = await startOidcProvider(callbackOf("provided-club"), callbackOf("provided-staff"));
  const { issuer, clientId, clientSecret } = provider;
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
    token: await adminToken(platform),
    body: {
      id: "provided-club",
      access: {
        signup: "open",
        providers: [{ id: "home", name: "Home & Co", issuer, clientId, clientSecret }],
      },
      uses: [{ service: "access", handlers: ["passkey", "invitations", "oauth"] }],
      modules: [{ id: "news", type: "CONTENT", schemas: [{ id: "article", fields: [] }] }],
    },
  });
  expect(made.status).toBe(201);
});
afterAll(() => provider?.[Symbol.asyncDispose]());

const link = { name: "Continue with Home & Co" };

test("a person signs up and in with a provider, and comes back to where they were", async () => {
  await using opened = await open();
  const { page } = opened;
  await page.goto(`${platform.origin}/api/provided-club/signin?return=/api/provided-club/me`);
  expect(await faults(page)).toEqual([]);
  await look(page, "providers");
  await page.getByRole("link", link).click();
  await passProvider(page, "ann");
  await page.waitForURL(`${platform.origin}/api/provided-club/me`);
  const me = JSON.parse((await page.locator("body").textContent()) ?? "");
  expect(me).toMatchObject({ name: "ann at home", email: "ann@example.com", role: "user", passkeys: 0 });

  // The second time, the provider recognizes the user, and the platform finds the account.
  await page.context().clearCookies({ domain: "localhost", name: "session_provided-club" });
  await page.goto(`${platform.origin}/api/provided-club/signin`);
  await page.getByRole("link", link).click();
  await signedIn(page);
  await expect.poll(() => page.locator("#who").textContent()).toBe("ann at home");
  await page.goto(`${platform.origin}/api/provided-club/me`);
  expect(JSON.parse((await page.locator("body").textContent()) ?? "").id).toBe(me.id);
});

test("an invitation goes through the provider, without a script", async () => {
  await using opened = await open({ javaScriptEnabled: false });
  const { page } = opened;
  const { url } = await invite("provided-club", "admin");
  await page.goto(url);
  await page.getByRole("link", link).click();
  await passProvider(page, "ben");
  await page.waitForURL(accountUrl("provided-club"));
  await page.goto(`${platform.origin}/api/provided-club/me`);
  expect(JSON.parse((await page.locator("body").textContent()) ?? "")).toMatchObject({ role: "admin" });
});

const part = (page: Page, name: string) => page.getByRole("region", { name });
const said = (page: Page, place: string) => page.locator(`#said-${place}`);
const signinPage = () => `${platform.origin}/api/provided-club/signin`;

/** Deletes the session at the provider, so that the provider asks for the user again. */
const forget = (page: Page) => page.context().clearCookies({ name: /^_/ });

test("an account without a passkey opens, and links, adds and unlinks ways to sign in", async () => {
  await using opened = await open();
  const { page, errors } = opened;
  await page.goto(signinPage());
  await page.getByRole("link", link).click();
  await passProvider(page, "cleo");
  await signedIn(page);
  await expect.poll(() => page.locator("#who").textContent()).toBe("cleo at home");
  const linked = part(page, "Linked accounts");
  const items = linked.getByRole("listitem");
  await items.getByText(/^cleo@example.com, linked /).waitFor();
  // The only way to sign in cannot be removed.
  await expect.poll(() => items.getByRole("button").count()).toBe(0);
  await expect.poll(() => part(page, "Your passkeys").getByRole("listitem").count()).toBe(0);
  expect(await faults(page)).toEqual([]);
  await look(page, "identities-one");

  await page.getByRole("button", { name: "Add a passkey" }).click();
  await said(page, "passkeys").getByText("The passkey was added").waitFor();
  await expect.poll(() => items.getByRole("button").count()).toBe(1);
  await part(page, "Your passkeys").getByRole("button", { name: "Remove Passkey 1" }).waitFor();

  // Link a second account at the same provider, using the keyboard.
  await forget(page);
  await linked.getByRole("button", { name: "Link an account at Home & Co" }).focus();
  await page.keyboard.press("Enter");
  await passProvider(page, "cleo-at-work");
  await said(page, "identities").getByText("Your account at Home & Co is linked.").waitFor();
  await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("identities-title");
  await expect.poll(() => items.count()).toBe(2);
  expect(await faults(page)).toEqual([]);
  await look(page, "identities-two");
  await page.reload();
  await items.nth(1).waitFor();
  await expect.poll(() => said(page, "identities").textContent()).toBe("");

  const unlink = async (name: RegExp) => {
    await linked.getByRole("button", { name }).click();
    await confirmIn(page, "Unlink");
    await said(page, "identities").getByText("The account at Home & Co is no longer linked.").waitFor();
  };
  await unlink(/^Unlink Home & Co, cleo@/);
  await part(page, "Your passkeys").getByRole("button", { name: "Remove Passkey 1" }).click();
  await confirmIn(page, "Remove");
  await said(page, "passkeys").getByText("Passkey 1 was removed.").waitFor();
  await expect.poll(() => items.count()).toBe(1);
  await expect.poll(() => items.getByRole("button").count()).toBe(0);
  // The pages of the provider load a font from the web.
  expect(errors.filter((text) => !text.includes("ERR_NAME_NOT_RESOLVED"))).toEqual([]);
});

test("refuses to remove the last way to sign in if another tab has removed the other one", async () => {
  await using opened = await open({ viewport: { width: 320, height: 640 }, colorScheme: "dark" });
  const { page } = opened;
  await page.goto((await invite("provided-club")).url);
  await createButton(page).click();
  await signedIn(page);
  await page.getByRole("button", { name: "Link an account at Home & Co" }).click();
  await passProvider(page, "dora");
  await said(page, "identities").getByText("is linked.").waitFor();
  await look(page, "identities-dark-320");
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
  expect(await faults(page)).toEqual([]);
  const unlinking = await page.evaluate(async () => {
    const [{ id }] = (await (await fetch("/api/provided-club/identities")).json()) as [{ id: string }];
    return (await fetch(`/api/provided-club/identities/${id}`, { method: "DELETE" })).status;
  });
  expect(unlinking).toBe(204);
  await part(page, "Your passkeys").getByRole("button", { name: "Remove Passkey 1" }).click();
  await confirmIn(page, "Remove");
  await said(page, "passkeys")
    .getByText("The last way to sign in to an account cannot be removed.")
    .waitFor();
  // A user who cancels stays signed in and returns to the account page.
  await forget(page);
  await page.getByRole("button", { name: "Link an account at Home & Co" }).click();
  await page.getByRole("link", { name: /cancel/i }).click();
  await page.getByRole("heading", { name: "That did not work" }).waitFor();
  await page.getByRole("link", { name: "Back to your account" }).click();
  await signedIn(page);
  await expect.poll(() => said(page, "identities").textContent()).toBe("");
});

test("an orb without passkeys offers its providers only", async () => {
  const { issuer, clientId, clientSecret } = provider;
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
    token: await adminToken(platform),
    body: {
      id: "provided-staff",
      access: { signup: "open", providers: [{ id: "home", name: "Home", issuer, clientId, clientSecret }] },
      uses: [{ service: "access", handlers: ["oauth"] }],
      modules: [{ id: "news", type: "CONTENT", schemas: [{ id: "article", fields: [] }] }],
    },
  });
  expect(made.status).toBe(201);
  await using opened = await open();
  const { page } = opened;
  await page.goto(`${platform.origin}/api/provided-staff/signin`);
  await page.getByText("Your first sign-in creates an account.").waitFor();
  await expect.poll(() => page.getByRole("button").count()).toBe(0);
  // Recovery codes add a passkey, and this orb has none.
  await page.goto(`${platform.origin}/api/provided-staff/signin?recover=true`);
  await page.getByText("Your first sign-in creates an account.").waitFor();
  await expect.poll(() => page.getByRole("button").count()).toBe(0);
  expect(await faults(page)).toEqual([]);
  await page.getByRole("link", { name: "Continue with Home" }).click();
  await passProvider(page, "eve");
  await signedIn(page);
  await part(page, "Linked accounts").getByRole("listitem").waitFor();
  await expect
    .poll(() => page.getByRole("main").getByRole("heading", { level: 2 }).allTextContents())
    .toEqual(["Linked accounts", "Your sessions", "API tokens"]);
});

test("a person who cancels at the provider reads why they are not signed in", async () => {
  await using opened = await open();
  const { page } = opened;
  await page.goto(`${platform.origin}/api/provided-club/signin`);
  await page.getByRole("link", link).click();
  await page.getByRole("link", { name: /cancel/i }).click();
  await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
  expect(await faults(page)).toEqual([]);
  await page.getByRole("link", { name: "Sign in with a passkey" }).click();
  await page.getByRole("link", link).waitFor();
});
