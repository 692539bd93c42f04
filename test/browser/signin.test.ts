import { describe, expect, test } from "vitest";
import { buckets } from "../../shared/store/subjects.ts";
import { adminToken, call, forgetAdmin } from "../support/auth.ts";
import {
  accountUrl,
  confirmIn,
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
  withPasskey,
} from "../support/signin.ts";

useSignin({});

describe("first platform admin", () => {
  test("registers at the printed URL, signs in without a username, and signs out", async () => {
    const { body } = await call(platform, "GET", "/api/_auth/invitations");
    await using opened = await open();
    const { page, errors, hosts } = opened;
    await page.goto(body[0].url);
    await look(page, "platform-register");
    expect(await faults(page)).toEqual([]);
    await createButton(page).click();
    await signedIn(page);
    expect(page.url()).toBe(accountUrl("platform"));
    await page.getByText("Your passkey was created.").waitFor();
    await expect.poll(() => page.locator("#who").textContent()).toMatch(/^user-[0-9a-f]{8}$/);
    await look(page, "platform-registered");
    // The result of a button appears next to it.
    const copy = page.getByRole("button", { name: "Copy access token" });
    const rest = page.getByRole("heading", { name: "Your passkeys" });
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await copy.click();
    const copied = page.getByText(/^Copied\. Anyone who has this token/);
    await copied.waitFor();
    const token = await page.evaluate<string>("navigator.clipboard.readText()");
    expect((await call(platform, "GET", "/api/_auth/me", { token })).status).toBe(200);
    const [button, message, below] = await Promise.all(
      [copy, copied, rest].map((each) => each.boundingBox()),
    );
    expect((message?.y ?? 0) - (button?.y ?? 0)).toBeLessThan(100);
    expect(message?.y ?? 0).toBeLessThan(below?.y ?? 0);
    await look(page, "platform-copied");
    // The browser may forbid copying.
    await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error()), 0");
    await copy.click();
    await error(page).filter({ hasText: "Copy the token from the field" }).waitFor();
    await expect.poll(() => page.getByLabel("Access token").inputValue()).toBe(token);
    expect(await faults(page)).toEqual([]);
    const docs = page.getByRole("link", { name: "try the API in this browser" });
    await expect.poll(() => docs.getAttribute("href")).toBe("/api/docs");

    await page.goto(`${platform.origin}/api/_auth/signin`);
    // Looking at the account needs no passkey, and begins no session.
    await signedIn(page);
    const entries = page.locator("#sessions-part li");
    await expect.poll(() => entries.count()).toBe(2);
    await look(page, "platform-known");
    // The platform returns a token only when a session begins, so copying needs the passkey.
    await page.evaluate("delete navigator.clipboard.writeText, 0");
    await copy.click();
    await copied.waitFor();
    const second = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(second).not.toBe(token);
    expect((await call(platform, "GET", "/api/_auth/me", { token: second })).status).toBe(200);
    await expect.poll(() => entries.count()).toBe(3);
    await expect.poll(() => docs.count()).toBe(0);
    const me = await page.evaluate(async () => (await fetch("/api/_auth/me")).status);
    expect(me).toBe(200);

    await page.getByRole("main").getByRole("button", { name: "Sign out", exact: true }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.getByText("New here?").waitFor();
    await look(page, "platform-login");
    expect(await page.context().cookies()).toEqual([]);
    expect(errors).toEqual([]);
    expect([...hosts]).toEqual([new URL(platform.origin).host]);

    // The tests below use an admin of their own, who is invited by this one.
    await signInButton(page).click();
    await signedIn(page);
    const made = await page.evaluate(async () =>
      (await fetch("/api/_auth/invitations", { method: "POST" })).json(),
    );
    await forgetAdmin(platform, made.token);
  });
});

