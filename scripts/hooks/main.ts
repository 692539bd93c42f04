/**
 * The hooks process: runs after-write hooks and schedules until it receives SIGTERM. If several of these processes
 * run, only one works, and another takes over when it fails.
 */
import { randomUUID } from "node:crypto";
import { readSettings } from "../../functions/env.ts";
import { consoleLog } from "../../functions/request/log.ts";
import { sweepFiles } from "../../shared/files/sweep.ts";
import { HookWorker } from "../../shared/hooks/after/worker.ts";
import { openStore } from "../../shared/store/broker/store.ts";
import { readHooksSettings } from "../config/hooks-settings.ts";
import { scriptDeps } from "../platform/deps.ts";
import { exitWith, oneLine } from "../process/failure.ts";
import { outliveRejections } from "../process/rejections.ts";
import type { Word } from "../process/supervise.ts";
import { poster } from "./post.ts";

/** Milliseconds between two searches for stored content that no file uses. */
const SWEEP_MS = 3_600_000;

/** Reports a fatal error to the parent process, or prints it to the terminal if there is no parent. Then exits. */
function fail(error: unknown): never {
  const failure = oneLine(error);
  if (failure === undefined || process.send === undefined) exitWith(error);
  process.send({ failure } satisfies Word);
  process.exit(1);
}

function settings() {
  try {
    const { broker, logLevel } = readSettings(process.env);
    return { own: readHooksSettings(process.env), broker, logLevel };
  } catch (error) {
    fail(error);
  }
}
const { own, broker, logLevel } = settings();
const log = consoleLog(logLevel, { service: "hooks" });
outliveRejections(log);

const store = openStore({
  ...broker,
  name: "hooks",
  reconnect: true,
  onStatus: (status) => log[status === "connected" ? "info" : "warn"](`broker ${status}`),
});
const variables = Object.fromEntries(
  Object.entries(process.env).filter((pair): pair is [string, string] => pair[1] !== undefined),
);
const deps = { ...scriptDeps(store, variables), log };
const worker = new HookWorker(deps, {
  name: randomUUID(),
  attempts: own.HOOKS_ATTEMPTS,
  retryMs: own.HOOKS_RETRY_MS,
  post: poster({ allowed: own.HOOKS_ALLOWED_NETWORKS }),
});
worker.start();
const sweep = () =>
  sweepFiles(deps).catch((error: unknown) =>
    log.warn("the removal of unused files failed", { error: String(error) }),
  );
const sweeping = setInterval(() => void sweep(), SWEEP_MS);
log.info("hooks process runs");
process.send?.({ ready: true } satisfies Word);

let stopping = false;
async function stop(): Promise<void> {
  if (stopping) return;
  stopping = true;
  clearInterval(sweeping);
  await worker.stop();
  await store.close();
  process.exit(0);
}
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => void stop());
process.on("disconnect", () => void stop());
