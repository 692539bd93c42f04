/**
 * The path of a person who has never seen the console: from the invitation of the first admin to a published orb with
 * three entries in two languages, an invited editor and a scheduled publication. The person uses only what is on the
 * screen.
 */
import type { Locator, Page } from "playwright-core";
import { expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { inspect, useConsole } from "../support/console.ts";

/** Maximum number of clicks for the whole path. Filling in an input does not count. */
const MOST_CLICKS = 15;
/** Timeout in milliseconds. The path takes longer than other tests. */
const TIMEOUT = 300_000;

const console = useConsole({});

test(
  "leads a newcomer from nothing to a published orb with an editor in few clicks",
  async () => {
    let clicks = 0;
    const click = async (target: Locator) => {
      clicks++;
      await target.click();
    };
    const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

    const choose = async (where: Page, name: string) =>
      click((await console.navigation(where)).getByRole("link", { name }));

    const page = await console.open();
    await page.getByRole("link", { name: /^Blank/ }).waitFor();
    await inspect(page, "path-empty");
    await click(page.getByRole("link", { name: /^Blank/ }));
    await page.getByLabel("Name").fill("Garden");
    await page.getByLabel("Languages").fill("en, de");
    await page.getByLabel("First content type").fill("Plant");
    await click(page.getByLabel("Separate accounts for this orb"));
    await click(button(page, "Create orb"));
    await page.getByRole("heading", { level: 1, name: "Garden" }).waitFor();

    await click(page.getByRole("link", { name: "Write the first entry" }));
    const plants = [
      ["Rose", "Rose"],
      ["Oak", "Eiche"],
      ["Ivy", "Efeu"],
    ] as const;
    for (const [at, [english, german]] of plants.entries()) {
      const title = page.getByRole("group", { name: "Title" });
      await title.getByLabel("English").fill(english);
      await title.getByLabel("German").fill(german);
      const last = at === plants.length - 1;
      if (last) {
        await click(page.locator("summary", { hasText: "Schedule" }));
        await page.getByLabel("Visible from").fill("2099-01-31T12:00");
      }
      await click(page.getByRole("button", { name: /publish/i }).first());
      await page.waitForURL(/\/plant\/(?!new$)[^/]+$/);
      if (!last) await click(page.getByRole("link", { name: "New entry" }));
    }

    await inspect(page, "path-scheduled");

    await choose(page, "People");
    await click(button(page, "Invite"));
    await page.getByRole("dialog").getByLabel("Role").selectOption("admin");
    await click(page.getByRole("dialog").getByRole("button", { name: "Create invitation" }));
    const link = page.getByRole("dialog").getByLabel("Link", { exact: true });
    const url = await link.inputValue();
    expect(clicks).toBeLessThanOrEqual(MOST_CLICKS);

    // The API works, and the scheduled entry does not show yet.
    for (const [language, names] of [
      ["en", ["Rose", "Oak"]],
      ["de", ["Rose", "Eiche"]],
    ] as const) {
      const path = `/api/garden/content?locale=${language}`;
      const { body } = await call(console.platform, "GET", path);
      expect(body.items.map((item: { values: { title: string } }) => item.values.title).sort()).toEqual(
        [...names].sort(),
      );
    }
    const editor = await console.visit();
    await editor.goto(url);
    await editor.getByRole("button", { name: "Create passkey" }).click();
    await editor.getByRole("heading", { level: 1, name: "Garden" }).waitFor();
    await choose(editor, "Plant");
    await editor.getByText("Ivy").first().waitFor();
    await inspect(editor, "path-list");
  },
  TIMEOUT,
);
