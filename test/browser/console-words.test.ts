/**
 * Long words without a space, in every place that shows what people have written: no page and no dialog gets wider than
 * the window, on a desktop and on a phone.
 */
import type { Page } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { useConsole } from "../support/console.ts";

const console = useConsole();
const SIZES = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
] as const;
/** Timeout in milliseconds. These tests visit many pages. */
const TIMEOUT = 300_000;

/** A word of a length, which says where it comes from. */
const word = (start: string, length = 200) => start.padEnd(length, "W");
const ORB = "console-wide";
const NOTES = `/orbs/${ORB}/entries/content/note`;
const LONG_ID = word("x", 63).toLowerCase();

const document = {
  id: ORB,
  name: word("Orb"),
  description: word("About"),
  languages: ["en", "ar"],
  uses: [
    { service: "access", handlers: ["passkey", "invitations", "bootstrap"] },
    { service: "rules", handlers: ["evaluate"] },
    { service: "transactions", handlers: ["record"] },
  ],
  roles: [{ id: LONG_ID, name: word("Role") }],
  hooks: [{ id: LONG_ID, on: ["entry.created"], url: `https://example.com/${word("hook")}` }],
  modules: [
    {
      id: "content",
      type: "CONTENT",
      name: word("Module"),
      description: word("Module"),
      schemas: [
        { id: "author", name: word("Author"), fields: [{ name: "name", type: "string", required: true }] },
        {
          id: "note",
          name: word("Note"),
          description: word("Schema"),
          access: {
            read: ["public"],
            create: [LONG_ID],
            update: [LONG_ID],
            publish: ["admin"],
            delete: ["admin"],
          },
          fields: [
            {
              name: "title",
              label: word("Title"),
              description: word("Hint"),
              type: "string",
              required: true,
            },
            { name: word("f", 60), type: "string", translatable: true },
            { name: "author", label: word("Author"), type: "reference", ref: `${ORB}/content/author` },
            { name: "authors", type: "reference", ref: `${ORB}/content/author`, list: true },
            { name: "kind", type: "string", enum: [word("Kind"), "short"] },
            { name: "tags", type: "string", list: true },
            { name: "extra", type: "json" },
            { name: "body", type: "text", translatable: true },
            { name: "amount", type: "number" },
            { name: "secret", type: "string", sensitive: true },
            { name: "code", label: "Code", type: "string", pattern: "^[a-z]{2,4}(-[0-9]{100,200})?$" },
          ],
        },
      ],
    },
    {
      id: "records",
      type: "TRANSACTIONS",
      schemas: [{ id: "record", name: word("Record"), fields: [{ name: "text", type: "string" }] }],
    },
    {
      id: "rules",
      type: "RULES",
      schemas: [{ id: "rule", name: word("Rule"), fields: [{ name: "name", type: "string" }] }],
    },
  ],
};

let note: string;
let author: string;

async function person(name: string): Promise<void> {
  const made = await call(console.platform, "POST", `/api/${ORB}/users`, {
    token: console.token,
    body: { name, service: true, role: LONG_ID },
  });
  expect(made.status).toBe(201);
}

beforeAll(async () => {
  await console.seedOrb(document);
  author = await console.seedEntry(ORB, {
    module: "content",
    schema: "author",
    values: { name: word("Ada") },
  });
  const field = word("f", 60);
  const values = {
    title: word("First"),
    [field]: { en: word("English"), ar: word("عربي") },
    author,
    authors: [author, author],
    kind: word("Kind"),
    tags: [word("one"), word("two")],
    extra: { [word("member")]: word("value") },
    body: { en: word("body", 2_000), ar: word("متن", 300) },
    amount: 123456789.125,
    secret: word("secret"),
  };
  note = await console.seedEntry(ORB, { module: "content", schema: "note", values });
  const changed = await call(console.platform, "PUT", `/api/admin/orbs/${ORB}/entries/${note}`, {
    token: console.token,
    headers: { "if-match": '"1"' },
    body: { values: { ...values, title: word("Second"), tags: [word("three")], extra: { a: word("b") } } },
  });
  expect(changed.status).toBe(200);
  await person(word("Person", 64));
  // A newer draft of the document, so that its history and the review show a difference.
  const draft = await call(console.platform, "GET", `/api/admin/orbs/${ORB}`, { token: console.token });
  const saved = await call(console.platform, "PUT", `/api/admin/orbs/${ORB}`, {
    token: console.token,
    headers: { "if-match": draft.headers.get("etag") ?? "" },
    body: { ...document, name: word("Renamed") },
  });
  expect([saved.status, saved.body.errors]).toEqual([200, undefined]);
});

