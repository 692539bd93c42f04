/**
 * Moves the content of a Payload into orbs: by its export, and from the running one. Outside of `.ci/run`, because it installs
 * Payload: `npm test -- test/peers`. `RECORD=1` writes what the test in `test/contract` moves.
 */
import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { adminToken } from "../support/auth.ts";
import { expectPayload } from "../support/migrated-payload.ts";
import { orbCommand } from "../support/orb-command.ts";
import { sharedPlatform } from "../support/platform.ts";
import { ACCOUNT, CONFIG, FILL, SERVE } from "./payload-content.ts";
import { startRecorder } from "./recorder.ts";
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
  const scripts = [...guide.matchAll(/```ts\n([^`]*(?:`[^`]+`[^`]*)*?)```/g)].map(
    ([, script = ""]) => script,
  );
  const [script = "", endpoint = ""] = scripts;
  const files = {
    ...{ "payload.config.ts": CONFIG, "fill.ts": FILL, "serve.ts": SERVE },
    ...{ "orb-export.ts": script, "orb-endpoint.ts": endpoint },
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
  for (const name of ["fill", "orb-export"])
    await run(dir, name, process.execPath, [tsxIn(dir), `${name}.ts`], envOf(dir));
}

const tsxIn = (dir: string) => join(dir, "node_modules/tsx/dist/cli.mjs");
const envOf = (dir: string) => ({
  PAYLOAD_SECRET: "secret",
  DATABASE_URL: `file:${join(dir, "data.db")}`,
  MEDIA_DIR: join(dir, "media"),
});

/** Starts the REST API of Payload, and signs in. */
async function served(dir: string) {
  const child = spawn(process.execPath, [tsxIn(dir), "serve.ts"], {
    cwd: dir,
    env: { ...process.env, ...envOf(dir) },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    said += part;
  });
  await expect.poll(() => /http:\/\/\S+/.exec(said)?.[0], { timeout: 60_000 }).toBeDefined();
  const url = /http:\/\/\S+/.exec(said)?.[0] ?? "";
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${url}/api/users/login`, {
    method: "POST",
    headers,
    body: JSON.stringify(ACCOUNT),
  });
  const { token } = (await answer.json()) as { token: string };
  return { url, token, stop: () => child.kill() };
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
  const running = await served(dir);
  const recorder = await startRecorder(running.url);
  try {
    const other = await orbCommand(platform.origin, token, { SOURCE_TOKEN: running.token });
    const ran = await other.run(
      ...["migrate-from", "payload", recorder.url, "running-payload", "--read", "public", "--json"],
    );
    await expectPayload(platform, token, "running-payload", ran);
    recorder.save(join(root, "test/fixtures/migrate-payload-live.json"));
  } finally {
    await recorder.stop();
    running.stop();
  }
}, 900_000);
