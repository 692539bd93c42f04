import { describe, expect, test } from "vitest";
import { freePort } from "../../scripts/process/ports.ts";
import { buckets } from "../../shared/store/subjects.ts";
import { adminToken, call, register } from "../support/auth.ts";
import {
  accountUrl,
  createButton,
  error,
  faults,
  invite,
  look,
  open,
  platform,
  signedIn,
  signInButton,
  signinUrl,
  useSignin,
  withPasskey,
} from "../support/signin.ts";

/** An application that the platform trusts. */
const TRUSTED = `http://localhost:${await freePort()}`;

useSignin({ env: { ALLOWED_ORIGINS: TRUSTED } });

describe("unusable invitations", () => {
  test("explains used, revoked, expired and unknown ones, without console errors", async () => {
    await using opened = await open({ authenticator: false });
    const { page, errors } = opened;
    const state = async (url: string, heading: string, name: string) => {
      await page.goto(url);
      await page.getByRole("heading", { name: heading }).waitFor();
      await look(page, name);
      await expect
        .poll(() => page.getByRole("link", { name: "Sign in with a passkey" }).isVisible())
        .toBe(true);
    };
    const used = await invite();
    await register(platform, "/api/auth", used.token);
    await state(used.url, "This link was already used", "invitation-used");
    expect(await faults(page)).toEqual([]);

    const token = await adminToken(platform);
    const revoked = await invite();
    await call(platform, "DELETE", `/api/auth/invitations/${revoked.token}`, { token });
    await state(revoked.url, "This link was revoked", "invitation-revoked");

    const expired = await invite();
    const store = platform.operatorStore();
    for (const entry of await store.kvList(buckets.orbInvitations, "auth.*")) {
      const record = entry.json<{ status: string; expiresAt: string }>();
      if (record.status !== "active") continue;
      record.expiresAt = new Date(Date.now() - 1000).toISOString();
      await store.kvPut(buckets.orbInvitations, entry.key, JSON.stringify(record));
    }
    await state(expired.url, "This link has expired", "invitation-expired");
    await state(`${signinUrl()}?invite=nobody`, "This link is not valid", "invitation-unknown");
    expect(errors).toEqual([]);
  });

  test("explains one that is revoked while the page is open", async () => {
    await using opened = await open();
    const made = await invite();
    await opened.page.goto(made.url);
    await call(platform, "DELETE", `/api/auth/invitations/${made.token}`, {
      token: await adminToken(platform),
    });
    await createButton(opened.page).click();
    await error(opened.page).filter({ hasText: "This link was revoked." }).waitFor();
  });
});

