/** The frame of the console: which pages each user sees, navigation, keyboard shortcuts, and its HTTP responses. */
import { expect, test } from "vitest";
import { kvSubject } from "../../shared/store/subjects.ts";
import { call } from "../support/auth.ts";
import { inspect, PHONE, useConsole } from "../support/console.ts";
import { shop } from "../support/orbs.ts";

const console = useConsole({});

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
  for (const file of ["none.js", "shell-en.txt", "..%2fshell-en.txt"])
    expect((await fetch(`${origin}/console/assets/${file}`)).status).toBe(404);
  const root = await fetch(`${origin}/`, { headers: { accept: "text/html" }, redirect: "manual" });
  expect([root.status, root.headers.get("location")]).toEqual([302, "/console"]);
});

test("leads visitors to the sign-in page, and back to where they were", async () => {
  const page = await console.visit("/orbs/unknown?x=1");
  const link = page.getByRole("link", { name: "Platform admin" });
  await expect
    .poll(() => link.getAttribute("href"))
    .toBe(`/api/_auth/signin?return=${encodeURIComponent("/console/orbs/unknown?x=1")}`);
  await inspect(page, "console-signin");
  // An invitation leads to the same sign-in page, with a passkey that does not exist yet.
  const { token } = console;
  const { body } = await call(console.platform, "POST", "/api/_auth/invitations", { token });
  const address = new URL(body.url);
  address.searchParams.set("return", "/console/orbs/new?from=paste");
  await page.goto(address.href);
  await page.getByRole("button", { name: "Create passkey" }).click();
  await page.waitForURL(`${console.platform.origin}/console/orbs/new?from=paste`);
  await page.getByLabel("Document").waitFor();
});

test("leads from an empty platform to a published orb", async () => {
  const page = await console.open();
  await page.getByRole("heading", { name: "Create your first orb" }).waitFor();
  await inspect(page, "console-empty");
  await page.getByRole("link", { name: /^Blank/ }).click();
  await page.getByLabel("Name").fill("My blog");
  await expect.poll(() => page.getByLabel("Id").inputValue()).toBe("my-blog");
  // The error appears next to its field.
  await page.getByLabel("Languages").fill("en, de, xx_yy");
  await page.getByRole("button", { name: "Create orb" }).click();
  await page.getByText(/must be a BCP 47 language tag/).waitFor();
  await expect.poll(() => page.getByLabel("Languages").getAttribute("aria-invalid")).toBe("true");
  await page.getByLabel("Languages").fill("en, de");
  await page.getByLabel("First content type").fill("Article");
  await page.getByRole("button", { name: "Create orb" }).click();
  await page.getByRole("heading", { level: 1, name: "My blog" }).waitFor();
  await page.getByRole("heading", { name: "Next steps" }).waitFor();
  await page.getByRole("main").getByText("Published", { exact: true }).waitFor();
  await inspect(page, "console-new-orb");
  const made = await fetch(`${console.platform.origin}/api/my-blog/content`);
  expect(made.status).toBe(200);
});

test("creates an orb from JSON, and leads to the place of each fault", async () => {
  const page = await console.open("/orbs/new?from=paste");
  const area = page.getByLabel("Document");
  const selected = () =>
    area.evaluate((element: { selectionStart: number; selectionEnd: number; value: string }) =>
      element.value.slice(element.selectionStart, element.selectionEnd),
    );
  await area.fill('{ "id": "pasted",\n "modules": [ }');
  await page.getByRole("button", { name: "Line 2" }).click();
  expect(await selected()).toBe("}");
  const modules = (type: string) =>
    `[{ "id": "news", "type": "CONTENT",\n "schemas": [{ "id": "post",\n "fields": [{ "name": "title", "type": "${type}" }] }] }]`;
  await area.fill(`{ "id": "pasted",\n "modules": ${modules("strin")} }`);
  await page.getByRole("button", { name: "Create orb" }).click();
  await page.getByRole("button", { name: "Line 4" }).click();
  expect(await selected()).toBe('"strin"');
  await inspect(page, "console-paste-fault");
  await area.fill(`{ "id": "pasted",\n "modules": ${modules("string")} }`);
  await page.getByLabel("Publish now").uncheck();
  await page.getByRole("button", { name: "Create orb" }).click();
  await page.getByRole("heading", { level: 1, name: "pasted" }).waitFor();
  await page.getByRole("main").getByText("Draft", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Publish" }).click();
  await page.getByRole("main").getByText("Published", { exact: true }).waitFor();
  // The console asks for confirmation before it deletes.
  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Delete permanently" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete pasted?" });
  await dialog.getByText("0 entries").waitFor();
  await inspect(page, "console-confirm");
  await dialog.getByLabel("Type pasted to confirm").fill("pasted");
  await dialog.getByRole("button", { name: "Delete permanently" }).click();
  await page.getByRole("table").getByRole("link", { name: "My blog" }).waitFor();
  await expect.poll(() => page.getByRole("link", { name: "pasted" }).count()).toBe(0);
});

