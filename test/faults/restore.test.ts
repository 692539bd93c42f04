/** A restore replaces everything or nothing, and revives nothing that was ended after the backup. */
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isOfRestore, MARK, streamNames } from "../../scripts/backup/format.ts";
import { SIGNATURE, sign } from "../../scripts/backup/signature.ts";
import { backup } from "../../scripts/backup.ts";
import { type RestoreOptions, restore } from "../../scripts/restore.ts";
import { homeOf } from "../../shared/definition/document/home.ts";
import { openCachedStore } from "../../shared/store/cache/cached-store.ts";
import { buckets, streams, subjects } from "../../shared/store/subjects.ts";
import { admin, call, register, signIn } from "../support/auth.ts";
import type { Authenticator } from "../support/authenticator.ts";
import { tempDir } from "../support/broker.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { testSeed } from "../support/random.ts";
import { runScript } from "../support/start.ts";

const quiet = () => undefined;
const ENTRIES = 9;

const modules = [
  { id: "news", type: "CONTENT", schemas: [{ id: "item", fields: [{ name: "title", type: "string" }] }] },
];

async function write(platform: TestPlatform, token: string, title: string): Promise<void> {
  const body = { values: { title } };
  expect((await call(platform, "POST", "/api/shop/news?publish=true", { token, body })).status).toBe(201);
}

const PLATFORM_ENV = { DATA_DIR: tempDir("restored"), QUOTA_ACCOUNT_CONFLICTS: "1" };
/** The platform of most tests. Each of them leaves the data of `folder` there. */
let platform: TestPlatform;
/** The backup of most tests. */
const folder = join(tempDir("restore"), "backup");
/** The backup of a platform without accounts and orbs, and the invitation in it. */
const empty = join(tempDir("restore"), "empty");
let firstInvitation: string;
let authenticator: Authenticator;

/** Creates an admin, an orb and entries. */
async function fill(platform: TestPlatform) {
  const { token, authenticator } = await admin(platform);
  const body = { id: "shop", modules };
  expect((await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body })).status).toBe(201);
  for (let n = 0; n < ENTRIES; n++) await write(platform, token, `entry ${n}`);
  return authenticator;
}

beforeAll(async () => {
  platform = await startPlatform({ env: PLATFORM_ENV });
  firstInvitation = new URL(platform.bootstrapUrl ?? "").searchParams.get("invite") ?? "";
  await backup(platform.settings, empty, quiet);
  authenticator = await fill(platform);
  await backup(platform.settings, folder, quiet);
});
afterAll(() => platform?.stop());

/** Signs the admin of the backup in. A restore ends all sessions. */
const entered = async () =>
  (await signIn({ ...platform, origin: platform.url }, "/api/_auth", authenticator)).token;

async function titles(platform: TestPlatform): Promise<string[]> {
  const { body } = await call(platform, "GET", "/api/shop/news?limit=100");
  return body.items.map((item: { values: { title: string } }) => item.values.title).sort();
}
const OF_THE_BACKUP = Array.from({ length: ENTRIES }, (_, n) => `entry ${n}`);

const again = (options: RestoreOptions = {}, say: (line: string) => void = quiet, from = folder) =>
  restore(platform.settings, from, { replace: true, ...options }, say);

interface Listed {
  streams: { name: string; file: string; sha256: string; bytes: number; config: Record<string, unknown> }[];
}

/** Changes a copy of the backup and updates every checksum. With `key` it is signed too, as only the platform can. */
function forge(change: (manifest: Listed, folder: string) => void, key?: string): string {
  const copy = join(tempDir("forged"), "backup");
  cpSync(folder, copy, { recursive: true });
  const path = join(copy, "manifest.json");
  const manifest = JSON.parse(readFileSync(path, "utf8")) as Listed;
  change(manifest, copy);
  for (const stream of manifest.streams) {
    const file = join(copy, stream.file);
    if (!existsSync(file)) continue;
    const bytes = readFileSync(file);
    stream.bytes = bytes.length;
    stream.sha256 = createHash("sha256").update(bytes).digest("hex");
  }
  const text = JSON.stringify(manifest);
  writeFileSync(path, text);
  if (key !== undefined) writeFileSync(join(copy, SIGNATURE), sign(key, Buffer.from(text)));
  return copy;
}

