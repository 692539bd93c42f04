/** The preview: the page of a site beside the form, with the example site of plain HTML. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Frame, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../scripts/process/ports.ts";
import { call } from "../support/auth.ts";
import { inspect, useConsole } from "../support/console.ts";
import { copySite, newsroom, type RunningSite, startSite } from "../support/site.ts";

const console = useConsole();
const ORB = "preview-plain";
let folder: string;
let site: RunningSite;
let entry: string;
const address = (id: string) => `/orbs/${ORB}/entries/pages/article/${id}`;
const env = () => ({ PLATFORM: console.platform.origin, ORB });

beforeAll(async () => {
  const port = await freePort();
  folder = await copySite("plain");
  site = await startSite(folder, [process.execPath, "server.mjs"], env(), port);
  await console.seedOrb(newsroom(ORB, site.origin));
  entry = await console.seedEntry(ORB, {
    module: "pages",
    schema: "article",
    values: {
      title: { en: "Spring", de: "Frühling" },
      slug: "spring",
      lead: { en: "It is here." },
      published: "2026-03-20",
      body: {
        en: [
          { _type: "block", style: "normal", children: [{ _type: "span", text: "First words", marks: [] }] },
        ],
      },
    },
  });
});
afterAll(async () => {
  await site?.[Symbol.asyncDispose]();
});

/** Opens the preview, and returns the page of the site. */
async function opened(page: Page): Promise<Frame> {
  await page.getByRole("button", { name: "Preview on the site" }).click();
  await page.locator(".preview-frame[data-connected=true]").waitFor();
  const frame = page.frames().find((one) => one.url().startsWith(site.origin));
  return frame ?? expect.fail("no frame shows the site");
}

test("shows the page as one types, opens the field of a click, and publishes", async () => {
  const page = await console.open(address(entry));
  const frame = await opened(page);
  const title = frame.getByRole("heading", { level: 1 });
  await page.getByRole("textbox", { name: "English" }).first().fill("Summer");
  await expect.poll(() => title.textContent()).toBe("Summer");
  const text = page.locator("[data-path='/values/body'] [contenteditable=true]").first();
  await text.click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type(" and more");
  await expect
    .poll(() => frame.locator("[data-orb-field=body]").innerHTML())
    .toBe("<p>First words and more</p>");
  // A value in another form changes with the save.
  await frame.locator("[data-orb-field=published]").click();
  await expect.poll(() => page.evaluate("document.activeElement.type")).toBe("date");
  await page.keyboard.type("06212026");
  expect(await frame.locator("time").textContent()).toBe("March 20, 2026");
  await page.getByRole("button", { name: "Save draft" }).click();
  await expect.poll(() => frame.locator("time").textContent()).toBe("June 21, 2026");
  expect(await title.textContent()).toBe("Summer");
  // A click opens the field, and not the link around it.
  await frame.getByRole("link", { name: "More" }).click();
  await expect
    .poll(() => page.evaluate("document.activeElement.closest('[data-path]').dataset.path"))
    .toBe("/values/slug");
  const visitor = async () => (await fetch(`${site.origin}/en/news/spring`)).text();
  expect(await visitor()).toContain("<h1>Spring</h1>");
  await page.getByRole("button", { name: "Publish" }).click();
  await expect.poll(visitor).toContain("<h1>Summer</h1>");
  await inspect(page, "console-preview");
});

test("gives visitors the page that the site has without the preview", async () => {
  const source = readFileSync(join(folder, "server.mjs"), "utf8");
  const without = source
    .split("\n")
    .filter((line) => !/import \{ preview \}|const page = |const SCRIPT|SCRIPT\)/.test(line))
    .join("\n")
    .replaceAll(/\$\{page\.[^}]*\}/g, "")
    .replace(", { headers: page.headers }", "");
  expect(without).not.toContain("page.mark");
  const own = (text: string) =>
    text.split("\n").filter((line) => /preview|page\./.test(line) && !/^\/\*\*/.test(line));
  expect(own(source).length).toBeLessThanOrEqual(10);
  writeFileSync(join(folder, "without.mjs"), without);
  await using bare = await startSite(folder, [process.execPath, "without.mjs"], env());
  for (const path of ["/en/news/spring", "/de/news/spring", "/en/news/none", "/"]) {
    const [with_, plain] = await Promise.all(
      [site, bare].map(async ({ origin }) => Buffer.from(await (await fetch(origin + path)).arrayBuffer())),
    );
    expect(with_?.equals(plain ?? Buffer.of())).toBe(true);
    expect(with_?.includes("orb")).toBe(false);
  }
});

