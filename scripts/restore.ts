/**
 * `npm run restore -- <folder> [--replace]`: brings a backup's streams back, at the broker of the running platform or an
 * external one. Streams that hold something already are replaced only with `--replace`; those that a new platform made are not
 * asked about. Orbs that the backup does not know are gone afterwards, with their entries.
 */
import { createHash } from "node:crypto";
import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Deps } from "../shared/deps.ts";
import { AppError } from "../shared/errors.ts";
import { orbHead } from "../shared/orb/history.ts";
import { provision } from "../shared/store/provision.ts";
import { buckets, isToken, orbOf, streams } from "../shared/store/subjects.ts";
import type { Store } from "../shared/store/types.ts";
import { readArguments } from "./arguments.ts";
import { allStreams, api, MANIFEST, type Manifest } from "./backup/format.ts";
import { besidePlatform } from "./beside.ts";
import { exitWith, Failure } from "./failure.ts";
import { readSettings, type Settings } from "./settings.ts";

/** The broker takes pieces of at most this size. */
const PIECE = 128 * 1024;

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

function readPart(folder: string, file: string): Uint8Array {
  try {
    return readFileSync(join(folder, file));
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    throw new Failure(`The backup in ${folder} is not whole: ${file} cannot be read (${words}).`);
  }
}

/** How long whoever restores is waited for. */
const LISTENING_MS = 5_000;

function readManifest(folder: string): Manifest {
  let manifest: Manifest;
  try {
    manifest = JSON.parse(readFileSync(join(folder, MANIFEST), "utf8")) as Manifest;
  } catch {
    throw new Failure(`${folder} holds no whole backup: ${MANIFEST} is missing or damaged.`);
  }
  if (manifest.v !== 1) throw new Failure(`The backup in ${folder} is of a newer version than this program.`);
  for (const { file, sha256 } of manifest.streams) {
    const found = createHash("sha256").update(readPart(folder, file)).digest("hex");
    if (found !== sha256)
      throw new Failure(`${file} is damaged: its checksum is another than when it was written.`);
  }
  return manifest;
}

/** A piece to whoever restores: in a cluster another server, of which ours may hear only in a moment that it listens. */
async function piece(store: Store, subject: string, data: Uint8Array) {
  for (const deadline = Date.now() + LISTENING_MS; ; await delay(50)) {
    try {
      return await store.request(subject, data, { timeoutMs: 60_000 });
    } catch (error) {
      const unheard = error instanceof AppError && error.code === "no_responders";
      if (!unheard || Date.now() > deadline) throw error;
    }
  }
}

async function send(store: Store, path: string, subject: string): Promise<void> {
  const file = openSync(path, "r");
  try {
    const buffer = new Uint8Array(PIECE);
    for (;;) {
      const length = readSync(file, buffer, 0, PIECE, null);
      const reply = await piece(store, subject, buffer.slice(0, length));
      const text = new TextDecoder().decode(reply.data);
      if (text !== "") {
        const answer = JSON.parse(text) as { error?: { description: string } };
        if (answer.error !== undefined) throw new Failure(answer.error.description);
      }
      if (length === 0) return;
    }
  } finally {
    closeSync(file);
  }
}

/**
 * Whether a stream is that of an orb which is none any more: whoever created one of that name would find its entries. It
 * was there before, or the orb was created while the backup was taken, which had read the histories by then.
 */
async function isLeftBehind(deps: Deps, stream: string): Promise<boolean> {
  const orb = orbOf(stream);
  if (orb === undefined || !isToken(orb)) return false;
  const head = await orbHead(deps, orb);
  return head === null || head.operation === "deleted";
}

/**
 * Restores a backup. Everything is checked before the first stream is touched.
 * @param replace whether streams that hold something may be replaced
 * @throws Failure when the backup is damaged, or streams hold something and may not be replaced
 */
export async function restore(
  settings: Settings,
  folder: string,
  replace: boolean,
  say: (line: string) => void,
): Promise<Manifest> {
  const manifest = readManifest(folder);
  await besidePlatform(settings, "operator", async (deps) => {
    const { store } = deps;
    const { replicas } = deps.config;
    const kept = new Set(manifest.streams.map(({ name }) => name));
    const left = (await allStreams(store)).filter((name) => orbOf(name) !== undefined && !kept.has(name));
    const used: string[] = [];
    for (const name of [...kept, ...left]) {
      const messages = (await store.streamInfo(name))?.state.messages ?? 0;
      if (messages > 0 && !FILLED_BY_ITSELF.includes(name)) used.push(name);
    }
    if (used.length > 0 && !replace) {
      const some = `${used.slice(0, 5).join(", ")}${used.length > 5 ? ", …" : ""}`;
      throw new Failure(
        `${used.length} of these streams hold messages here (${some}): --replace puts the backup in their place.`,
      );
    }
    for (const { name, file, config, state } of manifest.streams) {
      await store.deleteStream(name);
      const restored = { ...config, num_replicas: replicas };
      const answer = await api(store, `STREAM.RESTORE.${name}`, { config: restored, state });
      await send(store, join(folder, file), String(answer.deliver_subject));
      const info = await store.streamInfo(name);
      // Not how many there are: what was to last for a while only may be over, and the scheduler goes on at once.
      if (info === null || info.state.last_seq < state.last_seq)
        throw new Failure(`${name} came back incomplete.`);
      say(`${name}: ${info.state.messages} messages`);
    }
    for (const name of await allStreams(store)) {
      if (!(await isLeftBehind(deps, name))) continue;
      await store.deleteStream(name);
      say(`${name}: removed, the backup has no such orb`);
    }
    await provision(store, { replicas });
  });
  return manifest;
}

if (import.meta.main) {
  try {
    const usage = "npm run restore -- <folder> [--replace]";
    const { values, flags } = readArguments(usage, ["folder"], ["replace"]);
    const settings = readSettings(process.env);
    const restored = await restore(settings, resolve(values.folder), flags.replace, console.log);
    console.log(`\n${restored.streams.length} streams are back.`);
    process.exit(0);
  } catch (error) {
    exitWith(error);
  }
}
