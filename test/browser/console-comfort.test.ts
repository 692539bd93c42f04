/** What makes work pleasant: nothing jumps, the focus is never lost, long lists stay short, and slow ones explain themselves. */
import type { Page, Request } from "playwright-core";
import { expect, test } from "vitest";
import { inspect, useConsole } from "../support/console.ts";

const console = useConsole({});

const field = (name: string) => ({ name, type: "string" });
const comfort = {
  id: "comfort",
  name: "Comfort",
  modules: [
    {
      id: "blog",
      type: "CONTENT",
      schemas: [
        {
          id: "post",
          name: "Post",
          fields: [
            { name: "title", label: "Title", type: "string", required: true },
            { name: "text", label: "Text", type: "text" },
            { name: "tags", label: "Tags", type: "string", list: true },
            { name: "notes", label: "Notes", type: "text", list: true },
          ],
        },
        { id: "page", name: "Page", fields: [field("title")] },
      ],
    },
  ],
};

let seeded: Promise<string> | undefined;
/** Returns the id of a post. */
const seed = () => {
  seeded ??= (async () => {
    await console.seedOrb(comfort);
    const place = { module: "blog", schema: "post" };
    for (let at = 0; at < 5; at++)
      await console.seedEntry("comfort", { ...place, values: { title: `Post ${at}` } });
    return console.seedEntry("comfort", { ...place, values: { title: "First", tags: ["a", "b", "c"] } });
  })();
  return seeded;
};

async function seedMany(orb: string, schema: string, count: number, values: (at: number) => object) {
  for (let from = 0; from < count; from += 20) {
    const lines = Array.from({ length: Math.min(20, count - from) }, (_, at) =>
      JSON.stringify({ module: "blog", schema, values: values(from + at) }),
    );
    const made = await fetch(`${console.platform.origin}/api/admin/orbs/${orb}/entries/bulk`, {
      method: "POST",
      headers: { authorization: `Bearer ${console.token}`, "content-type": "application/x-ndjson" },
      body: lines.join("\n"),
    });
    expect(made.status).toBe(200);
    await made.text();
  }
}

/** Counts every jump of the layout, even right after a key press. */
const watchShifts = (page: Page) =>
  page.addInitScript(`
    window.shifts = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries())
        window.shifts.push({
          value: entry.value,
          nodes: entry.sources.map(({ node, previousRect, currentRect }) =>
            [node?.outerHTML?.slice(0, 120) ?? node?.nodeName, previousRect.y, currentRect.y, previousRect.x, currentRect.x]
              .join(" ")),
        });
    }).observe({ type: "layout-shift", buffered: true });`);

/**
 * Returns the jumps since the last call. Ignores tiny ones: a number becomes wider, or "20 seconds ago" becomes "now" and
 * takes a line less.
 */
const shifts = async (page: Page) => {
  await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  return page.evaluate("window.shifts.splice(0).filter(({ value }) => value > 0.01)");
};

/** Requests that a page waits for. Lists keep a connection open, so the network is never idle. */
const pending = new WeakMap<Page, Set<Request>>();

/** Opens a page whose requests are recorded, for {@link settle}. */
async function openWatched(): Promise<Page> {
  const page = await console.open();
  const requests = new Set<Request>();
  pending.set(page, requests);
  page.on("request", (request) => {
    if (!request.url().includes("live=sse")) requests.add(request);
  });
  page.on("requestfinished", (request) => requests.delete(request));
  page.on("requestfailed", (request) => requests.delete(request));
  return page;
}

/** Waits until the page has loaded and shown everything. */
async function settle(page: Page): Promise<void> {
  const requests = pending.get(page) ?? new Set();
  const loading = () => page.locator(".loading, .bone, .spinner").count();
  // An answer can lead to another request, so the page must be quiet for a frame too.
  await expect
    .poll(async () => {
      const before = requests.size + (await loading());
      await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
      return before + requests.size + (await loading());
    })
    .toBe(0);
}

const focused = (page: Page): Promise<string> =>
  page.evaluate(
    "document.activeElement.tagName + ' ' + (document.activeElement.id || document.activeElement.getAttribute('aria-label') || document.activeElement.textContent.slice(0, 40))",
  );
const keepsFocus = (page: Page, what: string) =>
  expect.poll(() => focused(page), { message: what }).not.toMatch(/^(BODY|HTML)/);

test("moves nothing while pages load", async () => {
  const id = await seed();
  const page = await openWatched();
  await watchShifts(page);
  for (const [path, ready] of [
    ["", "Orbs"],
    ["/orbs/comfort", "Comfort"],
    ["/orbs/comfort/entries/blog/post", "Post"],
    [`/orbs/comfort/entries/blog/post/${id}`, "First"],
    [`/orbs/comfort/entries/blog/post/${id}/history`, undefined],
    ["/orbs/comfort/schema", "Schema"],
    ["/orbs/comfort/history", undefined],
    ["/admins", undefined],
    ["/audit", undefined],
    ["/handlers", undefined],
    ["/streams", undefined],
  ] as const) {
    await page.goto(`${console.platform.origin}/console${path}`);
    await page.getByRole("heading", { level: 1, ...(ready === undefined ? {} : { name: ready }) }).waitFor();
    await settle(page);
    expect([path, await shifts(page)]).toEqual([path, []]);
  }
});

