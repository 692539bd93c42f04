/**
 * Moves an export of Payload 3.90.2 into an orb with the command `orb migrate-from`. The test in `test/peers` has written
 * it with the script of the guide.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { adminToken } from "../support/auth.ts";
import { expectPayload, PNG } from "../support/migrated-payload.ts";
import { orbCommand } from "../support/orb-command.ts";
import { sharedPlatform } from "../support/platform.ts";

const EXPORT = new URL("../fixtures/migrate-payload.jsonl", import.meta.url).pathname;

test("carries every type of field, languages, drafts, blocks, relationships and files", async () => {
  const platform = await sharedPlatform();
  const token = await adminToken(platform);
  const orb = await orbCommand(platform.origin, token);
  const files = join(orb.folder, "media");
  mkdirSync(files);
  for (const name of ["lamp", "chair"]) writeFileSync(join(files, `${name}.png`), PNG);
  const move = () =>
    orb.run(
      "migrate-from",
      "payload",
      EXPORT,
      "recorded-payload",
      "--files",
      files,
      "--read",
      "public",
      "--json",
    );
  await expectPayload(platform, token, "recorded-payload", await move());
  expect(JSON.parse((await move()).out)).toMatchObject({ created: 0, updated: 0, differences: [] });
}, 120_000);
