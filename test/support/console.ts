/** The console in a real browser: one platform, one browser and one signed-in admin for all tests of a file. */
import { basename } from "node:path";
import type { Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { serveProcess } from "../../scripts/host/process.ts";
import { PLATFORM_REALM } from "../../shared/access/authorize.ts";
import { adminToken, call, register } from "./auth.ts";
import { faults } from "./axe.ts";
import { launchChromium, type TestBrowser } from "./browser.ts";
import { sharedPlatform, type TestPlatform, type TestPlatformOptions } from "./platform.ts";
import { sessionCookie } from "./signin.ts";
import { type WarmContexts, warmContexts } from "./warm.ts";

/** Sizes of screens. */
const SIZES = { desktop: { width: 1280, height: 860 }, phone: { width: 390, height: 844 } } as const;
export const PHONE = SIZES.phone;

type Host = "workerd" | "node";
type Width = keyof typeof SIZES;
type Cookie = Parameters<ReturnType<Page["context"]>["addCookies"]>[0][number];

/**
 * The host and the browser width of test files that do not run on workerd with a desktop by default. All files together
 * cover both hosts and both widths. Files on workerd share the platform of their worker.
 */
const CHOSEN: Readonly<Record<string, readonly [Host, Width]>> = {
  "console-change-edit.test.ts": ["workerd", "phone"],
  "console-comfort.test.ts": ["node", "desktop"],
  "console-deleting.test.ts": ["workerd", "phone"],
  "console-entries.test.ts": ["node", "desktop"],
  "console-entry.test.ts": ["workerd", "phone"],
  "console-files.test.ts": ["node", "desktop"],
  "console-handlers.test.ts": ["workerd", "phone"],
  "console-path.test.ts": ["node", "phone"],
  "console-search.test.ts": ["node", "phone"],
  "console-schema.test.ts": ["node", "phone"],
};

/**
 * Returns the host and the width of the running file. PLATFORM_HOST (`workerd`, `node`) and CONSOLE_WIDTH (`desktop`,
 * `phone`) choose others.
 */
function combination(): { host: Host; width: Width } {
  const [host, width] = CHOSEN[basename(expect.getState().testPath ?? "")] ?? ["workerd", "desktop"];
  const { TEST_HOST, CONSOLE_WIDTH } = process.env;
  return {
    host: TEST_HOST === undefined ? host : TEST_HOST === "node" ? "node" : "workerd",
    width: CONSOLE_WIDTH === undefined ? width : CONSOLE_WIDTH === "phone" ? "phone" : "desktop",
  };
}

/**
 * Chromium reports each failed request as an error. Tests may send invalid input on purpose, and take an entry or a right
 * away while a form is open, which asks every few seconds. Other errors fail the test.
 */
const REFUSED_INPUT =
  /^Failed to load resource: .* status of ((409|412|422) |(403|404) .*\/editing\/[^ ]*\/(unsaved|presence)(\?|$))/;

interface OpenOptions {
  size?: { width: number; height: number };
  dark?: boolean;
  /** Whether the page needs a context that no other test uses, because it changes the context's clock. */
  alone?: boolean;
}

export interface Console {
  readonly platform: TestPlatform;
  /** Whether pages have the width of a phone. */
  readonly phone: boolean;
  /** Opens a page of a signed-in admin at a path below /console. Each page of a test has its own cookies and storage. */
  open(path?: string, options?: OpenOptions): Promise<Page>;
  /** Opens a page of a visitor who is not signed in. */
  visit(path?: string): Promise<Page>;
  /** Returns the navigation of a page. On a phone, opens it first. */
  navigation(page: Page): Promise<Locator>;
  /** Opens a page of a new user of an orb, who has this role and is signed in. */
  openAs(orb: string, role: string, path: string): Promise<Page>;
  /** Creates and publishes an orb. */
  seedOrb(document: object): Promise<void>;
  /** Creates an entry with the management API, and returns its id. */
  seedEntry(orb: string, body: object, publish?: boolean): Promise<string>;
  /** A bearer token of an admin, for requests of the test itself. */
  readonly token: string;
  /** Allows certain console errors in this test, such as those of a request that the platform refuses. */
  allow(pattern: RegExp): void;
}

/**
 * Starts the platform and the browser before the tests of a file, or of a `describe`. After each test, errors on the
 * console of a page fail the test.
 * @param options whether to start further processes of the platform. Give `{}` for a platform of its own to a file that
 *   looks at all of the platform. Without options, a file on workerd uses the platform of the worker.
 */
export function useConsole(options?: Pick<TestPlatformOptions, "hooks" | "streams">): Console {
  const { host, width } = combination();
  const chosen = SIZES[width];
  let platform: TestPlatform;
  let chromium: TestBrowser;
  let token: string;
  /** The session of the admin. */
  let admin: Cookie;
  const problems: string[] = [];
  const allowed: RegExp[] = [];
  const opened: Page[] = [];

  let warm: WarmContexts;
  let isOwn = false;

  async function newPage({ size = chosen, dark = false, alone = false }: OpenOptions = {}): Promise<Page> {
    const options = { viewport: size, colorScheme: dark ? "dark" : "light" } as const;
    const { page } = alone ? await chromium.page(options) : await warm.page(options);
    page.setDefaultTimeout(30_000);
    // The browser also reports violations of the Content-Security-Policy on the console.
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning")
        problems.push(`${message.text()} ${message.location().url}`);
    });
    page.on("pageerror", (error) => problems.push(String(error)));
    opened.push(page);
    return page;
  }

  /**
   * Registers a new account over HTTP, with a software authenticator. Tests of the sign-in page do this in the browser.
   * @returns the cookie of its session
   */
  async function session(realm: string, base: string, role?: string): Promise<Cookie> {
    const body = role === undefined ? {} : { body: { role } };
    const made = await call(platform, "POST", `${base}/invitations`, { token, ...body });
    expect(made.status).toBe(201);
    return sessionCookie(platform, realm, (await register(platform, base, made.body.token)).token);
  }

  beforeAll(async () => {
    const own = options === undefined ? undefined : { ...options, link: true };
    const needed = host === "node" ? { ...options, serve: serveProcess } : own;
    isOwn = needed !== undefined;
    [platform, chromium] = await Promise.all([sharedPlatform(needed), launchChromium()]);
    token = await adminToken(platform);
    admin = await session(PLATFORM_REALM, "/api/_auth");
    warm = warmContexts(chromium, platform.origin);
  });
  afterEach(async () => {
    for (const page of opened.splice(0)) if (!warm.has(page)) await page.context().close();
    await warm.release();
    const accepted = [REFUSED_INPUT, ...allowed.splice(0)];
    expect(problems.splice(0).filter((text) => !accepted.some((pattern) => pattern.test(text)))).toEqual([]);
  });
  afterAll(async () => {
    if (isOwn) await warm?.close();
    await chromium?.[Symbol.asyncDispose]();
  });

  return {
    get platform() {
      return platform;
    },
    phone: width === "phone",
    async open(path = "", options = {}) {
      const page = await newPage(options);
      await page.context().addCookies([admin]);
      await page.goto(`${platform.origin}/console${path}`);
      return page;
    },
    async visit(path = "") {
      const page = await newPage();
      await page.goto(`${platform.origin}/console${path}`);
      return page;
    },
    async navigation(page) {
      const navigation = page.getByRole("navigation", { name: "Navigation" });
      if (width === "phone" && !(await navigation.isVisible()))
        await page.getByRole("button", { name: "Open navigation" }).click();
      return navigation;
    },
    async openAs(orb, role, path) {
      const page = await newPage();
      await page.context().addCookies([await session(orb, `/api/${orb}`, role)]);
      await page.goto(`${platform.origin}/console${path}`);
      return page;
    },
    async seedOrb(document) {
      const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body: document });
      expect([made.status, made.body.errors]).toEqual([201, undefined]);
    },
    async seedEntry(orb, body, publish = true) {
      const path = `/api/admin/orbs/${orb}/entries${publish ? "?publish=true" : ""}`;
      const made = await call(platform, "POST", path, { token, body });
      expect([made.status, made.body.errors]).toEqual([201, undefined]);
      return made.body.id;
    },
    get token() {
      return token;
    },
    allow(pattern) {
      allowed.push(pattern);
    },
  };
}

/**
 * Checks a page in both colour schemes: no violation that axe knows, and nothing wider than the screen. Takes
 * screenshots if the variable SCREENSHOTS names a folder.
 */
export async function inspect(page: Page, name: string): Promise<void> {
  const folder = process.env.SCREENSHOTS;
  if (folder !== undefined) {
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await page.screenshot({ path: `${folder}/${name}-${colorScheme}.png` });
    }
    await page.emulateMedia({ colorScheme: "light" });
  }
  expect(await faults(page)).toEqual([]);
  await fits(page);
}

/** Checks that nothing is wider than the screen. */
export async function fits(page: Page): Promise<void> {
  const wide = await page.evaluate(`document.documentElement.scrollWidth <= innerWidth ? [] :
    [...document.querySelectorAll("main *")].filter((one) => one.getBoundingClientRect().right > innerWidth)
      .map((one) => one.outerHTML.slice(0, 200))`);
  expect(wide).toEqual([]);
}
