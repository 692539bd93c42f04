/**
 * Stores content in the format of JetStream's object store, so that other clients can read it. The name of an object
 * is the SHA-256 of its content, so each application stores the same content only once.
 */
import type { Deps } from "../deps.ts";
import { AppError, unavailable, writeConflict } from "../kernel/errors.ts";
import { retry } from "../kernel/retry.ts";
import { fileBucket, fileStream, fileSubjects } from "../store/file-subjects.ts";
import { nullOnConflict, ON_CONFLICT } from "../store/pages.ts";
import type { Append } from "../store/types.ts";

/**
 * Bytes of every chunk except the last. A download uses this number to find the chunks of a range, so it must never
 * change.
 */
export const CHUNK_BYTES = 128 * 1024;
/** Maximum chunks of an upload that may wait for the broker's acknowledgement. */
const WINDOW = 8;

/**
 * Chunks that are stored one after another: the sequence number of the first chunk in the stream, and the number of
 * chunks.
 */
export type Run = readonly [seq: number, count: number];

/** The metadata of an object, in the format that clients of object stores read. */
export interface ObjectInfo {
  name: string;
  bucket: string;
  nuid: string;
  size: number;
  chunks: number;
  /** `SHA-256=` and the hash in base64url with padding. */
  digest: string;
  /** RFC 3339 time of the last change. */
  mtime: string;
  options: { max_chunk_size: number };
  /** `runs`: the sequence numbers of the chunks, as JSON. */
  metadata: { runs: string };
  deleted?: boolean;
}

export interface StoredInfo {
  info: ObjectInfo;
  seq: number;
  /** Milliseconds since the epoch. */
  time: number;
}

export function runsOf(info: ObjectInfo): Run[] {
  return JSON.parse(info.metadata.runs) as Run[];
}

function runsIn(sequences: readonly number[]): Run[] {
  const runs: [number, number][] = [];
  for (const seq of sequences) {
    const last = runs.at(-1);
    if (last !== undefined && last[0] + last[1] === seq) last[1]++;
    else runs.push([seq, 1]);
  }
  return runs;
}

/**
 * Returns the sequence number of a chunk's message.
 * @param chunk index of the chunk, starting at 0
 */
export function sequenceOf(runs: readonly Run[], chunk: number): number {
  let before = 0;
  for (const [seq, count] of runs) {
    if (chunk < before + count) return seq + chunk - before;
    before += count;
  }
  throw unavailable("the object has fewer chunks than its size says");
}

/** Reads the metadata of an object. Throws StreamMissing if the application has no files yet. */
export async function readInfo(deps: Deps, orb: string, sha256: string): Promise<StoredInfo | null> {
  const message = await deps.store.get(fileStream(orb), fileSubjects.info(orb, sha256));
  if (message === null || message.size === 0) return null;
  return { info: message.json<ObjectInfo>(), seq: message.seq, time: message.time };
}

function infoMessage(orb: string, info: ObjectInfo, seq: number): Append {
  const subject = fileSubjects.info(orb, info.name);
  return { subject, data: JSON.stringify(info), rollup: true, expect: { seq } };
}

/**
 * Stores chunks. Returns the sequence numbers of their messages, as runs of consecutive numbers.
 * @throws AppError unavailable if the broker stored the chunks in another order
 */
export async function sendChunks(
  deps: Deps,
  orb: string,
  nuid: string,
  chunks: AsyncIterable<Uint8Array>,
): Promise<Run[]> {
  const sequences: number[] = [];
  const waiting: Promise<number>[] = [];
  const settle = async () => sequences.push((await waiting.shift()) ?? 0);
  try {
    for await (const data of chunks) {
      if (waiting.length === WINDOW) await settle();
      const sent = deps.store.append(fileStream(orb), { subject: fileSubjects.chunks(orb, nuid), data });
      sent.catch(() => undefined);
      waiting.push(sent);
    }
    while (waiting.length > 0) await settle();
  } finally {
    // After a failure, the caller removes the stored chunks. Wait here, so that no chunk is stored after that.
    await Promise.allSettled(waiting);
  }
  // If a number is not higher than the one before, the broker reordered the chunks, or the stream was deleted and
  // created again.
  if (sequences.some((seq, at) => seq <= (sequences[at - 1] ?? 0))) throw unavailable("chunks out of order");
  return runsIn(sequences);
}

export interface NewContent {
  nuid: string;
  size: number;
  runs: readonly Run[];
}

export function infoOf(orb: string, sha256: string, { nuid, size, runs }: NewContent): ObjectInfo {
  const bytes = Uint8Array.from(sha256.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const digest = btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_");
  return {
    name: sha256,
    bucket: fileBucket(orb),
    nuid,
    size,
    chunks: Math.ceil(size / CHUNK_BYTES),
    digest: `SHA-256=${digest}`,
    mtime: "",
    options: { max_chunk_size: CHUNK_BYTES },
    metadata: { runs: JSON.stringify(runs) },
  };
}

/**
 * Stores the metadata of an object. If the application already has the content, only updates the time in its metadata.
 * In both cases, the content is kept for at least a day from now, even if no file uses it.
 * @param mine the content that this upload sent; if missing, only existing metadata is updated
 * @returns the object that has the content; undefined if there is none
 */
export function keepContent(
  deps: Deps,
  orb: string,
  sha256: string,
  mine: ObjectInfo | undefined,
  known?: StoredInfo | null,
): Promise<ObjectInfo | undefined> {
  return retry({ ...ON_CONFLICT, failed: writeConflict }, async (attempt) => {
    const stored = attempt === 0 && known !== undefined ? known : await readInfo(deps, orb, sha256);
    const there = stored?.info.deleted === true ? undefined : stored?.info;
    const info = there ?? mine;
    if (info === undefined) return undefined;
    // Only the message that this write replaces lists the chunks of the deleted object. So remove those chunks first.
    if (stored?.info.deleted === true) await removeChunks(deps, orb, stored.info.nuid);
    const message = infoMessage(
      orb,
      { ...info, mtime: new Date(deps.clock.now()).toISOString() },
      stored?.seq ?? 0,
    );
    await deps.store.append(fileStream(orb), message);
    return info;
  });
}

export async function removeChunks(deps: Deps, orb: string, nuid: string): Promise<void> {
  await deps.store.purge(fileStream(orb), fileSubjects.chunks(orb, nuid));
}

/**
 * Removes an object, unless an upload has rewritten its metadata since it was read. First marks the metadata as
 * deleted, but keeps the names of the chunks in it until they are erased. So an interrupted removal can be repeated.
 */
export async function removeObject(deps: Deps, orb: string, { info, seq }: StoredInfo): Promise<void> {
  let last = seq;
  if (info.deleted !== true) {
    const mark = { ...info, deleted: true };
    const marked = await nullOnConflict(deps.store.append(fileStream(orb), infoMessage(orb, mark, seq)));
    if (marked === null) return;
    last = marked;
  }
  await removeChunks(deps, orb, info.nuid);
  await deps.store.purge(fileStream(orb), fileSubjects.info(orb, info.name), { beforeSeq: last + 1 });
}

export function tooLargeFile(most: number): AppError {
  const detail = `A file must have at most ${most} bytes. Send a smaller one.`;
  return new AppError("too_large", "file_too_large", detail, { data: { limitBytes: most } });
}