/** Changes the first stream of a manifest. */
const onFirst = (edit: (stream: Listed["streams"][number]) => void) => (manifest: Listed) =>
  manifest.streams.slice(0, 1).forEach(edit);

const orbFile = ({ streams: all }: Listed) =>
  all.find(({ name }) => name === streams.orb("shop"))?.file ?? "missing";

describe("an untrusted backup", () => {
  test("is refused before anything changes, whatever is wrong with it", async () => {
    const token = await entered();
    await write(platform, token, "later");
    const key = platform.bindings.ENCRYPTION_KEYS ?? "";
    const change = (edit: (bytes: Buffer) => Uint8Array) => (manifest: Listed, copy: string) => {
      const file = join(copy, orbFile(manifest));
      writeFileSync(file, edit(readFileSync(file)));
    };
    const flip = (bytes: Buffer) =>
      bytes.fill(bytes.readUInt8(bytes.length >> 1) ^ 0xff, bytes.length >> 1, (bytes.length >> 1) + 1);
    const wrong: [string, RegExp, string][] = [
      ["a flipped byte", /^The snapshot of øshop cannot be restored: /, forge(change(flip), key)],
      [
        "half a file",
        /^The snapshot of øshop cannot be restored: /,
        forge(
          change((b) => b.subarray(0, b.length >> 1)),
          key,
        ),
      ],
      [
        "garbage",
        /^The snapshot of øshop cannot be restored: /,
        forge(
          change(() => Buffer.from("x")),
          key,
        ),
      ],
      [
        "an empty file",
        /^The snapshot of øshop cannot be restored: /,
        forge(
          change(() => Buffer.of()),
          key,
        ),
      ],
      ["a changed file", /was changed after the backup: its signature/, forge(change(flip))],
      [
        "changed settings",
        /was changed after the backup/,
        forge(
          onFirst((stream) => {
            stream.config.max_msgs = 1;
          }),
        ),
      ],
      [
        "a file outside",
        /is damaged: .*file name does not match the stream/,
        forge(
          onFirst((stream) => {
            stream.file = "../manifest.json";
          }),
          key,
        ),
      ],
      [
        "an absolute path",
        /is damaged: .*file name does not match the stream/,
        forge(
          onFirst((stream) => {
            stream.file = "/etc/hostname";
          }),
          key,
        ),
      ],
      [
        "a name outside",
        /is damaged/,
        forge(
          onFirst((stream) => {
            stream.name = "../x";
          }),
          key,
        ),
      ],
      [
        "a stream twice",
        /is damaged: .*listed twice/,
        forge((m) => {
          m.streams.push(...m.streams.slice(0, 1));
        }, key),
      ],
      [
        "no accounts",
        /is damaged: .*KV_platform_admins/,
        forge((m) => {
          m.streams = m.streams.filter(({ name }) => name !== "KV_platform_admins");
        }, key),
      ],
      [
        "another stream's settings",
        /is damaged: .*that of another stream/,
        forge(
          onFirst((stream) => {
            stream.config.name = "other";
          }),
          key,
        ),
      ],
      [
        "a symbolic link",
        /^The backup in \S+ is incomplete: \S+ cannot be read/,
        forge((m, copy) => {
          renameSync(join(copy, orbFile(m)), join(copy, "elsewhere"));
          symlinkSync("elsewhere", join(copy, orbFile(m)));
        }, key),
      ],
      [
        "a missing file",
        /^The backup in \S+ is incomplete: /,
        forge((m, copy) => rmSync(join(copy, orbFile(m))), key),
      ],
      ["no signature", /is not signed: .*add --unsigned/, forge((_, copy) => rmSync(join(copy, SIGNATURE)))],
      [
        "a damaged signature",
        /was changed after the backup/,
        forge((_, copy) => writeFileSync(join(copy, SIGNATURE), "{")),
      ],
      [
        "a foreign key",
        /signed with a key that is not among .*add --unsigned/,
        forge(quiet, JSON.stringify([{ kid: "other", k: "A".repeat(43) }])),
      ],
      [
        "a foreign key of the same name",
        /was changed after the backup/,
        forge(quiet, JSON.stringify([{ ...JSON.parse(key)[0], k: "A".repeat(43) }])),
      ],
    ];
    // The following two keep their former checksums.
    const cut = forge(quiet, key);
    const file = join(cut, orbFile(JSON.parse(readFileSync(join(cut, "manifest.json"), "utf8")) as Listed));
    const whole = readFileSync(file);
    writeFileSync(file, whole.subarray(1));
    wrong.push(["a shorter file", /is damaged: it has \d+ bytes/, cut]);
    const other = forge(quiet, key);
    writeFileSync(join(other, file.split("/").at(-1) ?? ""), flip(whole));
    wrong.push(["another checksum", /is damaged: its checksum/, other]);

    const store = platform.operatorStore();
    for (const [what, message, copy] of wrong) {
      const refused = await restore(platform.settings, copy, { replace: true }, quiet).catch(
        (error: Error) => error.message,
      );
      expect([what, refused]).toEqual([what, expect.stringMatching(message)]);
      expect([what, await titles(platform)]).toEqual([what, [...OF_THE_BACKUP, "later"]]);
      expect((await streamNames(store)).filter(isOfRestore)).toEqual([]);
      expect(existsSync(join(platform.settings.dataDir, "restoring.json"))).toBe(false);
    }
    const remains = join(platform.settings.dataDir, "restores");
    expect(existsSync(remains) ? readdirSync(remains) : []).toEqual([]);
    expect((await call(platform, "GET", "/api/_auth/me", { token })).status).toBe(200);
    // --unsigned never accepts a wrong signature. It accepts a missing one, because older versions wrote none.
    await expect(again({ unsigned: true }, quiet, forge(change(flip)))).rejects.toThrow(/signature/);
    const unsigned = forge((_, copy) => rmSync(join(copy, SIGNATURE)));
    await expect(again({}, quiet, unsigned)).rejects.toThrow(/not signed/);
    await again({ unsigned: true }, quiet, unsigned);
    expect(await titles(platform)).toEqual(OF_THE_BACKUP);
  });
});