test("moves nothing while people type and save", async () => {
  const id = await seed();
  const page = await openWatched();
  await watchShifts(page);
  await page.goto(`${console.platform.origin}/console/orbs/comfort/entries/blog/post`);
  await page.getByRole("row", { name: /First/ }).waitFor();
  await settle(page);
  await shifts(page);
  const search = page.getByRole("textbox", { name: "Search by Title" });
  const before = await search.boundingBox();
  await search.pressSequentially("Fir", { delay: 50 });
  await page.getByRole("row", { name: /Post 1/ }).waitFor({ state: "hidden" });
  expect(await search.boundingBox()).toEqual(before);
  expect(await shifts(page)).toEqual([]);
  await page.goto(`${console.platform.origin}/console/orbs/comfort/entries/blog/post/${id}`);
  await page.getByRole("heading", { level: 1, name: "First" }).waitFor();
  await settle(page);
  await shifts(page);
  const more = page.getByRole("button", { name: "More actions" }).last();
  const place = await more.boundingBox();
  await page.getByLabel("Title").fill("First!");
  await page.getByText("1 unsaved change").waitFor();
  expect(await more.boundingBox()).toEqual(place);
  const looked = Promise.withResolvers<void>();
  await page.route(/\/entries\//, async (route) => {
    if (route.request().method() === "PUT") await looked.promise;
    await route.continue();
  });
  await page.keyboard.press("Control+s");
  await page.locator(".button.busy").waitFor();
  expect(await more.boundingBox()).toEqual(place);
  looked.resolve();
  await page.locator(".toast", { hasText: "Draft saved" }).waitFor();
  expect(await more.boundingBox()).toEqual(place);
  expect(await shifts(page)).toEqual([]);
  await page.getByLabel("Title").fill("First");
  await page.keyboard.press("Control+s");
});

test("keeps the focus on something sensible, from page to page by keyboard", async () => {
  const id = await seed();
  const page = await openWatched();
  await page.getByRole("heading", { level: 1 }).waitFor();
  const visit = async (name: string, heading: string) => {
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Command" }).fill(name);
    await page.getByRole("option", { name }).first().waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { level: 1, name: heading }).waitFor();
    await settle(page);
    await expect.poll(() => focused(page), { message: name }).toBe("H1 page-title");
  };
  await visit("Comfort", "Comfort");
  await visit("Schema", "Schema");
  await visit("Post", "Post");
  // Enter in the list opens an entry.
  await page.getByRole("row", { name: /First/ }).waitFor();
  const current = async () => {
    await page.keyboard.press("j");
    return focused(page);
  };
  await expect.poll(current).toMatch(/^TR /);
  await page.keyboard.press("Enter");
  await page.getByRole("textbox", { name: "Title" }).waitFor();
  await expect.poll(() => focused(page)).toBe("H1 page-title");
  // Saving disables the button that was pressed.
  await page.goto(`${console.platform.origin}/console/orbs/comfort/entries/blog/post/${id}`);
  await page.getByLabel("Title").fill("Saved");
  await page.getByRole("button", { name: "Save draft" }).press("Enter");
  await page.locator(".toast", { hasText: "Draft saved" }).waitFor();
  await keepsFocus(page, "after saving");
  // Items of lists: added, removed, down to none.
  await page.getByRole("button", { name: "Add to Notes" }).press("Enter");
  await keepsFocus(page, "after adding an item");
  await page.getByRole("button", { name: "Remove Notes 1" }).press("Enter");
  await keepsFocus(page, "after removing the only item");
  for (let left = 3; left > 0; left--) {
    await page
      .getByRole("button", { name: /^Remove [abc]$/ })
      .first()
      .press("Enter");
    await keepsFocus(page, `after removing a value, ${left} before`);
  }
  // Dialogs and menus.
  await page.getByRole("button", { name: "More actions" }).last().press("Enter");
  await page.getByRole("menuitem", { name: "Delete" }).press("Enter");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await keepsFocus(page, "after a dialog was closed");
  await page.getByRole("button", { name: "More actions" }).last().press("Enter");
  await page.getByRole("menuitem", { name: "Delete" }).press("Enter");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).press("Enter");
  await page.getByRole("heading", { level: 1, name: "Post" }).waitFor();
  await keepsFocus(page, "after the entry was deleted");
  seeded = seed().then(() =>
    console.seedEntry("comfort", {
      module: "blog",
      schema: "post",
      values: { title: "First", tags: ["a", "b", "c"] },
    }),
  );
});

