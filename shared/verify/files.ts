/** Compares the stored content of files with its SHA-256. */
import type { Deps } from "../deps.ts";
import { type ObjectInfo, readInfo, runsOf } from "../files/object.ts";
import type { FileRecord } from "../files/record.ts";
import { Sha256 } from "../files/sha256.ts";
import { fileStream, fileSubjects } from "../store/file-subjects.ts";
import { streams } from "../store/subjects.ts";
import { type Store, StreamMissing } from "../store/types.ts";
import type { Damages } from "./damage.ts";
import { pagesOf } from "./walk.ts";

/** Returns the SHA-256 of the stored chunks of an object, as hexadecimal text, and their size in bytes. */
async function contentOf(
  store: Store,
  orb: string,
  info: ObjectInfo,
): Promise<{ sha256: string; size: number }> {
  const hash = new Sha256();
  let size = 0;
  let last: Uint8Array = new Uint8Array();
  const [first] = runsOf(info);
  for await (const chunks of pagesOf(
    store,
    fileStream(orb),
    fileSubjects.chunks(orb, info.nuid),
    first?.[0] ?? 1,
  )) {
    for (const { data } of chunks) {
      // All chunks but the last one have whole blocks of the hash.
      hash.update(last);
      last = data;
      size += data.length;
    }
  }
  return { sha256: hash.digest(last, size), size };
}

/** Checks that the content of each file of an application is stored and unchanged. */
export async function verifyFiles(deps: Deps, orb: string, damages: Damages): Promise<void> {
  const { store } = deps;
  const stream = fileStream(orb);
  // The records of one content usually follow each other.
  let last = "";
  for await (const records of pagesOf(store, streams.orb(orb), fileSubjects.records(orb))) {
    for (const message of records) {
      if (message.size === 0) continue;
      const { id, sha256 } = message.json<FileRecord>();
      if (sha256 === last) continue;
      last = sha256;
      const stored = await readInfo(deps, orb, sha256).catch((error: unknown) => {
        if (error instanceof StreamMissing) return null;
        throw error;
      });
      const { info } = stored ?? {};
      const content = info === undefined ? undefined : await contentOf(store, orb, info);
      if (content?.sha256 === sha256) continue;
      // The file may have expired, or was removed, since its record was read.
      if (((await store.get(streams.orb(orb), message.subject))?.size ?? 0) === 0) continue;
      const says =
        content === undefined
          ? `the content of file ${id} is missing.`
          : `the content of file ${id} has ${content.size} bytes instead of ${info?.size}, or other ones.`;
      const [from] = info === undefined ? [] : runsOf(info);
      damages.add({ stream, from: from?.[0], says });
    }
  }
}