describe("sessions and invitations that ended after the backup", () => {
  test("are not valid again after a restore", async () => {
    const token = await entered();
    const own = join(tempDir("restore"), "own");
    const invite = async (realm: string) =>
      (await call(platform, "POST", `/api/${realm}/invitations`, { token })).body.token as string;
    const invitations = { auth: await invite("auth"), _auth: await invite("_auth") };
    const created = await call(platform, "POST", "/api/_auth/recovery-codes", { token });
    const [recoveryCode] = created.body.codes;
    const scopes = [{ orb: "*", can: ["read"] }];
    const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
    const body = { name: "ci", scopes, expiresAt };
    const program = await call(platform, "POST", "/api/_auth/tokens", { token, body });
    const asProgram = async () =>
      (await call(platform, "GET", "/api/admin/orbs", { token: program.body.token })).status;
    expect(await asProgram()).toBe(200);
    await backup(platform.settings, own, quiet);
    // New codes void those of the backup.
    await call(platform, "POST", "/api/_auth/recovery-codes", { token });
    for (const [realm, code] of Object.entries(invitations))
      await call(platform, "DELETE", `/api/${realm}/invitations/${code}`, { token });
    const revoked = await call(platform, "DELETE", `/api/_auth/tokens/${program.body.id}`, { token });
    expect(revoked.status).toBe(204);
    expect((await call(platform, "POST", "/api/_auth/signout", { token })).status).toBeLessThan(300);

    const lines: string[] = [];
    await again({}, (line) => lines.push(line), own);
    expect((await call(platform, "GET", "/api/_auth/me", { token })).status).toBe(401);
    expect(await asProgram()).toBe(401);
    const begun = async (realm: string, code: string) =>
      (await call(platform, "POST", `/api/${realm}/passkey/begin?invite=${code}`, {})).body.code;
    for (const [realm, code] of Object.entries(invitations))
      expect(await begun(realm, code)).toBe("invitation_revoked");
    expect(lines.join("\n")).toMatch(
      /All sessions and API tokens have ended.*\n(.*\n)*2 open invitations were revoked\./,
    );
    expect(lines.join("\n")).toContain("1 sets of recovery codes are void.");
    const byCode = async () =>
      (await call(platform, "POST", "/api/_auth/passkey/begin", { body: { recoveryCode } })).body.code;
    expect(await byCode()).toBe("recovery_code_refused");
    expect((await platform.operatorStore().streamInfo(streams.kv(buckets.sessions)))?.state.messages).toBe(0);
    expect(await titles(platform)).toEqual(OF_THE_BACKUP);
    const codes = await call(platform, "GET", "/api/_auth/recovery-codes", { token: await entered() });
    expect(codes.body).toEqual({ remaining: 0, createdAt: null });

    // With keepSessions they are restored.
    await again({ keepSessions: true }, quiet, own);
    expect((await call(platform, "GET", "/api/_auth/me", { token })).status).toBe(200);
    expect(await asProgram()).toBe(200);
    for (const [realm, code] of Object.entries(invitations)) expect(await begun(realm, code)).toBeUndefined();
    expect(await byCode()).toBeUndefined();
    await again();
  });

  test("a backup without a platform admin is restored with a new bootstrap invitation", async () => {
    const lines: string[] = [];
    await again({}, (line) => lines.push(line), empty);
    const url = /first one here:\n(\S+)/.exec(lines.join("\n"))?.[1] ?? "";
    const fresh = new URL(url).searchParams.get("invite") ?? "";
    expect(fresh).not.toBe(firstInvitation);
    const begin = (code: string) => call(platform, "POST", `/api/_auth/passkey/begin?invite=${code}`, {});
    expect((await begin(firstInvitation)).body.code).toMatch(/^invitation_/);
    expect((await begin(fresh)).status).toBe(200);
    await again();
  });
});

