import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { backup } from "../../scripts/backup.ts";
import { restore } from "../../scripts/restore.ts";
import { adminToken, call } from "../support/auth.ts";
import { tempDir } from "../support/broker.ts";
import { startPlatform } from "../support/platform.ts";

const quiet = () => undefined;

test("a backup brings everything back on another broker, and is refused where it would overwrite or is damaged", async () => {
  const folder = join(tempDir("backup"), "today");
  const keys: Record<string, string> = {};
  let token = "";
  let admins: unknown;
  let issuer = "";
  {
    await using first = await startPlatform();
    token = await adminToken(first);
    admins = (await call(first, "GET", "/api/_auth/admins", { token })).body;
    issuer = first.settings.publicUrl;
    const store = first.operatorStore();
    await store.append("wallet", { subject: "wallet.someone.deposit", data: '{"amount":1}' });
    for (const name of ["JWT_SIGNING_KEYS", "ENCRYPTION_KEYS", "CLAIM_KEY"])
      keys[name] = first.bindings[name] ?? "";
    await expect(restore(first.settings, folder, false, quiet)).rejects.toThrow(/no whole backup/);
    const manifest = await backup(first.settings, folder, quiet);
    expect(manifest.streams.map((stream) => stream.name)).toContain("KV_platform_admins");
    await expect(backup(first.settings, folder, quiet)).rejects.toThrow(/not empty/);
    await expect(restore(first.settings, folder, false, quiet)).rejects.toThrow(/exist/);
  }
  await using second = await startPlatform({ env: { ...keys, PUBLIC_URL: issuer } });
  await restore(second.settings, folder, true, quiet);
  const store = second.operatorStore();
  const message = await store.get("wallet", "wallet.someone.deposit");
  expect(message?.json()).toEqual({ amount: 1 });
  // Accounts and sessions are there again: the token of before is good here too.
  const answer = await fetch(`${second.url}/api/_auth/admins`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(await answer.json()).toEqual(admins);

  const { streams } = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8")) as {
    streams: { file: string }[];
  };
  const file = join(folder, streams[0]?.file ?? "");
  expect(existsSync(file)).toBe(true);
  writeFileSync(file, "not a snapshot");
  await expect(restore(second.settings, folder, true, quiet)).rejects.toThrow(/damaged/);
});
