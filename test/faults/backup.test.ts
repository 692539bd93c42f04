import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { backup } from "../../scripts/backup.ts";
import { childrenOf } from "../../scripts/bench/measure.ts";
import { readSettings } from "../../scripts/config/settings.ts";
import { freePort } from "../../scripts/process/ports.ts";
import { restore } from "../../scripts/restore.ts";
import { orbStreamConfig } from "../../shared/store/broker/provision.ts";
import { streams as streamNames } from "../../shared/store/subjects.ts";
import { admin, begin, call, signIn, subjectOf } from "../support/auth.ts";
import { Authenticator } from "../support/authenticator.ts";
import { tempDir } from "../support/broker.ts";
import { smallDisk } from "../support/disk.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { runScript } from "../support/start.ts";

const quiet = () => undefined;

const PAPER = Buffer.from("a paper of several words\n".repeat(10_000));

/** Stores an entry with a file. @returns the path of the file */
async function withFile(platform: TestPlatform, token: string): Promise<string> {
  const fields = [{ name: "paper", type: "file" }];
  const schemas = [{ id: "report", access: { read: "public", write: "user" }, fields }];
  const body = { id: "archive", modules: [{ id: "reports", type: "CONTENT", schemas }] };
  expect((await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body })).status).toBe(201);
  const uploaded = await fetch(`${platform.url}/api/archive/files?name=paper.txt`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "text/plain" },
    body: PAPER,
  });
  const { id } = (await uploaded.json()) as { id: string };
  const entry = { values: { paper: { file: id } } };
  const path = "/api/archive/reports?publish=true";
  expect((await call(platform, "POST", path, { token, body: entry })).status).toBe(201);
  return `/api/archive/files/${id}`;
}

test("restores a backup on another broker, and refuses to overwrite data or to restore a damaged one", async () => {
  const folder = join(tempDir("backup"), "today");
  const keys: Record<string, string> = {};
  let token = "";
  let authenticator = new Authenticator("");
  let admins: unknown;
  let issuer = "";
  let file = "";
  {
    await using first = await startPlatform();
    ({ token, authenticator } = await admin(first));
    admins = (await call(first, "GET", "/api/_auth/admins", { token })).body;
    issuer = first.settings.publicUrl;
    file = await withFile(first, token);
    const store = first.operatorStore();
    await store.append("wallet", { subject: "wallet.someone.deposit", data: '{"amount":1}' });
    // An orb that is created during the backup: its history was read before.
    await store.createStream(orbStreamConfig("stray", 1));
    for (const name of ["JWT_SIGNING_KEYS", "ENCRYPTION_KEYS", "CLAIM_KEY"])
      keys[name] = first.bindings[name] ?? "";
    await expect(restore(first.settings, folder, {}, quiet)).rejects.toThrow(/no complete backup/);
    const passing = "platform.imports.passing.1";
    await store.append("platform", { subject: passing, data: "{}", ttl: 2 });
    await store.createStream(orbStreamConfig("going", 1));
    let going: Promise<unknown> | undefined;
    const manifest = await backup(first.settings, folder, () => {
      going ??= store.deleteStream(streamNames.orb("going"));
    });
    await going;
    // Messages that expire are not part of the comparison.
    await expect.poll(() => store.get("platform", passing)).toBeNull();
    const names = manifest.streams.map((stream) => stream.name);
    expect(names).toContain("KV_platform_admins");
    // An orb that is deleted during the backup is not part of it.
    expect(names).not.toContain(streamNames.orb("going"));
    await expect(backup(first.settings, folder, quiet)).rejects.toThrow(/not empty/);
    await expect(restore(first.settings, folder, {}, quiet)).rejects.toThrow(
      /^\d+ of these streams contain messages \(.*KV_platform_admins.*\)\. Add --replace/,
    );
  }
  await using second = await startPlatform({ env: { ...keys, PUBLIC_URL: issuer } });
  // Data that a start and a visit store does not count as existing data.
  const there = { ...second, origin: second.url };
  await begin(there, "/api/_auth");
  await restore(second.settings, folder, { keepSessions: true }, quiet);
  const store = second.operatorStore();
  const message = await store.get("wallet", "wallet.someone.deposit");
  expect(message?.json()).toEqual({ amount: 1 });
  expect(await store.streamInfo(streamNames.orb("stray"))).toBeNull();
  // Accounts and sessions are restored: the earlier token is valid here too.
  const answer = await fetch(`${second.url}/api/_auth/admins`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(await answer.json()).toEqual(admins);
  // Files are restored with their content.
  const paper = await fetch(second.url + file);
  expect(Buffer.from(await paper.arrayBuffer()).equals(PAPER)).toBe(true);
  // The passkey works too.
  const again = await signIn(there, "/api/_auth", authenticator);
  expect(again.id).toBe(subjectOf(token));
  await expect(restore(second.settings, folder, {}, quiet)).rejects.toThrow(/contain messages/);

  // An orb that is not in the backup is removed with its entries.
  const modules = [
    { id: "news", type: "CONTENT", schemas: [{ id: "item", fields: [{ name: "title", type: "string" }] }] },
  ];
  const body = { id: "later", modules };
  const make = () => call(there, "POST", "/api/admin/orbs?publish=true", { token, body });
  expect((await make()).status).toBe(201);
  const written = { token, body: { values: { title: "one" } } };
  expect((await call(there, "POST", "/api/later/news?publish=true", written)).status).toBe(201);
  await restore(second.settings, folder, { replace: true, keepSessions: true }, quiet);
  expect((await call(there, "GET", "/api/later/news", { token })).status).toBe(404);
  expect((await make()).status).toBe(201);
  expect((await call(there, "GET", "/api/later/news", { token })).body).toMatchObject({ items: [] });

  const { streams } = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8")) as {
    streams: { file: string }[];
  };
  const damaged = join(folder, streams[0]?.file ?? "");
  expect(existsSync(damaged)).toBe(true);
  writeFileSync(damaged, "not a snapshot");
  await expect(restore(second.settings, folder, { replace: true }, quiet)).rejects.toThrow(/damaged/);
});

