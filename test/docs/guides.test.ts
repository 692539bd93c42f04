/** Runs every command and request of the guides. `README.md` in this folder describes how pages steer it. */
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, expect, test } from "vitest";
import { freePort } from "../../scripts/process/ports.ts";
import { admin, call, complete, register, type SignedIn, signIn } from "../support/auth.ts";
import { Authenticator } from "../support/authenticator.ts";
import { startBroker, tempDir } from "../support/broker.ts";
import { Runner, root, type Stage } from "../support/guide.ts";
import { sharedPlatform, startPlatform, type TestPlatform } from "../support/platform.ts";
import { settings } from "../support/start.ts";
import { closeBrowser, visitor } from "./visitor.ts";

const GUIDES = "docs/guides";
const guides = readdirSync(join(root, GUIDES)).filter((name) => name.endsWith(".md"));
/** The pages that build the first application. Each continues where the one before it ended. */
const FIRST = ["first-orb", "first-content", "first-users", "first-page"].map(
  (name) => `${GUIDES}/${name}.md`,
);
/**
 * Pages that have a platform of their own, each of these groups: their orbs have ids of pages of the other group, they
 * look at the whole platform, or they send very many requests at once.
 */
const ALONE = [
  ["hooks-webhooks-and-schedules", "users-and-roles", "review-and-approve"],
  ["write-a-handler", "sell-a-limited-number", "sign-in-with-a-provider"],
].map((group) => group.map((name) => `${GUIDES}/${name}.md`));
const pages = ["README.md", ...guides.map((name) => `${GUIDES}/${name}`)].filter(
  (page) => ![...FIRST, ...ALONE.flat()].includes(page),
);

/** Pages that start the platform themselves. */
const STARTING = new Set(
  ["run-on-one-server", "run-on-servers", "cluster", "back-up-and-restore", "rotate-keys"].map(
    (name) => `${GUIDES}/${name}.md`,
  ),
);

/** Pages about a broker that is started elsewhere. */
const EXTERNAL = new Set(["run-on-servers", "deploy-to-workers"].map((name) => `${GUIDES}/${name}.md`));

/** Registers at a sign-in page, as a person with a browser would. */
function registered(origin: string, base: string, invite: string): Promise<SignedIn> {
  return register({ origin }, base, invite);
}

/**
 * The addresses, folders and instructions of every page.
 * @param sites origins of other web servers that the page names, and where the test serves them
 */
function stage(origin: string, more: Stage, sites: Readonly<Record<string, string>> = {}): Stage {
  const values: Record<string, string> = { ...more.values };
  const folders = tempDir("guide-folders");
  for (const name of ["backups", "data", "safe"]) mkdirSync(join(folders, name));
  const reader = visitor(origin, sites);
  let first: SignedIn | undefined;
  return {
    ...more,
    values,
    replace: {
      "http://localhost:8787": origin,
      "/backups/": `${folders}/backups/`,
      "/data/": `${folders}/data/`,
      "/safe/": `${folders}/safe/`,
      ...sites,
      ...more.replace,
    },
    actions: {
      ...reader.actions,
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
      /** `signup NAME /api/orb`: registers without an invitation; the token is `NAME=…`. */
      signup: async (argument) => {
        const [name = "", base = ""] = argument.split(" ");
        const authenticator = new Authenticator(origin);
        const { body } = await call({ origin }, "POST", `${base}/passkey/begin?signup=true`);
        const created = authenticator.create(body.publicKey);
        const done = await complete({ origin }, base, body.sessionId, created);
        expect(done.status, JSON.stringify(done.body)).toBe(200);
        values[name] = done.body.token;
      },
      /** Builds the client, as `npm pack` does, to this file. */
      client: async (file, { dir }) => {
        const entryPoints = [join(root, "shared/client/index.ts")];
        await build({ entryPoints, bundle: true, format: "esm", outfile: join(dir, file) });
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
      /** Ends everything that runs in the background, as Ctrl-C does. */
      stop: (_argument, runner) => runner.stop(),
      ...more.actions,
    },
    browser: (script, path) => reader.run(script, path, values.USER),
  };
}

afterAll(closeBrowser);

/** Runs a page that has no platform of its own. Returns the blocks that did not run, with the reason. */
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
    await using runner = new Runner(stage(`http://localhost:${env.PORT}`, { ...broker, env, replace }));
    await runner.run(page);
    return runner.notRun;
  }
  return runOn(await sharedPlatform({ streams: true }), page);
}

async function runOn(platform: TestPlatform, page: string): Promise<readonly string[]> {
  const { token } = await admin(platform);
  const { dataDir, port, streamsPort } = platform.settings;
  const env = { DATA_DIR: dataDir, PORT: String(port), STREAMS_PORT: String(streamsPort) };
  await using runner = new Runner(stage(platform.origin, { env, values: { TOKEN: token } }));
  await runner.run(page);
  return runner.notRun;
}

/** Prints the blocks that did not run. Each must have a reason. */
function tell(notRun: readonly string[]): void {
  for (const line of notRun) console.log(`not run: ${line}`);
  expect(notRun.every((line) => line.length > 0)).toBe(true);
}

test.concurrent("the first application: each page continues the one before it", async () => {
  const env = await settings();
  const port = await freePort();
  const replace = {
    "http://localhost:52012": `http://localhost:${env.STREAMS_PORT}`,
    "listen(5173": `listen(${port}`,
  };
  const site = { "http://localhost:5173": `http://localhost:${port}` };
  await using runner = new Runner(stage(`http://localhost:${env.PORT}`, { env, replace }, site));
  for (const page of FIRST) await runner.run(page);
  tell(runner.notRun);
}, 240_000);

test.concurrent.each(ALONE)(
  "%s, %s …: every command and request does what the pages say",
  async (...group) => {
    await using platform = await startPlatform({ streams: true, hooks: true });
    for (const page of group) tell(await runOn(platform, page));
  },
  240_000,
);

test.concurrent.each(pages)(
  "%s: every command and request does what the page says",
  async (page) => {
    tell(await runPage(page));
  },
  180_000,
);