/**
 * Returns what is wider than the window, or than the dialog that contains it. Also returns buttons and breadcrumbs of
 * which nothing is left to see.
 */
const wide = (page: Page): Promise<string[]> =>
  page.evaluate(`(() => {
    const root = document.scrollingElement;
    const found = [];
    const clipped = (each, right) => {
      for (let up = each.parentElement; up !== null && up !== document.body; up = up.parentElement)
        if (getComputedStyle(up).overflowX !== "visible" && up.getBoundingClientRect().right <= right + 1) return true;
      return false;
    };
    const inside = (one, right) => [...one.querySelectorAll("*")]
      .filter((each) => each.getBoundingClientRect().right > right + 1 && !clipped(each, right))
      .slice(0, 4).map((each) => each.outerHTML.slice(0, 160));
    if (root.scrollWidth > innerWidth) found.push("page " + root.scrollWidth, ...inside(document.body, innerWidth));
    for (const dialog of document.querySelectorAll("dialog[open]"))
      if (dialog.scrollWidth > dialog.clientWidth)
        found.push("dialog " + dialog.scrollWidth, ...inside(dialog, dialog.getBoundingClientRect().right));
    for (const bar of document.querySelectorAll(".entry-actions .button, .page-actions .button, dialog[open] footer .button")) {
      const { left, right } = bar.getBoundingClientRect();
      if (left < 0 || right > innerWidth + 1) found.push("button outside: " + bar.outerHTML.slice(0, 160));
    }
    const area = (one) => one.getBoundingClientRect();
    for (const button of document.querySelectorAll(".button")) {
      if (area(button).width === 0) continue;
      const text = [...button.childNodes].some((each) => each.nodeType === 3 && each.data.trim() !== "");
      if (!text && ![...button.children].some((each) => area(each).width > 4))
        found.push("button without content: " + button.outerHTML.slice(0, 160));
    }
    for (const crumb of document.querySelectorAll(".crumbs li"))
      if (area(crumb).width > 0 && area(crumb).width < 24) found.push("crumb: " + crumb.textContent.slice(0, 20));
    return found;
  })()`);

/** Waits until nothing on the page is loading. */
const loaded = (page: Page) => expect.poll(() => page.locator(":is(.loading, .bone)").count()).toBe(0);

async function fits(page: Page, name: string): Promise<void> {
  for (const size of SIZES) {
    await page.setViewportSize(size);
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    expect.soft([name, size.width, await wide(page)]).toEqual([name, size.width, []]);
    const folder = process.env.SCREENSHOTS;
    if (folder !== undefined)
      await page.screenshot({ path: `${folder}/words-${name.replaceAll(/\W+/g, "-")}-${size.width}.png` });
  }
  await page.setViewportSize(SIZES[0]);
}

/** Paths, and what shows that the page has loaded. */
const PAGES: readonly [path: string, selector: string][] = [
  ["/", "table tbody tr"],
  [`/orbs/${ORB}`, ".orb-changes li"],
  [NOTES, "[role=row] a"],
  [
    `${NOTES}?columns=title,${word("f", 60)},author,authors,kind,tags,extra,body,amount,status,updatedBy,createdBy,id`,
    "[role=row] a",
  ],
  [`${NOTES}?filter[title][contains]=${word("Second")}&filter[author][eq]=AUTHOR`, ".chips"],
  [`${NOTES}?filter[title][contains]=${word("nothing")}`, ".empty"],
  [`${NOTES}/NOTE`, ".entry-form .chosen-name"],
  [`${NOTES}/NOTE/history`, ".entry-difference"],
  [`${NOTES}/NOTE/history?at=NOW&tab=time`, ".entry-values"],
  [`/orbs/${ORB}/entries/records/record`, ".empty"],
  [`/orbs/${ORB}/people`, "table tbody tr"],
  [`/orbs/${ORB}/handlers`, "main h2, main li"],
  [`/orbs/${ORB}/deliveries`, "main"],
  [`/orbs/${ORB}/api`, "pre"],
  [`/orbs/${ORB}/schema`, "form, fieldset"],
  [`/orbs/${ORB}/schema?at=/modules/0/schemas/1/fields/0`, ".attributes"],
  [`/orbs/${ORB}/history`, ".revisions li"],
  ["/admins", "table tbody tr"],
  ["/audit", "table tbody tr"],
  [`/audit?actor=${word("someone")}&target=${word("else")}`, ".empty"],
  [`/orbs/${word("missing", 63)}`, "main .problem, main .empty"],
  [`/${word("nowhere")}`, ".empty"],
];