test("shows admins all orbs, and moves between pages by keyboard", async () => {
  await console.seedOrb(shop);
  await console.seedEntry("shop", {
    module: "news",
    schema: "article",
    values: { headline: { en: "We are open", de: "Wir haben offen" } },
  });
  const page = await console.open();
  await page.getByRole("row", { name: /Shop.*Published.*1/ }).waitFor();
  await page.getByText(/^Everything works/).waitFor();
  await inspect(page, "console-home");
  const asked: string[] = [];
  page.on("request", (request) =>
    asked.push(new URL(request.url()).pathname + new URL(request.url()).search),
  );
  await page.getByRole("table").getByRole("link", { name: "Shop" }).click();
  // The heading is the orb's id, "shop", until its name is loaded.
  const heading = page.getByRole("heading", { level: 1, name: "Shop", exact: true });
  await heading.waitFor();
  await expect
    .poll(() => heading.evaluate((element) => element === element.ownerDocument.activeElement))
    .toBe(true);
  await expect.poll(() => page.title()).toContain("Shop");
  await inspect(page, "console-orb");
  // Components that show the same data share one request.
  expect(asked.filter((path) => path === "/api/admin/orbs/shop")).toHaveLength(1);
  expect(asked.filter((path) => path === "/api/discovery/me?orb=shop")).toHaveLength(1);
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await page.keyboard.press("Escape");
  await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
});

test("fits a phone, where the navigation opens on demand", async () => {
  const page = await console.open("/orbs/shop", { size: PHONE });
  await page.getByRole("heading", { level: 1, name: "Shop" }).waitFor();
  const navigation = page.getByRole("navigation", { name: "Navigation" });
  await expect.poll(() => navigation.isVisible()).toBe(false);
  await page.getByRole("button", { name: "Open navigation" }).click();
  await expect.poll(() => navigation.isVisible()).toBe(true);
  await inspect(page, "console-phone-navigation");
  await navigation.getByRole("link", { name: "Orbs" }).click();
  await page.getByRole("heading", { level: 1, name: "Orbs" }).waitFor();
  await expect.poll(() => navigation.isVisible()).toBe(false);
});

test("shows users of an orb only what their role allows", async () => {
  const page = await console.openAs("shop", "user", "/orbs/shop");
  await page.getByRole("heading", { level: 1, name: "Shop" }).waitFor();
  const navigation = await console.navigation(page);
  await navigation.getByRole("link", { name: "Review" }).waitFor();
  await expect.poll(() => navigation.getByRole("link", { name: "Discount" }).count()).toBe(0);
  await inspect(page, "console-user");
});

test("finds pages and orbs in the palette", async () => {
  const page = await console.open();
  await page.getByRole("heading", { level: 1, name: "Orbs" }).waitFor();
  // Whatever the user types next goes into the palette, before the next frame.
  const focused = await page.evaluate(`(async () => {
    document.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, cancelable: true }));
    for (let step = 0; step < 20; step++) await undefined;
    return document.activeElement.getAttribute("role");
  })()`);
  expect(focused).toBe("combobox");
  const palette = page.getByRole("dialog", { name: "Search or run a command" });
  await palette.getByRole("option", { name: /Shop/ }).waitFor();
  await inspect(page, "console-palette");
  await page.keyboard.type("shop");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { level: 1, name: "Shop" }).waitFor();
  await expect.poll(() => palette.count()).toBe(0);
});

test("names what needs attention, and repairs a damaged definition", async () => {
  const { platform, token } = console;
  const store = platform.operatorStore();
  await store.append("KV_orbs", { subject: kvSubject("orbs", "my-blog"), data: "{" });
  const { body } = await call(platform, "GET", "/api/admin/orbs/shop", { token });
  // The platform cannot count the entries.
  console.allow(/status of 503 /);
  const changed = { ...body, description: "Another shop." };
  expect((await call(platform, "PUT", "/api/admin/orbs/shop", { token, body: changed })).status).toBe(200);
  const page = await console.open();
  const concerns = page.getByRole("region", { name: "Needs attention" });
  await concerns.getByText(/^The published definition of my-blog is damaged/).waitFor();
  await concerns.getByText("Shop has unpublished changes.").waitFor();
  await inspect(page, "console-attention");
  await concerns.getByRole("button", { name: "Repair" }).click();
  await page.getByText("Repaired my-blog.").waitFor();
  await concerns.getByText(/is damaged/).waitFor({ state: "detached" });
  expect((await call(platform, "GET", "/api/my-blog/content")).status).toBe(200);
});

test("keeps what was typed when the session ends", async () => {
  const page = await console.open("/orbs/new");
  await page.getByLabel("Name").fill("Late");
  const cookies = await page.context().cookies();
  await page.context().clearCookies();
  console.allow(/status of 401 /);
  await page.getByRole("button", { name: "Create orb" }).click();
  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  // Without a new session, the page stays and asks again.
  const asked = page.waitForResponse(/discovery.me/);
  await dialog.getByRole("button", { name: "Continue" }).click();
  await asked;
  await dialog.waitFor();
  await page.context().addCookies(cookies);
  await dialog.getByRole("button", { name: "Continue" }).click();
  await expect.poll(() => page.getByLabel("Name").inputValue()).toBe("Late");
  await page.getByRole("button", { name: "Create orb" }).click();
  await page.getByRole("heading", { level: 1, name: "Late" }).waitFor();
});

// Ends the session of the admin, so this test is the last one.
test("remembers the chosen colours, and signs out", async () => {
  const page = await console.open();
  await page.getByRole("heading", { level: 1, name: "Orbs" }).waitFor();
  const account = page.getByRole("button", { name: /^Account/ });
  await account.click();
  await page.getByRole("menuitemradio", { name: "Dark" }).click();
  await page.reload();
  await account.click();
  expect(await page.evaluate("document.documentElement.dataset.theme")).toBe("dark");
  await page.getByRole("menuitemradio", { name: "Same as the system" }).click();
  await account.click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in to the console" }).waitFor();
});
