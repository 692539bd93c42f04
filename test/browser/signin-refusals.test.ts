import { describe, expect, test } from "vitest";
import { freePort } from "../../scripts/process/ports.ts";
import { buckets } from "../../shared/store/subjects.ts";
import { adminToken, call } from "../support/auth.ts";
import { startPlatform } from "../support/platform.ts";
import {
  accountUrl,
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

useSignin();

describe("unusable invitations", () => {
  const state = async (url: string, heading: string, name: string) => {
    await using opened = await open({ authenticator: false });
    const { page, errors } = opened;
    await page.goto(url);
    await page.getByRole("heading", { name: heading }).waitFor();
    await look(page, name);
    expect(await faults(page)).toEqual([]);
    await expect
      .poll(() => page.getByRole("link", { name: "Sign in with a passkey" }).isVisible())
      .toBe(true);
    expect(errors).toEqual([]);
  };

  test("explains used, revoked, expired and unknown ones, without console errors", async () => {
    await using opened = await open();
    const used = await invite();
    await opened.page.goto(used.url);
    await createButton(opened.page).click();
    await signedIn(opened.page);
    await state(used.url, "This link was already used", "invitation-used");

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

  test("never leaves the origin, however the target is written", async () => {
    await using opened = await withPasskey();
    const own = new URL(platform.origin);
    const hostile = [
      ...HOSTILE,
      `${own.protocol}//${own.host}@evil.example/`,
      `${own.protocol}//evil.example\\@${own.host}/`,
      `${own.protocol}//evil.example@${own.host}/`,
      `//${own.host}@evil.example/`,
    ];
    // What follows is a page of the console, which takes longer to load than the rest of this test.
    const body = "The account";
    const account = new URL(accountUrl());
    // Requests that the test routes would keep the page from using its cache.
    const { cdp } = opened;
    cdp.on("Fetch.requestPaused", ({ requestId }) =>
      cdp.send("Fetch.fulfillRequest", {
        requestId,
        responseCode: 200,
        responseHeaders: [{ name: "content-type", value: "text/html" }],
        body: Buffer.from(body).toString("base64"),
      }),
    );
    await cdp.send("Fetch.enable", { patterns: [{ urlPattern: `${account}*` }] });
    const place = async () => {
      await opened.page.waitForURL(({ pathname }) => pathname.startsWith("/console/account/"));
      const { origin, pathname } = new URL(opened.page.url());
      return origin + pathname;
    };
    for (const target of hostile) {
      const asked = `${signinUrl()}?return=${encodeURIComponent(target)}`;
      // The page of the account sends no requests here, so it can stay until the next one.
      await opened.page.context().clearCookies();
      await opened.page.goto(asked);
      await signInButton(opened.page).click();
      expect([target, await place()]).toEqual([target, account.href]);

      // With a session the page offers to continue, but not to such a target.
      await opened.page.goto(asked);
      expect([target, await place()]).toEqual([target, account.href]);
    }
    expect([...opened.hosts]).toEqual([own.host]);
  }, 240_000);

  test("accepts a path with encoded slashes as a path of the same origin", async () => {
    await using opened = await withPasskey();
    for (const target of ["/%2f%2fevil.example/", "/%5cevil.example/", "/api/%2e%2e%2f/evil.example"]) {
      await leave(opened.page);
      await opened.page.goto(`${signinUrl()}?return=${encodeURIComponent(target)}`);
      await signInButton(opened.page).click();
      await opened.page.waitForURL((url) => url.pathname !== new URL(signinUrl()).pathname);
      expect(new URL(opened.page.url()).origin).toBe(platform.origin);
    }
    expect([...opened.hosts]).toEqual([new URL(platform.origin).host]);
  });

  test("continues to a trusted web application and to no other", async () => {
    const application = `http://localhost:${await freePort()}`;
    await using trusting = await startPlatform({ env: { ALLOWED_ORIGINS: application } });
    const made = await call(trusting, "POST", "/api/auth/invitations", { token: await adminToken(trusting) });
    await using opened = await open();
    const { page } = opened;
    await page.route(`${application}/**`, (route) => route.fulfill({ body: "the application" }));
    const signin = `${trusting.origin}/api/auth/signin`;
    await page.goto(`${made.body.url}&return=${encodeURIComponent(`${application}/cart?item=1#top`)}`);
    await createButton(page).click();
    await page.waitForURL(`${application}/cart?item=1#top`);
    for (const target of [
      `${application}.evil.example/`,
      `${application}@evil.example/`,
      `${application.replace("//", "//evil.example@")}/`,
      `${application.replace("http:", "https:")}/`,
      "https://evil.example",
    ]) {
      await page.goto(`${signin}?return=${encodeURIComponent(target)}`);
      await signedIn(page);
      expect(page.url()).toBe(`${trusting.origin}/console/account/auth`);
    }
    await page.goto(`${signin}?return=${encodeURIComponent(application)}`);
    await page.getByRole("link", { name: `Continue to ${new URL(application).host}` }).click();
    await page.waitForURL(`${application}/`);
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
    for (const parameter of ["invite", "return", "name", "orb"]) {
      for (const path of ["/api/_auth/signin", "/api/auth/signin"]) {
        await opened.page.goto(`${platform.origin}${path}?${parameter}=${encodeURIComponent(SCRIPT)}`);
        await expect.poll(() => opened.page.title()).not.toBe("owned");
        expect(await opened.page.content()).not.toContain("onerror");
      }
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
