/** The browser of a page's reader: the instructions of pages that concern it. */
import type { Page } from "playwright-core";
import { launchChromium, type TestBrowser } from "../support/browser.ts";
import type { Stage } from "../support/guide.ts";

let chromium: Promise<TestBrowser> | undefined;

/** Closes the browser that all readers share. */
export async function closeBrowser(): Promise<void> {
  await (await chromium)?.[Symbol.asyncDispose]();
}

export interface Visitor {
  actions: NonNullable<Stage["actions"]>;
  /** Runs a script on a page of the platform, with the session of a user of the shared realm. */
  run(script: string, path: string, token: string | undefined): Promise<void>;
}

/** @param sites origins of other web servers that pages name, and where the test serves them */
export function visitor(origin: string, sites: Readonly<Record<string, string>>): Visitor {
  let page: Page | undefined;
  const opened = (): Page => {
    if (page === undefined) throw new Error("no page is open");
    return page;
  };
  return {
    actions: {
      /** `open URL`: opens a page in a browser with passkeys, or opens it again. */
      open: async (url) => {
        chromium ??= launchChromium();
        page ??= (await (await chromium).page()).page;
        await page.goto(sites[url] ?? url);
      },
      /** `click NAME`: chooses a button. */
      click: (name) => opened().getByRole("button", { name, exact: true }).click(),
      /** `fill LABEL=TEXT`: types into a field. */
      fill: (argument) => {
        const [label = "", text = ""] = argument.split("=");
        return opened().getByLabel(label).fill(text);
      },
      /** Waits until the page shows a text. */
      shows: (text) => opened().getByText(text, { exact: true }).waitFor({ timeout: 30_000 }),
    },
    async run(script, path, token) {
      chromium ??= launchChromium();
      ({ page } = await (await chromium).page({ authenticator: false }));
      if (token !== undefined) {
        const cookie = { name: "session_auth", value: token, url: origin, httpOnly: true };
        await page.context().addCookies([{ ...cookie, sameSite: "Lax" }]);
      }
      await page.goto(`${origin}${path}`);
      await page.evaluate(`(async () => { ${script} })()`);
    },
  };
}
