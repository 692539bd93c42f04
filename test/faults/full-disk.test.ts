/** A disk that is full or fails for a while. The platform must restart its broker itself. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { renderConfig } from "../../scripts/broker/config.ts";
import { brokerDir, clusterDir } from "../../scripts/broker/layout.ts";
import { lastingBroker } from "../../scripts/platform/platform.ts";
import { freePort } from "../../scripts/process/ports.ts";
import { orbStreamConfig } from "../../shared/store/broker/provision.ts";
import { openStore } from "../../shared/store/broker/store.ts";
import { streams } from "../../shared/store/subjects.ts";
import { adminToken } from "../support/auth.ts";
import { tempDir } from "../support/broker.ts";
import { smallDisk } from "../support/disk.ts";
import type { LookingStore } from "../support/looking.ts";
import { createOrb, small } from "../support/orbs.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { testRandom } from "../support/random.ts";
import { Writers } from "../support/writers.ts";

/** Times that the disk fills and is freed. TEST_EXAMPLES does it more often. */
const ROUNDS = Number(process.env.TEST_EXAMPLES ?? 2);

/** Maximum milliseconds until writes work again after the cause is gone. */
const BACK_MS = 30_000;

/** The part of a platform that the injections use. */
interface Injected {
  broker?: { pid: number | undefined } | undefined;
}

interface Injection {
  dir: string;
  begin(platform: Injected): void;
  end(platform: Injected): void;
  release(): void;
  /** Whether the trial write of the broker's parent fails too. */
  lasts: boolean;
}

/** Fills the disk of the broker. Without the right to mount a disk, the kernel limits the size of the broker's files. */
function fullDisk(): Injection {
  const dir = tempDir("full");
  const disk = smallDisk(brokerDir(dir), 64);
  if (disk === undefined) return { ...limitedFiles(), dir };
  const filler = join(brokerDir(dir), "filler");
  return {
    dir,
    begin: () => void spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=64k"], { stdio: "ignore" }),
    end: () => rmSync(filler),
    release: disk.release,
    lasts: true,
  };
}

/** Lets each write of the broker beyond the first bytes of a file fail with EFBIG. */
function limitedFiles(): Injection {
  const limit = (platform: Injected, bytes: string) => {
    const { pid } = platform.broker ?? {};
    execFileSync("prlimit", ["--pid", String(pid), `--fsize=${bytes}`]);
  };
  return {
    dir: tempDir("limited"),
    begin: (platform) => limit(platform, "1024:unlimited"),
    end: (platform) => limit(platform, "unlimited:unlimited"),
    release: () => undefined,
    lasts: false,
  };
}

async function healthOf({ url }: TestPlatform, probe = "ready") {
  const answer = await fetch(`${url}/api/health?probe=${probe}`);
  const body = (await answer.json()) as { code?: string; detail?: string; warnings?: object[] };
  return { status: answer.status, body };
}

const stored = (writers: Writers) => writers.acknowledged.length;

/**
 * Injects the fault while clients write, until the stream of their orb refuses writes. A batch may fail before the broker
 * writes to the stream, so this writes to the stream itself.
 */
async function breakStream(platform: TestPlatform, store: LookingStore, fault: Injection): Promise<void> {
  fault.begin(platform);
  const message = { subject: "kept.fault.x", data: "x".repeat(100_000) };
  const write = () =>
    store.append(streams.orb("kept"), message).then(
      () => "stored",
      () => "failed",
    );
  await expect.poll(write).toBe("failed");
}

/**
 * Ends the fault, and waits until the platform is whole and stores writes.
 * @returns the milliseconds until then
 */
async function endFault(platform: TestPlatform, writers: Writers, fault: Injection): Promise<number> {
  fault.end(platform);
  const began = performance.now();
  const known = stored(writers);
  await expect.poll(() => stored(writers), { timeout: BACK_MS, interval: 50 }).toBeGreaterThan(known + 2);
  const milliseconds = Math.round(performance.now() - began);
  await expect.poll(async () => (await healthOf(platform)).status, { timeout: BACK_MS }).toBe(200);
  return milliseconds;
}

test("stores writes again when a full disk has room, and keeps all acknowledged ones", async () => {
  const fault = fullDisk();
  try {
    await using platform = await startPlatform({ env: { DATA_DIR: fault.dir, NATS_BROKERS: "1" } });
    const writers = new Writers(platform, "x".repeat(2_000));
    await writers.start(4);
    await expect.poll(() => stored(writers)).toBeGreaterThan(4);

    const store = platform.operatorStore({ requestTimeoutMs: 2_000 });
    await breakStream(platform, store, fault);
    await expect.poll(async () => (await healthOf(platform)).status).toBe(503);
    const ill = await healthOf(platform);
    expect(ill.body).toMatchObject({ code: "writes_unavailable" });
    expect(ill.body.detail).toMatch(/stores no data \((no space left on device|file too large)\)/);
    expect((await healthOf(platform, "read")).status).toBe(200);
    expect((await healthOf(platform, "live")).status).toBe(200);
    expect(platform.logs.join("\n")).toMatch(/The broker cannot store data, .*(no space left|too large)/);
    const times = [await endFault(platform, writers, fault)];

    const random = testRandom();
    while (times.length < ROUNDS) {
      await breakStream(platform, store, fault);
      // While the disk is full, the broker is not restarted.
      const { pid } = platform.broker ?? {};
      await delay(random.below(3_000));
      if (fault.lasts) expect(platform.broker?.pid).toBe(pid);
      times.push(await endFault(platform, writers, fault));
    }
    if (ROUNDS > 2) console.log(`Milliseconds until writes worked again: ${times.join(", ")}`);
    await writers.stop();
    writers.expectFairAnswers();
    await writers.expectKept();
  } finally {
    fault.release();
  }
}, 600_000);

