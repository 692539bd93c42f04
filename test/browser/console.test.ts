/** The frame of the console: who sees what, navigation, keys, and the answers that serve it. */
import { expect, test } from "vitest";
import { inspect, PHONE, useConsole } from "../support/console.ts";
import { shop } from "../support/orbs.ts";

const console = useConsole();

test("serves the page with a strict policy, and files that caches keep forever", async () => {
  const { origin } = console.platform;
  const answer = await fetch(`${origin}/console/orbs/any/page`);
  const html = await answer.text();
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-security-policy")).toMatch(/script-src 'self'; style-src 'self'/);
  expect(answer.headers.get("content-security-policy")).not.toContain("unsafe");
  expect(answer.headers.get("cache-control")).toBe("no-cache");
  const again = await fetch(`${origin}/console`, {
    headers: { "if-none-match": answer.headers.get("etag") ?? "" },
  });
  expect(again.status).toBe(304);
  const files = [...html.matchAll(/"(\/console\/assets\/[^"]+)"/g)].map((match) => match[1]);
  expect(files.length).toBeGreaterThan(2);
  for (const file of files) {
    const { status, headers } = await fetch(origin + file);
    expect([status, headers.get("cache-control")]).toEqual([200, "public, max-age=31536000, immutable"]);
  }
  for (const file of ["none.js", "shell.txt", "..%2fshell.txt"])
    expect((await fetch(`${origin}/console/assets/${file}`)).status).toBe(404);
  const root = await fetch(`${origin}/`, { headers: { accept: "text/html" }, redirect: "manual" });
  expect([root.status, root.headers.get("location")]).toEqual([302, "/console"]);
});

test("leads visitors to the sign-in page, and back to where they were", async () => {
  const page = await console.visit("/orbs/unknown?x=1");
  const link = page.getByRole("link", { name: "Platform admin" });
  expect(await link.getAttribute("href")).toBe(
    `/api/_auth/signin?return=${encodeURIComponent("/console/orbs/unknown?x=1")}`,
  );
  await inspect(page, "console-signin");
});

test("shows admins all orbs, and moves between pages by keyboard", async () => {
  await console.seedOrb(shop);
  const page = await console.open();
  await page.getByRole("table").getByRole("link", { name: "Shop" }).click();
  const heading = page.getByRole("heading", { level: 1, name: "Shop" });
  await heading.waitFor();
  expect(await heading.evaluate((element) => element === element.ownerDocument.activeElement)).toBe(true);
  expect(await page.title()).toContain("Shop");
  await inspect(page, "console-orb");
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  expect(await page.getByRole("dialog").count()).toBe(0);
});

test("fits a phone, where the navigation opens on demand", async () => {
  const page = await console.open("/orbs/shop", { size: PHONE });
  await page.getByRole("heading", { level: 1, name: "Shop" }).waitFor();
  const navigation = page.getByRole("navigation", { name: "Navigation" });
  expect(await navigation.isVisible()).toBe(false);
  await page.getByRole("button", { name: "Open navigation" }).click();
  expect(await navigation.isVisible()).toBe(true);
  await inspect(page, "console-phone-navigation");
  await navigation.getByRole("link", { name: "Home" }).click();
  await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
  expect(await navigation.isVisible()).toBe(false);
  await inspect(page, "console-phone-home");
});

test("shows users of an orb only what their role allows", async () => {
  const page = await console.openAs("shop", "user", "/orbs/shop");
  await page.getByRole("heading", { level: 1, name: "Shop" }).waitFor();
  const navigation = page.getByRole("navigation", { name: "Navigation" });
  await navigation.getByRole("link", { name: "Review" }).waitFor();
  expect(await navigation.getByRole("link", { name: "Discount" }).count()).toBe(0);
  await inspect(page, "console-user");
});

test("finds pages and orbs in the palette", async () => {
  const page = await console.open();
  await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Search or run a command" });
  await palette.getByRole("option", { name: /Shop/ }).waitFor();
  await inspect(page, "console-palette");
  await page.keyboard.type("shop");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Shop" }).waitFor();
  expect(await palette.count()).toBe(0);
});

// Ends the session of the admin, so this test is the last one.
test("remembers the chosen colours, and signs out", async () => {
  const page = await console.open();
  await page.getByRole("heading", { level: 1, name: "Home" }).waitFor();
  const account = page.getByRole("button", { name: /^Account/ });
  await account.click();
  await page.getByRole("menuitemradio", { name: "Dark" }).click();
  await page.reload();
  await account.click();
  expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
  await page.getByRole("menuitemradio", { name: "Like the system" }).click();
  await account.click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in to the console" }).waitFor();
});