test("a restore does not reset the quotas that an account has used", async () => {
  const token = await entered();
  const before = join(tempDir("restore"), "quotas");
  const fields = [{ name: "pin", type: "string", unique: true, sensitive: true }];
  const guarded = [
    {
      id: "cards",
      type: "CONTENT",
      schemas: [{ id: "card", access: { read: "user", write: "user" }, fields }],
    },
  ];
  const orb = await call(platform, "POST", "/api/admin/orbs?publish=true", {
    token,
    body: { id: "bank", modules: guarded },
  });
  expect(orb.status).toBe(201);
  const invited = async () => {
    const { body } = await call(platform, "POST", "/api/auth/invitations", { token, body: { role: "user" } });
    return register(platform, "/api/auth", body.token);
  };
  const [ann, bob] = [await invited(), await invited()];
  const guess = async (who: { token: string }) => {
    const body = { values: { pin: "1234" } };
    return (await call(platform, "POST", "/api/bank/cards", { token: who.token, body })).status;
  };
  expect(await guess(ann)).toBe(201);
  await backup(platform.settings, before, quiet);
  // The windows are aligned to minutes.
  const left = 60_000 - (Date.now() % 60_000);
  if (left < 15_000) await new Promise((resolve) => setTimeout(resolve, left));
  expect([await guess(bob), await guess(bob)]).toEqual([409, 429]);
  await again({ keepSessions: true }, quiet, before);
  expect(await guess(bob)).toBe(429);
  await again();
});

