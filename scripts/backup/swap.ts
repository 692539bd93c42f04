/**
 * Replaces streams with the streams of a backup. The broker cannot rename a stream, so each stream is deleted and
 * then restored. A journal file describes the restore, so that the next start of the platform can finish the restore
 * after an interruption.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { ensureBootstrap } from "../../shared/access/bootstrap.ts";
import { voidAllCodes } from "../../shared/access/recovery/index.ts";
import { revokeOpenInvitations } from "../../shared/access/revocation.ts";
import { forgetAllLosses, orbHead } from "../../shared/definition/stored/index.ts";
import type { Deps } from "../../shared/deps.ts";
import { TAKEOVER_MS, workerState } from "../../shared/hooks/after/index.ts";
import { baseConfig, provision } from "../../shared/store/broker/index.ts";
import { buckets, isToken, orbOf, streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { claimRestore, recordFolder, writePrivate } from "../config/data-dir.ts";
import { Failure, oneLine } from "../process/failure.ts";
import { allStreams, MANIFEST, MARK, type Manifest, manifestSchema } from "./format.ts";
import { removeTrialStreams, restoreStream } from "./put.ts";
import { checkSnapshot } from "./read.ts";

export const RESTORES = "restores";
const JOURNAL = "unfinished.json";

const journalSchema = z.object({
  v: z.literal(1),
  from: z.string(),
  /** Folder with copies of the backup's files, which have been verified. */
  staged: z.string(),
  /** Folder with a safety copy of the streams as they were before the restore. */
  before: z.string(),
  keepSessions: z.boolean(),
  /** Name of a stream that exists only on the broker that is being restored. */
  mark: z.string(),
  /** Whether a process was calling after-write hooks when the restore began. */
  delivering: z.boolean(),
});
export type Journal = z.infer<typeof journalSchema>;

const journalPath = (dataDir: string) => join(dataDir, RESTORES, JOURNAL);

/**
 * Returns the journal of an interrupted restore; undefined if there is none.
 * @throws Failure if the journal is damaged
 */
export function unfinishedRestore(dataDir: string): Journal | undefined {
  const path = journalPath(dataDir);
  if (!existsSync(path)) return undefined;
  try {
    return journalSchema.parse(JSON.parse(readFileSync(path, "utf8")));
  } catch {
    throw new Failure(
      `An earlier restore was interrupted, and its journal ${path} is damaged. Remove that file, then restore a backup again.`,
    );
  }
}

/**
 * Completes the journal of a restore and writes it. While the journal exists, the next start of the platform must
 * finish or undo the restore.
 * @returns the whole journal
 */
export async function writeJournal(
  deps: Deps,
  dataDir: string,
  begun: Omit<Journal, "delivering">,
): Promise<Journal> {
  const journal = { ...begun, delivering: (await workerState(deps)) === "running" };
  writePrivate(journalPath(dataDir), JSON.stringify(journal));
  return journal;
}

export const newRestoreMark = () => MARK + crypto.randomUUID();

/**
 * Creates an empty stream on the broker as a mark. If other brokers use the same data folder, only the broker that has
 * the mark may finish the restore.
 */
export function writeMark({ store, config }: Deps, { mark }: Pick<Journal, "mark">): Promise<void> {
  return store.createStream(baseConfig(mark, [`_${mark}.>`], config.replicas));
}

export const isMarked = async (store: Store, { mark }: Journal) => (await store.streamInfo(mark)) !== null;

export const wrongBroker = (dataDir: string, { from }: Journal) =>
  new Failure(
    `A restore of ${from} was interrupted at another broker. Finish it there first, or remove ${journalPath(dataDir)} to give it up.`,
  );

export const recoverySteps = ({ from, before }: Journal) =>
  `Finish it with: npm run restore -- ${from} --replace. Or undo it with: npm run restore -- ${before} --replace`;

/**
 * Streams that a restore must not change. Old sign-in challenges would allow an attacker to replay a sign-in. Old
 * counts of attempts would allow more guesses.
 */
const UNTOUCHED: readonly string[] = [
  streams.kv(buckets.challenges),
  streams.kv(buckets.presence),
  streams.limits,
  streams.quotas,
  streams.longQuotas,
  streams.usage,
];
/**
 * Streams that are restored only with --keep-sessions. Otherwise, sessions and API tokens that ended after the backup
 * would become valid again.
 */
const SESSIONS: readonly string[] = [buckets.sessions, buckets.apiTokens].map(streams.kv);
/**
 * The stream that stores the progress of hooks and schedules. Processes that run hooks also elect their leader in
 * this stream.
 */
const HOOKS = streams.hooks;
/** Streams with the accounts. Without them, every registration and sign-in fails. */
const ACCOUNTS: readonly string[] = [buckets.platformAdmins, buckets.orbUsers].map(streams.kv);

/**
 * Returns whether a stream belongs to an application that is not in the backup. Such a stream must be deleted,
 * because a new application with the same id would get its entries.
 */
async function isLeftBehind(deps: Deps, stream: string): Promise<boolean> {
  const orb = orbOf(stream);
  if (orb === undefined || !isToken(orb)) return false;
  const head = await orbHead(deps, orb);
  return head === null || head.operation === "deleted";
}

