import type { Page } from "playwright-core";
import { afterAll, beforeAll } from "vitest";
import { cookieName } from "../../shared/access/authenticate.ts";
import { PLATFORM_REALM } from "../../shared/access/authorize.ts";
import { adminToken, begin, call, complete } from "./auth.ts";
import { Authenticator } from "./authenticator.ts";
import { launchChromium, type TestBrowser, type TestPage } from "./browser.ts";
import { sharedPlatform, type TestPlatform, type TestPlatformOptions } from "./platform.ts";
import { type WarmContexts, type WarmOptions, warmContexts } from "./warm.ts";

export { faults } from "./axe.ts";

/** Folder for screenshots; undefined to take none. */
const screenshots = process.env.SCREENSHOTS;

/** The platform that the tests of a file use. */
export let platform: TestPlatform;
let chromium: TestBrowser;
let warm: WarmContexts;

/**
 * Starts one browser for all tests of a file, on the platform of the worker.
 * @param options give the file a platform of its own (see `sharedPlatform`)
 */
export function useSignin(options?: TestPlatformOptions): void {
  const own = options === undefined ? undefined : { link: true, ...options };
  beforeAll(async () => {
    [platform, chromium] = await Promise.all([sharedPlatform(own), launchChromium()]);
    warm = warmContexts(chromium, platform.origin);
  });
  afterAll(async () => {
    if (own !== undefined) await warm?.close();
    await chromium?.[Symbol.asyncDispose]();
  });
}

/** A page whose errors and requests are recorded. */
export interface Watched extends TestPage, AsyncDisposable {
  /** Errors on the console. */
  errors: string[];
  /** Hosts of all requests. */
  hosts: Set<string>;
}

/**
 * Opens a page without cookies, storage and permissions. Each page of a test has its own.
 * @param options.bypassCSP and all other options of contexts: the page has a context of its own
 */
export async function open(
  options: WarmOptions & { bypassCSP?: boolean; javaScriptEnabled?: boolean } = {},
): Promise<Watched> {
  const { bypassCSP, javaScriptEnabled, ...plain } = options;
  const isPlain = bypassCSP === undefined && javaScriptEnabled === undefined;
  const opened = isPlain ? await warm.page(plain) : await chromium.page(options);
  // This limit is shorter than a test's time limit, so that the error names the missing element.
  opened.page.setDefaultTimeout(30_000);
  const errors: string[] = [];
  const hosts = new Set<string>();
  opened.page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") errors.push(message.text());
  });
  opened.page.on("pageerror", (error) => errors.push(String(error)));
  opened.page.on("request", (request) => {
    if (request.url().startsWith("http")) hosts.add(new URL(request.url()).host);
  });
  const close = () => (isPlain ? warm.release(opened.page) : opened.page.context().close());
  return { ...opened, errors, hosts, [Symbol.asyncDispose]: close };
}

/** Takes a screenshot if SCREENSHOTS names a folder. */
export async function look(page: Page, name: string): Promise<void> {
  if (screenshots !== undefined)
    await page.screenshot({ path: `${screenshots}/${name}.png`, fullPage: true });
}

/** Creates an invitation as the platform's admin. */
export async function invite(realm = "auth", role = "user"): Promise<{ url: string; token: string }> {
  const { body } = await call(platform, "POST", `/api/${realm}/invitations`, {
    token: await adminToken(platform),
    body: realm === "_auth" ? undefined : { role },
  });
  return body;
}

/** Waits for the page of the user's account, which follows a sign-in. It shows the name of the user. */
export async function signedIn(page: Page): Promise<void> {
  await page.locator("#who").waitFor();
  await page.waitForURL(
    (url) => url.pathname.startsWith("/console/account/") && !url.searchParams.has("after"),
  );
}

/** Presses the button of a dialog that asks for confirmation. */
export const confirmIn = (page: Page, action: string) =>
  page.getByRole("dialog").getByRole("button", { name: action, exact: true }).click();

export const error = (page: Pick<Page, "getByRole">) => page.getByRole("alert");
export const createButton = (page: Page) => page.getByRole("button", { name: "Create passkey" });
export const signInButton = (page: Page) =>
  page.getByRole("button", { name: /Sign in with a passkey|Confirm with your passkey/ });
export const signinUrl = () => `${platform.origin}/api/auth/signin`;
export const accountUrl = (realm = "auth") => `${platform.origin}/console/account/${realm}`;

/**
 * Leaves the page and forgets its sessions, as a browser does that is closed. The page has to go first: a request that
 * it still sends would be refused without a cookie, and the browser would report that as an error.
 */
export async function leave(page: Page): Promise<void> {
  await page.goto("about:blank");
  await page.context().clearCookies();
}

/** A page whose authenticator has the passkey of an account. */
export interface WithPasskey extends Watched {
  /** The token of the session that the registration began. */
  token: string;
  /** Begins another session over HTTP. Afterwards, the passkey of the page counts too low. @returns the token */
  again(): Promise<string>;
}

/**
 * Opens a page whose authenticator has the passkey of a new account. The person registered over HTTP, in the name of the
 * same browser.
 * @param account the set of accounts, `auth` unless it says otherwise, the role, and a name
 * The page itself is not signed in.
 */
export async function withPasskey(
  options: WarmOptions = {},
  { realm = "auth", role = "user", name }: { realm?: string; role?: string; name?: string } = {},
): Promise<WithPasskey> {
  const opened = await open(options);
  const { page, cdp, authenticatorId = "" } = opened;
  const device = new Authenticator(platform.origin);
  const base = `/api/${realm}`;
  const { token: invited } = await invite(realm, role);
  const body = { invite: invited, ...(name === undefined ? {} : { name }) };
  const { sessionId, publicKey } = await begin(platform, base, { body });
  const agent = { "user-agent": await page.evaluate<string>("navigator.userAgent") };
  const done = await complete(platform, base, sessionId, device.create(publicKey), agent);
  const [passkey] = device.passkeys;
  if (done.status !== 200 || passkey === undefined) throw new Error(`registering answered ${done.status}`);
  await cdp.send("WebAuthn.addCredential", {
    authenticatorId,
    credential: {
      credentialId: passkey.id.toString("base64"),
      isResidentCredential: true,
      rpId: passkey.rpId,
      privateKey: passkey.key.export({ format: "der", type: "pkcs8" }).toString("base64"),
      userHandle: passkey.userHandle.toString("base64"),
      signCount: passkey.counter,
    },
  });
  const again = async () => {
    const asked = await begin(platform, base);
    return (await complete(platform, base, asked.sessionId, device.get(asked.publicKey), agent)).body.token;
  };
  return { ...opened, token: done.body.token, again };
}

/** Returns the cookie of a session. @param realm as in addresses of the console: `platform`, `auth` or the id of an orb */
export function sessionCookie({ settings: { publicUrl } }: TestPlatform, realm: string, value: string) {
  const place = { domain: new URL(publicUrl).hostname, path: "/api" };
  return {
    name: cookieName({ publicUrl }, realm),
    value,
    ...place,
    httpOnly: true,
    sameSite: "Lax",
  } as const;
}

/** Opens the page of the account of a new person, who is signed in (see {@link withPasskey}). */
export async function withAccount(...parameters: Parameters<typeof withPasskey>): Promise<WithPasskey> {
  const opened = await withPasskey(...parameters);
  const { page, token } = opened;
  const realm = parameters[1]?.realm ?? "auth";
  const name = realm === "_auth" ? PLATFORM_REALM : realm;
  await page.context().addCookies([sessionCookie(platform, name, token)]);
  await page.goto(accountUrl(name));
  await signedIn(page);
  return opened;
}
