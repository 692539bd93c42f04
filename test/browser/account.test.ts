import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { buckets } from "../../shared/store/subjects.ts";
import { adminToken, call, subjectOf } from "../support/auth.ts";
import {
  accountUrl,
  confirmIn,
  createButton,
  error,
  faults,
  leave,
  look,
  open,
  platform,
  sessionCookie,
  signedIn,
  signinUrl,
  useSignin,
  type WithPasskey,
  withAccount,
  withPasskey,
} from "../support/signin.ts";

useSignin({});

const section = (page: Page, name: string) => page.getByRole("region", { name });
const said = (page: Page, place: string) => page.locator(`#said-${place}`);
const focused = (page: Page) => page.evaluate("document.activeElement.id");

/** Gives the page another session, as if the person had signed in again. @returns the token of the one that it has left */
async function signInAgain({ page, again }: WithPasskey): Promise<string> {
  const [cookie] = await page.context().cookies();
  await leave(page);
  await page.context().addCookies([sessionCookie(platform, "auth", await again())]);
  await page.goto(accountUrl());
  await signedIn(page);
  return cookie?.value ?? "";
}

const isOpen = async (token: string) =>
  (await call(platform, "GET", "/api/auth/me", { token })).status === 200;

describe("sessions", () => {
  test("are listed with browser and system, and end one by one or all at once", async () => {
    await using opened = await withPasskey();
    const { page, errors } = opened;
    const first = await opened.again();
    await signInAgain(opened);
    const list = section(page, "Your sessions");
    const items = list.getByRole("listitem");
    await items.nth(2).waitFor();
    await expect
      .poll(() => items.allTextContents())
      .toEqual([
        expect.stringMatching(/^Chrome on Linux this oneSigned in [^S]+$/),
        expect.stringMatching(/^Chrome on LinuxSigned in .*Sign out$/),
        expect.stringMatching(/^Chrome on LinuxSigned in .*Sign out$/),
      ]);
    await look(page, "account-sessions");
    expect(await faults(page)).toEqual([]);
    const end = items.nth(1).getByRole("button", { name: /^Sign out Chrome on Linux, signed in / });
    await end.click();
    await page.getByRole("dialog", { name: "Sign out Chrome on Linux?" }).waitFor();
    expect(await isOpen(first)).toBe(true);
    await confirmIn(page, "Sign out");
    await said(page, "sessions").getByText("Chrome on Linux is signed out.").waitFor();
    await expect.poll(() => items.count()).toBe(2);
    expect(await isOpen(first)).toBe(false);
    await expect.poll(() => focused(page)).toBe("sessions-title");
    const second = await signInAgain(opened);
    await list.getByRole("button", { name: "Sign out everywhere else" }).click();
    await said(page, "sessions").getByText("You are signed out everywhere else.").waitFor();
    await expect.poll(() => items.count()).toBe(1);
    expect(await isOpen(second)).toBe(false);
    await expect.poll(() => list.getByRole("button").count()).toBe(0);
    expect(await page.evaluate(async () => (await fetch("/api/auth/me")).status)).toBe(200);
    expect(errors).toEqual([]);
  });

  test("that ended meanwhile do no harm, and an own session that ended asks to sign in", async () => {
    await using opened = await withAccount({ viewport: { width: 320, height: 640 }, colorScheme: "dark" });
    const { page } = opened;
    const other = await opened.again();
    await page.reload();
    const list = section(page, "Your sessions");
    const end = list.getByRole("button", { name: /^Sign out Chrome/ });
    await end.waitFor();
    await look(page, "account-dark-320");
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
    expect(await faults(page)).toEqual([]);
    expect((await call(platform, "POST", "/api/auth/signout", { token: other })).status).toBeLessThan(300);
    // Use the keyboard.
    await end.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog", { name: "Sign out Chrome on Linux?" }).waitFor();
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await said(page, "sessions").getByText("Chrome on Linux is signed out.").waitFor();
    const [cookie] = await page.context().cookies();
    await signInAgain(opened);
    await list.getByRole("button", { name: "Sign out everywhere else" }).waitFor();
    const [own] = await page.context().cookies();
    await call(platform, "DELETE", "/api/auth/sessions", { token: cookie?.value ?? "" });
    expect(await isOpen(own?.value ?? "")).toBe(false);
    await list.getByRole("button", { name: "Sign out everywhere else" }).click();
    await page.getByRole("dialog", { name: "Your session has ended" }).waitFor();
    expect(await faults(page)).toEqual([]);
  });
});

test("the page copies the token of its own session after another passkey was added", async () => {
  await using opened = await withAccount({}, { realm: "_auth", role: "owner" });
  const { page, cdp, authenticatorId = "" } = opened;
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await cdp.send("WebAuthn.removeVirtualAuthenticator", { authenticatorId });
  await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "usb",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  await page.getByRole("button", { name: "Add another passkey" }).click();
  await said(page, "passkeys").getByText("The passkey was added").waitFor();
  await section(page, "Your sessions").getByRole("button", { name: "Sign out everywhere else" }).click();
  await said(page, "sessions").getByText("You are signed out everywhere else.").waitFor();
  await page.getByRole("button", { name: "Copy access token" }).click();
  await said(page, "token").getByText("Copied.").waitFor();
  const token = await page.evaluate<string>("navigator.clipboard.readText()");
  expect((await call(platform, "GET", "/api/_auth/me", { token })).status).toBe(200);
});

