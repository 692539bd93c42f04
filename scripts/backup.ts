/**
 * `npm run backup -- <folder>`: every stream and bucket of the platform, as the broker's own snapshots, while it runs.
 * Keep the keys (`secrets.json`, or the deployment's secrets) apart from it: without ENCRYPTION_KEYS what is sealed
 * cannot be opened again.
 */
import { createHash } from "node:crypto";
import { createWriteStream, existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { finished } from "node:stream/promises";
import type { Store } from "../shared/store/types.ts";
import { api, MANIFEST, type Manifest } from "./backup/format.ts";
import { besidePlatform } from "./beside.ts";
import { exitWith, Failure } from "./failure.ts";
import { readSettings, type Settings } from "./settings.ts";

const PAGE = 256;
/** A snapshot that brings nothing for so long has failed. */
const SILENCE_MS = 30_000;

async function allStreams(store: Store): Promise<string[]> {
  const names: string[] = [];
  for (;;) {
    const answer = await api(store, "STREAM.NAMES", { offset: names.length });
    const page = (answer.streams as string[] | null) ?? [];
    names.push(...page);
    if (page.length < PAGE && names.length >= Number(answer.total)) return names.sort();
  }
}

/** Takes one stream's snapshot into a file. The broker sends it in pieces and waits for our word on each. */
async function snapshot(
  store: Store,
  stream: string,
  path: string,
): Promise<Omit<Manifest["streams"][number], "name" | "file">> {
  const inbox = `_INBOX.operator.backup.${crypto.randomUUID()}`;
  const out = createWriteStream(path, { mode: 0o600 });
  const hash = createHash("sha256");
  let bytes = 0;
  let arrived: () => void = () => undefined;
  const pieces = new Promise<void>((resolvePieces, reject) => {
    let timer = setTimeout(
      () => reject(new Failure(`The snapshot of ${stream} stopped half-way.`)),
      SILENCE_MS,
    );
    const subscription = store.subscribe(inbox, (message) => {
      clearTimeout(timer);
      if (message.data.length === 0) {
        subscription.unsubscribe();
        const status = message.header("Status");
        if (status !== undefined && status !== "204")
          reject(new Failure(`The snapshot of ${stream} failed.`));
        else arrived();
        return;
      }
      timer = setTimeout(
        () => reject(new Failure(`The snapshot of ${stream} stopped half-way.`)),
        SILENCE_MS,
      );
      bytes += message.data.length;
      hash.update(message.data);
      out.write(message.data);
      if (message.reply !== undefined) store.publish(message.reply, "");
    });
    arrived = resolvePieces;
  });
  pieces.catch(() => undefined);
  // The subscription must be the broker's before the first piece leaves.
  await store.ping();
  const answer = await api(store, `STREAM.SNAPSHOT.${stream}`, {
    deliver_subject: inbox,
    no_consumers: true,
  });
  await pieces;
  out.end();
  await finished(out);
  return {
    sha256: hash.digest("hex"),
    bytes,
    config: answer.config as Record<string, unknown>,
    state: answer.state as Manifest["streams"][number]["state"],
  };
}

/** Writes a backup into an empty folder. @throws Failure when the folder is not empty or a snapshot fails */
export async function backup(
  settings: Settings,
  folder: string,
  say: (line: string) => void,
): Promise<Manifest> {
  if (existsSync(folder) && readdirSync(folder).length > 0)
    throw new Failure(`The folder ${folder} is not empty.`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return besidePlatform(settings, "operator", async ({ store }) => {
    const manifest: Manifest = {
      v: 1,
      at: new Date().toISOString(),
      broker: (await store.server()).version,
      streams: [],
    };
    for (const name of await allStreams(store)) {
      const file = `${encodeURIComponent(name)}.snapshot`;
      const taken = await snapshot(store, name, join(folder, file));
      manifest.streams.push({ name, file, ...taken });
      say(`${name}: ${taken.state.messages} messages, ${taken.bytes} bytes`);
    }
    // Written last: a backup without it is not whole.
    writeFileSync(join(folder, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 });
    return manifest;
  });
}

if (import.meta.main) {
  try {
    const [folder] = process.argv.slice(2);
    if (folder === undefined) throw new Failure("Name a new folder: npm run backup -- <folder>");
    const { streams } = await backup(readSettings(process.env), resolve(folder), console.log);
    console.log(
      `\n${streams.length} streams are in ${resolve(folder)}. Keep the keys too, and apart from it: see README.`,
    );
    process.exit(0);
  } catch (error) {
    exitWith(error);
  }
}