test(
  "every page of a platform admin stays within the window",
  async () => {
    console.allow(/status of 404/);
    const page = await console.open("");
    for (const [path, selector] of PAGES) {
      const address = path
        .replace("NOTE", note)
        .replace("AUTHOR", author)
        .replace("NOW", new Date().toISOString());
      await page.goto(`${console.platform.origin}/console${address}`);
      await page.locator(selector).first().waitFor();
      await loaded(page);
      await fits(page, path.slice(0, 80));
    }
  },
  TIMEOUT,
);

test(
  "dialogs, menus, messages and the palette stay within the window",
  async () => {
    const page = await console.open(`${NOTES}/${note}`);
    const button = (name: string | RegExp) => page.getByRole("button", { name }).first();
    await page.locator(".chosen-name").first().waitFor();
    await page.locator(".chosen-name").first().click();
    await page.locator(".beside .entry-values").waitFor();
    await fits(page, "beside the form");
    await page.keyboard.press("Escape");
    await button("Compare with live").click();
    await page.locator("dialog .entry-difference").waitFor();
    await fits(page, "compare with live");
    await page.keyboard.press("Escape");
    await button("More actions").click();
    await fits(page, "menu");
    await page.keyboard.press("Escape");
    await page.getByLabel("Code").fill(word("wrong"));
    await button("Save draft").click();
    await page.locator(".field.wrong").first().waitFor();
    await fits(page, "faults");
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Command" }).fill("W");
    await page.locator(".palette-list [role=option]").first().waitFor();
    await fits(page, "palette");
    await page.keyboard.press("Escape");
    page.on("dialog", (dialog) => dialog.accept());

    await page.goto(`${console.platform.origin}/console${NOTES}`);
    await page.locator("[role=row] a").first().waitFor();
    await button("Columns").click();
    await fits(page, "columns");
    await page.keyboard.press("Escape");
    await button("Add a filter").click();
    await fits(page, "filter");
    await page.keyboard.press("Escape");
    await page.locator(".check-area input").first().check();
    await fits(page, "selection");
    await button("Archive").click();
    await page.getByRole("dialog").waitFor();
    await fits(page, "bulk");
    await page.keyboard.press("Escape");

    await page.goto(`${console.platform.origin}/console/orbs/${ORB}/people`);
    await button("Invite").click();
    await page.getByRole("dialog").getByLabel("Role").selectOption(LONG_ID);
    await fits(page, "invite");
    await page.getByRole("dialog").getByRole("button", { name: "Create invitation" }).click();
    await page.getByRole("dialog").getByLabel("Link", { exact: true }).waitFor();
    await fits(page, "link");
    await page
      .getByRole("button", { name: /^(Close|Done)$/ })
      .first()
      .click();
    await page.getByRole("tab", { name: "Accounts" }).click();
    await button(/^Person/).click();
    await page.getByRole("dialog").waitFor();
    await fits(page, "person");
    await page.getByRole("dialog").getByRole("button", { name: "API tokens" }).click();
    await page.getByRole("dialog", { name: /^API tokens/ }).waitFor();
    await fits(page, "tokens");

    await page.goto(`${console.platform.origin}/console/orbs/${ORB}/schema`);
    await page.getByLabel("Name", { exact: true }).first().fill(word("Typed"));
    await button("Review and publish").click();
    await page.getByRole("dialog").waitFor();
    await fits(page, "review");
  },
  TIMEOUT,
);

test(
  "the pages of an orb's user stay within the window",
  async () => {
    const page = await console.openAs(ORB, LONG_ID, `/orbs/${ORB}`);
    for (const [path, selector] of [
      [`/orbs/${ORB}`, ".cards"],
      [NOTES, "[role=row] a"],
      [`${NOTES}/${note}`, ".entry-form"],
      [`/orbs/${ORB}/schema`, "main .choices"],
    ] as const) {
      await page.goto(`${console.platform.origin}/console${path}`);
      await page.locator(selector).first().waitFor();
      await loaded(page);
      await fits(page, `user ${path}`);
    }
    // The page has to go first: its requests without a cookie would be errors.
    await page.goto("about:blank");
    await page.context().clearCookies();
    await page.goto(`${console.platform.origin}/console/orbs/${ORB}`);
    await page.locator(".choices").waitFor();
    await fits(page, "sign-in");
  },
  TIMEOUT,
);