describe("redirect after sign-in", () => {
  test("continues to a path of the same origin", async () => {
    await using opened = await withPasskey();
    await opened.page.goto(`${signinUrl()}?return=${encodeURIComponent("/api/health?from=signin")}`);
    await signInButton(opened.page).click();
    await opened.page.waitForURL(`${platform.origin}/api/health?from=signin`);

    // With an existing session no passkey is needed.
    await opened.page.goto(`${signinUrl()}?return=${encodeURIComponent("/api/health?from=known")}`);
    await opened.page.getByRole("link", { name: "See your account" }).waitFor();
    await look(opened.page, "users-known-return");
    expect(await faults(opened.page)).toEqual([]);
    await opened.page.getByRole("link", { name: "Continue" }).click();
    await opened.page.waitForURL(`${platform.origin}/api/health?from=known`);
  });

  const HOSTILE = [
    "https://evil.example/",
    "http:evil.example/",
    "http:/evil.example/",
    "http:///evil.example/",
    "//evil.example/",
    "///evil.example/",
    "/\\evil.example/",
    "\\\\evil.example",
    "\\/evil.example",
    "/\t/evil.example/",
    "/\n/evil.example/",
    "/\r\n/evil.example/",
    "\t//evil.example/",
    " //evil.example/",
    "/.//evil.example/x",
    "/..//evil.example/x",
    "/./\\evil.example/x",
    "/%2e//evil.example/x",
    "/%2E%2e//evil.example/x",
    "/api/..//evil.example/x",
    "/api/../..//evil.example/x",
    "/.\t//evil.example/x",
    "//evil。example/",
    "/.//ｅvil.example/x",
    "javascript:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,x",
    "blob:http://localhost/x",
    "evil.example",
    "@evil.example",
    "",
  ];

  /** Where the sign-in page leads to after a sign-in, and where it sends a person who is signed in. */
  async function targetsOf(target: string, token: string) {
    const asked = `${signinUrl()}?return=${encodeURIComponent(target)}`;
    const next = /data-next="([^"]*)"/.exec(await (await fetch(asked)).text())?.[1] ?? "";
    const headers = { cookie: `session_auth=${token}` };
    const known = await fetch(asked, { headers, redirect: "manual" });
    return [next, known.headers.get("location")];
  }

  test("never leaves the origin, however the target is written", async () => {
    await using opened = await withPasskey();
    const { page, token } = opened;
    const own = new URL(platform.origin);
    const account = new URL(accountUrl());
    for (const target of [
      ...HOSTILE,
      `${own.protocol}//${own.host}@evil.example/`,
      `${own.protocol}//evil.example\\@${own.host}/`,
      `${own.protocol}//evil.example@${own.host}/`,
      `//${own.host}@evil.example/`,
      `${TRUSTED}.evil.example/`,
      `${TRUSTED}@evil.example/`,
      `${TRUSTED.replace("//", "//evil.example@")}/`,
      `${TRUSTED.replace("http:", "https:")}/`,
    ])
      expect([target, ...(await targetsOf(target, token))]).toEqual([
        target,
        account.pathname,
        account.pathname,
      ]);
    // The page of the browser goes there.
    await page.goto(`${signinUrl()}?return=${encodeURIComponent("/.//evil.example/x")}`);
    await signInButton(page).click();
    await signedIn(page);
    expect(page.url()).toBe(account.href);
    expect([...opened.hosts]).toEqual([own.host]);
  });

  test("accepts a path with encoded slashes as a path of the same origin", async () => {
    await using opened = await withPasskey();
    const { page, token } = opened;
    for (const target of ["/%2f%2fevil.example/", "/%5cevil.example/", "/api/%2e%2e%2f/evil.example"]) {
      const [next = ""] = await targetsOf(target, token);
      expect(new URL(next ?? "", platform.origin).origin).toBe(platform.origin);
    }
    await page.goto(`${signinUrl()}?return=${encodeURIComponent("/%2f%2fevil.example/")}`);
    await signInButton(page).click();
    await page.waitForURL((url) => url.pathname !== new URL(signinUrl()).pathname);
    expect([...opened.hosts]).toEqual([new URL(platform.origin).host]);
  });

  test("continues to a trusted web application", async () => {
    await using opened = await open();
    const { page } = opened;
    await page.route(`${TRUSTED}/**`, (route) => route.fulfill({ body: "the application" }));
    await page.goto(`${(await invite()).url}&return=${encodeURIComponent(`${TRUSTED}/cart?item=1#top`)}`);
    await createButton(page).click();
    await page.waitForURL(`${TRUSTED}/cart?item=1#top`);
    await page.goto(`${signinUrl()}?return=${encodeURIComponent(TRUSTED)}`);
    await page.getByRole("link", { name: `Continue to ${new URL(TRUSTED).host}` }).click();
    await page.waitForURL(`${TRUSTED}/`);
  });

  test("redirects from 127.0.0.1 to localhost, which passkeys need", async () => {
    const port = new URL(platform.origin).port;
    const response = await fetch(`http://127.0.0.1:${port}/api/auth/signin?invite=x`, { redirect: "manual" });
    expect(response.status).toBe(302);
    expect(response.headers.get("location")).toBe(`${signinUrl()}?invite=x`);
  });
});

describe("script in the query", () => {
  const SCRIPT = `"'></script><script>document.title='owned'</script><img src=x onerror=document.title='owned'>`;

  test("is neither run nor repeated", async () => {
    await using opened = await open();
    const parameters = ["invite", "return", "name", "orb"].map((name) => [name, SCRIPT] as const);
    for (const path of ["/api/_auth/signin", "/api/auth/signin"])
      for (const parameter of parameters) {
        const answer = await fetch(`${platform.origin}${path}?${new URLSearchParams([[...parameter]])}`);
        expect(await answer.text()).not.toContain("onerror");
      }
    for (const parameter of parameters.slice(0, 2)) {
      await opened.page.goto(`${signinUrl()}?${new URLSearchParams([[...parameter]])}`);
      await expect.poll(() => opened.page.title()).not.toBe("owned");
      expect(await opened.page.content()).not.toContain("onerror");
    }
  });

  test("would be blocked by the content security policy", async () => {
    const { headers } = await call(platform, "GET", "/api/auth/signin");
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
  });
});