/** Replaces the platform's streams with those of the backup. Can be called again after an interruption. */
export async function swap(
  deps: Deps,
  dataDir: string,
  journal: Journal,
  say: (line: string) => void,
): Promise<Manifest> {
  try {
    const manifest = manifestSchema.parse(JSON.parse(readFileSync(join(journal.staged, MANIFEST), "utf8")));
    for (const stream of manifest.streams) checkSnapshot(journal.staged, stream);
    await replaceStreams(deps, journal, manifest, say);
    // The backup may contain the mark of a loss, and the restore was the operator's decision.
    await forgetAllLosses(deps);
    // The streams are now shorter than their records say. The next records begin with what was restored.
    rmSync(recordFolder(dataDir), { recursive: true, force: true });
    rmSync(journalPath(dataDir));
    await removeTrialStreams(deps.store);
    rmSync(journal.staged, { recursive: true, force: true });
    return manifest;
  } catch (error) {
    const words = oneLine(error) ?? (error instanceof Error ? error.message : String(error));
    throw new Failure(
      `The restore was interrupted: ${words}\nThe earlier streams are in ${journal.before}. ${recoverySteps(journal)}`,
      { cause: error },
    );
  }
}

/**
 * Deletes the progress of hook deliveries. A process that calls hooks then loses its leadership, and forgets how far it
 * has read. Otherwise it would skip new writes, until their sequence numbers exceed those of the writes that the
 * restore undoes.
 * @returns the time by `performance.now()` after which the progress can be restored
 */
async function stopDeliveries(deps: Deps, { delivering }: Journal): Promise<number> {
  // An interrupted restore may have deleted the stream already. The journal then tells whether a process was calling
  // hooks.
  const isUsed = delivering || (await workerState(deps)) === "running";
  await deps.store.deleteStream(HOOKS);
  return performance.now() + (isUsed ? TAKEOVER_MS : 0);
}

async function replaceStreams(
  deps: Deps,
  journal: Journal,
  { streams: saved }: Manifest,
  say: (line: string) => void,
): Promise<void> {
  const { store } = deps;
  const { replicas } = deps.config;
  const { staged, keepSessions } = journal;
  for (const name of ACCOUNTS) await store.deleteStream(name);
  const resumable = await stopDeliveries(deps, journal);
  if (!keepSessions) {
    for (const name of SESSIONS) await store.deleteStream(name);
    say(
      "All sessions and API tokens have ended: all users must sign in again, and programs need new tokens.",
    );
  } else
    say(
      "Sessions, API tokens and open invitations of the backup become valid again, including those that ended since.",
    );
  const bring = async (stream: Manifest["streams"][number]) =>
    say(`${stream.name}: ${await restoreStream(store, staged, stream, replicas)} messages`);
  const wanted = saved.filter(
    ({ name }) => !UNTOUCHED.includes(name) && (keepSessions || !SESSIONS.includes(name)),
  );
  const isLate = (name: string) => name === HOOKS || ACCOUNTS.includes(name);
  for (const stream of wanted) if (!isLate(stream.name)) await bring(stream);
  await delay(Math.max(0, resumable - performance.now()));
  for (const stream of wanted) if (stream.name === HOOKS) await bring(stream);
  if (!keepSessions) {
    say(`${await revokeOpenInvitations(deps)} open invitations were revoked.`);
    const sets = await voidAllCodes(deps);
    if (sets > 0) say(`${sets} sets of recovery codes are void. Their accounts must create new ones.`);
  }
  for (const name of await allStreams(store)) {
    if (!(await isLeftBehind(deps, name))) continue;
    await store.deleteStream(name);
    say(`${name}: deleted, because the backup has no such orb`);
  }
  // Restore accounts last, because users can sign in as soon as their accounts exist.
  for (const stream of wanted) if (ACCOUNTS.includes(stream.name)) await bring(stream);
  await provision(store, { replicas });
  const bootstrap = await ensureBootstrap(deps);
  if (bootstrap !== null)
    say(`The backup has no platform admin. Become the first one here:\n${bootstrap.url}`);
}

/**
 * Finishes an interrupted restore before the platform serves requests. Until then, accounts may be missing, and on a
 * platform without admins the first visitor can become an admin.
 * @param open connects to the broker with all permissions
 */
export async function finishAtStart(
  dataDir: string,
  open: (act: (deps: Deps) => Promise<void>) => Promise<void>,
  say: (line: string) => void,
): Promise<void> {
  const journal = unfinishedRestore(dataDir);
  if (journal === undefined) return;
  const claim = claimRestore(dataDir);
  say(`Finishing the interrupted restore of ${journal.from} …`);
  try {
    await open(async (deps) => {
      if (!(await isMarked(deps.store, journal))) throw wrongBroker(dataDir, journal);
      await swap(deps, dataDir, journal, say).catch((error: unknown) => {
        const words = oneLine(error) ?? String(error);
        throw new Failure(
          `${words}\nTo start without it, remove ${journalPath(dataDir)}. Accounts may be missing then, and the first visitor can become platform admin.`,
          { cause: error },
        );
      });
    });
  } finally {
    claim.release();
  }
}

/** Removes the files of restores that were interrupted before they replaced any stream. */
export function removeRemains(dataDir: string): void {
  const folder = join(dataDir, RESTORES);
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    rmSync(join(folder, name, "staged"), { recursive: true, force: true });
    if (!existsSync(join(folder, name, "before", MANIFEST)))
      rmSync(join(folder, name), { recursive: true, force: true });
  }
}