test("shows nothing by a link that has ended or was changed", async () => {
  const draft = await console.seedEntry(
    ORB,
    { module: "pages", schema: "article", values: { title: { en: "Secret" }, slug: "secret" } },
    false,
  );
  const { token } = console;
  const { origin } = console.platform;
  const path = `/api/${ORB}/_previews`;
  const body = { module: "pages", schema: "article", entry: draft };
  const { body: link } = await call(console.platform, "POST", path, { token, body });
  const shown = async (url: string) => (await fetch(url)).text();
  expect(await shown(link.url)).toContain('<h1 data-orb-field="title">Secret</h1>');
  expect(await shown(`${link.url.slice(0, -4)}AAAA`)).not.toContain("Secret");
  await fetch(`${origin}${path}/${link.id}`, {
    method: "DELETE",
    headers: { authorization: `Bearer ${token}` },
  });
  const ended = await shown(link.url);
  expect([ended.includes("Secret"), ended.includes("data-orb-field"), ended.includes("script")]).toEqual([
    false,
    false,
    false,
  ]);
});

test("keeps other pages, and other messages of the page, from the form", async () => {
  const page = await console.open(address(entry));
  const frame = await opened(page);
  const focus = page.getByRole("textbox", { name: "English" }).first();
  await focus.focus();
  const state = () =>
    page.evaluate("[document.activeElement.closest('[data-path]')?.dataset.path, location.href]");
  const before = await state();
  // Messages of another shape, and of fields that the form does not have.
  await frame.evaluate(`for (const data of [null, 7, "x", [], {}, { orbPreview: 1 }, { orbPreview: 2, type: "field", field: "slug" },
    { orbPreview: 1, type: "field" }, { orbPreview: 1, type: "field", field: ["slug"] }, { orbPreview: 1, type: "field", field: "__proto__" },
    { orbPreview: 1, type: "field", field: "x".repeat(501) }, { orbPreview: 1, type: "field", field: "nothing" }])
    for (const to of [parent, top]) to.postMessage(data, "*")`);
  // The page can read neither the console nor the document around it, and cannot lead the tab elsewhere.
  const reached =
    await frame.evaluate(`[() => top.document, () => parent.document, () => top.localStorage, () => { top.location = "about:blank"; return 1; }]
    .map((reach) => { try { return String(reach()); } catch (error) { return error.name; } })`);
  expect(reached).toEqual(["SecurityError", "SecurityError", "SecurityError", "SecurityError"]);
  expect(await frame.evaluate("document.cookie")).toBe("");
  expect(await state()).toEqual(before);
  // A page of another origin is not shown at all.
  await using other = await startSite(folder, [process.execPath, "server.mjs"], env());
  console.allow(/frame-src|Unsafe attempt|Framing/);
  await page.evaluate(
    `document.querySelector(".preview-frame").contentDocument.querySelector("iframe").src = "${other.origin}/en/news/spring"`,
  );
  await page.waitForTimeout(0);
  await expect.poll(() => page.frames().some((one) => one.url().startsWith(other.origin))).toBe(false);
  const policy = async (path: string, headers: Record<string, string> = {}) =>
    (await fetch(`${console.platform.origin}${path}`, { headers })).headers.get("content-security-policy") ??
    "";
  expect(await policy(`/api/${ORB}/_previews/frame`)).toContain("default-src 'none'; frame-ancestors 'none'");
  expect(await policy(`/api/${ORB}/_previews/frame`, { authorization: `Bearer ${console.token}` })).toContain(
    `frame-src ${site.origin};`,
  );
  expect(await policy("/console")).toContain("frame-src 'self'");
});
