/**
 * Moves a running Directus into an orb. Outside of `.ci/run`, because it installs Directus: `npm test -- test/peers`.
 * `RECORD=1` writes the answers that the test in `test/contract` serves.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { adminToken } from "../support/auth.ts";
import { expectDirectus } from "../support/migrated-directus.ts";
import { type OrbCommand, orbCommand } from "../support/orb-command.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { startEmpty } from "./directus.ts";
import { fillDirectus } from "./directus-content.ts";
import { startRecorder } from "./recorder.ts";

let platform: TestPlatform;
let token: string;
let orb: OrbCommand;
let peer: Awaited<ReturnType<typeof startEmpty>>;
let recorder: Awaited<ReturnType<typeof startRecorder>>;

const root = fileURLToPath(new URL("../..", import.meta.url));
const CARRIED = new Set(["directus_files", "directus_folders", "directus_users"]);
/** Members of collections, fields and relations that no migration reads. */
const UNREAD = new Set([
  ...["id", "name", "table", "data_type", "comment", "display", "display_options", "translations", "icon"],
  ...["color", "numeric_precision", "is_generated", "generation_expression", "is_indexed", "searchable"],
  ...["hidden", "readonly", "foreign_key_column", "foreign_key_table", "sort", "item_duplication_fields"],
  ...["accountability", "collapse", "preview_url", "sql", "constraint_name", "on_update", "on_delete"],
  ...["column", "foreign_key_schema", "one_deselect_action"],
]);

/** Leaves out the collections of Directus itself that no migration reads, and members without value. */
function shorten(path: string, body: unknown): unknown {
  if (!/^\/(?:collections|fields|relations)$/.test(path)) return body;
  const { data } = body as { data: { collection: string }[] };
  const kept = data.filter(
    ({ collection }) => !collection.startsWith("directus_") || CARRIED.has(collection),
  );
  const isRead = (name: string) => name === "" || !UNREAD.has(name);
  return JSON.parse(
    JSON.stringify({ data: kept }, (name, value) => (isRead(name) ? (value ?? undefined) : undefined)),
  );
}

beforeAll(async () => {
  peer = await startEmpty(join(root, ".data/peers/directus-12"));
  recorder = await startRecorder(peer.url, shorten);
  platform = await sharedPlatform();
  token = await adminToken(platform);
  orb = await orbCommand(platform.origin, token, { SOURCE_TOKEN: peer.token });
  await fillDirectus(peer.url, peer.token);
}, 900_000);

afterAll(async () => {
  await recorder?.stop();
  await peer?.stop();
});

test("carries every type of field, languages, states, drafts, relations of all kinds and files", async () => {
  const ran = await orb.run("migrate-from", "directus", recorder.url, "direct", "--json");
  recorder.save(join(root, "test/fixtures/migrate-directus.json"));
  await expectDirectus(platform, token, "direct", ran);
}, 300_000);

test("changes nothing when it is run again, and refuses a wrong token", async () => {
  const again = await orb.run("migrate-from", "directus", peer.url, "direct", "--json");
  expect(JSON.parse(again.out)).toMatchObject({ created: 0, updated: 0, differences: [] });
  const other = await orbCommand(platform.origin, token, { SOURCE_TOKEN: "wrong" });
  const refused = await other.run("migrate-from", "directus", peer.url, "never");
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("answered with the status 40")]);
}, 300_000);
