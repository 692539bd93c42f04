import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { rekey } from "../../scripts/rekey.ts";
import { loadEntry } from "../../shared/entry/index.ts";
import { isCurrent } from "../../shared/kernel/seal.ts";
import { adminToken, call } from "../support/auth.ts";
import { key } from "../support/entries.ts";
import { startPlatform } from "../support/platform.ts";

it("reseals and re-reserves all values under changed keys while the platform runs", async () => {
  await using platform = await startPlatform();
  const token = await adminToken(platform);
  const document = {
    id: "vault",
    modules: [
      {
        id: "safe",
        type: "CONTENT",
        schemas: [{ id: "item", fields: [{ name: "pin", type: "string", sensitive: true, unique: true }] }],
      },
    ],
  };
  expect((await call(platform, "POST", "/api/admin/orbs", { token, body: document })).status).toBe(201);
  const entries = "/api/admin/orbs/vault/entries";
  const body = { module: "safe", values: { pin: "4711" } };
  const made = await call(platform, "POST", entries, { token, body });
  expect(made.status).toBe(201);

  const path = join(platform.settings.dataDir, "secrets.json");
  const secrets = JSON.parse(readFileSync(path, "utf8")) as {
    ENCRYPTION_KEYS: string;
    CLAIM_KEY: string;
  };
  const keys = JSON.parse(secrets.ENCRYPTION_KEYS) as object[];
  secrets.ENCRYPTION_KEYS = JSON.stringify([{ kid: "fresh", k: key() }, ...keys]);
  secrets.CLAIM_KEY = `${secrets.CLAIM_KEY},${key()}`;
  writeFileSync(path, JSON.stringify(secrets));

  const told: string[] = [];
  const result = await rekey(platform.settings, (orb) => told.push(orb));
  expect(result).toEqual({ entries: 1, resealed: 1, failed: [], conflicts: [] });
  expect(told).toEqual(["vault"]);
  const entry = await loadEntry({ store: platform.operatorStore() }, "vault", made.body.id);
  const sealed = entry?.head.values.pin as { $sealed: string };
  expect(isCurrent(secrets.ENCRYPTION_KEYS, sealed.$sealed)).toBe(true);
  expect(entry?.head.claims).toHaveLength(2);

  // The HTTP operation does the same for one orb, with the keys that the functions currently have.
  const again = await call(platform, "POST", `${entries}/rekey`, { token });
  expect(again).toMatchObject({
    status: 200,
    body: { entries: 1, resealed: 0, failed: [made.body.id], conflicts: [] },
  });
});
