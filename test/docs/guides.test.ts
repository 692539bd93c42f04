/** Runs every command and request of the guides. `README.md` in this folder describes how pages steer it. */
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, expect, test } from "vitest";
import { admin, call, register, type SignedIn, signIn } from "../support/auth.ts";
import { startBroker, tempDir } from "../support/broker.ts";
import { launchChromium, type TestBrowser } from "../support/browser.ts";
import { Runner, root, type Stage } from "../support/guide.ts";
import { startPlatform } from "../support/platform.ts";
import { settings } from "../support/start.ts";

const GUIDES = "docs/guides";
const guides = readdirSync(join(root, GUIDES)).filter((name) => name.endsWith(".md"));
const pages = ["README.md", ...guides.map((name) => `${GUIDES}/${name}`)];

/** Pages that start the platform themselves. */
const STARTING = new Set(
  ["first-orb", "run-on-servers", "cluster", "back-up-and-restore", "rotate-keys"].map(
    (name) => `${GUIDES}/${name}.md`,
  ),
);

/** Pages about a broker that is started elsewhere. */
const EXTERNAL = new Set(["run-on-servers", "deploy-to-workers"].map((name) => `${GUIDES}/${name}.md`));

/** Registers at a sign-in page, as a person with a browser would. */
function registered(origin: string, base: string, invite: string): Promise<SignedIn> {
  return register({ origin }, base, invite);
}

/** The addresses, folders and instructions of every page. */
function stage(origin: string, more: Stage): Stage {
  const values: Record<string, string> = { ...more.values };
  const folders = tempDir("guide-folders");
  for (const name of ["backups", "data", "safe"]) mkdirSync(join(folders, name));
  let page: Page | undefined;
  let first: SignedIn | undefined;
  return {
    ...more,
    values,
    replace: {
      "http://localhost:8787": origin,
      "/backups/": `${folders}/backups/`,
      "/data/": `${folders}/data/`,
      "/safe/": `${folders}/safe/`,
      ...more.replace,
    },
    actions: {
      /** Registers the first platform admin. The token is the page's `TOKEN=…`. */
      "first-admin": async () => {
        const { body } = await call({ origin }, "GET", "/api/_auth/invitations");
        first = await registered(origin, "/api/_auth", body[0].token);
        values.TOKEN = first.token;
      },
      /** `register NAME /api/orb`: registers with the invitation of the last answer; the token is `NAME=…`. */
      register: async (argument, runner) => {
        const [name = "", base = ""] = argument.split(" ");
        const invite = (runner.answer as { token: string }).token;
        values[name] = (await registered(origin, base, invite)).token;
      },
      /** Stores the id of the admin's account for `restored`. */
      given: async () => {
        const { body, status } = await call({ origin }, "GET", "/api/_auth/me", {
          token: values.TOKEN ?? "",
        });
        expect(status).toBe(200);
        values.ACCOUNT = body.id;
      },
      /** Expects that the session has ended, and that the passkey opens the same account. */
      restored: async () => {
        const ended = await call({ origin }, "GET", "/api/_auth/me", { token: values.TOKEN ?? "" });
        expect(ended.status).toBe(401);
        if (first === undefined) throw new Error("no admin has registered");
        values.TOKEN = (await signIn({ origin }, "/api/_auth", first.authenticator)).token;
        const { body } = await call({ origin }, "GET", "/api/_auth/me", { token: values.TOKEN ?? "" });
        expect(body.id).toBe(values.ACCOUNT);
      },
      /** Waits until the browser's page shows a text. */
      shows: async (text) => {
        if (page === undefined) throw new Error("no page is open");
        await page.getByText(text, { exact: true }).waitFor({ timeout: 30_000 });
      },
      /** Ends everything that runs in the background, as Ctrl-C does. */
      stop: (_argument, runner) => runner.stop(),
      ...more.actions,
    },
    browser: async (script, path) => {
      page = await openPage(origin, values.USER, path);
      await page.evaluate(`(async () => { ${script} })()`);
    },
  };
}

let chromium: Promise<TestBrowser> | undefined;
afterAll(async () => (await chromium)?.[Symbol.asyncDispose]());

/** A page of the platform, in a browser with the session of a user of the shared realm. */
async function openPage(origin: string, token: string | undefined, path: string): Promise<Page> {
  chromium ??= launchChromium();
  const { page } = await (await chromium).page({ authenticator: false });
  if (token !== undefined) {
    const cookie = {
      name: "session_auth",
      value: token,
      url: origin,
      httpOnly: true,
      sameSite: "Lax" as const,
    };
    await page.context().addCookies([cookie]);
  }
  await page.goto(`${origin}${path}`);
  return page;
}

/** Runs a page. Returns the blocks that did not run, with the reason. */
async function runPage(page: string): Promise<readonly string[]> {
  await using external = EXTERNAL.has(page) ? await startBroker({ provisioned: false }) : undefined;
  const broker: Stage =
    external === undefined
      ? {}
      : {
          values: { DEPLOY_PASSWORD: "deploy", FN_PASSWORD: "fn", STREAMS_PASSWORD: "streams" },
          replace: { "wss://broker.example": external.wsUrl },
        };
  if (STARTING.has(page) || EXTERNAL.has(page)) {
    const env = await settings();
    const replace = {
      ...broker.replace,
      "http://localhost:52012": `http://localhost:${env.STREAMS_PORT}`,
    };
    await using runner = new Runner(page, stage(`http://localhost:${env.PORT}`, { ...broker, env, replace }));
    await runner.run();
    return runner.notRun;
  }
  await using platform = await startPlatform({ streams: true, hooks: page.includes("/hooks-") });
  const { token } = await admin(platform);
  const { dataDir, port, streamsPort } = platform.settings;
  const env = { DATA_DIR: dataDir, PORT: String(port), STREAMS_PORT: String(streamsPort) };
  await using runner = new Runner(page, stage(platform.origin, { env, values: { TOKEN: token } }));
  await runner.run();
  return runner.notRun;
}

test.concurrent.each(pages)(
  "%s: every command and request does what the page says",
  async (page) => {
    const notRun = await runPage(page);
    for (const line of notRun) console.log(`not run: ${line}`);
    expect(notRun.every((line) => line.length > 0)).toBe(true);
  },
  180_000,
);
