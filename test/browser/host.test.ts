/** The built host, as `npm run host` starts it: a person signs in and opens the console. */
import { expect, test } from "vitest";
import { launchChromium } from "../support/browser.ts";
import { runScript, settings } from "../support/start.ts";

test("the first admin registers, and every part of the console loads", async () => {
  const env = await settings();
  await using host = runScript("host", env);
  const [, invitation = ""] = await host.printed(/(http:\/\/\S+\/api\/_auth\/signin\?invite=\S+)/);
  await using chromium = await launchChromium();
  const { page } = await chromium.page();
  page.setDefaultTimeout(60_000);
  const problems: string[] = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("response", (response) => {
    if (response.status() >= 500) problems.push(`${response.status()} ${response.url()}`);
  });
  const origin = `http://localhost:${env.PORT}`;
  await page.goto(`${invitation}&return=%2Fconsole`);
  await page.getByRole("button", { name: "Create passkey" }).click();
  await page.waitForURL(`${origin}/console`);
  await page.getByRole("heading", { level: 1 }).waitFor();
  // Each section is a file that loads at its first visit.
  const links = page.getByRole("navigation").getByRole("link");
  const paths = await links.evaluateAll((all) => all.map((link) => link.getAttribute("href") ?? ""));
  expect(paths.length).toBeGreaterThan(2);
  for (const path of new Set(paths.filter((one) => one.startsWith("/console")))) {
    await page.goto(`${origin}${path}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
  }
  expect(problems).toEqual([]);
});
