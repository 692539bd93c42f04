/**
 * `npm run backup -- <folder>` saves all data of a running platform. Does not save the keys that decrypt the
 * encrypted values.
 */
import { createHash } from "node:crypto";
import { closeSync, fsyncSync, openSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Deps } from "../shared/deps.ts";
import type { Store } from "../shared/store/types.ts";
import { allStreams, api, MANIFEST, type Manifest, type SavedStream, snapshotFile } from "./backup/format.ts";
import { SIGNATURE, sign } from "./backup/signature.ts";
import { makeFolder } from "./config/folders.ts";
import { readSettings, type Settings } from "./config/settings.ts";
import { withRunningPlatform } from "./platform/running-platform.ts";
import { readArguments } from "./process/arguments.ts";
import { exitWith, Failure } from "./process/failure.ts";

/** A snapshot fails if no data arrives for this many milliseconds. */
const SILENCE_MS = 30_000;

/**
 * Saves a stream to a file. The broker sends the next piece only after this process has acknowledged the previous one.
 * So acknowledge a piece after it is written.
 */
async function snapshot(
  store: Store,
  stream: string,
  path: string,
): Promise<Omit<SavedStream, "name" | "file">> {
  const inbox = `_INBOX.operator.backup.${crypto.randomUUID()}`;
  const out = openSync(path, "w", 0o600);
  const hash = createHash("sha256");
  let bytes = 0;
  const { promise: whole, resolve: arrived, reject } = Promise.withResolvers<void>();
  const fail = (what: string) => reject(new Failure(`The snapshot of ${stream} ${what}.`));
  const silence = setTimeout(() => fail("stopped halfway through"), SILENCE_MS);
  const subscription = store.subscribe(inbox, (message) => {
    silence.refresh();
    if (message.data.length === 0) {
      const status = message.header("Status");
      if (status !== undefined && status !== "204") fail("failed");
      else arrived();
      return;
    }
    try {
      writeFileSync(out, message.data);
    } catch (error) {
      subscription.unsubscribe();
      fail(`cannot be written (${error instanceof Error ? error.message : String(error)})`);
      return;
    }
    bytes += message.data.length;
    hash.update(message.data);
    if (message.reply !== undefined) store.publish(message.reply, "");
  });
  whole.catch(() => undefined);
  try {
    // Wait until the broker has registered the subscription. Otherwise it could send the first piece before that, and
    // the piece would be lost.
    await store.ping();
    const request = { deliver_subject: inbox, no_consumers: true };
    const answer = await api(store, `STREAM.SNAPSHOT.${stream}`, request);
    await whole;
    fsyncSync(out);
    return {
      sha256: hash.digest("hex"),
      bytes,
      config: answer.config as SavedStream["config"],
      state: answer.state as SavedStream["state"],
    };
  } finally {
    clearTimeout(silence);
    subscription.unsubscribe();
    closeSync(out);
  }
}

function prepareFolder(folder: string): void {
  let found: string[];
  try {
    makeFolder(folder);
    found = readdirSync(folder);
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    throw new Failure(`Cannot use the folder ${folder} (${words}). Choose another one.`);
  }
  if (found.length > 0) throw new Failure(`The folder ${folder} is not empty. Choose a new or an empty one.`);
}

/**
 * Writes a backup to an empty folder.
 * @throws Failure if the folder is not empty or a snapshot fails
 */
export async function writeBackup(
  { store, config }: Deps,
  folder: string,
  say: (line: string) => void,
): Promise<Manifest> {
  prepareFolder(folder);
  const manifest: Manifest = {
    v: 1,
    at: new Date().toISOString(),
    broker: (await store.server()).version,
    streams: [],
  };
  // `allStreams` lists the stream `hooks` before the streams of applications. So the saved progress of a hook is
  // never ahead of the saved application.
  for (const name of await allStreams(store)) {
    const file = snapshotFile(name);
    const taken = await snapshot(store, name, join(folder, file)).catch(async (error: unknown) => {
      if ((await store.streamInfo(name)) !== null) throw error;
    });
    if (taken === undefined) {
      // The stream was deleted together with its application after the streams were listed.
      rmSync(join(folder, file));
      continue;
    }
    manifest.streams.push({ name, file, ...taken });
    say(`${name}: ${taken.state.messages} messages, ${taken.bytes} bytes`);
  }
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  writeFileSync(join(folder, SIGNATURE), sign(config.encryptionKeys, Buffer.from(text)), { mode: 0o600 });
  // Write the manifest last, because a backup without a manifest counts as incomplete.
  writeFileSync(join(folder, MANIFEST), text, { mode: 0o600 });
  return manifest;
}

export async function backup(
  settings: Settings,
  folder: string,
  say: (line: string) => void,
): Promise<Manifest> {
  // Check the folder first, before connecting to the broker.
  prepareFolder(folder);
  return withRunningPlatform(settings, "operator", (deps) => writeBackup(deps, folder, say));
}

if (import.meta.main) {
  try {
    const { values } = readArguments("npm run backup -- <folder>", ["folder"]);
    const settings = readSettings(process.env);
    const folder = resolve(values.folder);
    const { streams } = await backup(settings, folder, console.log);
    const keys = join(settings.dataDir, "secrets.json");
    console.log(
      `\n${streams.length} streams are in ${folder}.\nTo restore it you need the keys in ${keys}, or those of your deployment's secrets. Keep a copy of them in another place.\nSee docs/guides/back-up-and-restore.md.`,
    );
    process.exit(0);
  } catch (error) {
    exitWith(error);
  }
}
