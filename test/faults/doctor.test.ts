/** `npm run doctor` as a separate process. test/faults/production.test.ts runs it against three brokers with TLS. */
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempDir } from "../support/broker.ts";
import { runScript, settings } from "../support/start.ts";

async function doctor(env: Record<string, string>): Promise<{ code: number | null; said: string }> {
  await using run = runScript("doctor/doctor", env);
  const code = await run.exited();
  return { code, said: run.output() };
}

test("finds a running platform in order, and says what is wrong with its keys and its address", async () => {
  const env = await settings();
  await using host = runScript("host", env);
  await host.printed(/ready at/);
  const well = await doctor(env);
  expect(well.code, well.said).toBe(0);
  expect(well.said).toMatch(/ checks, 0 failed, /);
  expect(well.said).toContain("ok    rights    The broker user fn can ");

  chmodSync(join(String(env.DATA_DIR), "secrets.json"), 0o644);
  const open = await doctor({ ...env, PUBLIC_URL: "https://platform.invalid" });
  expect(open.code).toBe(1);
  expect(open.said).toMatch(/FAIL {2}keys .* can read .*\n +→ Run chmod 600 /);
  expect(open.said).toMatch(/FAIL {2}tls .*platform\.invalid does not complete a TLS handshake/);
  expect(open.said).toMatch(/FAIL {2}host .* does not answer with its health/);
  expect(open.said).not.toMatch(/"k"|"d":/);
}, 90_000);

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