describe("users", () => {
  test("can register, sign out and sign in by keyboard, 320 px wide, in dark mode", async () => {
    await using opened = await open({ viewport: { width: 320, height: 640 }, colorScheme: "dark" });
    const { page, errors } = opened;
    await page.goto((await invite("auth", "admin")).url);
    await look(page, "users-register-dark-320");
    expect(await faults(page)).toEqual([]);
    await page.keyboard.press("Tab");
    await page.keyboard.type("Ada Lovelace");
    await page.keyboard.press("Enter");
    await signedIn(page);
    await expect.poll(() => page.locator("#who").textContent()).toBe("Ada Lovelace");
    await look(page, "users-registered-dark-320");
    await page.getByLabel("Name of the passkey").waitFor();
    await page.getByRole("main").getByRole("button", { name: "Sign out", exact: true }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("New here?").waitFor();
    // The page says that no name is needed, so it shows no field.
    await page.waitForLoadState("networkidle");
    await expect.poll(() => page.getByRole("textbox").count()).toBe(0);
    await look(page, "users-login-dark-320");
    expect(await faults(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Space");
    await signedIn(page);
    expect(errors).toEqual([]);
  });

  test("get a message if there is no passkey on the device", async () => {
    await using opened = await open();
    const { page, errors } = opened;
    await page.goto(signinUrl());
    await signInButton(page).click();
    await error(page).filter({ hasText: "this device has none for this site" }).waitFor();
    await look(page, "users-no-passkey");
    expect(await faults(page)).toEqual([]);
    await expect.poll(() => signInButton(page).isEnabled()).toBe(true);
    // The button was disabled meanwhile, which removes the focus.
    await expect
      .poll(() => page.evaluate("document.activeElement.textContent"))
      .toBe("Sign in with a passkey");
    expect(errors).toEqual([]);
  });

  test("can cancel and try again", async () => {
    await using opened = await open();
    const { page, errors } = opened;
    await page.goto((await invite()).url);
    await opened.setPresence(false);
    // No one can press a button of the browser here, so the ceremony times out. Pages cannot distinguish the two.
    await page.route("**/passkey/begin", async (route) => {
      const answer = await route.fetch();
      const body = await answer.json();
      body.publicKey.timeout = 200;
      await route.fulfill({ response: answer, json: body });
    });
    await createButton(page).click();
    await page.getByText("Follow the instructions of your browser or device").waitFor();
    await error(page).filter({ hasText: "No passkey was created, because it was cancelled" }).waitFor();
    await look(page, "users-cancelled");
    expect(errors).toEqual([]);
    await opened.setPresence(true);
    await createButton(page).click();
    await signedIn(page);
  });

  test("get a message if the device cannot verify the user", async () => {
    await using opened = await withPasskey();
    const { page } = opened;
    await opened.setVerified(false);
    await page.goto(signinUrl());
    await signInButton(page).click();
    await error(page).filter({ hasText: "No passkey was used" }).waitFor();
  });

  test("can have two accounts on one device with a passkey each", async () => {
    await using opened = await withPasskey();
    const { page } = opened;
    await page.goto((await invite()).url);
    await createButton(page).click();
    await signedIn(page);
    const second = await page.locator("#who").textContent();
    expect(await opened.credentials()).toHaveLength(2);
    await leave(page);
    await page.goto(signinUrl());
    await signInButton(page).click();
    await signedIn(page);
    await expect.poll(() => page.locator("#who").textContent()).toMatch(/^user-/);
    expect(second).toMatch(/^user-/);
  });

  test("can add a passkey on another device, rename and remove it, but not add a second one on the same device", async () => {
    await using opened = await open();
    const { page, cdp, authenticatorId = "" } = opened;
    await page.goto((await invite()).url);
    await createButton(page).click();
    await signedIn(page);
    const add = page.getByRole("button", { name: "Add another passkey" });
    await add.click();
    await error(page).filter({ hasText: "This device already has a passkey for this account." }).waitFor();
    // With two devices present at once, either could respond first.
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
    await add.click();
    await page.locator("#said-passkeys").getByText("The passkey was added").waitFor();
    const names = async () => {
      const answer = await page.evaluate(async () => (await fetch("/api/auth/passkeys")).json());
      return (answer as { name: string }[]).map(({ name }) => name);
    };
    expect(await names()).toEqual(["Passkey 1", "Passkey 2"]);

    const second = page.getByLabel("Name of the passkey").nth(1);
    await second.fill("Key on my ring");
    await second.press("Enter");
    await page.getByText("The passkey is called Key on my ring now.").waitFor();
    await look(page, "users-two-passkeys");
    expect(await faults(page)).toEqual([]);
    const remove = page.getByRole("button", { name: "Remove Key on my ring" });
    await remove.click();
    await page.getByRole("dialog", { name: "Remove the passkey Key on my ring?" }).waitFor();
    expect(await names()).toEqual(["Passkey 1", "Key on my ring"]);
    await confirmIn(page, "Remove");
    await page.getByText("Key on my ring was removed.").waitFor();
    expect(await names()).toEqual(["Passkey 1"]);
    await expect.poll(() => remove.count()).toBe(0);
  });

  test("get a message in a browser without passkeys", async () => {
    await using opened = await open({ authenticator: false });
    const { page } = opened;
    await page.addInitScript("delete globalThis.PublicKeyCredential");
    await page.goto(signinUrl());
    await error(page).filter({ hasText: "This browser does not support passkeys" }).waitFor();
    await expect.poll(() => signInButton(page).isDisabled()).toBe(true);
  });
});

test("an orb's sign-in page has its own name, realm and passkeys", async () => {
  const document = {
    id: "shop",
    name: "Ünsinn & Söhne <b>",
    uses: [{ service: "access", handlers: ["passkey", "invitations", "bootstrap"] }],
    modules: [],
    languages: ["en"],
    markets: [],
  };
  const record = { v: 1, orb: "shop", revision: 1, at: new Date().toISOString(), document };
  await platform.operatorStore().kvPut(buckets.orbs, "shop", JSON.stringify(record));
  await using opened = await open({ colorScheme: "dark" });
  const { page, errors } = opened;
  await page.goto((await invite("shop", "admin")).url);
  await page.getByText("Ünsinn & Söhne <b>").first().waitFor();
  await page.getByText("You are invited as an admin.").waitFor();
  await look(page, "orb-register-dark");
  expect(await faults(page)).toEqual([]);
  await createButton(page).click();
  await signedIn(page);
  await leave(page);
  await page.goto(`${platform.origin}/api/shop/signin`);
  await signInButton(page).click();
  await signedIn(page);
  const cookies = await page.context().cookies();
  expect(cookies.map(({ name, httpOnly, sameSite }) => ({ name, httpOnly, sameSite }))).toEqual([
    { name: "session_shop", httpOnly: true, sameSite: "Lax" },
  ]);
  // A passkey of this orb is unknown in the shared realm.
  await page.goto(signinUrl());
  await signInButton(page).click();
  await error(page).filter({ hasText: "This passkey was not accepted" }).waitFor();
  await look(page, "users-wrong-passkey-dark");
  expect(errors.filter((text) => !text.includes("status of 401"))).toEqual([]);
});

test.each([
  ["#ffee00", "a light colour", "data:image/svg+xml;base64,"],
  ["#101030", "a dark colour", "https://cdn.example/a;b,c/logo.svg?v=2"],
])("an orb's sign-in page has its own branding: %s, %s", async (color, _, address) => {
  const svg =
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20"><path fill="#0b6038" d="M0 0h40v20H0z"/></svg>';
  const logo = address.startsWith("data:") ? address + Buffer.from(svg).toString("base64") : address;
  const id = `brand-${color.slice(1)}`;
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
    token: await adminToken(platform),
    body: {
      id,
      name: "Internal name",
      uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
      branding: { name: "Grün & Söhne", logo, color },
    },
  });
  expect(made.status).toBe(201);
  await using opened = await open();
  const { page, errors } = opened;
  // Stands in for another site, so that only the page's policy decides whether the logo loads.
  await page.route(/^https:/, (route) => route.fulfill({ contentType: "image/svg+xml", body: svg }));
  await page.goto((await invite(id)).url);
  await page.getByText("Grün & Söhne").first().waitFor();
  await expect.poll(() => page.title()).toBe("Create your passkey · Grün & Söhne");
  expect(errors).toEqual([]);
  await expect
    .poll(() => page.evaluate<number>("document.querySelector('.logo').naturalWidth"))
    .toBeGreaterThan(0);
  const blocked = "fetch('https://elsewhere.example/').then(() => false, () => true)";
  expect(await page.evaluate(blocked)).toBe(true);
  await look(page, `brand-${color.slice(1)}`);
  expect(await faults(page)).toEqual([]);
  await createButton(page).click();
  await signedIn(page);
  expect(await faults(page)).toEqual([]);
  await page.goto(`${platform.origin}/api/${id}/signin`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  await page.emulateMedia({ colorScheme: "dark" });
  await look(page, `brand-${color.slice(1)}-dark`);
  expect(await faults(page)).toEqual([]);
  expect(errors.filter((text) => !text.includes("elsewhere.example"))).toEqual([]);
});
