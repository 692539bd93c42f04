/** `orb login`, as a person runs it: the real command, a real browser and a passkey. */
import { type ChildProcess, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { tempDir } from "../support/broker.ts";
import { orbProgram } from "../support/orb-command.ts";
import { pause } from "../support/races.ts";
import {
  faults,
  look,
  platform,
  sessionCookie,
  signInButton,
  useSignin,
  type WithPasskey,
  withPasskey,
} from "../support/signin.ts";

useSignin();

const COMMAND = await orbProgram();

/** The home of a person, with a browser that only notes the address that it should open. */
function newHome() {
  const home = tempDir("home");
  mkdirSync(home, { recursive: true });
  const opened = join(home, "opened");
  const browser = join(home, "browser");
  writeFileSync(browser, `#!/bin/sh\nprintf %s "$1" > "${opened}.tmp" && mv "${opened}.tmp" "${opened}"\n`);
  chmodSync(browser, 0o755);
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const env = { PATH, NODE_COMPILE_CACHE, HOME: home, XDG_CONFIG_HOME: join(home, "config") };
  return {
    env,
    folder: join(home, "config", "orb"),
    /** Starts the command. */
    orb(args: readonly string[], more: Record<string, string> = { BROWSER: browser }): Running {
      return running(
        spawn(process.execPath, [COMMAND, "--url", platform.origin, ...args], {
          cwd: home,
          env: { ...env, ...more },
        }),
      );
    },
    /** The address that the command gave to the browser. */
    async opened(): Promise<string> {
      while (!existsSync(opened)) await pause(10);
      const address = readFileSync(opened, "utf8");
      rmSync(opened);
      return address;
    },
  };
}

interface Running {
  child: ChildProcess;
  /** Resolves when the command has printed this. */
  printed(pattern: RegExp): Promise<RegExpExecArray>;
  done: Promise<{ code: number | null; out: string; err: string }>;
}

function running(child: ChildProcess): Running {
  const text = { out: "", err: "" };
  child.stdout?.on("data", (part) => {
    text.out += part;
  });
  child.stderr?.on("data", (part) => {
    text.err += part;
  });
  return {
    child,
    async printed(pattern) {
      for (;;) {
        const found = pattern.exec(text.err);
        if (found !== null) return found;
        await pause(10);
      }
    },
    done: new Promise((resolve) => child.once("close", (code) => resolve({ code, ...text }))),
  };
}

/** A page whose authenticator has the passkey of a new account, and which is signed in. */
async function personOf(...parameters: Parameters<typeof withPasskey>): Promise<WithPasskey> {
  const opened = await withPasskey(...parameters);
  const realm = parameters[1]?.realm ?? "auth";
  await opened.page.context().addCookies([sessionCookie(platform, realm, opened.token)]);
  return opened;
}

const allowButton = (page: Page) => page.getByRole("button", { name: "Allow" });
const heading = (page: Page, name: string) => page.getByRole("heading", { name, exact: true }).waitFor();

/** Sends a request to a loopback address with headers that `fetch` does not allow. */
function answerOf(url: string, headers: Record<string, string> = {}): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.once("error", reject).end();
  });
}

