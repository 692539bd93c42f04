/**
 * Moves what Directus 12.4.0 answered into an orb with the command `orb migrate-from`. The answers are those of the test
 * in `test/peers`, which records them.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { adminToken } from "../support/auth.ts";
import { expectDirectus } from "../support/migrated-directus.ts";
import { orbCommand } from "../support/orb-command.ts";
import { sharedPlatform } from "../support/platform.ts";
import { serveRecorded } from "../support/recorded.ts";

const SECRET = "recorded";
let directus: Awaited<ReturnType<typeof serveRecorded>>;

beforeAll(async () => {
  directus = await serveRecorded("migrate-directus", SECRET);
});
afterAll(() => directus.stop());

test("carries every type of field, languages, states, drafts, relations of all kinds and files", async () => {
  const platform = await sharedPlatform();
  const token = await adminToken(platform);
  const orb = await orbCommand(platform.origin, token, { SOURCE_TOKEN: SECRET });
  const ran = await orb.run("migrate-from", "directus", directus.url, "recorded-directus", "--json");
  await expectDirectus(platform, token, "recorded-directus", ran);
  expect([...directus.missed]).toEqual([]);
}, 120_000);
