import type { BrowserContext, Page } from "playwright-core";
import type { TestBrowser, TestPage } from "./browser.ts";

/** What a page of a warm context can have of its own. */
export interface WarmOptions {
  viewport?: { width: number; height: number };
  colorScheme?: "dark" | "light";
  authenticator?: boolean;
}

/** The size that pages have without another one. */
const DEFAULT_SIZE = { width: 1280, height: 720 };

/**
 * A context for one page of each test, one test after the other. Its cache holds the files of the console, and its
 * process has compiled them, so a page takes half the processor time of a page in a new context.
 */
export interface WarmContext {
  /**
   * Opens a page without cookies, storage and permissions. Returns undefined if the running test already has a page in
   * this context.
   */
  page(options?: WarmOptions): Promise<TestPage | undefined>;
  /** Whether a page belongs to this context. */
  has(page: Page): boolean;
  /** Closes the page of a test. The next test can open one. */
  release(): Promise<void>;
}

/** Opens a context that stays open until the browser is disposed. */
export async function openWarm(chromium: TestBrowser, origin: string): Promise<WarmContext> {
  const { page: keeper, cdp } = await chromium.page({ authenticator: false });
  const context: BrowserContext = keeper.context();
  // The process ends with the last page of the site, so this page stays open.
  await keeper.goto(`${origin}/api/health`);
  let isUsed = false;
  return {
    async page({ viewport = DEFAULT_SIZE, colorScheme = "light", authenticator = true } = {}) {
      if (isUsed) return undefined;
      isUsed = true;
      await context.clearCookies();
      await context.clearPermissions();
      await cdp.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
      // A page that the browser opens starts a process, and leaves it for that of the site with its first address.
      const opening = context.waitForEvent("page");
      await keeper.evaluate("void open('about:blank')");
      const opened = await chromium.page({ context, page: await opening, authenticator });
      await opened.page.setViewportSize(viewport);
      await opened.page.emulateMedia({ colorScheme });
      return opened;
    },
    has: (page) => page.context() === context,
    async release() {
      for (const page of context.pages()) if (page !== keeper) await page.close();
      isUsed = false;
    },
  };
}
