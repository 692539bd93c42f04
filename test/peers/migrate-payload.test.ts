/**
 * Moves the content of a Payload into an orb, with the script of the guide. Outside of `.ci/run`, because it installs
 * Payload: `npm test -- test/peers`. `RECORD=1` writes the export that the test in `test/contract` moves.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { adminToken } from "../support/auth.ts";
import { expectPayload } from "../support/migrated-payload.ts";
import { orbCommand } from "../support/orb-command.ts";
import { sharedPlatform } from "../support/platform.ts";
import { CONFIG, FILL } from "./payload-content.ts";
import { installPackages, run } from "./setup.ts";

const VERSION = "3.90.2";
const root = fileURLToPath(new URL("../..", import.meta.url));

/** Installs Payload, fills it, and writes its export. */
async function exported(dir: string): Promise<void> {
  mkdirSync(dir, { recursive: true });
  const own = ["payload", "@payloadcms/db-sqlite", "@payloadcms/richtext-lexical"];
  const dependencies = {
    ...Object.fromEntries(own.map((name) => [name, VERSION])),
    ...{ react: "19.2.7", "react-dom": "19.2.7", tsx: "4.22.4" },
  };
  await installPackages(dir, { name: "peer", version: "1.0.0", type: "module", dependencies }, []);
  for (const name of ["media", "data.db", "data.db-shm", "data.db-wal", "payload.jsonl"])
    rmSync(join(dir, name), { recursive: true, force: true });
  const guide = readFileSync(join(root, "docs/guides/move-in-from-payload.md"), "utf8");
  const script = /```ts\n([^`]*(?:`[^`]+`[^`]*)*)```/.exec(guide)?.[1] ?? "";
  const files = { "payload.config.ts": CONFIG, "fill.ts": FILL, "orb-export.ts": script };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  const env = {
    PAYLOAD_SECRET: "secret",
    DATABASE_URL: `file:${join(dir, "data.db")}`,
    MEDIA_DIR: join(dir, "media"),
  };
  const tsx = join(dir, "node_modules/tsx/dist/cli.mjs");
  for (const name of ["fill", "orb-export"]) await run(dir, name, process.execPath, [tsx, `${name}.ts`], env);
}

test("carries every type of field, languages, drafts, blocks, relationships and files", async () => {
  const dir = join(root, ".data/peers/payload-3");
  await exported(dir);
  const platform = await sharedPlatform();
  const token = await adminToken(platform);
  const orb = await orbCommand(platform.origin, token, {});
  const [file, files] = [join(dir, "payload.jsonl"), join(dir, "media")];
  const ran = await orb.run(
    "migrate-from",
    "payload",
    file,
    "payload",
    "--files",
    files,
    "--read",
    "public",
    "--json",
  );
  await expectPayload(platform, token, "payload", ran);
  const again = await orb.run(
    "migrate-from",
    "payload",
    file,
    "payload",
    "--files",
    files,
    "--read",
    "public",
    "--json",
  );
  expect(JSON.parse(again.out)).toMatchObject({ created: 0, updated: 0, differences: [] });
  if (process.env.RECORD === "1") copyFileSync(file, join(root, "test/fixtures/migrate-payload.jsonl"));
}, 900_000);
