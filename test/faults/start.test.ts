import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../scripts/process/ports.ts";
import { startBroker, tempDir } from "../support/broker.ts";
import { smallDisk } from "../support/disk.ts";
import { failure, failureHere, runScript, runStart, type Started, settings } from "../support/start.ts";

/** Creates a program that reports a nats-server version. */
function impostor(version: string): string {
  const path = join(tempDir("impostor"), "nats-server");
  writeFileSync(path, `#!/bin/sh\necho 'nats-server: v${version}'\n`);
  chmodSync(path, 0o755);
  return path;
}

const listens = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });

describe("npm start", () => {
  let env: Record<string, string>;
  let started: Started;
  beforeAll(async () => {
    env = await settings({ NATS_PORT: String(await freePort()), NATS_WS_PORT: String(await freePort()) });
  });
  afterAll(() => started?.[Symbol.asyncDispose]());

  test("says where everything is", async () => {
    await using nobody = runScript("nats-url", env);
    expect(await nobody.exited()).toBe(1);
    expect(nobody.output()).toMatch(
      /^No platform with the data folder \S+ is running\. Run npm start first, or name its folder with DATA_DIR=…\.\n$/,
    );
    started = runStart(env);
    await started.printed(/become the first/i);
    for (const shown of [
      `http://localhost:${env.PORT}/console`,
      `http://localhost:${env.PORT}/api/docs`,
      `http://localhost:${env.PORT}/api/openapi`,
      `http://localhost:${env.STREAMS_PORT}/api/streams/`,
    ])
      expect(started.output()).toContain(shown);
    const answer = await fetch(`http://localhost:${env.PORT}/api/health`);
    expect(answer.status).toBe(200);
    // The first access is logged to the file only, because the terminal's user causes it.
    await fetch(`http://localhost:${env.PORT}/api/_auth/invitations`);
    const log = join(String(env.DATA_DIR), "logs", "functions.log");
    await expect.poll(() => readFileSync(log, "utf8")).toContain("bootstrap access");
    expect(started.output()).not.toContain("bootstrap access");
  });

  test("tells the broker's address to the command nats-url", async () => {
    await using told = runScript("nats-url", env);
    expect(await told.exited()).toBe(0);
    const url = new URL(told.output().trim());
    expect(url.protocol).toBe("nats:");
    const { connect: connectClient } = await import("nats");
    const client = await connectClient({ servers: url.host, user: url.username, pass: url.password });
    expect(client.info?.jetstream).toBe(true);
    await client.close();
  });

  test("reports in one line that another instance uses the data folder", async () => {
    const said = await failure(await settings({ DATA_DIR: String(env.DATA_DIR) }));
    expect(said).toMatch(/^Another instance \(process \d+\) uses the data folder/);
  });

  test("restarts a killed broker, and health answers 200 again", async () => {
    const health = async () => (await fetch(`http://localhost:${env.PORT}/api/health`)).status;
    const { execFileSync } = await import("node:child_process");
    const pids = execFileSync("pgrep", ["-f", join(String(env.DATA_DIR), "broker", "nats.conf")], {
      encoding: "utf8",
    });
    process.kill(Number(pids.trim().split("\n")[0]), "SIGKILL");
    await started.printed(/The broker is back/);
    await expect.poll(health).toBe(200);
  });

  test("stops all its processes on SIGTERM, and starts again with the same data folder", async () => {
    started.child.kill("SIGTERM");
    expect(await started.exited()).toBe(0);
    for (const name of ["PORT", "STREAMS_PORT", "NATS_PORT", "NATS_WS_PORT"])
      expect(await listens(Number(env[name])), name).toBe(false);
    started = runStart(env);
    await started.printed(/ready at (\S+)/);
  });
});

test.each(["PORT", "STREAMS_PORT", "NATS_PORT", "NATS_WS_PORT"])(
  "reports in one line that %s is taken",
  async (name) => {
    const server = createServer();
    const port = await freePort();
    await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
    try {
      const fail = name === "PORT" ? failure : failureHere;
      const said = await fail(await settings({ [name]: String(port) }));
      expect(said).toBe(
        `Port ${port} is already in use. Stop the other program, or choose another port with ${name}=….`,
      );
    } finally {
      server.close();
    }
  },
);

test("reports in one line that the data folder is not writable", async () => {
  const file = join(tempDir("file"), "not-a-folder");
  writeFileSync(file, "");
  const said = await failureHere(await settings({ DATA_DIR: join(file, "data") }));
  expect(said).toMatch(/^The data folder \S+ is not writable \(.*\)\. Choose another one with DATA_DIR=….$/);
});

test("reports in one line that no folder can be created, although its parent exists", async () => {
  expect(await failureHere(await settings({ DATA_DIR: "/proc/x/data" }))).toBe(
    "The data folder /proc/x/data is not writable (folders cannot be created in /proc). Choose another one with DATA_DIR=….",
  );
});