test("a platform admin signs in, works with the token, and signs out", async () => {
  const name = "Ada Lovelace";
  await using person = await withPasskey({}, { realm: "_auth", role: "owner", name });
  const { page, errors } = person;
  const home = newHome();
  const login = home.orb(["login"]);
  const start = await home.opened();
  expect(start).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/start$/);

  await page.goto(start);
  await signInButton(page).click();
  await heading(page, "Allow orb to act as you?");
  const text = ((await page.locator("main").textContent()) ?? "").replaceAll(/\s+/g, " ");
  expect(text).toContain(`asks to act as your account ${name}.`);
  expect(text).toMatch(/In all applications, it may Read.* Write.* Publish.* Manage/);
  expect(text).toContain("after 30 days");
  await allowButton(page).and(page.locator(":enabled")).waitFor();
  await look(page, "program-light");
  expect(await faults(page)).toEqual([]);
  await allowButton(page).click();
  await heading(page, "You are signed in");
  expect(page.url()).toBe(`${platform.origin}/api/_auth/signin/program?result=done`);
  await look(page, "program-done");

  const { code, out } = await login.done;
  const [file = ""] = readdirSync(home.folder);
  const path = join(home.folder, file);
  expect({ code, out }).toEqual({
    code: 0,
    out: expect.stringMatching(
      new RegExp(
        `^You are signed in to ${platform.origin} as ${name}\\.\nUntil \\d{4}-\\d\\d-\\d\\d, orb may read, write, publish, and manage in all orbs\\.\nThe token is in ${path.replaceAll(/[.%]/g, "\\$&")}\\. To end it, run: orb logout\n$`,
      ),
    ),
  });
  expect([statSync(path).mode & 0o777, statSync(home.folder).mode & 0o777]).toEqual([0o600, 0o700]);
  const stored = JSON.parse(readFileSync(path, "utf8")) as { token: string; id: string };
  expect(out).not.toContain(stored.token);

  // The stored token serves every command, and ORB_TOKEN takes precedence.
  expect(await home.orb(["token", "list"]).done).toMatchObject({
    code: 0,
    out: expect.stringMatching(
      new RegExp(`^${stored.id} {2}orb on \\S+ \\(this command's\\): read, .* in all orbs, until .*\n$`),
    ),
  });
  const other = home.orb(["token", "list"], { ORB_TOKEN: await adminToken(platform) });
  expect((await other.done).out).toContain("The account has no tokens.");

  // A second sign-in replaces the token.
  const again = home.orb(["login", "--no-browser"]);
  const [, address = ""] = await again.printed(/(http\S+signin\/program\S+)\n/);
  await page.goto(address);
  await allowButton(page).click();
  const field = page.getByLabel("Code for orb");
  await field.waitFor();
  await look(page, "program-code");
  expect(await faults(page)).toEqual([]);
  again.child.stdin?.write(`${await field.inputValue()}\n`);
  expect((await again.done).code).toBe(0);
  expect((await call(platform, "GET", "/api/_auth/me", { token: stored.token })).status).toBe(401);
  const { token } = JSON.parse(readFileSync(path, "utf8")) as { token: string };
  expect((await call(platform, "GET", "/api/_auth/me", { token })).status).toBe(200);

  expect(await home.orb(["logout"]).done).toMatchObject({
    code: 0,
    out: `You are signed out of ${platform.origin}. The token no longer works.\n`,
  });
  expect(readdirSync(home.folder)).toEqual([]);
  expect((await call(platform, "GET", "/api/_auth/me", { token })).status).toBe(401);
  expect(errors).toEqual([]);
});

