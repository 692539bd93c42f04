/**
 * Counts the clicks of an editor's tasks in the console and in the interfaces of other products. Outside of `.ci/run`,
 * because it installs them: `npm test -- test/peers/clicks`. It prints a table.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PLATFORM_REALM } from "../../../shared/access/authorize.ts";
import { adminToken, call, register } from "../../support/auth.ts";
import { launchChromium, type TestBrowser } from "../../support/browser.ts";
import { sharedPlatform } from "../../support/platform.ts";
import { sessionCookie } from "../../support/signin.ts";
import { type Counts, countTasks, tableOf } from "./count.ts";
import { directus } from "./directus.ts";
import { startOurs } from "./ours.ts";
import { pocketbase } from "./pocketbase.ts";
import { type RunningProduct, TASKS } from "./tasks.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
/** A first run installs a product. */
const TIMEOUT = 1_800_000;
const results: { name: string; version: string; counts: Partial<Counts> }[] = [];
let chromium: TestBrowser;

beforeAll(async () => {
  chromium = await launchChromium();
});
afterAll(async () => {
  await chromium[Symbol.asyncDispose]();
  // The table is the result of this file.
  process.stdout.write(`\n${tableOf(results)}\n`);
});

async function count(name: string, product: RunningProduct): Promise<void> {
  try {
    const { page } = await chromium.page({
      ...{ viewport: { width: 1280, height: 860 }, locale: "en-US", authenticator: false },
    });
    page.setDefaultTimeout(30_000);
    const counts = await countTasks(page, product);
    results.push({ name, version: product.version, counts });
    expect(Object.keys(counts)).toEqual(Object.keys(TASKS));
    await page.context().close();
  } finally {
    await product.stop();
  }
}

test(
  "does all tasks in the console",
  async () => {
    const platform = await sharedPlatform({ hooks: true, link: true });
    const token = await adminToken(platform);
    const invited = await call(platform, "POST", "/api/_auth/invitations", { token });
    const { token: session } = await register(platform, "/api/_auth", invited.body.token);
    const cookie = sessionCookie(platform, PLATFORM_REALM, session);
    const signIn = async (page: Parameters<RunningProduct["signIn"]>[0]) =>
      page.context().addCookies([cookie]);
    await count("Console", await startOurs({ platform, token, signIn }));
  },
  TIMEOUT,
);

test(
  "counts those of PocketBase",
  async () => count("PocketBase", await pocketbase.start(join(root, ".data/peers/pocketbase"))),
  TIMEOUT,
);

test(
  "counts those of Directus",
  async () => count("Directus", await directus.start(join(root, ".data/peers/directus-12"))),
  TIMEOUT,
);