test("reports in one line that the disk is full", async () => {
  const dir = join(tempDir("disk"), "full");
  const disk = smallDisk(dir, 4);
  try {
    // Where the test cannot mount a disk, an unusable folder replaces it.
    const said = await failureHere(await settings({ DATA_DIR: disk === undefined ? "/dev/full" : dir }));
    expect(said).toMatch(
      /^The (disk of the )?data folder \S+ (is full\. Free some space|is not writable).*$/,
    );
  } finally {
    disk?.release();
  }
});

test("reports an invalid setting or key in one line, without its value", async () => {
  for (const [name, value, said] of [
    ["PORT", "abc", /^PORT=abc is not a port\. .*$/],
    ["PUBLIC_URL", "here", /^PUBLIC_URL=here is not an origin\. .*$/],
    ["PROGRAMS_DIR", "/nowhere", /^PROGRAMS_DIR=\/nowhere holds no programs\. Correct or unset it\.$/],
    ["NATS_REPLICAS", "3", /^NATS_REPLICAS=3 needs as many brokers: .*$/],
    ["LOG_LEVEL", "loud", /^The settings are not valid: LOG_LEVEL must be debug, .*\.$/],
    [
      "STREAMS_MAX",
      "many",
      /^The settings are not valid: STREAMS_MAX must be a whole number from 1 to 1000000\.$/,
    ],
    ["JWT_SIGNING_KEYS", '[{"kty":"RSA"}]', /^The settings are not valid: JWT_SIGNING_KEYS must be .*\.$/],
    ["ENCRYPTION_KEYS", "secret-of-mine", /^The settings are not valid: ENCRYPTION_KEYS must be .*\.$/],
    ["CLAIM_KEY", "short,secret-of-mine", /^The settings are not valid: CLAIM_KEY must be .*\.$/],
  ] as const) {
    const told = await failureHere(await settings({ [name]: value }));
    expect(told).toMatch(said);
    expect(told).not.toContain("secret-of-mine");
  }
  const env = await settings();
  for (const damaged of ["{", "{}"]) {
    writeFileSync(join(String(env.DATA_DIR), "secrets.json"), damaged);
    expect(await failureHere(env)).toMatch(/^The keys in \S+secrets\.json are damaged\. .*$/);
  }
}, 120_000);

test("reports in one line that it takes no arguments", async () => {
  expect(await failure(await settings(), "--port", "9999")).toBe(
    "npm start takes no arguments. Set variables instead, such as PORT=9000 npm start.",
  );
});

test("reports in one line that the nats-server binary is too old or missing", async () => {
  expect(await failureHere(await settings({ NATS_SERVER_BIN: impostor("2.9.25") }))).toMatch(
    /is nats-server 2\.9\.25: 2\.14\.10, 2\.15\.1 or newer is needed\. Update it, or unset NATS_SERVER_BIN\.$/,
  );
  expect(await failureHere(await settings({ NATS_SERVER_BIN: "/nowhere/nats-server" }))).toBe(
    "NATS_SERVER_BIN=/nowhere/nats-server is not a nats-server that runs on this system. Correct or unset it.",
  );
});

test("reports in one line what is wrong with an external broker", async () => {
  await using broker = await startBroker({ provisioned: false });
  const good = { NATS_URL: broker.wsUrl, NATS_USER: "operator", NATS_PASS: "operator" };
  expect(await failureHere(await settings({ ...good, NATS_PASS: "wrong" }))).toMatch(
    /^The broker at 127\.0\.0\.1:\d+ rejects the credentials\. Check NATS_USER.*$/,
  );
  expect(
    await failureHere(await settings({ ...good, NATS_URL: `ws://127.0.0.1:${await freePort()}` })),
  ).toMatch(/^The broker at 127\.0\.0\.1:\d+ cannot be reached\. .*$/);
  expect(await failureHere(await settings({ ...good, NATS_URL: "nats://127.0.0.1:4222" }))).toMatch(
    /^NATS_URL must be .*$/,
  );
  expect(await failureHere(await settings({ ...good, NATS_REPLICAS: "3" }))).toMatch(
    /^The broker at 127\.0\.0\.1:\d+ could not create the platform's streams \(10074 .*\)\. Check .*$/,
  );
  await using plain = await startBroker({ jetstream: false });
  expect(await failureHere(await settings({ ...good, NATS_URL: plain.wsUrl }))).toMatch(
    /^The broker at 127\.0\.0\.1:\d+ has no JetStream for this user\. .*$/,
  );
});

test("runs on an external broker", async () => {
  await using broker = await startBroker({ provisioned: false });
  const env = await settings({ NATS_URL: broker.wsUrl, NATS_USER: "operator", NATS_PASS: "operator" });
  await using started = runStart(env);
  await started.printed(/ready at/);
  const answer = await fetch(`http://localhost:${env.PORT}/api/health`);
  expect(answer.status).toBe(200);
  expect(await broker.store("operator").streamInfo("platform")).not.toBeNull();
});
