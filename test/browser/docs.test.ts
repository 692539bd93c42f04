import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { launchChromium } from "../support/browser.ts";
import { sharedPlatform } from "../support/platform.ts";

const shop = readFileSync(new URL("../../scripts/examples/shop.json", import.meta.url), "utf8");

test("the description is shown as a page from our own origin, under a strict policy", async () => {
  const platform = await sharedPlatform();
  const token = await adminToken(platform);
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
    token,
    body: JSON.parse(shop),
  });
  expect(made.status).toBe(201);

  await using chromium = await launchChromium();
  const { page } = await chromium.page({ authenticator: false, viewport: { width: 1280, height: 1000 } });
  page.setDefaultTimeout(15_000);
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

  await page.goto(`${platform.origin}/api/docs`);
  await page.getByRole("heading", { name: /Platform authentication/ }).waitFor();
  expect(problems).toEqual([]);
}, 90_000);
