/** `npm run doctor` as a separate process. test/faults/production.test.ts runs it against three brokers with TLS. */
import { chmodSync, existsSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempDir } from "../support/broker.ts";
import { until } from "../support/races.ts";
import { runScript, settings } from "../support/start.ts";

async function doctor(
  env: Record<string, string>,
  ...flags: string[]
): Promise<{ code: number | null; said: string }> {
  await using run = runScript("doctor/doctor", env, ...flags);
  const code = await run.exited();
  return { code, said: run.output() };
}

/** Cuts a file of a platform that has stopped, and expects what its next start and the doctor say of the loss. */
async function afterLoss(env: Record<string, string>, dataDir: string): Promise<void> {
  const folder = join(dataDir, "broker", "jetstream");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const ofStream = (end: string) =>
    join(folder, names.find((name) => name.endsWith(join("streams", "platform", "msgs", end))) ?? "none");
  // Without this file the broker reads the blocks, as after a crash.
  rmSync(ofStream("index.db"), { force: true });
  const block = ofStream("1.blk");
  truncateSync(block, Math.floor(statSync(block).size / 2));

  await using host = runScript("host", env);
  await host.printed(/ready at/);
  expect(host.output()).toMatch(/DATA LOSS: platform, sequences \d+ to \d+: the stream ends at /);
  const first = await doctor(env);
  expect(first.code).toBe(1);
  expect(first.said).toMatch(/FAIL {2}record {4}platform, sequences .*\n +→ .*--accept-loss platform/);
  const other = await doctor(env, "--accept-loss", "KV_orbs");
  expect(other.said).toContain("Name one of platform.");
  expect((await doctor(env, "--accept-loss", "platform")).code).toBe(0);
  expect((await doctor(env)).said).not.toMatch(/FAIL {2}record/);
}

test("finds a running platform in order, says what is wrong with its settings, and names a stream that the broker has shortened", async () => {
  const env = await settings();
  const dataDir = String(env.DATA_DIR);
  await using host = runScript("host", env);
  await host.printed(/ready at/);
  const well = await doctor(env);
  expect(well.code, well.said).toBe(0);
  expect(well.said).toMatch(/ checks, 0 failed, /);
  expect(well.said).toContain("ok    rights    The broker user fn can ");
  expect(well.said).not.toContain(" data ");
  const deep = await doctor(env, "--deep");
  expect(deep.code, deep.said).toBe(0);
  expect(deep.said).toMatch(/ok {4}data {6}All messages of \d+ streams /);

  chmodSync(join(dataDir, "secrets.json"), 0o644);
  const open = await doctor({ ...env, PUBLIC_URL: "https://platform.invalid" });
  expect(open.code).toBe(1);
  expect(open.said).toMatch(/FAIL {2}keys .* can read .*\n +→ Run chmod 600 /);
  expect(open.said).toMatch(/FAIL {2}tls .*platform\.invalid does not complete a TLS handshake/);
  expect(open.said).toMatch(/FAIL {2}host .* does not answer with its health/);
  expect(open.said).not.toMatch(/"k"|"d":/);
  chmodSync(join(dataDir, "secrets.json"), 0o600);
  await until(() => existsSync(join(dataDir, "record", "platform.json")));
  await host[Symbol.asyncDispose]();
  await afterLoss(env, dataDir);
}, 180_000);

test("without a platform it says what to start", async () => {
  const { code, said } = await doctor({ DATA_DIR: tempDir("nothing") });
  expect(code).toBe(1);
  expect(said).toMatch(
    /FAIL {2}broker .*No platform .* is running, and NATS_URL is not set\.\n +→ Run npm start/,
  );
  expect(said).toMatch(/FAIL {2}keys .*\n +→ Copy secrets\.json from /);
});

test("reports damaged keys as one finding and goes on with the other checks", async () => {
  const dir = tempDir("damaged");
  writeFileSync(join(dir, "secrets.json"), "{", { mode: 0o600 });
  const { code, said } = await doctor({ DATA_DIR: dir, NATS_URL: "ws://127.0.0.1:9" });
  expect(code).toBe(1);
  expect(said).toMatch(/FAIL {2}keys .* are damaged/);
  expect(said).toMatch(/FAIL {2}host /);
});
