import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { launchChromium, type TestBrowser } from "../support/browser.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { faults, look } from "../support/signin.ts";
import { type WarmContexts, type WarmOptions, warmContexts } from "../support/warm.ts";

const shop = readFileSync(new URL("../../scripts/examples/shop.json", import.meta.url), "utf8");

let platform: TestPlatform;
let chromium: TestBrowser;
/** The program of the page is large, so all tests but the one without it use the copy that is compiled. */
let warm: WarmContexts;
beforeAll(async () => {
  [platform, chromium] = await Promise.all([sharedPlatform({ link: true }), launchChromium()]);
  warm = warmContexts(chromium, platform.origin);
});
afterEach(() => warm.release());
afterAll(async () => {
  await warm?.close();
  await chromium?.[Symbol.asyncDispose]();
});

/** Opens the only page of a test, without a virtual authenticator unless the options say otherwise. */
async function open(options: WarmOptions = {}): Promise<Page> {
  const opened = await warm.page({ authenticator: false, ...options });
  opened.page.setDefaultTimeout(30_000);
  return opened.page;
}

test("descriptions of users are text on the documentation page, never HTML", async () => {
  const bad =
    '<img src="/x"><form action="/y"><b class="planted">bold</b></form> [link](javascript:alert(1)) `<i>code</i>`';
  const field = { name: "title", type: "string", description: bad } as const;
  const schema = { id: "note", name: bad.slice(0, 60), description: bad, fields: [field] };
  const document = { id: "markup", name: "<u>Markup</u>", description: bad };
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
    token: await adminToken(platform),
    body: { ...document, modules: [{ id: "notes", type: "CONTENT", description: bad, schemas: [schema] }] },
  });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const page = await open({ viewport: { width: 1280, height: 1000 } });
  await page.goto(`${platform.origin}/api/docs?orb=markup`);
  await page.getByText('<b class="planted">').first().waitFor();
  // The descriptions of the other groups are those of the platform.
  for (const control of await page.locator('[data-tag^="markup/notes"], .models-control').all())
    await control.click();
  await page.getByText('<b class="planted">').nth(2).waitFor();
  const planted = page.locator(
    "#docs :is(.planted, form[action='/y'], img[src='/x'], a[href^='javascript'])",
  );
  await expect.poll(() => planted.count()).toBe(0);
  await expect.poll(() => page.locator("#docs code", { hasText: "<i>code</i>" }).count()).toBeGreaterThan(0);
});

test("the documentation page loads from its own origin with a strict content security policy, and its requests work", async () => {
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
  // Groups are collapsed at first. Expand one, and try an operation in it.
  await page.locator('[data-tag="shop/catalog/product"]').click();
  await operation.locator(".opblock-summary-control").click();
  await operation.getByRole("button", { name: "Try it out" }).click();
  expect(await faults(page)).toEqual([]);
  // Only the sample of the success is open.
  await expect.poll(() => operation.locator("pre.example").count()).toBe(1);
  await operation.getByRole("button", { name: "Not found" }).click();
  await operation.getByText('"entry_not_found"').waitFor();
  await operation.getByRole("button", { name: "Not found" }).click();
  await expect.poll(() => operation.locator("pre.example").count()).toBe(1);
  // All parameters are optional, so none has a value.
  const fields = await operation.locator(".parameters :is(input, select)").all();
  expect(fields.length).toBeGreaterThan(5);
  expect(
    await operation
      .locator(".parameters :is(input, select)")
      .evaluateAll((all) => all.map((field) => (field as unknown as { value: string }).value)),
  ).toEqual(fields.map(() => ""));
  const sent = page.waitForRequest(/shop\/catalog\/product/);
  await operation.getByRole("button", { name: "Execute" }).click();
  expect(new URL((await sent).url()).search).toBe("");
  await operation.locator(".live-responses-table .response-col_status", { hasText: "200" }).waitFor();
  expect(problems).toEqual([]);
  expect(elsewhere).toEqual([]);

  await expect.poll(() => page.title()).toBe("Shop · API");
  // The browser sends its cookie by itself, so only a token can be entered.
  await page.getByRole("button", { name: "Authorize" }).first().click();
  await page.getByRole("heading", { name: /bearer/ }).waitFor();
  await expect.poll(() => page.locator(".auth-container").count()).toBe(1);
  await page.getByRole("button", { name: "Close" }).first().click();
  // Sign-in leads back to the open operation.
  for (const [name, signin] of [
    ["Sign in as a platform admin", "/api/_auth/signin"],
    ["as a user of Shop", "/api/shop/signin"],
  ] as const) {
    const link = page.getByRole("link", { name });
    await link.hover();
    const target = new URL((await link.getAttribute("href")) ?? "", platform.origin);
    expect(target.pathname).toBe(signin);
    const back = new URL(target.searchParams.get("return") ?? "", platform.origin);
    expect(back.pathname + back.search).toBe("/api/docs?orb=shop");
    expect(back.hash).toContain("listEntriesOf_shop_catalog_product");
  }
});

