/**
 * Resumable uploads. Each batch stores chunks and the new state of the upload together, and fails if another request
 * has replaced the previous state. So the state always lists all stored chunks.
 */
import { accountOf } from "../access/actor.ts";
import type { Deps } from "../deps.ts";
import type { OrbContext } from "../entry/model/index.ts";
import { AppError, writeConflict } from "../kernel/errors.ts";
import { retry } from "../kernel/retry.ts";
import { countedFile, countFileBytes } from "../quotas/write.ts";
import { createFileStream } from "../store/broker/index.ts";
import { fileStream, fileSubjects } from "../store/file-subjects.ts";
import { nullOnConflict, ON_CONFLICT } from "../store/pages.ts";
import { streams } from "../store/subjects.ts";
import { Conflict } from "../store/types.ts";
import { requireUpload } from "./access.ts";
import { addImageFacts } from "./image-facts.ts";
import { newRecord, receiveAhead, storeCheck, withoutOrb } from "./keep.ts";
import { CHUNK_BYTES, infoOf, keepContent, removeChunks, runsOf, tooLargeFile } from "./object.ts";
import { type FileRecord, newFileId, readRecord, recordMessages, UNUSED_SECONDS } from "./record.ts";
import { Sha256 } from "./sha256.ts";
import type { Authority } from "./upload.ts";
import {
  endMessage,
  orBusy,
  readUpload,
  type StoredUpload,
  stateMessage,
  tooLong,
  tooManyParts,
  UPLOAD_MS,
  type UploadState,
} from "./upload-state.ts";

/**
 * Number of chunks per batch. While the broker stores one batch, the next one is already being received. So an upload
 * needs memory for two batches: 2 MiB for a file of up to 2 GiB, and at most 16 MiB for a larger one.
 */
const BATCH = { min: 8, max: 64, perFile: 2_048 } as const;
/**
 * Maximum runs (groups of consecutive chunks) that the state lists. Only a large file that is sent in very small parts
 * has more.
 */
const MAX_RUNS = 20_000;

export interface Resumable {
  orb: string;
  /**
   * Authenticates the caller. An upload calls this after it has received a short body. For a long body, it calls this
   * both before and after it receives the body.
   */
  authority: () => Promise<Authority>;
}

export interface NewUpload extends Resumable {
  size: number;
  name?: string | undefined;
  type?: string | undefined;
  metadata?: string | undefined;
}

async function allowed({ authority }: Resumable): Promise<Authority> {
  const now = await authority();
  requireUpload(now.actor, now.live);
  return now;
}

/** Begins an upload. It expires after a day. */
export async function beginUpload(deps: Deps, upload: NewUpload): Promise<UploadState> {
  const { orb, size, name, type, metadata } = upload;
  if (size > deps.config.fileBytes) throw tooLargeFile(deps.config.fileBytes);
  const { actor, live } = await allowed(upload);
  return countedFile(deps, actor, orb, async () => {
    const id = newFileId(deps);
    const state: UploadState = {
      v: 1,
      id,
      by: accountOf(actor),
      expires: deps.clock.now() + UPLOAD_MS,
      size,
      offset: 0,
      runs: [],
      chunks: 0,
      hash: new Sha256().state(),
      ...(name === undefined ? {} : { name }),
      ...(type === undefined ? {} : { type }),
      ...(metadata === undefined ? {} : { metadata }),
      ...(size === 0 ? { sha256: new Sha256().digest(new Uint8Array(0), 0) } : {}),
    };
    await createFileStream(deps, orb);
    // First store a check, which makes the background job examine the upload later. Without it, the job could not find
    // the chunks of an upload that is never completed.
    await withoutOrb(deps, orb, storeCheck(deps, orb, id, { nuid: id, sha256: undefined }));
    const seq = await deps.store.append(fileStream(orb), stateMessage(deps, orb, state, { seq: 0 }));
    return completed(deps, live, { state, seq, tail: new Uint8Array(0) });
  });
}

/**
 * Returns the state of an upload. Creates the file if all bytes are stored, but the request that sent the last ones
 * stopped before it created the file.
 */
