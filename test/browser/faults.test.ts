/** What the other files of this folder rely on: `faults` finds faults in both colour schemes. */
import { expect, test } from "vitest";
import { faults } from "../support/axe.ts";
import { launchChromium } from "../support/browser.ts";

test("finds too little contrast in each colour scheme, beside colours that were readable on an earlier page", async () => {
  await using chromium = await launchChromium();
  const { page } = await chromium.page({ authenticator: false });
  const show = async (style: string, body: string) => {
    await page.setContent(
      `<!doctype html><html lang="en"><title>Page</title><meta name="color-scheme" content="light dark">
      <style>body { background: #fff; color: #000 } ${style}
      @media (prefers-color-scheme: dark) { body { background: #000; color: #fff } .dim { color: #333 } }</style>
      <main><h1>Page</h1>${body}</main>`,
    );
    return (await faults(page)).map((fault) => fault.slice(0, fault.indexOf(" <")));
  };
  expect(await show("", "<p>Text</p><p>More</p>")).toEqual([]);
  expect(await show("", "<p>Text</p><p class='dim'>Dim</p>")).toEqual(["dark: color-contrast"]);
  expect(await show(".dim { color: #ccc }", "<p>Text</p><p class='dim'>Dim</p>")).toEqual([
    "dark: color-contrast",
    "light: color-contrast",
  ]);
  // The same colour of text on another background, also through a part that is clear in half.
  expect(await show("div { background: #111 }", "<div><p>Text</p></div>")).toEqual(["light: color-contrast"]);
  expect(await show("div { opacity: 0.2 }", "<div><p>Text</p></div>")).toHaveLength(2);
  // A link in the colour of a heading that passed, in a text of nearly that colour.
  const link = "<p class='red'>Red</p><p>A text with <a href='/'>a link</a> inside.</p>";
  expect(await show(".red, a { color: #300; text-decoration: none }", link)).toContain(
    "light: link-in-text-block",
  );
  expect(await show("", "<p>Text</p><img src='data:,'>")).toEqual(["light: image-alt"]);
});