test("shows a short navigation for 60 types and finds one of 33 orbs", async () => {
  const types = Array.from({ length: 60 }, (_, at) => ({
    id: `type${at}`,
    name: `Type ${at}`,
    fields: [field("name")],
  }));
  await console.seedOrb({
    id: "sixty",
    name: "Sixty",
    modules: [{ id: "all", type: "CONTENT", schemas: types }],
  });
  await console.seedOrb({
    id: "modules",
    name: "Modules",
    modules: types.map((schema, at) => ({
      id: `m${at}`,
      type: "CONTENT",
      schemas: [schema, { ...schema, id: `other${at}` }],
    })),
  });
  for (let at = 0; at < 31; at++)
    await console.seedOrb({ id: `orb-${at}`, name: `Orb number ${at}`, modules: [] });
  const page = await console.open("/orbs/sixty");
  for (const orb of ["sixty", "modules"]) {
    if (orb !== "sixty") await page.goto(`${console.platform.origin}/console/orbs/${orb}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    const navigation = await console.navigation(page);
    await navigation.getByRole("searchbox", { name: "Filter the content types" }).waitFor();
    if (orb === "sixty") {
      const height = await page.evaluate("document.querySelector('.side').scrollHeight");
      expect(height).toBeLessThan(1_100);
      await inspect(page, "comfort-sixty");
      await navigation.getByRole("button", { name: "Show all 60" }).click();
      await expect.poll(() => navigation.getByRole("link", { name: /^Type/ }).count()).toBe(60);
      await navigation.getByRole("button", { name: "Show fewer" }).click();
    }
    await navigation.getByRole("searchbox").fill("Type 57");
    await expect
      .poll(() => navigation.getByRole("link", { name: /^Type/ }).count())
      .toBe(orb === "sixty" ? 1 : 2);
    await navigation.getByRole("link", { name: "Type 57" }).first().click();
    await page.getByRole("heading", { level: 1, name: "Type 57" }).waitFor();
    // The current type stays visible without the filter.
    const again = await console.navigation(page);
    await again.getByRole("searchbox").fill("");
    await again.getByRole("link", { name: "Type 57" }).first().waitFor();
  }
  await page.goto(`${console.platform.origin}/console`);
  await page.getByRole("searchbox", { name: "Search orbs by name or ID" }).fill("number 27");
  await page.getByRole("link", { name: "Orb number 27" }).waitFor();
  await expect.poll(() => page.getByRole("row").count()).toBe(2);
  await inspect(page, "comfort-home");
  await page.getByRole("searchbox").fill("nothing");
  await page.getByRole("button", { name: "Clear the search" }).click();
  await page.getByRole("link", { name: "Comfort", exact: true }).waitFor();
});

test("says nothing about a new item before the user has left its inputs or tried to save", async () => {
  await seed();
  const page = await console.open("/orbs/comfort/schema?at=/hooks");
  await page.getByRole("button", { name: "Add hook" }).click();
  await page.getByText("Not complete yet").waitFor();
  await expect.poll(() => page.locator(".schema-form .error").allTextContents()).toEqual([]);
  await expect.poll(() => page.locator(".schema-faults").count()).toBe(0);
  await inspect(page, "comfort-hook");
  await page.getByLabel("entry.created").focus();
  await page.keyboard.press("Tab");
  await expect.poll(() => page.locator(".schema-form .error").count()).toBeGreaterThan(0);
});

test("explains a slow list, shows its progress, can be stopped, and leads to the missing index", async () => {
  await console.seedOrb({
    ...JSON.parse(JSON.stringify(comfort).replaceAll("comfort", "slow")),
    name: "Slow",
  });
  // One request compares up to 10,000 entries, or up to 16 MiB of them.
  await seedMany("slow", "post", 280, (at) => ({
    title: `Post ${(at * 9) % 280}`,
    text: "t".repeat(64_000),
  }));
  const page = await console.open("/orbs/slow/entries/blog/post");
  await page
    .getByRole("row", { name: /Post \d/ })
    .first()
    .waitFor();
  // Hold the second request of the list, to see what people see meanwhile.
  let hold: (() => void) | undefined;
  const held = new Promise<void>((done) => {
    hold = done;
  });
  await page.route(/sort=title.*cursor=/, async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole("button", { name: "Title", exact: true }).click();
  await page.getByRole("heading", { name: "Comparing every entry…" }).waitFor();
  await page.getByText("The order by Title has no index").waitFor();
  await page.getByText(/\d+ of 280 entries compared/).waitFor();
  await page.getByRole("button", { name: "Stop" }).first().click();
  await page.getByRole("button", { name: "Continue" }).first().waitFor();
  hold?.();
  await inspect(page, "comfort-slow");
  await page.getByRole("link", { name: "Add an index to Title" }).click();
  await page.getByRole("heading", { level: 1, name: "Schema" }).waitFor();
  await page.getByText("Proposed an index on title").waitFor();
  await expect.poll(() => page.getByLabel("Index").inputValue()).toBe("ordered");
}, 240_000);