test("stores writes again after the broker's writes failed for another reason", async () => {
  const fault = limitedFiles();
  await using platform = await startPlatform({ env: { DATA_DIR: fault.dir, NATS_BROKERS: "1" } });
  const writers = new Writers(platform, "x".repeat(2_000));
  await writers.start(4);
  await expect.poll(() => stored(writers)).toBeGreaterThan(4);
  fault.begin(platform);
  const said = () => platform.logs.join("\n");
  await expect.poll(said).toMatch(/The broker cannot store data, .*file too large/);
  // The parent can write, so it restarts the broker at once. The new process has no limit.
  await expect.poll(said, { timeout: BACK_MS }).toContain("The broker is back.");
  const known = stored(writers);
  await expect.poll(() => stored(writers), { timeout: BACK_MS }).toBeGreaterThan(known + 4);
  await writers.stop();
  writers.expectFairAnswers();
  await writers.expectKept();
});

test("a broker that broker.sh runs ends once its disk has room again, so that it is started again", async () => {
  const fault = fullDisk();
  const dir = brokerDir(fault.dir);
  mkdirSync(dir, { recursive: true });
  const [port, wsPort] = [await freePort(), await freePort()];
  const conf = join(fault.dir, "nats.conf");
  writeFileSync(
    conf,
    renderConfig({ port, wsPort, storeDir: dir, portsDir: fault.dir, syncInterval: "always", passwords: {} }),
  );
  let child: ChildProcess | undefined;
  let output = "";
  let stopped = false;
  const ended = Promise.withResolvers<void>();
  /** Starts the script again whenever it ends, as systemd does. */
  const begin = () => {
    child = spawn("sh", ["scripts/server/broker.sh", dir, lastingBroker(), "-c", conf]);
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
    child.once("close", () => (stopped ? ended.resolve() : begin()));
  };
  begin();
  const store = openStore({ url: `ws://127.0.0.1:${wsPort}`, reconnect: true, requestTimeoutMs: 1_000 });
  const config = orbStreamConfig("shop", 1);
  const write = () =>
    store.append(streams.orb("shop"), { subject: "shop.x", data: "x".repeat(100_000) }).then(
      () => "stored",
      () => "failed",
    );
  try {
    await expect
      .poll(() =>
        store.createStream(config).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    expect(await write()).toBe("stored");
    const pid = child?.pid;
    fault.begin({ broker: { pid } });
    await expect.poll(write).toBe("failed");
    await expect.poll(() => output).toContain("The broker cannot store data");
    expect(child?.pid).toBe(pid);
    fault.end({ broker: { pid } });
    await expect.poll(write, { timeout: BACK_MS }).toBe("stored");
    expect(output).toContain("Ending the broker");
    expect(child?.pid).not.toBe(pid);
  } finally {
    await store.close().catch(() => undefined);
    stopped = true;
    // The script's process is the broker, which stops at a signal.
    child?.kill("SIGTERM");
    await ended.promise;
    fault.release();
  }
}, 120_000);

test("health checks and metrics name one of three brokers whose disk is full, and the others serve", async () => {
  const dataDir = tempDir("cluster");
  const folder = join(clusterDir(dataDir), "n3");
  const disk = smallDisk(folder, 96);
  if (disk === undefined) return;
  try {
    await using platform = await startPlatform({ env: { DATA_DIR: dataDir, NATS_BROKERS: "3" } });
    const token = await adminToken(platform);
    const missing = async () => {
      const answer = await fetch(`${platform.url}/api/metrics`, {
        headers: { authorization: `Bearer ${token}` },
      });
      return Number(/^platform_stream_copies_missing (\d+)$/m.exec(await answer.text())?.[1] ?? Number.NaN);
    };
    let orbs = 0;
    const create = async () => {
      await createOrb(platform, token, small(`full-${++orbs}`)).catch(() => undefined);
      return missing();
    };
    await expect.poll(missing).toBe(0);
    spawnSync("dd", ["if=/dev/zero", `of=${join(folder, "filler")}`, "bs=64k"], { stdio: "ignore" });
    await expect.poll(create, { timeout: 90_000, interval: 200 }).toBeGreaterThan(0);
    // Streams that the broker led get another leader first.
    const served = () =>
      createOrb(platform, token, small(`served-${++orbs}`)).then(
        () => true,
        () => false,
      );
    await expect.poll(served, { timeout: 60_000 }).toBe(true);
    const warned = async () => (await healthOf(platform)).body.warnings;
    await expect
      .poll(warned, { timeout: 60_000 })
      .toEqual([expect.objectContaining({ code: "broker_behind", broker: "n3" })]);
    expect((await healthOf(platform)).status).toBe(200);
    expect(platform.logs.join("\n")).toMatch(/The broker cannot store data, /);
    rmSync(join(folder, "filler"));
    await expect.poll(warned, { timeout: 120_000, interval: 500 }).toBeUndefined();
    await expect.poll(missing, { timeout: 120_000, interval: 500 }).toBe(0);
  } finally {
    disk.release();
  }
}, 300_000);
