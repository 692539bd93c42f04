/** Reads the content of a file, or a range of it, a few chunks at a time. */
import type { Actor } from "../access/actor.ts";
import { requireScope } from "../access/authorize.ts";
import { refusal } from "../access/refusals.ts";
import type { Deps } from "../deps.ts";
import type { OrbContext } from "../entry/model/resolve.ts";
import { notFound, unavailable } from "../kernel/errors.ts";
import { SMALL_BYTES } from "../store/budget.ts";
import { fileStream, fileSubjects } from "../store/file-subjects.ts";
import { type Reading, readingOf } from "./access.ts";
import { chunkCache, LARGEST_KEPT } from "./chunk-cache.ts";
import { CHUNK_BYTES, type Run, readInfo, runsOf, sequenceOf } from "./object.ts";
import { type FileRecord, readRecord } from "./record.ts";

/** Number of chunks per read. This many still count as a small read, which never waits for large reads to end. */
const PAGE_CHUNKS = 3;

export interface FoundFile {
  record: FileRecord;
  reading: Reading;
}

/**
 * Finds a file that the caller may read.
 * @param signed whether the caller has a valid signed link
 * @throws AppError 401 for an anonymous caller, otherwise 404
 */
export async function findFile(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  id: string,
  signed = false,
): Promise<FoundFile> {
  // A cached record may be older than the upload, or than the entry that has the file.
  const found =
    (await readAs(deps, actor, context, id, { signed, consistency: "cached" })) ??
    (await readAs(deps, actor, context, id, { signed, consistency: "leader" }));
  if (found === undefined) throw notFound("file");
  const { record, reading } = found;
  if (signed) return { record, reading: "private" };
  if (reading === undefined) throw actor.kind === "anonymous" ? refusal(actor) : notFound("file");
  if (reading === "private") requireScope(actor, "read", context.orb);
  return { record, reading };
}

/** Returns undefined if there is no such record, or if a cached one gives the caller no right. */
async function readAs(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  id: string,
  { signed, consistency }: { signed: boolean; consistency: "cached" | "leader" },
): Promise<{ record: FileRecord; reading: Reading | undefined } | undefined> {
  const found = await readRecord(deps, context.orb, id, { consistency });
  if (found === null) return undefined;
  const { record } = found;
  const reading = signed ? undefined : await readingOf(deps, actor, context, record);
  const isDecided = signed || reading !== undefined || consistency === "leader";
  return isDecided ? { record, reading } : undefined;
}

async function runsFor(deps: Deps, orb: string, { sha256, object }: FileRecord): Promise<readonly Run[]> {
  if (object.runs !== undefined) return object.runs;
  const stored = await readInfo(deps, orb, sha256);
  if (stored === null) throw notFound("file");
  return runsOf(stored.info);
}

async function readPage(
  deps: Deps,
  orb: string,
  nuid: string,
  sequences: readonly number[],
): Promise<Uint8Array[]> {
  const stream = fileStream(orb);
  const subject = fileSubjects.chunks(orb, nuid);
  const [fromSeq = 0, ...others] = sequences;
  const messages =
    others.length === 0
      ? [await deps.store.getSeq(stream, fromSeq, { consistency: "stale" })]
      : (await deps.store.scan(stream, subject, { fromSeq, limit: sequences.length, maxBytes: SMALL_BYTES }))
          .messages;
  return Promise.all(
    sequences.map(async (seq, at) => {
      const message = messages[at];
      if (message?.seq === seq && message.subject === subject) return message.data;
      // The replica may not have the chunk yet, or the read ended early. Ask the leader.
      const found = await deps.store.getSeq(stream, seq);
      if (found?.subject === subject) return found.data;
      throw unavailable("a chunk of the file is missing");
    }),
  );
}

/**
 * Yields the bytes of a file from `start` up to, but not including, `end`. Reads the next chunks while the consumer
 * processes the previous ones.
 */
export async function* contentOf(
  deps: Deps,
  orb: string,
  record: FileRecord,
  { start, end }: { start: number; end: number },
): AsyncGenerator<Uint8Array> {
  if (start >= end) return;
  const runs = await runsFor(deps, orb, record);
  const last = Math.floor((end - 1) / CHUNK_BYTES);
  const { nuid } = record.object;
  const cache = record.size <= LARGEST_KEPT ? chunkCache(deps) : undefined;
  const page = (first: number) => {
    const kept = cache?.get(`${nuid}/${first}`);
    if (kept !== undefined) return Promise.resolve([kept]);
    const count = Math.max(0, Math.min(PAGE_CHUNKS, last - first + 1));
    const sequences = Array.from({ length: count }, (_, at) => sequenceOf(runs, first + at));
    const read = readPage(deps, orb, nuid, sequences).then((chunks) => {
      for (const [at, chunk] of chunks.entries()) cache?.set(`${nuid}/${first + at}`, chunk);
      return chunks;
    });
    read.catch(() => undefined);
    return read;
  };
  let chunk = Math.floor(start / CHUNK_BYTES);
  let next = page(chunk);
  while (chunk <= last) {
    const chunks = await next;
    if (chunk + chunks.length <= last) next = page(chunk + chunks.length);
    for (const data of chunks) {
      const offset = chunk * CHUNK_BYTES;
      yield data.subarray(Math.max(0, start - offset), Math.min(data.length, end - offset));
      chunk++;
    }
  }
}
