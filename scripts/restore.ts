/** `npm run restore -- <folder>` verifies the whole backup, makes a safety copy, and then replaces all data. */
import { rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Deps } from "../shared/deps.ts";
import { buckets, orbOf, streams } from "../shared/store/subjects.ts";
import { allStreams, MANIFEST, type Manifest } from "./backup/format.ts";
import { removeTrialStreams, trialRestore } from "./backup/put.ts";
import { checkSnapshot, type Read, readManifest, requireAuthentic } from "./backup/read.ts";
import {
  isMarked,
  type Journal,
  newRestoreMark,
  RESTORES,
  recoverySteps,
  removeRemains,
  swap,
  unfinishedRestore,
  writeJournal,
  writeMark,
  wrongBroker,
} from "./backup/swap.ts";
import { writeBackup } from "./backup.ts";
import { claimRestore } from "./config/data-dir.ts";
import { makeFolder } from "./config/folders.ts";
import { readSettings, type Settings } from "./config/settings.ts";
import { withRunningPlatform } from "./platform/running-platform.ts";
import { readArguments } from "./process/arguments.ts";
import { exitWith, Failure } from "./process/failure.ts";

/**
 * Streams into which the platform itself writes, even before the first sign-in. A restore may replace them without the
 * flag `--replace`.
 */
const FILLED_BY_ITSELF: readonly string[] = [
  streams.platform,
  streams.limits,
  streams.quotas,
  streams.longQuotas,
  streams.usage,
  streams.heartbeat,
  ...[buckets.platformInvitations, buckets.streamMappings, buckets.challenges].map(streams.kv),
];

export interface RestoreOptions {
  /** Allows the restore to replace streams that contain messages. */
  replace?: boolean;
  /** Also restores sessions and open invitations, even those that have ended since the backup. */
  keepSessions?: boolean;
  /** Accepts a backup that has no signature, or whose signature was made with an unknown key. */
  unsigned?: boolean;
}

/**
 * Throws if any of the streams that the restore would replace contains messages. The flag `--replace` skips this check.
 */
async function requireReplaceable({ store }: Deps, { streams: saved }: Manifest): Promise<void> {
  const kept = new Set(saved.map(({ name }) => name));
  const left = (await allStreams(store)).filter((name) => orbOf(name) !== undefined && !kept.has(name));
  const used: string[] = [];
  for (const name of [...kept, ...left]) {
    const messages = (await store.streamInfo(name))?.state.messages ?? 0;
    if (messages > 0 && !FILLED_BY_ITSELF.includes(name)) used.push(name);
  }
  if (used.length === 0) return;
  const some = `${used.slice(0, 5).join(", ")}${used.length > 5 ? ", …" : ""}`;
  throw new Failure(
    `${used.length} of these streams contain messages (${some}). Add --replace to replace them with the backup.`,
  );
}

/**
 * Copies and verifies the backup's files, and tests each file by restoring it under a temporary name. Does not change
 * the platform's streams.
 */
async function stage(
  { store }: Deps,
  folder: string,
  manifest: Manifest,
  staged: string,
  say: (line: string) => void,
): Promise<void> {
  makeFolder(staged);
  for (const stream of manifest.streams) checkSnapshot(folder, stream, staged);
  say(`${manifest.streams.length} snapshots are intact.`);
  for (const stream of manifest.streams) await trialRestore(store, staged, stream);
  say("The broker can restore each of them.");
  writeFileSync(join(staged, MANIFEST), JSON.stringify(manifest), { mode: 0o600, flush: true });
}

/** Restores a backup. Can also finish an interrupted restore, or undo a restore with its safety copy. */
export async function restore(
  settings: Settings,
  folder: string,
  options: RestoreOptions,
  say: (line: string) => void,
): Promise<Manifest> {
  // Check the folder before connecting to the broker. An interrupted restore does not need the folder, because it has
  // copies of the files.
  const read = unfinishedRestore(settings.dataDir)?.from === folder ? undefined : readManifest(folder);
  return withRunningPlatform(settings, "operator", async (deps) => {
    const claim = claimRestore(settings.dataDir);
    try {
      return await claimed(deps, settings.dataDir, folder, read, options, say);
    } finally {
      claim.release();
    }
  });
}