test("a user of an orb signs in on a phone with few scopes, and can refuse", async () => {
  const body = {
    id: "login-club",
    uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
    modules: [],
  };
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
    token: await adminToken(platform),
    body,
  });
  expect(made.status).toBe(201);
  const size = { width: 320, height: 640 };
  await using person = await personOf({ viewport: size, colorScheme: "dark" }, { realm: "login-club" });
  const { page, errors } = person;
  const home = newHome();
  const refused = home.orb(["login", "--orb", "login-club"]);
  await page.goto(await home.opened());
  await heading(page, "Allow orb to act as you?");
  await look(page, "program-dark-320");
  expect(await page.evaluate("document.documentElement.scrollWidth")).toBe(320);
  expect(await faults(page)).toEqual([]);
  await page.getByRole("button", { name: "Refuse" }).click();
  await heading(page, "Nothing was allowed");
  expect(await refused.done).toMatchObject({
    code: 1,
    err: expect.stringContaining("You refused the sign-in in the browser. You are not signed in.\n"),
  });
  expect(existsSync(home.folder)).toBe(false);

  const login = home.orb(["login", "--orb", "login-club", "--scopes", "read", "--no-browser", "--json"]);
  const [, address = ""] = await login.printed(/(http\S+signin\/program\S+)\n/);
  await page.goto(address);
  const main = ((await page.locator("main").textContent()) ?? "").replaceAll(/\s+/g, " ");
  expect(main).toContain("In the application login-club, it may Read");
  expect(main).not.toContain("Manage");
  await allowButton(page).click();
  const field = page.getByLabel("Code for orb");
  await field.waitFor();
  login.child.stdin?.write(`${await field.inputValue()}\n`);
  const { code, out } = await login.done;
  expect([code, JSON.parse(out)]).toMatchObject([0, { scopes: [{ orb: "login-club", can: ["read"] }] }]);
  expect(await home.orb(["token", "list"]).done).toMatchObject({
    code: 1,
    err: expect.stringContaining("orb login --orb login-club --scopes read,write,publish,manage"),
  });
  expect((await home.orb(["logout"]).done).code).toBe(0);
  expect(errors).toEqual([]);
});

test("the command accepts no answer but that of its own sign-in", async () => {
  await using person = await personOf();
  const { page } = person;
  const home = newHome();
  const login = home.orb(["login", "--orb", "auth"]);
  const start = new URL(await home.opened());
  await page.goto(start.href);
  await heading(page, "Allow orb to act as you?");
  // A second program on this computer cannot use the address again.
  expect(await answerOf(start.href)).toBe(410);

  const asked = new URL(page.url()).searchParams;
  const callback = (parameters: Record<string, string>) =>
    `${asked.get("redirect")}?${new URLSearchParams({ iss: platform.origin, ...parameters })}`;
  const state = asked.get("state") ?? "";
  expect(await answerOf(callback({ code: "stolen" }))).toBe(400);
  expect(await answerOf(callback({ code: "stolen", state: `x${state}` }))).toBe(400);
  expect(await answerOf(callback({ code: "stolen", state }), { host: "evil.example" })).toBe(400);
  expect(await answerOf(callback({ error: "server_error", state }))).toBe(400);
  expect(await answerOf(`${start.origin}/favicon.ico`)).toBe(404);

  // A person who is signed in as another account changes it and comes back.
  await page.getByRole("link", { name: "Use another account" }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await heading(page, "Allow orb to act as you?");
  await allowButton(page).click();
  await heading(page, "You are signed in");
  expect((await login.done).code).toBe(0);

  // An answer of another platform ends the sign-in, and its code is sent nowhere.
  const mixed = newHome();
  const second = mixed.orb(["login", "--orb", "auth"]);
  const [, redirect = "", own = ""] = await second.printed(/redirect=([^&]+)&state=([\w-]+)\n/);
  const iss = "https://honest.example";
  const answer = new URLSearchParams({ code: "stolen", state: own, iss });
  expect(await answerOf(`${decodeURIComponent(redirect)}?${answer}`)).toBe(400);
  expect(await second.done).toMatchObject({
    code: 1,
    err: expect.stringContaining("sent your browser to the platform https://honest.example."),
  });

  // The code belongs to another sign-in, so its challenge does not match.
  const third = newHome().orb(["login", "--orb", "auth", "--no-browser"]);
  await third.printed(/Paste the code: /);
  third.child.stdin?.write(`${"A".repeat(43)}\n`);
  expect(await third.done).toMatchObject({
    code: 1,
    err: expect.stringContaining("The code is not valid, has expired or was used. Start the sign-in again."),
  });
  const fourth = newHome().orb(["login", "--orb", "auth", "--no-browser"]);
  await fourth.printed(/Paste the code: /);
  fourth.child.kill("SIGINT");
  expect(await fourth.done).toMatchObject({
    code: 1,
    err: expect.stringContaining("Stopped. You are not signed in."),
  });
});
