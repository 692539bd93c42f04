/**
 * Moves an export of Payload 3.90.2, and what a running one answered, into orbs with the command `orb migrate-from`. The
 * test in `test/peers` has written the export with the script of the guide, and recorded the answers.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { adminToken } from "../support/auth.ts";
import { expectPayload, PNG } from "../support/migrated-payload.ts";
import { orbCommand } from "../support/orb-command.ts";
import { sharedPlatform } from "../support/platform.ts";
import { type RecordedAnswer, serveRecorded } from "../support/recorded.ts";

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

test("compares with what the source has at the end", async () => {
  const payload = await serveRecorded("migrate-payload-live", "recorded", (answers) => {
    const config = answers["/api/orb-config"];
    let reads = 0;
    // The command reads the configuration when it opens the source.
    const get = () => {
      if (++reads === 2) {
        const path = "/api/comments?depth=0&locale=all&sort=id&limit=100&page=1";
        const text = JSON.stringify(answers[path]).replace('"Nice"', '"Changed since"');
        answers[path] = JSON.parse(text) as RecordedAnswer;
      }
      return config;
    };
    Object.defineProperty(answers, "/api/orb-config", { get });
  });
  try {
    const platform = await sharedPlatform();
    const orb = await orbCommand(platform.origin, await adminToken(platform), {
      SOURCE_TOKEN: "Bearer recorded",
    });
    const moved = await orb.run("migrate-from", "payload", payload.url, "changed-payload", "--json");
    expect(moved.code, moved.err).toBe(1);
    expect(JSON.parse(moved.out).differences).toEqual([
      { at: "comments 1, text", source: "Changed since", stored: "Nice" },
    ]);
  } finally {
    await payload.stop();
  }
}, 120_000);

test("carries the same from a running Payload, with the rights of an account", async () => {
  const payload = await serveRecorded("migrate-payload-live", "recorded");
  try {
    const platform = await sharedPlatform();
    const token = await adminToken(platform);
    // A token with a space is a whole header, as for keys of the API.
    const orb = await orbCommand(platform.origin, token, { SOURCE_TOKEN: "Bearer recorded" });
    const move = () =>
      orb.run("migrate-from", "payload", payload.url, "live-payload", "--read", "public", "--json");
    await expectPayload(platform, token, "live-payload", await move());
    expect(JSON.parse((await move()).out)).toMatchObject({ created: 0, updated: 0, differences: [] });
    expect([...payload.missed]).toEqual([]);
    const other = await orbCommand(platform.origin, token, { SOURCE_TOKEN: "wrong" });
    const refused = await other.run("migrate-from", "payload", payload.url, "never");
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("answered with the status 40")]);
  } finally {
    await payload.stop();
  }
}, 120_000);
