/**
 * Moves what Strapi 5.54.0 answered into an orb with the command `orb migrate-from`. The answers are those of the test in
 * `test/peers`, which records them.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { adminToken } from "../support/auth.ts";
import { expectStrapi } from "../support/migrated-strapi.ts";
import { orbCommand } from "../support/orb-command.ts";
import { sharedPlatform } from "../support/platform.ts";
import { serveRecorded } from "../support/recorded.ts";

const SECRET = "recorded";
let strapi: Awaited<ReturnType<typeof serveRecorded>>;

beforeAll(async () => {
  strapi = await serveRecorded("migrate-strapi", SECRET);
});
afterAll(() => strapi.stop());

test("carries every type of attribute, languages, states, drafts, components, relations and files", async () => {
  const platform = await sharedPlatform();
  const token = await adminToken(platform);
  const orb = await orbCommand(platform.origin, token, { SOURCE_TOKEN: SECRET });
  const ran = await orb.run("migrate-from", "strapi", strapi.url, "recorded-strapi", "--json");
  await expectStrapi(platform, token, "recorded-strapi", ran);
  expect([...strapi.missed]).toEqual([]);
}, 120_000);
