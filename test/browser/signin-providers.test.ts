import { afterAll, beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { type OidcProvider, passProvider, startOidcProvider } from "../support/oidc.ts";
import { faults, invite, look, open, platform, useSignin } from "../support/signin.ts";

useSignin();

let provider: OidcProvider;
beforeAll(async () => {
  provider = await startOidcProvider(`${platform.origin}/api/club/oauth/home/callback`);
  const { issuer, clientId, clientSecret } = provider;
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
    token: await adminToken(platform),
    body: {
      id: "club",
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
  await page.goto(`${platform.origin}/api/club/signin?return=/api/club/me`);
  expect(await faults(page)).toEqual([]);
  await look(page, "providers");
  await page.getByRole("link", link).click();
  await passProvider(page, "ann");
  await page.waitForURL(`${platform.origin}/api/club/me`);
  const me = JSON.parse((await page.locator("body").textContent()) ?? "");
  expect(me).toMatchObject({ name: "ann at home", email: "ann@example.com", role: "user", passkeys: 0 });

  // The second time the provider knows the person, and the platform knows the account.
  await page.context().clearCookies({ domain: "localhost", name: "session_club" });
  await page.goto(`${platform.origin}/api/club/signin`);
  await page.getByRole("link", link).click();
  await page.getByText("You are signed in as ann at home").waitFor();
  await page.goto(`${platform.origin}/api/club/me`);
  expect(JSON.parse((await page.locator("body").textContent()) ?? "").id).toBe(me.id);
});

test("an invitation goes through the provider, without a script", async () => {
  await using opened = await open({ javaScriptEnabled: false });
  const { page } = opened;
  const { url } = await invite("club", "admin");
  await page.goto(url);
  await page.getByRole("link", link).click();
  await passProvider(page, "ben");
  await page.waitForURL(`${platform.origin}/api/club/signin`);
  await page.goto(`${platform.origin}/api/club/me`);
  expect(JSON.parse((await page.locator("body").textContent()) ?? "")).toMatchObject({ role: "admin" });
});

test("a person who cancels at the provider reads why they are not signed in", async () => {
  await using opened = await open();
  const { page } = opened;
  await page.goto(`${platform.origin}/api/club/signin`);
  await page.getByRole("link", link).click();
  await page.getByRole("link", { name: /cancel/i }).click();
  await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
  expect(await faults(page)).toEqual([]);
  await page.getByRole("link", { name: "Sign in with a passkey" }).click();
  await page.getByRole("link", link).waitFor();
});
