/** A page of an HTTP handler runs in an origin of its own. */
import type { NatsConnection } from "nats";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { HttpRequestMessage } from "../../shared/handlers/contract/http-messages.ts";
import { call, type SignedIn } from "../support/auth.ts";
import { launchChromium, type TestBrowser } from "../support/browser.ts";
import type { TestPlatform } from "../support/platform.ts";
import { registrar, stage } from "../support/services.ts";

let chromium: TestBrowser;
let platform: TestPlatform;
let client: NatsConnection;
let admin: string;
let ann: SignedIn;
const requests: HttpRequestMessage[] = [];
const { register, orbWith } = registrar(() => ({ platform, client, admin }));

const PAGE = `<!doctype html><title>page</title><img src="dot.svg" onload="this.id = 'shown'">
<form method="post"><button>Send</button></form><script src="page.js"></script>`;
const SCRIPT = `(async () => {
  const tried = async (work) => { try { return String(await work()); } catch { return "refused"; } };
  window.found = {
    origin: self.origin,
    cookie: await tried(() => document.cookie),
    storage: await tried(() => localStorage.length),
    account: await tried(async () => (await fetch("/api/auth/me", { credentials: "include" })).status),
    worker: await tried(async () => (await navigator.serviceWorker.register("page.js")).scope),
  };
})()`;
const FILES: Record<string, [type: string, text: string]> = {
  "/": ["text/html", PAGE],
  "/page.js": ["text/javascript", SCRIPT],
  "/dot.svg": ["image/svg+xml", '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>'],
};

beforeAll(async () => {
  ({ platform, client, admin, ann } = await stage({}));
  client.subscribe("svc.pages.site", {
    callback: (_, message) => {
      const request = message.json<HttpRequestMessage>();
      requests.push(request);
      const [type, text] = FILES[request.path] ?? ["text/plain", "none"];
      const headers = { "content-type": type, "cache-control": "public, max-age=60" };
      message.respond(JSON.stringify({ status: 200, headers, body: Buffer.from(text).toString("base64") }));
    },
  });
  await register("pages.site", { kind: "http" });
  await orbWith("pages", { pages: ["site"] });
  chromium = await launchChromium();
});
afterAll(async () => {
  await chromium?.[Symbol.asyncDispose]();
  await client?.close();
});

test("loads with its scripts and images, and can neither read the platform nor act as the visitor", async () => {
  const { page } = await chromium.page({ authenticator: false });
  page.setDefaultTimeout(30_000);
  const url = `${platform.origin}/api/pages/site/`;
  await page
    .context()
    .addCookies([
      { name: "session_auth", value: ann.token, url: platform.origin, httpOnly: true, sameSite: "Lax" },
    ]);
  expect((await page.goto(url))?.status()).toBe(200);
  await page.locator("#shown").waitFor();
  await page.waitForFunction("window.found");
  expect(await page.evaluate("window.found")).toEqual({
    origin: "null",
    cookie: "refused",
    storage: "refused",
    account: "refused",
    worker: "refused",
  });
  // The visitor opened the page, so the service knows the visitor. Requests of the page itself carry no session.
  expect(requests[0]?.caller).toMatchObject({ sub: ann.id });
  await page.getByRole("button", { name: "Send" }).click();
  // The browser may fetch another file of the page while it sends, so the last request need not be the sent one.
  await expect
    .poll(() => requests.find((request) => request.method === "POST"))
    .toMatchObject({ caller: null });
  expect((await call(platform, "GET", "/api/auth/me", { token: ann.token })).status).toBe(200);
});
