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
 * Contexts for the pages of a test, one test after the other. The cache of a context holds the files of the console, and
 * its process has compiled them, so a page takes half the processor time of a page in a new context.
 */
export interface WarmContexts {
  /** Opens a page without cookies, storage and permissions. No other page of the running test shares them. */
  page(options?: WarmOptions): Promise<TestPage>;
  /** Whether a page belongs to these contexts. */
  has(page: Page): boolean;
  /** Closes a page, or all pages of a test. The next test can open pages in their contexts. */
  release(page?: Page): Promise<void>;
  /** Closes the contexts. Only a file with a platform of its own needs this. */
  close(): Promise<void>;
}

interface Warm {
  readonly context: BrowserContext;
  /** The process ends with the last page of the site, so this page stays open. */
  readonly keeper: Page;
  isUsed: boolean;
}

/** The contexts of this worker, by the origin of the platform. The files of a worker share both. */
const opened = new Map<string, Warm[]>();

/** Returns the contexts for the pages of a platform. They stay open for the next files of the worker. */
export function warmContexts(chromium: TestBrowser, origin: string): WarmContexts {
  const contexts = opened.get(origin) ?? [];
  opened.set(origin, contexts);

  async function start(): Promise<Warm> {
    const context = await chromium.browser.newContext();
    const keeper = await context.newPage();
    await keeper.goto(`${origin}/api/health`);
    const warm = { context, keeper, isUsed: true };
    contexts.push(warm);
    return warm;
  }

  async function take(free: Warm): Promise<Warm> {
    free.isUsed = true;
    const { context, keeper } = free;
    await context.clearCookies();
    await context.clearPermissions();
    const cdp = await context.newCDPSession(keeper);
    await cdp.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
    await cdp.detach();
    return free;
  }

  return {
    async page({ viewport = DEFAULT_SIZE, colorScheme = "light", authenticator = true } = {}) {
      const free = contexts.find((one) => !one.isUsed);
      const { context, keeper } = free === undefined ? await start() : await take(free);
      // A page that the browser opens starts a process, and leaves it for that of the site with its first address.
      const opening = context.waitForEvent("page");
      await keeper.evaluate("void open('about:blank')");
      const made = await chromium.page({ context, page: await opening, authenticator });
      await made.page.setViewportSize(viewport);
      await made.page.emulateMedia({ colorScheme });
      return made;
    },
    has: (page) => contexts.some(({ context }) => context === page.context()),
    async release(page) {
      for (const warm of contexts) {
        if (page !== undefined && page.context() !== warm.context) continue;
        for (const one of warm.context.pages()) if (one !== warm.keeper) await one.close();
        warm.isUsed = false;
      }
    },
    async close() {
      opened.delete(origin);
      for (const { context } of contexts.splice(0)) await context.close();
    },
  };
}