async function claimed(
  deps: Deps,
  dataDir: string,
  folder: string,
  read: Read | undefined,
  { replace = false, keepSessions = false, unsigned = false }: RestoreOptions,
  say: (line: string) => void,
): Promise<Manifest> {
  const earlier = unfinishedRestore(dataDir);
  if (earlier !== undefined && !(await isMarked(deps.store, earlier))) throw wrongBroker(dataDir, earlier);
  if (earlier?.from === folder) {
    say(`Finishing the interrupted restore of ${folder}.`);
    return swap(deps, dataDir, earlier, say);
  }
  const undoing = earlier !== undefined && earlier.before === folder;
  if (earlier !== undefined && !undoing)
    throw new Failure(`An earlier restore of ${earlier.from} was interrupted. ${recoverySteps(earlier)}`);
  if (earlier === undefined) {
    removeRemains(dataDir);
    await removeTrialStreams(deps.store);
  }
  const found = read ?? readManifest(folder);
  requireAuthentic(folder, found, deps.config.encryptionKeys, unsigned);
  const { manifest } = found;
  if (!replace && !undoing) await requireReplaceable(deps, manifest);
  const work = join(dataDir, RESTORES, new Date().toISOString().replaceAll(":", "-"));
  const staged = join(work, "staged");
  const before = undoing ? folder : join(work, "before");
  // An undo restores the earlier state completely, including sessions.
  const begun = {
    v: 1 as const,
    from: folder,
    staged,
    before,
    keepSessions: keepSessions || undoing,
    mark: newRestoreMark(),
  };
  let journal: Journal;
  try {
    await stage(deps, folder, manifest, staged, say);
    if (!undoing) {
      await writeBackup(deps, before, () => undefined);
      say(`A copy of the current streams is in ${before}.`);
    }
    await writeMark(deps, begun);
    journal = await writeJournal(deps, dataDir, begun);
  } catch (error) {
    rmSync(work, { recursive: true, force: true });
    throw error;
  }
  await swap(deps, dataDir, journal, say);
  if (undoing) {
    rmSync(work, { recursive: true, force: true });
    say("The earlier restore was undone.");
  } else say(`The copy of the earlier streams stays in ${before}. Remove it once you no longer need it.`);
  return manifest;
}

/** Lists the rights and secrets that a restore brings back. docs/guides/back-up-and-restore.md has the same list. */
const broughtBack = (keepSessions: boolean) =>
  [
    "Accounts have the state of the backup. Everything that was withdrawn since then works again. Withdraw it again:",
    "- accounts that were disabled or removed",
    "- passkeys and linked identities that were removed",
    "- roles that were taken away",
    "- secrets of webhooks that were replaced",
    "- handlers and stream mappings that were removed",
    ...(keepSessions ? ["- sessions, API tokens and invitations that were revoked"] : []),
  ].join("\n");

if (import.meta.main) {
  try {
    const usage = "npm run restore -- <folder> [--replace] [--keep-sessions] [--unsigned]";
    const { values, flags } = readArguments(usage, ["folder"], ["replace", "keep-sessions", "unsigned"]);
    const options = {
      replace: flags.replace,
      keepSessions: flags["keep-sessions"],
      unsigned: flags.unsigned,
    };
    const settings = readSettings(process.env);
    const restored = await restore(settings, resolve(values.folder), options, console.log);
    console.log(`\n${restored.streams.length} streams were restored.`);
    console.log(broughtBack(options.keepSessions));
    process.exit(0);
  } catch (error) {
    exitWith(error);
  }
}