test("shows who is signed in, and signs out", async () => {
  const made = await call(platform, "POST", "/api/_auth/invitations", { token: await adminToken(platform) });
  const page = await open({ authenticator: true });
  const docs = `${platform.origin}/api/docs?orb=markup`;
  await page.goto(docs);
  const link = page.getByRole("link", { name: "Sign in as a platform admin" });
  const address = new URL((await link.getAttribute("href")) ?? "", platform.origin);
  address.searchParams.set("invite", made.body.token);
  await page.goto(address.href);
  await page.getByLabel("Your name").fill("Ada <b>");
  await page.getByRole("button", { name: "Create passkey" }).click();
  await page.waitForURL(docs);
  const header = page.getByRole("banner");
  await header.filter({ hasText: "You are signed in as Ada <b> (platform admin)" }).waitFor();
  await expect.poll(() => link.count()).toBe(0);
  await page.getByText('<b class="planted">').first().waitFor();
  await look(page, "docs-signed-in");
  expect(await faults(page)).toEqual([]);
  await header.getByRole("button", { name: "Sign out" }).click();
  await link.waitFor();
  expect(await page.context().cookies()).toEqual([]);
});

test("fits a phone's width and follows the device's dark mode", async () => {
  const page = await open({ viewport: { width: 360, height: 740 }, colorScheme: "dark" });
  await page.goto(`${platform.origin}/api/docs?orb=shop`);
  const words = page.locator(".opblock-tag small").first();
  expect((await words.boundingBox())?.width).toBeGreaterThan(250);
  expect((await page.locator(".operation-filter-input").boundingBox())?.width).toBeGreaterThan(300);
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(360);
  expect(await faults(page)).toEqual([]);
  const ground = () =>
    page.evaluate("getComputedStyle(document.querySelector('.swagger-ui')).backgroundColor");
  expect(await ground()).toBe("rgb(28, 32, 34)");
  await page.emulateMedia({ colorScheme: "light" });
  await page.locator("html:not(.dark-mode)").waitFor();
  expect(await ground()).toBe("rgba(0, 0, 0, 0)");
});

test("names an orb that is not published, with a link to all others", async () => {
  const page = await open();
  await page.goto(`${platform.origin}/api/docs?orb=${encodeURIComponent("<b>nope")}`);
  await page.getByText("No orb “<b>nope” is published.").waitFor();
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  await page.getByRole("link", { name: "The whole platform" }).click();
  await page.getByRole("heading", { name: "Platform: sign-in" }).waitFor();
  expect(await faults(page)).toEqual([]);
  expect(problems).toEqual([]);
});

test("does not show a loading message without JavaScript", async () => {
  await using chromium = await launchChromium();
  const { page } = await chromium.page({ authenticator: false, javaScriptEnabled: false });
  page.setDefaultTimeout(30_000);
  await page.goto(`${platform.origin}/api/docs`);
  await expect.poll(() => page.locator("noscript").isVisible()).toBe(true);
  await expect.poll(() => page.getByText("is being loaded").isVisible()).toBe(false);
});
