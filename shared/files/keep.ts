/**
 * Steps that all uploads share: storing a reminder to examine the content later, and storing the record of the file.
 */
import type { Deps } from "../deps.ts";
import { ByteCollector } from "../kernel/ids.ts";
import { fileStream, fileSubjects } from "../store/file-subjects.ts";
import { streams } from "../store/subjects.ts";
import { StreamMissing } from "../store/types.ts";
import { safeName, typeOf } from "./content-type.ts";
import { CHUNK_BYTES, type ObjectInfo, runsOf } from "./object.ts";
import type { FileRecord } from "./record.ts";

/**
 * Maximum runs (groups of consecutive chunks) that the record of a file lists. If there are more, readers find them in
 * the metadata of the stored object.
 */
export const RECORD_RUNS = 8;

/**
 * Stores a check: a reminder to examine the content of an upload later, and to remove it if no file uses it.
 * @param check.sha256 missing while the content is incomplete
 */
export function storeCheck(
  deps: Deps,
  orb: string,
  id: string,
  { nuid, sha256 }: { nuid: string; sha256: string | undefined },
): Promise<number> {
  const data = JSON.stringify({ v: 1, nuid, sha256 });
  return deps.store.append(streams.orb(orb), { subject: fileSubjects.check(orb, id), data, rollup: true });
}

/**
 * Bytes to receive before the caller is authenticated. Most files are not larger, so they are authenticated only once,
 * after their last byte.
 */
const AHEAD_BYTES = 4 * CHUNK_BYTES;
/** Authenticate the caller after this many milliseconds, even if fewer than `AHEAD_BYTES` bytes have arrived. */
const AHEAD_MS = 10_000;

/** The first bytes of a body, and whether the body has ended. */
export interface Ahead {
  parts: readonly Uint8Array[];
  ended: boolean;
}

/** Receives the first bytes of a body, before the caller is authenticated. */
export async function receiveAhead({ clock }: Deps, body: AsyncIterator<Uint8Array>): Promise<Ahead> {
  const ahead = new ByteCollector();
  const until = clock.now() + AHEAD_MS;
  while (ahead.size < AHEAD_BYTES && clock.now() < until) {
    const next = await body.next();
    if (next.done === true) return { parts: ahead.parts(), ended: true };
    ahead.add(next.value);
  }
  return { parts: ahead.parts(), ended: false };
}

/** The uploader of a file, and the properties that the client sent. */
export interface Described {
  id: string;
  by: string;
  name?: string | undefined;
  type?: string | undefined;
}

/** @param head the first bytes of the content */
export function newRecord(
  deps: Deps,
  { id, by, name, type }: Described,
  object: ObjectInfo,
  head: Uint8Array = new Uint8Array(0),
): FileRecord {
  const runs = runsOf(object);
  return {
    v: 1,
    id,
    sha256: object.name,
    size: object.size,
    type: typeOf(head, type),
    name: safeName(name),
    by,
    at: new Date(deps.clock.now()).toISOString(),
    object: { nuid: object.nuid, ...(runs.length <= RECORD_RUNS ? { runs } : {}) },
    entries: [],
  };
}

/**
 * Waits for a write to the application's stream. If the application was deleted during the upload, the upload may have
 * created the object store again. Then removes the object store.
 */
export async function withoutOrb<T>(deps: Deps, orb: string, write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (error instanceof StreamMissing && error.stream === streams.orb(orb))
      deps.afterwards(deps.store.deleteStream(fileStream(orb)));
    throw error;
  }
}
