import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  type CDPSession,
  chromium,
  type Page,
} from "playwright-core";
import { findChromium } from "../../scripts/tools/chromium.ts";

/** A browser. {@link TestBrowser.page} opens pages with an authenticator. */
export interface TestBrowser extends AsyncDisposable {
  readonly browser: Browser;
  /**
   * Opens a page with its own passkeys, in a separate context without cookies.
   * @param options.context opens the page in this context, which has been opened before
   * @param options.page prepares this page of that context instead of opening one
   */
  page(
    options?: BrowserContextOptions & { authenticator?: boolean; context?: BrowserContext; page?: Page },
  ): Promise<TestPage>;
}

/** A page and its virtual authenticator. */
export interface TestPage {
  readonly page: Page;
  readonly cdp: CDPSession;
  /** Id of the virtual authenticator; undefined without one. */
  readonly authenticatorId: string | undefined;
  /** Returns the passkeys that the authenticator stores. */
  credentials(): Promise<{ credentialId: string; isResidentCredential: boolean; signCount: number }[]>;
  /** Sets whether the simulated user confirms requests (default true). With false, the user does not react. */
  setPresence(present: boolean): Promise<void>;
  /** Sets whether the authenticator verifies the user, as with a fingerprint (default true). */
  setVerified(verified: boolean): Promise<void>;
}

const FLAGS = [
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--no-first-run",
  "--disable-dev-shm-usage",
  // Pages of one context and site share a process, which has already compiled their scripts.
  "--process-per-site",
];

/** The browser of this worker. Starting one takes about two seconds, so all files of a worker use the same. */
let running: Promise<Browser> | undefined;

/** Starts a real headless Chromium. It ends with its worker. */
async function start(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined)
    throw new Error("There is no Chromium: run the tests with npm test, which installs one.");
  // Chromium's sandbox does not work for root, which many containers use.
  const args = process.getuid?.() === 0 ? ["--no-sandbox", ...FLAGS] : FLAGS;
  return chromium.launch({ executablePath, headless: true, args });
}

/** Opens the worker's Chromium. Use it with `await using`: at its end, the pages that were opened with it close. */
export async function launchChromium(): Promise<TestBrowser> {
  running ??= start();
  const browser = await running;
  const contexts: BrowserContext[] = [];
  return {
    browser,
    async page({ authenticator = true, context: given, page: prepared, ...options } = {}) {
      const context = given ?? (await browser.newContext(options));
      if (given === undefined) contexts.push(context);
      const page = prepared ?? (await context.newPage());
      const cdp = await context.newCDPSession(page);
      let authenticatorId: string | undefined;
      if (authenticator) {
        await cdp.send("WebAuthn.enable");
        ({ authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", {
          options: {
            protocol: "ctap2",
            transport: "internal",
            hasResidentKey: true,
            hasUserVerification: true,
            isUserVerified: true,
            automaticPresenceSimulation: true,
          },
        }));
      }
      const id = () => {
        if (authenticatorId === undefined) throw new Error("this page has no authenticator");
        return authenticatorId;
      };
      return {
        page,
        cdp,
        authenticatorId,
        async credentials() {
          return (await cdp.send("WebAuthn.getCredentials", { authenticatorId: id() })).credentials;
        },
        async setPresence(enabled) {
          await cdp.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId: id(), enabled });
        },
        async setVerified(isUserVerified) {
          await cdp.send("WebAuthn.setUserVerified", { authenticatorId: id(), isUserVerified });
        },
      };
    },
    async [Symbol.asyncDispose]() {
      for (const context of contexts) await context.close();
    },
  };
}
