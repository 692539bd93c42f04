/** The commands beside a running platform, as separate processes: what they print for wrong arguments. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { freePort } from "../../scripts/process/ports.ts";
import { startBroker, tempDir } from "../support/broker.ts";
import { runScript } from "../support/start.ts";

/** Runs a command that must fail, and returns its output. */
async function refused(name: string, env: Record<string, string>, ...args: string[]): Promise<string> {
  await using command = runScript(name, env, ...args);
  expect(await command.exited(), command.output()).toBe(1);
  return command.output().trim();
}

const nobody = () => ({ DATA_DIR: tempDir("nobody") });

test.each([
  ["/proc/foo", "Cannot use the folder /proc/foo (folders cannot be created in /proc). Choose another one."],
  [
    "/etc/passwd",
    "Cannot use the folder /etc/passwd (EEXIST: file already exists, mkdir '/etc/passwd'). Choose another one.",
  ],
])("a backup to the invalid folder %s fails with one line", async (folder, said) => {
  expect(await refused("backup", nobody(), folder)).toBe(said);
});

test("refuses an unknown option with the usage", async () => {
  const said = await refused("restore", nobody(), tempDir("backup"), "--replce");
  expect(said).toMatch(
    /^Unknown option '--replce'.*\nUsage: npm run restore -- <folder> \[--replace\] \[--keep-sessions\] \[--unsigned\]$/s,
  );
  expect(await refused("rekey", nobody(), "all")).toBe("Usage: npm run rekey");
  expect(await refused("backup", nobody())).toBe("Usage: npm run backup -- <folder>");
}, 90_000);

test("--help prints the usage and does nothing else", async () => {
  const env = nobody();
  await using asked = runScript("backup", env, "--help");
  expect(await asked.exited()).toBe(0);
  expect(asked.output()).toBe("Usage: npm run backup -- <folder>\n");
  expect(existsSync("--help")).toBe(false);
  expect(readdirSync(env.DATA_DIR)).toEqual([]);
});

test("refuses an incomplete backup with one line", async () => {
  const folder = tempDir("backup");
  const state = { messages: 0, last_seq: 0 };
  const streams = ["KV_orbs", "platform", "KV_platform_admins", "KV_orb_users"].map((name) => {
    const file = `${name}.snapshot`;
    return { name, file, sha256: "0".repeat(64), bytes: 1, config: { name }, state };
  });
  const manifest = { v: 1, at: new Date().toISOString(), broker: "2.15.1", streams };
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest));
  expect(await refused("restore", nobody(), folder)).toMatch(
    /^The backup in \S+ is incomplete: KV_orbs\.snapshot cannot be read \(ENOENT.*\)\. Use another copy of the backup\.$/,
  );
});

const examples = fileURLToPath(new URL("../../scripts/examples/", import.meta.url));
/** Runs an example to its end. Returns its output and exit status. */
function example(command: string, file: string, natsUrl?: string): { said: string; status: number | null } {
  const { stdout, stderr, status } = spawnSync(command, [join(examples, file)], {
    env: { PATH: process.env.PATH, ...(natsUrl === undefined ? {} : { NATS_URL: natsUrl }) },
    encoding: "utf8",
    timeout: 30_000,
  });
  return { said: `${stdout}${stderr}`.trim(), status };
}

test("the examples report in one line that the broker is missing or refuses them", async () => {
  await using broker = await startBroker({ provisioned: false });
  const { port } = new URL(broker.tcpUrl("operator"));
  for (const file of ["pricing.ts", "greeter.mjs"]) {
    for (const [address, why] of [
      [`127.0.0.1:${await freePort()}`, "refused"],
      [`127.0.0.1:${port}`, "authorization"],
    ] as const) {
      const { said, status } = example(process.execPath, file, `nats://operator:wrong@${address}`);
      expect(said).toMatch(
        /^The broker at 127\.0\.0\.1:\d+ rejects the connection \(.*\)\. Set NATS_URL, see npm run nats:url\.$/,
      );
      expect(said.toLowerCase()).toContain(why);
      expect(status).toBe(1);
    }
  }
  for (const [given, said] of [
    [undefined, /NATS_URL: see npm run nats:url$/],
    ["ws://broker", /^NATS_URL is not nats:\/\/user:pass@host:port: see npm run nats:url$/],
  ] as const) {
    const clock = example("bash", "clock.sh", given);
    expect(clock.said).toMatch(said);
    expect(clock.status).not.toBe(0);
  }
}, 120_000);
