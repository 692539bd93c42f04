/**
 * Moves a running Strapi into an orb. Outside of `.ci/run`, because it installs Strapi: `npm test -- test/peers`.
 * `RECORD=1` writes the answers that the test in `test/contract` serves.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { adminToken } from "../support/auth.ts";
import { expectStrapi } from "../support/migrated-strapi.ts";
import { type OrbCommand, orbCommand } from "../support/orb-command.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { startRecorder } from "./recorder.ts";
import { startEmpty } from "./strapi.ts";
import { fillStrapi, PROJECT } from "./strapi-content.ts";

let platform: TestPlatform;
let token: string;
let orb: OrbCommand;
let peer: Awaited<ReturnType<typeof startEmpty>>;
let recorder: Awaited<ReturnType<typeof startRecorder>>;

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Leaves out the content types of Strapi itself, except those of files and users. */
function shorten(path: string, body: unknown): unknown {
  if (path !== "/api/content-type-builder/content-types") return body;
  const { data } = body as { data: { uid: string }[] };
  return { data: data.filter(({ uid }) => /^api::|::upload\.file$|users-permissions\.user$/.test(uid)) };
}

beforeAll(async () => {
  peer = await startEmpty(join(root, ".data/peers/strapi-5"), PROJECT);
  recorder = await startRecorder(peer.url, shorten);
  platform = await sharedPlatform();
  token = await adminToken(platform);
  orb = await orbCommand(platform.origin, token, { SOURCE_TOKEN: peer.token });
  await fillStrapi(peer.url, peer.token);
}, 900_000);

afterAll(async () => {
  await recorder?.stop();
  await peer?.stop();
});

test("carries every type of attribute, languages, states, drafts, components, relations and files", async () => {
  const ran = await orb.run("migrate-from", "strapi", recorder.url, "strapi", "--json");
  recorder.save(join(root, "test/fixtures/migrate-strapi.json"));
  await expectStrapi(platform, token, "strapi", ran);
}, 300_000);

test("changes nothing when it is run again, and refuses a wrong token", async () => {
  const again = await orb.run("migrate-from", "strapi", peer.url, "strapi", "--json");
  expect(JSON.parse(again.out)).toMatchObject({ created: 0, updated: 0, differences: [] });
  const other = await orbCommand(platform.origin, token, { SOURCE_TOKEN: "wrong" });
  const refused = await other.run("migrate-from", "strapi", peer.url, "never");
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("answered with the status 40")]);
}, 300_000);
