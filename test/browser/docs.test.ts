import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { launchChromium, type TestBrowser } from "../support/browser.ts";
import { sharedPlatform } from "../support/platform.ts";

const shop = readFileSync(new URL("../../scripts/examples/shop.json", import.meta.url), "utf8");

let chromium: TestBrowser;
beforeAll(async () => {
  chromium = await launchChromium();
});
afterAll(() => chromium?.[Symbol.asyncDispose]());

/** A page of its own that needs no passkeys. */
async function open(options: Parameters<TestBrowser["page"]>[0] = {}): Promise<Page> {
  const { page } = await chromium.page({ authenticator: false, ...options });
  page.setDefaultTimeout(15_000);
  return page;
}

test("the description is shown as a page from our own origin, under a strict policy", async () => {
  const platform = await sharedPlatform();
  const token = await adminToken(platform);
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
    token,
    body: JSON.parse(shop),
  });
  expect(made.status).toBe(201);

  const page = await open({ viewport: { width: 1280, height: 1000 } });
  const problems: string[] = [];
  const elsewhere: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  page.on("request", (request) => {
    if (!request.url().startsWith(platform.origin) && !request.url().startsWith("data:"))
      elsewhere.push(request.url());
  });

  const answer = await page.goto(`${platform.origin}/api/docs?orb=shop`);
  expect(answer?.headers()["content-security-policy"]).not.toContain("unsafe");
  const operation = page.locator('[id$="-listEntriesOf_shop_catalog_product"]');
  // Groups are closed at first; one opens, and an operation in it can be tried out.
  await page.getByRole("heading", { name: /shop\/catalog/ }).click();
  await operation.locator(".opblock-summary-control").click();
  await operation.getByRole("button", { name: "Try it out" }).click();
  await operation.getByRole("button", { name: "Execute" }).click();
  await operation.locator(".live-responses-table .response-col_status", { hasText: "200" }).waitFor();
  expect(problems).toEqual([]);
  expect(elsewhere).toEqual([]);

  expect(await page.title()).toBe("Shop · API");
  // The browser sends its cookie by itself: only a token can be entered.
  await page.getByRole("button", { name: "Authorize" }).first().click();
  await page.getByRole("heading", { name: /bearer/ }).waitFor();
  expect(await page.locator(".auth-container").count()).toBe(1);
  await page.getByRole("button", { name: "Close" }).first().click();
  // Signing in leads back to what is open.
  await page.getByRole("link", { name: "Sign in" }).click();
  await page.waitForURL(/signin/);
  const back = new URL(new URL(page.url()).searchParams.get("return") ?? "", platform.origin);
  expect(back.pathname + back.search).toBe("/api/docs?orb=shop");
  expect(back.hash).toContain("listEntriesOf_shop_catalog_product");

  await page.goto(`${platform.origin}/api/docs`);
  await page.getByRole("heading", { name: /Platform authentication/ }).waitFor();
  expect(problems).toEqual([]);
}, 90_000);

test("on a phone it is read across, and dark where the device is", async () => {
  const platform = await sharedPlatform();
  const page = await open({ viewport: { width: 360, height: 740 }, colorScheme: "dark" });
  await page.goto(`${platform.origin}/api/docs`);
  const words = page.locator(".opblock-tag small").first();
  expect((await words.boundingBox())?.width).toBeGreaterThan(250);
  expect((await page.locator(".operation-filter-input").boundingBox())?.width).toBeGreaterThan(300);
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
  const ground = () =>
    page.evaluate("getComputedStyle(document.querySelector('.swagger-ui')).backgroundColor");
  expect(await ground()).toBe("rgb(28, 32, 34)");
  await page.emulateMedia({ colorScheme: "light" });
  await page.locator("html:not(.dark-mode)").waitFor();
  expect(await ground()).toBe("rgba(0, 0, 0, 0)");
}, 60_000);

test("an orb that is not published is named, with a way on", async () => {
  const platform = await sharedPlatform();
  const page = await open();
  await page.goto(`${platform.origin}/api/docs?orb=${encodeURIComponent("<b>nope")}`);
  await page.getByText("There is no published orb “<b>nope”.").waitFor();
  await page.getByRole("link", { name: "All that is described" }).click();
  await page.getByRole("heading", { name: /Platform authentication/ }).waitFor();
}, 60_000);

test("without scripts nothing is said to be coming", async () => {
  const platform = await sharedPlatform();
  await using chromium = await launchChromium();
  const { page } = await chromium.page({ authenticator: false, javaScriptEnabled: false });
  page.setDefaultTimeout(15_000);
  await page.goto(`${platform.origin}/api/docs`);
  expect(await page.locator("noscript").isVisible()).toBe(true);
  expect(await page.getByText("is being loaded").isVisible()).toBe(false);
}, 60_000);