test("reports a full disk, and refuses to restore the incomplete backup", async (context) => {
  const folder = join(tempDir("backup"), "small");
  const disk = smallDisk(folder, 1);
  // Needs the right to mount a disk.
  if (disk === undefined) return context.skip();
  try {
    await using platform = await startPlatform();
    const store = platform.operatorStore();
    for (let n = 0; n < 40; n++) {
      // Random bytes, because the broker compresses snapshots.
      const data = randomBytes(100_000).toString("base64");
      await store.append("wallet", { subject: "wallet.someone.deposit", data });
    }
    await expect(backup(platform.settings, folder, quiet)).rejects.toThrow(
      /^The snapshot of \S+ cannot be written \(ENOSPC.*\)\.$/,
    );
    await expect(restore(platform.settings, folder, { replace: true }, quiet)).rejects.toThrow(
      /no complete backup/,
    );
  } finally {
    disk.release();
  }
});

test("backup, restore and host find a running cluster and its replicas without settings", async () => {
  const folder = join(tempDir("backup"), "cluster");
  await using cluster = await startPlatform({ env: { NATS_BROKERS: "3" } });
  const { dataDir: DATA_DIR } = cluster.settings;
  // Leftover of a single broker from before the cluster.
  mkdirSync(join(DATA_DIR, "broker"), { recursive: true });
  writeFileSync(join(DATA_DIR, "broker", "ports.json"), JSON.stringify({ port: 1, wsPort: 1 }));
  await backup(readSettings({ DATA_DIR }), folder, quiet);
  const { streams } = await restore(readSettings({ DATA_DIR }), folder, { replace: true }, quiet);
  const store = cluster.operatorStore();
  const copies = async (name: string) => (await store.streamInfo(name))?.config.num_replicas;
  expect(new Set(await Promise.all(streams.map(({ name }) => copies(name))))).toEqual(new Set([3]));

  const PORT = String(await freePort());
  await using host = runScript("host", { DATA_DIR, PORT });
  await host.printed(/on the running platform's broker/);
  await expect.poll(async () => (await fetch(`http://localhost:${PORT}/api/health`)).status).toBe(200);
  const [served] = childrenOf(host.child.pid ?? 0, /platform-host\.mjs/);
  expect(readFileSync(`/proc/${served}/environ`, "utf8").split("\0")).toContain("NATS_REPLICAS=3");
}, 120_000);
