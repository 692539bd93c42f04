/**
 * `npm run restore -- <folder> [--replace] [--keep-sessions] [--unsigned]`: brings a backup back, at the broker of the
 * running platform or an external one. Everything is checked and tried out before the first stream is touched, and what
 * is there is copied. Orbs that the backup does not know are gone afterwards, with their entries.
 */
import { rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Deps } from "../shared/deps.ts";
import { buckets, orbOf, streams } from "../shared/store/subjects.ts";
import { allStreams, MANIFEST, type Manifest } from "./backup/format.ts";
import { removeOwn, tryOut } from "./backup/put.ts";
import { checkSnapshot, type Read, readManifest, requireAuthentic } from "./backup/read.ts";
import {
  elsewhere,
  isHere,
  type Journal,
  leaveMark,
  newMark,
  RESTORES,
  removeRemains,
  swap,
  unfinished,
  waysOn,
  writeJournal,
} from "./backup/swap.ts";
import { writeBackup } from "./backup.ts";
import { claimRestore } from "./config/data-dir.ts";
import { makeFolder } from "./config/folders.ts";
import { readSettings, type Settings } from "./config/settings.ts";
import { withRunningPlatform } from "./platform/running-platform.ts";
import { readArguments } from "./process/arguments.ts";
import { exitWith, Failure } from "./process/failure.ts";

/**
 * What a platform stores before anybody has signed in (its own definitions and mappings, the first invitation), and what
 * lasts for minutes. As long as nothing else is stored, nobody misses it.
 */
const FILLED_BY_ITSELF: readonly string[] = [
  streams.platform,
  streams.limits,
  streams.quotas,
  streams.longQuotas,
  streams.heartbeat,
  ...[buckets.platformInvitations, buckets.streamMappings, buckets.challenges].map(streams.kv),
];

/** Options of the command. */
export interface RestoreOptions {
  /** Whether streams that hold something may be replaced. */
  replace?: boolean;
  /** Brings back sessions and open invitations of the backup too, those among them that were ended since. */
  keepSessions?: boolean;
  /** Takes a backup that is not signed, or with a key that is not known here. */
  unsigned?: boolean;
}

/** @throws Failure when streams hold something; `--replace` leaves this check out */
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
    `${used.length} of these streams hold messages here (${some}): --replace puts the backup in their place.`,
  );
}

/** Makes copies of the backup's files that are checked, and tries each at the broker. Touches nothing. */
async function stage(
  { store }: Deps,
  folder: string,
  manifest: Manifest,
  staged: string,
  say: (line: string) => void,
): Promise<void> {
  makeFolder(staged);
  for (const stream of manifest.streams) checkSnapshot(folder, stream, staged);
  say(`${manifest.streams.length} snapshots are as they were written.`);
  for (const stream of manifest.streams) await tryOut(store, staged, stream);
  say("The broker can restore each of them.");
  writeFileSync(join(staged, MANIFEST), JSON.stringify(manifest), { mode: 0o600, flush: true });
}

/**
 * Restores a backup, finishes a restore of it that was interrupted, or undoes one from its safety copy.
 * @throws Failure when the backup is damaged or not authentic, when streams hold something and may not be replaced, or
 * when it was interrupted: then it says how to go on
 */
export async function restore(
  settings: Settings,
  folder: string,
  options: RestoreOptions,
  say: (line: string) => void,
): Promise<Manifest> {
  // The command refuses a mistyped folder before it needs a broker. An interrupted restore has copies of its own.
  const read = unfinished(settings.dataDir)?.from === folder ? undefined : readManifest(folder);
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
  const earlier = unfinished(dataDir);
  if (earlier !== undefined && !(await isHere(deps.store, earlier))) throw elsewhere(dataDir, earlier);
  if (earlier?.from === folder) {
    say(`Finishing the restore of ${folder} that was interrupted.`);
    return swap(deps, dataDir, earlier, say);
  }
  const undoing = earlier !== undefined && earlier.before === folder;
  if (earlier !== undefined && !undoing)
    throw new Failure(`An earlier restore, of ${earlier.from}, was interrupted. ${waysOn(earlier)}`);
  if (earlier === undefined) {
    removeRemains(dataDir);
    await removeOwn(deps.store);
  }
  const found = read ?? readManifest(folder);
  requireAuthentic(folder, found, deps.config.encryptionKeys, unsigned);
  const { manifest } = found;
  if (!replace && !undoing) await requireReplaceable(deps, manifest);
  const work = join(dataDir, RESTORES, new Date().toISOString().replaceAll(":", "-"));
  const staged = join(work, "staged");
  const before = undoing ? folder : join(work, "before");
  // Undoing brings back what was there, sessions as well.
  const journal: Journal = {
    v: 1,
    from: folder,
    staged,
    before,
    keepSessions: keepSessions || undoing,
    mark: newMark(),
  };
  try {
    await stage(deps, folder, manifest, staged, say);
    if (!undoing) {
      await writeBackup(deps, before, () => undefined);
      say(`A copy of the present streams is in ${before}.`);
    }
    await leaveMark(deps, journal);
    writeJournal(dataDir, journal);
  } catch (error) {
    rmSync(work, { recursive: true, force: true });
    throw error;
  }
  await swap(deps, dataDir, journal, say);
  if (undoing) {
    rmSync(work, { recursive: true, force: true });
    say("The earlier restore was undone.");
  } else say(`The copy of the earlier streams stays in ${before}: remove it once you no longer need it.`);
  return manifest;
}

const SINCE =
  "Accounts are as they were when the backup was taken: disable or remove again those that were disabled or removed since.";

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
    console.log(`\n${restored.streams.length} streams are back.`);
    console.log(SINCE);
    process.exit(0);
  } catch (error) {
    exitWith(error);
  }
}
