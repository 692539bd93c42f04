/**
 * The hooks process: runs after-write hooks and schedules, publishes scheduled change sets, and compacts ordered indexes,
 * until it receives SIGTERM. If several of these processes run, only one runs hooks and schedules, and another takes over
 * when it fails. With DATA_DIR, it also keeps the records of the streams, unless a platform on this folder does.
 */
import { randomUUID } from "node:crypto";
import { readSettings } from "../../functions/env.ts";
import { consoleLog } from "../../functions/request/log.ts";
import { ScheduleKeeper } from "../../shared/changes/scheduled/index.ts";
import { IndexKeeper } from "../../shared/entry/ordered/index.ts";
import { sweepFiles } from "../../shared/files/sweep.ts";
import { HookWorker } from "../../shared/hooks/after/index.ts";
import { type Compared, completeIndexes } from "../../shared/orb/complete-indexes.ts";
import { openStore } from "../../shared/store/broker/index.ts";
import { prepareDataDir, readRunning } from "../config/data-dir.ts";
import { readHooksSettings } from "../config/hooks-settings.ts";
import { openSocket } from "../host/socket.ts";
import { scriptDeps } from "../platform/deps.ts";
import { exitWith, oneLine } from "../process/failure.ts";
import { outliveRejections } from "../process/rejections.ts";
import type { Word } from "../process/supervise.ts";
import { RecordKeeper } from "../verify/keeper.ts";
import { poster } from "./post.ts";

/** Milliseconds between two searches for stored content that no file uses. */
const SWEEP_MS = 3_600_000;
/**
 * Milliseconds between two comparisons of indexes with the entries that were written meanwhile. Instances of an older
 * version do not change these indexes, and may still run for a while after an update.
 */
const COMPARE_MS = 300_000;

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
  openSocket,
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
  post: poster({ allowed: own.HOOKS_ALLOWED_NETWORKS, loopback: own.HOOKS_LOOPBACK }),
});
worker.start();
const keeper = new IndexKeeper(deps);
keeper.start();
const scheduled = new ScheduleKeeper(deps);
scheduled.start();
let stopping = false;
const sweep = () =>
  sweepFiles(deps).catch((error: unknown) =>
    log.warn("the removal of unused files failed", { error: String(error) }),
  );
const sweeping = setInterval(() => void sweep(), SWEEP_MS);

const compared: Compared = new Map();
let isComparing = false;
/** Completes the indexes of published entries, unless the last call is still at work. */
const complete = async () => {
  if (isComparing) return;
  isComparing = true;
  try {
    await completeIndexes(deps, compared);
  } catch (error) {
    if (!stopping) log.warn("the completion of live indexes failed", { error: String(error) });
  } finally {
    isComparing = false;
  }
};
const completing = setInterval(() => void complete(), COMPARE_MS);

/** Starts to keep the records of the streams. A platform that started this process keeps them itself. */
function recordKeeper(dataDir: string | undefined): RecordKeeper | undefined {
  if (dataDir === undefined || process.send !== undefined) return undefined;
  try {
    prepareDataDir(dataDir);
    if (readRunning(dataDir) !== undefined) return undefined;
  } catch (error) {
    fail(error);
  }
  const own = openStore({ ...broker, name: "record", reconnect: true });
  return new RecordKeeper({ ...deps, store: own }, { dataDir, say: (line) => log.error(line) });
}
const records = recordKeeper(process.env.DATA_DIR);
void records?.start();
log.info("hooks process runs");
process.send?.({ ready: true } satisfies Word);
// After an update, entries of the older version are in no live index yet.
void complete();

async function stop(): Promise<void> {
  if (stopping) return;
  stopping = true;
  clearInterval(sweeping);
  clearInterval(completing);
  await Promise.all([worker.stop(), keeper.stop(), scheduled.stop(), records?.stop()]);
  await store.close();
  process.exit(0);
}
for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => void stop());
process.on("disconnect", () => void stop());