export async function uploadState(deps: Deps, upload: Resumable, id: string): Promise<UploadState> {
  const { actor, live } = await allowed(upload);
  return completed(deps, live, await readUpload(deps, upload.orb, id, actor));
}

/** Cancels an upload. If the file is complete, keeps the file. */
export async function endUpload(deps: Deps, upload: Resumable, id: string): Promise<void> {
  const { orb } = upload;
  const { actor } = await allowed(upload);
  const found = await readUpload(deps, orb, id, actor);
  await orBusy(deps.store.append(fileStream(orb), endMessage(orb, found)));
  // If all bytes are stored, a file may already use the chunks as its content. So keep them.
  if (found.state.sha256 === undefined) await removeChunks(deps, orb, id);
}

/**
 * Yields the bytes that arrive until the connection breaks, so that they can be stored. Then stores the error in
 * `cut`.
 */
async function* untilCut(
  body: AsyncIterable<Uint8Array>,
  cut: { error?: unknown },
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    yield* body;
  } catch (error) {
    cut.error = error;
  }
}

export interface Part extends Resumable {
  id: string;
  offset: number;
  body: AsyncIterable<Uint8Array>;
  /** Length according to the client. */
  length?: number | undefined;
}

/**
 * Appends a part to an upload. If the connection breaks, stores the bytes that have arrived.
 * @throws AppError 409 if the part does not begin where the stored bytes end
 */
export async function appendUpload(deps: Deps, part: Part): Promise<UploadState> {
  const { orb, id, offset } = part;
  const cut: { error?: unknown } = {};
  const body = untilCut(part.body, cut);
  const { parts, ended } = await receiveAhead(deps, body);
  const { actor, live } = await allowed(part);
  const found = await readUpload(deps, orb, id, actor);
  if (found.state.offset !== offset) {
    const detail = `Upload-Offset must be ${found.state.offset}, the number of bytes that are stored.`;
    throw new AppError("conflict", "upload_offset", detail, { data: { offset: found.state.offset } });
  }
  const remaining = found.state.size - offset;
  if ((part.length ?? 0) > remaining) throw tooLong(remaining);
  const charge = (bytes: number) => countFileBytes(deps, actor, orb, bytes);
  return countedFile(deps, actor, orb, async () => {
    const writer = new Writer(deps, orb, found, charge);
    for (const bytes of parts) await writer.take(bytes);
    for await (const bytes of body) await writer.take(bytes);
    // During a long request, the session may have ended, the caller may have lost rights, or the application may have
    // been deleted.
    if (!ended) await readUpload(deps, orb, id, (await allowed(part)).actor);
    const stored = await writer.end();
    if (cut.error !== undefined) throw cut.error;
    return completed(deps, live, stored);
  });
}

/** Stores the bytes of one request. */
class Writer {
  readonly #deps: Deps;
  readonly #orb: string;
  readonly #charge: (bytes: number) => Promise<void>;
  readonly #hash: Sha256;
  readonly #batch: number;
  #stored: StoredUpload;
  #remaining: number;
  #chunk = new Uint8Array(CHUNK_BYTES);
  #filled: number;
  #chunks: Uint8Array[] = [];
  #running: Promise<void> = Promise.resolve();

  constructor(deps: Deps, orb: string, found: StoredUpload, charge: (bytes: number) => Promise<void>) {
    this.#deps = deps;
    this.#orb = orb;
    this.#charge = charge;
    this.#stored = found;
    const wanted = Math.ceil(found.state.size / CHUNK_BYTES / BATCH.perFile);
    this.#batch = Math.min(BATCH.max, Math.max(BATCH.min, wanted));
    this.#hash = new Sha256(found.state.hash);
    this.#remaining = found.state.size - found.state.offset;
    this.#chunk.set(found.tail);
    this.#filled = found.tail.length;
  }