test("the page names the newest 20 sessions, and counts the others", async () => {
  await using opened = await withAccount();
  const { page } = opened;
  const sub = subjectOf(opened.token);
  const store = platform.operatorStore();
  const [own] = await store.kvList(buckets.sessions, `auth.${sub}.*`);
  for (let i = 0; i < 26; i++)
    await store.kvPut(buckets.sessions, `auth.${sub}.other${i}`, own?.text() ?? "", { ttl: 600 });
  await page.reload();
  const list = section(page, "Your sessions");
  await list.getByText("And 7 older ones.").waitFor();
  await expect.poll(() => list.getByRole("listitem").count()).toBe(20);
  await list.getByRole("button", { name: "Sign out everywhere else" }).click();
  await said(page, "sessions").getByText("You are signed out everywhere else.").waitFor();
  await expect.poll(() => list.getByRole("listitem").count()).toBe(1);
  await expect.poll(() => list.getByText("older ones").count()).toBe(0);
});

test("the page leaves out a part whose path belongs to an older module of the orb", async () => {
  const modules = ["sessions", "tokens", "recovery-codes"].map((id) => ({
    id,
    type: "CONTENT",
    schemas: [{ id: "item", access: { read: "public", write: "admin" }, fields: [] }],
  }));
  const document = {
    id: "conference",
    uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
    modules,
    languages: ["en"],
    markets: [],
  };
  // An earlier version could store this definition.
  const record = { v: 1, orb: "conference", revision: 1, at: new Date().toISOString(), document };
  await platform.operatorStore().kvPut(buckets.orbs, "conference", JSON.stringify(record));
  await using opened = await withAccount({}, { realm: "conference" });
  const { page } = opened;
  await page.getByLabel("Name of the passkey").waitFor();
  await page.waitForLoadState("networkidle");
  await expect
    .poll(() => page.getByRole("main").getByRole("heading", { level: 2 }).allTextContents())
    .toEqual(["Your passkeys"]);
  expect((await page.getByRole("alert").allTextContents()).join("")).toBe("");
});

describe("open sign-up", () => {
  const page = (id: string) => `${platform.origin}/api/${id}/signin`;

  async function orb(id: string, signup?: "open"): Promise<void> {
    const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
      token: await adminToken(platform),
      body: {
        id,
        uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
        branding: { name: "The Fan Club", color: "#7a1fa2" },
        ...(signup === undefined ? {} : { access: { signup } }),
      },
    });
    expect(made.status).toBe(201);
  }

  test("creates an account by keyboard, and leads back to where the visitor came from", async () => {
    await orb("fanclub", "open");
    await using opened = await open({ viewport: { width: 320, height: 640 } });
    const { page: tab, errors } = opened;
    await tab.goto(`${page("fanclub")}?return=%2Fapi%2Fhealth`);
    const offer = tab.getByRole("link", { name: "Create an account" });
    await offer.waitFor();
    await look(tab, "signup-offer-320");
    expect(await faults(tab)).toEqual([]);
    await offer.focus();
    await tab.keyboard.press("Enter");
    await tab.getByRole("heading", { name: "Create an account" }).waitFor();
    await expect.poll(() => tab.getByText("You are invited").count()).toBe(0);
    await look(tab, "signup-320");
    expect(await faults(tab)).toEqual([]);
    await tab.keyboard.press("Tab");
    await tab.keyboard.type("Grace Hopper");
    await tab.keyboard.press("Enter");
    await tab.waitForURL("**/api/health");
    await tab.goto(page("fanclub"));
    await signedIn(tab);
    expect(tab.url()).toBe(accountUrl("fanclub"));
    await tab.getByText("The Fan Club").first().waitFor();
    await expect.poll(() => tab.locator("#who").textContent()).toBe("Grace Hopper");
    expect(errors).toEqual([]);
    // The page shows next to the form why the platform refuses a name.
    await leave(tab);
    await tab.goto(`${page("fanclub")}?signup=true`);
    await tab.getByLabel("Your name").fill("\u0410dmin");
    await createButton(tab).click();
    await error(tab).filter({ hasText: "This name is not allowed." }).waitFor();
    expect(await faults(tab)).toEqual([]);
  });

  test("is not offered where it is closed", async () => {
    await orb("closed");
    await using opened = await open();
    const { page: tab, errors } = opened;
    await tab.goto(page("closed"));
    await tab.getByText("New here? Open the invitation").waitFor();
    for (const base of ["closed", "_auth", "auth"]) {
      await tab.goto(`${page(base)}?signup=true`);
      await tab.getByRole("heading", { name: "You need an invitation" }).waitFor();
      await expect.poll(() => tab.getByRole("button").count()).toBe(0);
    }
    expect(await faults(tab)).toEqual([]);
    expect(errors).toEqual([]);
  });

  test("that closes while the form is open shows that an invitation is needed", async () => {
    const token = await adminToken(platform);
    const set = (signup: string) =>
      call(platform, "PUT", "/api/_auth/settings", { token, body: { shared: { signup } } });
    expect((await set("open")).status).toBe(200);
    await using opened = await open({ colorScheme: "dark" });
    const { page: tab } = opened;
    await tab.goto(signinUrl());
    await tab.getByRole("link", { name: "Create an account" }).click();
    await createButton(tab).waitFor();
    expect((await set("invitation")).status).toBe(200);
    await createButton(tab).click();
    await error(tab).filter({ hasText: "Accounts are created by invitation here." }).waitFor();
    await look(tab, "signup-closed-dark");
  });
});
