/**
 * The part of a restore that replaces what is there. The broker cannot rename a stream, so each one is deleted and its
 * snapshot restored in its place. A journal is on disk from before the first deletion until the last stream is back:
 * whatever ends the process or the broker in between, the next run begins the replacement again from copies of its own.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { ensureBootstrap } from "../../shared/access/bootstrap.ts";
import { revokeOpenInvitations } from "../../shared/access/invitations.ts";
import { orbHead } from "../../shared/definition/stored/history.ts";
import type { Deps } from "../../shared/deps.ts";
import { provision } from "../../shared/store/broker/provision.ts";
import { baseConfig } from "../../shared/store/broker/store.ts";
import { buckets, isToken, orbOf, streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { claimRestore, writePrivate } from "../config/data-dir.ts";
import { Failure, oneLine } from "../process/failure.ts";
import { allStreams, MANIFEST, MARK, type Manifest, manifestSchema } from "./format.ts";
import { putBack, removeOwn } from "./put.ts";
import { checkSnapshot } from "./read.ts";

/** Folder below the data folder with the working copies and safety copies of restores. */
export const RESTORES = "restores";
const JOURNAL = "unfinished.json";

const journalSchema = z.object({
  v: z.literal(1),
  /** The backup's folder, as the command was given it. */
  from: z.string(),
  /** Checked copies of the backup's files, in a folder of the restore's own. */
  staged: z.string(),
  /** Backup of the earlier streams. */
  before: z.string(),
  keepSessions: z.boolean(),
  /** Stream that exists at the broker while it is under way. */
  mark: z.string(),
});
/** A restore that has begun to replace streams. */
export type Journal = z.infer<typeof journalSchema>;

const journalPath = (dataDir: string) => join(dataDir, RESTORES, JOURNAL);

/** The restore that was interrupted; undefined when there is none. @throws Failure when its journal is damaged */
export function unfinished(dataDir: string): Journal | undefined {
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

/** From here on the restore is finished or undone by the next run. */
export function writeJournal(dataDir: string, journal: Journal): void {
  writePrivate(journalPath(dataDir), JSON.stringify(journal));
}

/** Name of the mark of a restore. */
export const newMark = () => MARK + crypto.randomUUID();

/** Marks the broker. A data folder may be used with several: a restore must not be finished at another one. */
export function leaveMark({ store, config }: Deps, { mark }: Journal): Promise<void> {
  return store.createStream(baseConfig(mark, [`_${mark}.>`], config.replicas));
}

/** Whether a restore was interrupted at this broker. */
export const isHere = async (store: Store, { mark }: Journal) => (await store.streamInfo(mark)) !== null;

/** A restore was interrupted at another broker than this one. */
export const elsewhere = (dataDir: string, { from }: Journal) =>
  new Failure(
    `A restore of ${from} was interrupted at another broker. Finish it there first, or remove ${journalPath(dataDir)} to give it up.`,
  );

/** How a person goes on after an interruption. */
export const waysOn = ({ from, before }: Journal) =>
  `Finish it with: npm run restore -- ${from} --replace. Or undo it with: npm run restore -- ${before} --replace`;

/**
 * Streams that stay as they are. They say what has happened in the last minutes: which challenges were used, and how often
 * a client tried and an account guessed. An older state would let a recorded sign-in be used again, and guessing go on.
 */
const UNTOUCHED: readonly string[] = [
  streams.kv(buckets.challenges),
  streams.limits,
  streams.quotas,
  streams.longQuotas,
];
/** Restored only with --keep-sessions: a session that ended since the backup would be valid again. */
const SESSIONS = streams.kv(buckets.sessions);
/** While they are missing, no account can be read or written: a registration or a sign-in fails and changes nothing. */
const ACCOUNTS: readonly string[] = [buckets.platformAdmins, buckets.orbUsers].map(streams.kv);

/**
 * Whether a stream is that of an orb which does not exist in the restored history. The stream was there before, or the
 * orb was created while the backup was taken. An orb created later under that name would find its entries.
 */
async function isLeftBehind(deps: Deps, stream: string): Promise<boolean> {
  const orb = orbOf(stream);
  if (orb === undefined || !isToken(orb)) return false;
  const head = await orbHead(deps, orb);
  return head === null || head.operation === "deleted";
}

/**
 * Replaces the streams, and ends the journal. Repeating it from the start after an interruption gives the same result.
 * @throws Failure that says how to go on
 */
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
    rmSync(journalPath(dataDir));
    await removeOwn(deps.store);
    rmSync(journal.staged, { recursive: true, force: true });
    return manifest;
  } catch (error) {
    const words = oneLine(error) ?? (error instanceof Error ? error.message : String(error));
    throw new Failure(
      `The restore stopped half-way: ${words}\nThe earlier streams are in ${journal.before}. ${waysOn(journal)}`,
      { cause: error },
    );
  }
}

async function replaceStreams(
  deps: Deps,
  { staged, keepSessions }: Journal,
  { streams: saved }: Manifest,
  say: (line: string) => void,
): Promise<void> {
  const { store } = deps;
  const { replicas } = deps.config;
  for (const name of ACCOUNTS) await store.deleteStream(name);
  if (!keepSessions) {
    await store.deleteStream(SESSIONS);
    say("Sessions have ended: all users sign in again.");
  } else
    say("Sessions and open invitations of the backup will be valid again, also those that were ended since.");
  const bring = async (stream: Manifest["streams"][number]) =>
    say(`${stream.name}: ${await putBack(store, staged, stream, replicas)} messages`);
  const wanted = saved.filter(({ name }) => !UNTOUCHED.includes(name) && (keepSessions || name !== SESSIONS));
  for (const stream of wanted) if (!ACCOUNTS.includes(stream.name)) await bring(stream);
  if (!keepSessions) say(`${await revokeOpenInvitations(deps)} open invitations were revoked.`);
  for (const name of await allStreams(store)) {
    if (!(await isLeftBehind(deps, name))) continue;
    await store.deleteStream(name);
    say(`${name}: removed, the backup has no such orb`);
  }
  // Last: from here on people can sign in.
  for (const stream of wanted) if (ACCOUNTS.includes(stream.name)) await bring(stream);
  await provision(store, { replicas });
  const bootstrap = await ensureBootstrap(deps);
  if (bootstrap !== null)
    say(`The backup has no platform admin. Become the first one here:\n${bootstrap.url}`);
}

/**
 * Finishes a restore that was interrupted, before a platform serves: until then accounts may be missing, and a platform
 * without admins lets the first visitor become one.
 * @param open connects to the broker with every right
 * @throws Failure that says how to go on
 */
export async function finishAtStart(
  dataDir: string,
  open: (act: (deps: Deps) => Promise<void>) => Promise<void>,
  say: (line: string) => void,
): Promise<void> {
  const journal = unfinished(dataDir);
  if (journal === undefined) return;
  const claim = claimRestore(dataDir);
  say(`Finishing the restore of ${journal.from} that was interrupted …`);
  try {
    await open(async (deps) => {
      if (!(await isHere(deps.store, journal))) throw elsewhere(dataDir, journal);
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

/** Removes what restores left that were interrupted before they replaced anything. */
export function removeRemains(dataDir: string): void {
  const folder = join(dataDir, RESTORES);
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    rmSync(join(folder, name, "staged"), { recursive: true, force: true });
    if (!existsSync(join(folder, name, "before", MANIFEST)))
      rmSync(join(folder, name), { recursive: true, force: true });
  }
}
