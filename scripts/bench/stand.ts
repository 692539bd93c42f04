/**
 * Starts the servers to measure, all with one broker: the functions, the Node host, and a minimal server to compare
 * with each of them.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { HandlerDeps } from "../../shared/handlers/contract/index.ts";
import { openStore } from "../../shared/store/broker/index.ts";
import { bundleFunctions } from "../bundle/bundle.ts";
import { readSettings } from "../config/settings.ts";
import { serveFunctions } from "../host/functions.ts";
import { scriptDeps } from "../platform/deps.ts";
import { lastingBroker, startPlatform } from "../platform/platform.ts";
import { freePort } from "../process/ports.ts";
import { endChild } from "../process/supervise.ts";
import { childrenOf } from "./measure.ts";

export interface Served {
  url: string;
  pid: number | undefined;
}

export interface Stand extends AsyncDisposable {
  functions: Served;
  floor: Served;
  host: Served;
  hostFloor: Served;
  brokerPid: number | undefined;
  /** Dependencies with which the benchmark calls the platform's operations directly, with all permissions. */
  deps: HandlerDeps;
  bindings: Record<string, string>;
  /** Folder with what the processes run and serve. */
  programs: string;
}

const STOP_LIMIT_MS = 15_000;

const script = (path: string) => fileURLToPath(new URL(path, import.meta.url));

async function answering(url: string): Promise<void> {
  for (const deadline = Date.now() + 20_000; ; await delay(50)) {
    const ok = await fetch(`${url}/api/health`).then(
      (answer) => answer.ok,
      () => false,
    );
    if (ok) return;
    if (Date.now() > deadline) throw new Error(`${url} did not become ready`);
  }
}

/** Calls `start`, and also returns the child process that it created. */
export async function childOf<T>(
  command: RegExp,
  start: () => Promise<T>,
): Promise<{ value: T; pid: number | undefined }> {
  const before = new Set(childrenOf(process.pid, command));
  const value = await start();
  return { value, pid: childrenOf(process.pid, command).find((pid) => !before.has(pid)) };
}

/** Starts the platform in a temporary folder, and removes the folder afterwards. */
export async function startTemporary(settings: Record<string, string>, log: (line: string) => void) {
  await using stack = new AsyncDisposableStack();
  const dataDir = mkdtempSync(join(tmpdir(), "platform-bench-"));
  stack.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  const ports = { PORT: String(await freePort()), STREAMS_PORT: String(await freePort()) };
  const env = { ...ports, DATA_DIR: dataDir, ...settings };
  const options = { natsServer: lastingBroker(log), streams: false, say: log, log };
  const platform = await startPlatform(readSettings(env), options);
  stack.defer(() => platform.stop());
  const all = stack.move();
  return { env, platform, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

export async function startStand(): Promise<Stand> {
  await using stack = new AsyncDisposableStack();
  const log = (line: string) => console.error(`  ${line}`);
  // Logging costs the same on every server, so the benchmark turns it off.
  const { value, pid } = await childOf(/workerd/, () => startTemporary({ LOG_LEVEL: "error" }, log));
  const { env, platform } = stack.use(value);
  const { bindings, broker } = platform;

  const floorPort = await freePort();
  const bundle = await bundleFunctions(script("./floor-worker.ts"));
  const floor = await childOf(/workerd/, () =>
    serveFunctions({
      host: "127.0.0.1",
      port: floorPort,
      bindings,
      log,
      bundle,
      programs: platform.programs,
    }),
  );
  stack.use(floor.value);

  const hostPort = await freePort();
  const host = spawn(process.execPath, [script("../host.ts")], {
    env: { ...process.env, ...env, PORT: String(hostPort) },
    stdio: ["ignore", "ignore", "inherit"],
  });
  stack.defer(() => endChild(host, "SIGTERM", STOP_LIMIT_MS));

  const hostFloor = spawn(process.execPath, [script("./floor-node.ts")], {
    env: { ...process.env, ...bindings },
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  stack.defer(() => endChild(hostFloor, "SIGTERM", STOP_LIMIT_MS));
  if (hostFloor.stdout === null) throw new Error("no output to read the port from");
  const [line] = (await once(hostFloor.stdout, "data")) as [Buffer];
  const { port: hostFloorPort } = JSON.parse(line.toString()) as { port: number };
  await answering(`http://127.0.0.1:${hostPort}`);

  const store = openStore({ ...platform.operatorAccess, replicas: 1, reconnect: true });
  stack.defer(() => store.close());
  const all = stack.move();
  return {
    functions: { url: platform.url, pid },
    floor: { url: `http://127.0.0.1:${floorPort}`, pid: floor.pid },
    host: { url: `http://127.0.0.1:${hostPort}`, pid: childrenOf(host.pid ?? 0, /platform-host/)[0] },
    hostFloor: { url: `http://127.0.0.1:${hostFloorPort}`, pid: hostFloor.pid },
    brokerPid: broker?.pid,
    deps: scriptDeps(store, bindings),
    bindings,
    programs: platform.programs,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