describe("an interrupted restore", () => {
  test("leaves the earlier data or is finished by the next run, wherever it stopped", async () => {
    const { dataDir } = platform.settings;
    const journal = join(dataDir, "restores", "unfinished.json");
    let steps = 1;
    let said: readonly string[] = [];
    const seed = testSeed();
    // The steps of the streams are alike, so each run tries a fifth of them.
    const isLeftOut = (stop: number) => /^\S+: /.test(said[stop] ?? "") && (stop + seed) % 5 !== 0;
    for (let stop = 0; stop < steps; stop++) {
      if (isLeftOut(stop)) continue;
      const token = await entered();
      await write(platform, token, "later");
      const was = await titles(platform);
      let told = 0;
      const failing = again({}, () => {
        if (told++ === stop) throw new Error("the process ends here");
      });
      await expect(failing).rejects.toThrow(/ends here/);
      if (!existsSync(journal)) {
        expect([stop, await titles(platform)]).toEqual([stop, was]);
        expect((await call(platform, "GET", "/api/_auth/me", { token })).status).toBe(200);
      } else {
        // Another backup cannot be restored over it.
        const other = forge(quiet, platform.bindings.ENCRYPTION_KEYS);
        await expect(again({}, quiet, other)).rejects.toThrow(
          /was interrupted\. Finish it with: npm run restore -- \S+ --replace\. Or undo it with/,
        );
      }
      const lines: string[] = [];
      await again({}, (line) => lines.push(line));
      expect([stop, await titles(platform)]).toEqual([stop, OF_THE_BACKUP]);
      expect(existsSync(journal)).toBe(false);
      expect((await streamNames(platform.operatorStore())).filter(isOfRestore)).toEqual([]);
      if (stop === 0) [steps, said] = [lines.length - 1, lines];
    }
    expect(steps).toBeGreaterThan(15);
  }, 180_000);

  test("is seen at once by hosts that have cached the earlier data", async () => {
    const store = openCachedStore({ ...platform.operatorAccess, replicas: 1 });
    const filter = subjects.schemaIndex({ orb: "shop", ...homeOf("CONTENT", "item") });
    const read = () => store.scan(streams.orb("shop"), filter, { fromSeq: 1, limit: 1, maxBytes: 100_000 });
    const count = async () => {
      const { messages, pending } = await read();
      return messages.length + pending;
    };
    // Each run stops at two of these places.
    const stops = [/^øshop: /, /^KV_orbs: /, /All sessions/];
    stops.splice(Math.abs(testSeed()) % stops.length, 1);
    for (const stop of stops) {
      const token = await entered();
      for (let n = 0; n < 5; n++) await write(platform, token, "later");
      // The host has the index in memory once reads no longer reach the broker.
      await expect
        .poll(async () => {
          const { hits } = store.stats();
          return [await count(), store.stats().hits > hits];
        })
        .toEqual([ENTRIES + 5, true]);
      const failing = again({}, (line) => {
        if (stop.test(line)) throw new Error("the process ends here");
      });
      await expect(failing).rejects.toThrow(/ends here/);
      // Shortly after the orb's stream is back, although the restore goes on: the broker's message is then there.
      let counted: Promise<number> | undefined;
      await again({}, (line) => {
        if (line.startsWith("øshop: ")) counted = delay(200).then(count);
      });
      expect([stop, await counted, await count()]).toEqual([stop, ENTRIES, ENTRIES]);
    }
    await store.close();
  }, 120_000);

  test("is undone by restoring the copy of the earlier streams, with their sessions", async () => {
    const token = await entered();
    await write(platform, token, "later");
    const failing = again({}, (line) => {
      if (line.startsWith("KV_handlers")) throw new Error("the process ends here");
    });
    const message = await failing.catch((error: Error) => error.message);
    const before = /Or undo it with: npm run restore -- (\S+) --replace/.exec(String(message))?.[1] ?? "";
    await restore(platform.settings, before, {}, quiet);
    expect(await titles(platform)).toEqual([...OF_THE_BACKUP, "later"]);
    expect((await call(platform, "GET", "/api/_auth/me", { token })).status).toBe(200);
    // The copy stays, and can be restored at any later time.
    await again();
    await again({}, quiet, before);
    expect(await titles(platform)).toEqual([...OF_THE_BACKUP, "later"]);
    await again();
  });

  test("is finished by the command after its process was killed", async () => {
    const { dataDir: DATA_DIR } = platform.settings;
    // Each run kills the process at two of these places.
    const places = [
      [/are intact/, /All sessions and API tokens have ended/],
      [/copy of the current streams/, /KV_orbs: /],
    ];
    for (const line of places[Math.abs(testSeed()) % places.length] ?? []) {
      await using dying = runScript("restore", { DATA_DIR }, folder, "--replace");
      await dying.printed(line);
      dying.child.kill("SIGKILL");
      await dying.exited();
      await using next = runScript("restore", { DATA_DIR }, folder, "--replace");
      expect([await next.exited(), next.output()]).toEqual([
        0,
        expect.stringContaining("streams were restored."),
      ]);
      expect(next.output()).toContain("Accounts have the state of the backup");
      expect(next.output()).toContain("- secrets of webhooks that were replaced");
      expect(await titles(platform)).toEqual(OF_THE_BACKUP);
    }
  });

  test("is finished by the command after the broker was killed", async () => {
    let killed: Promise<void> | undefined;
    const failing = again({}, (line) => {
      if (line.startsWith("KV_handlers")) killed = platform.broker?.pause();
    });
    await expect(failing).rejects.toThrow(/was interrupted/);
    await killed;
    await platform.broker?.resume();
    await again();
    await expect.poll(() => titles(platform)).toEqual(OF_THE_BACKUP);
  }, 120_000);

  test("is not finished at another broker with the same data folder", async () => {
    await using other = await startPlatform();
    const backedUp = join(tempDir("restore"), "other");
    await backup(other.settings, backedUp, quiet);
    const failing = restore(other.settings, backedUp, { replace: true }, (line) => {
      if (line.startsWith("KV_handlers")) throw new Error("the process ends here");
    });
    await expect(failing).rejects.toThrow(/ends here/);
    const store = other.operatorStore();
    const marks = (await streamNames(store)).filter((name) => name.startsWith(MARK));
    expect(marks).toHaveLength(1);
    // Another broker would not have the mark.
    for (const name of marks) await store.deleteStream(name);
    await expect(restore(other.settings, backedUp, { replace: true }, quiet)).rejects.toThrow(
      /was interrupted at another broker\. Finish it there first/,
    );
  });

  test("is finished by the next start, before a first admin could register", async () => {
    const failing = again({}, (line) => {
      if (line.startsWith("All sessions")) throw new Error("the process ends here");
    });
    await expect(failing).rejects.toThrow(/ends here/);
    // The accounts are missing now. The platform must not enter bootstrap mode.
    expect((await call(platform, "GET", "/api/_auth/invitations", {})).status).toBe(503);
    const { publicUrl } = platform.settings;
    await platform.stop();
    platform = await startPlatform({ env: { ...PLATFORM_ENV, PUBLIC_URL: publicUrl } });
    expect(platform.bootstrapUrl).toBeNull();
    expect(platform.logs.join("\n")).toContain("Finishing the interrupted restore");
    expect(await titles({ ...platform, origin: platform.url })).toEqual(OF_THE_BACKUP);
    await entered();
  });
});