  async take(part: Uint8Array): Promise<void> {
    if (part.length > this.#remaining) throw tooLong(this.#remaining);
    this.#remaining -= part.length;
    for (let at = 0; at < part.length; ) {
      const some = part.subarray(at, at + CHUNK_BYTES - this.#filled);
      this.#chunk.set(some, this.#filled);
      this.#filled += some.length;
      at += some.length;
      if (this.#filled < CHUNK_BYTES) continue;
      this.#hash.update(this.#chunk);
      this.#chunks.push(this.#chunk);
      this.#chunk = new Uint8Array(CHUNK_BYTES);
      this.#filled = 0;
      if (this.#chunks.length === this.#batch) await this.#store(new Uint8Array(0));
    }
  }

  /** Stores the remaining bytes. */
  async end(): Promise<StoredUpload> {
    const tail = this.#chunk.subarray(0, this.#filled);
    await this.#store(tail);
    await this.#running;
    return this.#stored;
  }

  /** Waits until the previous batch is stored, then starts to store the next one. */
  async #store(tail: Uint8Array): Promise<void> {
    await this.#running;
    const chunks = this.#chunks;
    this.#chunks = [];
    this.#running = this.#send(chunks, tail, this.#hash.state());
    this.#running.catch(() => undefined);
  }

  async #send(chunks: readonly Uint8Array[], tail: Uint8Array, hash: string): Promise<void> {
    const { state, seq, tail: before } = this.#stored;
    const whole = state.offset - before.length + chunks.length * CHUNK_BYTES;
    const offset = whole + tail.length;
    if (offset === state.offset) return;
    if (state.runs.length >= MAX_RUNS) throw tooManyParts();
    const isLast = offset === state.size;
    const sent = isLast && tail.length > 0 ? [...chunks, tail] : chunks;
    const kept = isLast ? new Uint8Array(0) : tail;
    // Each batch stores the bytes of an incomplete chunk again, so count them against the quota again. Otherwise a
    // client could send single bytes and make the broker write 128 KiB for each.
    await this.#charge(sent.reduce((sum, { length }) => sum + length, kept.length));
    const next: UploadState = {
      ...state,
      offset,
      hash,
      chunks: sent.length,
      ...(isLast ? { sha256: new Sha256(hash).digest(tail, offset) } : {}),
    };
    const subject = fileSubjects.chunks(this.#orb, state.id);
    const last = await orBusy(
      this.#deps.store.batch(fileStream(this.#orb), [
        ...sent.map((data) => ({ subject, data })),
        stateMessage(this.#deps, this.#orb, next, { seq, tail: kept }),
      ]),
    );
    const runs = [...state.runs];
    if (sent.length > 0) runs.push([last - sent.length, sent.length]);
    this.#stored = { state: { ...next, runs, chunks: 0 }, seq: last, tail: kept };
  }
}

/**
 * Creates the file when all bytes of an upload are stored. Otherwise does nothing. Several requests may call this for
 * the same upload.
 */
async function completed(deps: Deps, live: OrbContext, { state, seq }: StoredUpload): Promise<UploadState> {
  const { orb } = live;
  const { id, sha256, size, runs } = state;
  if (sha256 === undefined || state.done === true) return state;
  await withoutOrb(deps, orb, storeCheck(deps, orb, id, { nuid: id, sha256 }));
  const mine = infoOf(orb, sha256, { nuid: id, size, runs });
  const object = (await keepContent(deps, orb, sha256, mine)) ?? mine;
  const [first] = runsOf(object);
  const head = first === undefined ? null : await deps.store.getSeq(fileStream(orb), first[0]);
  const record = newRecord(deps, state, object, head?.data);
  await addImageFacts(deps, live, record, { head: head === null ? [] : [head.data] });
  await storeRecord(deps, orb, record);
  if (object.nuid !== id) await removeChunks(deps, orb, id);
  const done: UploadState = { ...state, done: true };
  await nullOnConflict(deps.store.append(fileStream(orb), stateMessage(deps, orb, done, { seq })));
  return done;
}

/** Stores the record of a file. Keeps an existing record, because an entry may already refer to it. */
async function storeRecord(deps: Deps, orb: string, file: FileRecord): Promise<void> {
  const [content, record] = recordMessages(orb, file, UNUSED_SECONDS);
  const messages = [content, { ...record, expect: { seq: 0 } }];
  await retry({ ...ON_CONFLICT, failed: writeConflict }, async () => {
    const stored = await withoutOrb(deps, orb, nullOnConflict(deps.store.batch(streams.orb(orb), messages)));
    if (stored === null && (await readRecord(deps, orb, file.id)) === null) throw new Conflict();
  });
}
