/** Reads the content of a file, or a range of it, a few chunks at a time. */
import type { Actor } from "../access/actor.ts";
import { requireScope } from "../access/authorize.ts";
import { refusal } from "../access/refusals.ts";
import type { ContentCache, Deps, KeptContent } from "../deps.ts";
import type { OrbContext } from "../entry/model/index.ts";
import { notFound, unavailable } from "../kernel/errors.ts";
import { SMALL_BYTES } from "../store/budget.ts";
import { fileStream, fileSubjects } from "../store/file-subjects.ts";
import { type Reading, readingOf } from "./access.ts";
import { chunkCache, LARGEST_KEPT } from "./chunk-cache.ts";
import { CHUNK_BYTES, type Run, readInfo, runsOf, sequenceOf } from "./object.ts";
import { type FileRecord, readRecord } from "./record.ts";

/** Number of chunks per read. A read of so few chunks counts as small, and small reads never wait for large ones. */
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
  // A cached record may be outdated: the file may be newer, or an entry may have begun to use it since. So read the
  // record again from the leader.
  const found =
    (await readAs(deps, actor, context, id, { signed, consistency: "cached" })) ??
    (await readAs(deps, actor, context, id, { signed, consistency: "leader" }));
  if (found === undefined) throw notFound("file");
  const { record, reading } = found;
  if (signed) return { record, reading: "private" };
  if (reading === undefined) throw actor.kind === "anonymous" ? refusal(actor) : notFound("file");
  if (reading !== "public") requireScope(actor, "read", context.orb);
  return { record, reading };
}

/** Returns undefined if the file has no record, or if a cached record does not allow the caller to read the file. */
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
      // The replica does not have the chunk yet, or its response was cut short. So ask the leader.
      const found = await deps.store.getSeq(stream, seq);
      if (found?.subject === subject) return found.data;
      throw unavailable("a chunk of the file is missing");
    }),
  );
}

/** Maximum bytes that one read from the host's file of cached content returns. */
const CACHED_BYTES = 4 * CHUNK_BYTES;
/**
 * Maximum chunks that one read from memory returns. More are possible than from the broker, because they are not
 * copied.
 */
const CACHED_CHUNKS = 8;

/** Reads the chunks of one download. */
class Chunks {
  readonly #deps: Deps;
  readonly #orb: string;
  readonly #record: FileRecord;
  readonly #runs: readonly Run[];
  readonly #memory: ReturnType<typeof chunkCache>;
  readonly #disk: ContentCache | undefined;
  /** Two buffers: the reader fills one while the consumer still uses the other. */
  #buffers: [Uint8Array, Uint8Array] | undefined;

  constructor(
    deps: Deps,
    orb: string,
    record: FileRecord,
    runs: readonly Run[],
    disk: ContentCache | undefined,
  ) {
    this.#deps = deps;
    this.#orb = orb;
    this.#record = record;
    this.#runs = runs;
    const isSmall = record.size <= LARGEST_KEPT;
    this.#memory = isSmall ? chunkCache(deps) : undefined;
    this.#disk = !isSmall && disk !== undefined && record.size <= disk.largest ? disk : undefined;
  }

  /** Reads bytes from the start of a chunk, at most up to `end`. May return fewer. */
  async read(first: number, end: number): Promise<readonly Uint8Array[]> {
    const { nuid } = this.#record.object;
    const kept = this.#fromMemory(first, end);
    if (kept.length > 0) return kept;
    const stored = await this.#fromDisk(first, end);
    if (stored !== undefined) return [stored];
    const count = Math.min(PAGE_CHUNKS, Math.ceil(end / CHUNK_BYTES) - first);
    const key = `${nuid}/${first}/${count}`;
    const shared = this.#disk?.reading.get(key);
    if (shared !== undefined) return shared;
    const page = this.#readPage(first, count).finally(() => this.#disk?.reading.delete(key));
    this.#disk?.reading.set(key, page);
    return page;
  }

  async #readPage(first: number, count: number): Promise<readonly Uint8Array[]> {
    const { nuid } = this.#record.object;
    const sequences = Array.from({ length: count }, (_, at) => sequenceOf(this.#runs, first + at));
    const chunks = await readPage(this.#deps, this.#orb, nuid, sequences);
    for (const [at, chunk] of chunks.entries()) {
      this.#memory?.set(`${nuid}/${first + at}`, chunk);
      this.#disk?.write(nuid, first + at, chunk);
    }
    return chunks;
  }

  #fromMemory(first: number, end: number): Uint8Array[] {
    const kept: Uint8Array[] = [];
    if (this.#memory === undefined) return kept;
    const { nuid } = this.#record.object;
    const after = Math.min(first + CACHED_CHUNKS, Math.ceil(end / CHUNK_BYTES));
    for (let chunk = first; chunk < after; chunk++) {
      const found = this.#memory.get(`${nuid}/${chunk}`);
      if (found === undefined) break;
      kept.push(found);
    }
    return kept;
  }

  async #fromDisk(first: number, end: number): Promise<Uint8Array | undefined> {
    if (this.#disk === undefined) return undefined;
    const [next, other] = this.#buffers ?? [new Uint8Array(CACHED_BYTES), new Uint8Array(CACHED_BYTES)];
    const wanted = next.subarray(0, Math.min(CACHED_BYTES, end - first * CHUNK_BYTES));
    const bytes = (await this.#disk.read(this.#record.object.nuid, first, wanted)) ?? 0;
    if (bytes === 0) return undefined;
    this.#buffers = [other, next];
    return wanted.subarray(0, bytes);
  }
}

/** Returns a function that returns a small file's content while it is in this process's memory. */
export function keptContent(deps: Deps, { size, object }: FileRecord): KeptContent | undefined {
  const memory = size <= CHUNK_BYTES ? chunkCache(deps) : undefined;
  const key = `${object.nuid}/0`;
  return memory && (() => memory.get(key));
}

/** Bytes of a file from `start` up to, but not including, `end`. */
export interface Part {
  start: number;
  end: number;
}

/**
 * Yields the bytes of a file in pages of a few chunks. Reads the next page while the consumer processes the previous
 * one. A page is valid only until the consumer requests the next one.
 */
export async function* pagesOf(
  deps: Deps,
  orb: string,
  record: FileRecord,
  { start, end }: Part,
  disk?: ContentCache,
): AsyncGenerator<readonly Uint8Array[]> {
  if (start >= end) return;
  const chunks = new Chunks(deps, orb, record, await runsFor(deps, orb, record), disk);
  const read = (from: number) => {
    const reading = chunks.read(from / CHUNK_BYTES, end);
    reading.catch(() => undefined);
    return reading;
  };
  let at = Math.floor(start / CHUNK_BYTES) * CHUNK_BYTES;
  for (let next = read(at); at < end; ) {
    const parts = await next;
    const after = parts.reduce((sum, { length }) => sum + length, at);
    if (after < end) next = read(after);
    yield parts.map((part) => {
      const from = at;
      at += part.length;
      return part.subarray(Math.max(0, start - from), Math.min(part.length, end - from));
    });
  }
}

/** Yields the pages of {@link pagesOf} part by part. */
export async function* contentOf(
  deps: Deps,
  orb: string,
  record: FileRecord,
  part: Part,
  disk?: ContentCache,
): AsyncGenerator<Uint8Array> {
  for await (const page of pagesOf(deps, orb, record, part, disk)) yield* page;
}
