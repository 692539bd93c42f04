/**
 * Stores an upload. If the process crashes after any step, the sweep (see `sweep.ts`) uses the check from step 1 to
 * find and remove the data that is left.
 * 1. Store the check, which names the chunks.
 * 2. Send the chunks.
 * 3. Store the metadata of the object. If the application already has the content, rewrite that metadata, and remove
 * the chunks.
 * 4. Store the record, which expires after a day unless an entry refers to the file.
 */
import { type Actor, accountOf } from "../access/actor.ts";
import type { Deps } from "../deps.ts";
import type { OrbContext } from "../entry/model/index.ts";
import { AppError, invalidParameters } from "../kernel/errors.ts";
import { type RetryPolicy, retry } from "../kernel/retry.ts";
import { countedFile, countFileBytes } from "../quotas/write.ts";
import { createFileStream } from "../store/broker/index.ts";
import { streams } from "../store/subjects.ts";
import { StreamMissing } from "../store/types.ts";
import { requireUpload } from "./access.ts";
import { addImageFacts } from "./image-facts.ts";
import { newRecord, receiveAhead, storeCheck, withoutOrb } from "./keep.ts";
import {
  CHUNK_BYTES,
  infoOf,
  keepContent,
  type ObjectInfo,
  readInfo,
  removeChunks,
  type StoredInfo,
  sendChunks,
  tooLargeFile,
} from "./object.ts";
import {
  type FileRecord,
  ID_BYTES,
  type ImageFacts,
  newFileId,
  recordMessages,
  UNUSED_SECONDS,
} from "./record.ts";

/** Number of chunks to receive before the first of them is stored. */
const AHEAD = 4;
/**
 * Maximum duration of an upload in milliseconds. Must be less than the time after which a background job deletes
 * unused content (`CHECK_MS`).
 */
const MOST_MS = 12 * 3_600_000;

/** Repeats a read from an object store that another upload is creating, and that does not respond yet. */
const WHILE_STARTING: RetryPolicy = {
  attempts: 5,
  after: (error) => error instanceof AppError && error.kind === "unavailable",
  pauseMs: (attempt) => 20 * 2 ** attempt,
};

/** Computes a SHA-256 hash incrementally. */
export interface Hash {
  update(data: Uint8Array): void;
  digest(): Uint8Array;
}

export interface Authority {
  actor: Actor;
  live: OrbContext;
}

export interface Upload {
  orb: string;
  body: AsyncIterable<Uint8Array>;
  /** Length according to the client. An upload that announces too many bytes is rejected before its body is read. */
  length?: number;
  name?: string | undefined;
  /** Type according to the client. */
  type?: string | undefined;
  /** The SHA-256 that the client expects, as hexadecimal text. */
  sha256?: string | undefined;
  hash: Hash;
  /**
   * Authenticates the caller. An upload calls this once after a short body. For a long or slow body, it calls this
   * before it receives the rest, and again at the end.
   */
  authority: () => Promise<Authority>;
  /** Seconds until the file is removed if no entry refers to it. */
  lifetime?: number;
}

export type UploadedFile = Pick<FileRecord, "id" | "size" | "type" | "sha256" | "name"> & Partial<ImageFacts>;

/** Yields the bytes in chunks of {@link CHUNK_BYTES}; the last one may be shorter. */
export async function* chunked(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let chunk = new Uint8Array(CHUNK_BYTES);
  let filled = 0;
  for await (const part of body) {
    for (let at = 0; at < part.length; ) {
      const some = part.subarray(at, at + CHUNK_BYTES - filled);
      chunk.set(some, filled);
      filled += some.length;
      at += some.length;
      if (filled < CHUNK_BYTES) continue;
      yield chunk;
      chunk = new Uint8Array(CHUNK_BYTES);
      filled = 0;
    }
  }
  if (filled > 0) yield chunk.subarray(0, filled);
}

export const hex = (bytes: Uint8Array) =>
  [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** A file whose content is being received. */
class Arriving {
  size = 0;
  readonly #deps: Deps;
  readonly #upload: Upload;
  readonly #until: number;

  constructor(deps: Deps, upload: Upload) {
    this.#deps = deps;
    this.#upload = upload;
    this.#until = deps.clock.now() + MOST_MS;
  }

  take(chunk: Uint8Array): void {
    this.size += chunk.length;
    const { fileBytes } = this.#deps.config;
    if (this.size > fileBytes) throw tooLargeFile(fileBytes);
    if (this.#deps.clock.now() > this.#until) {
      const detail = "The upload took more than 12 hours. Send the file over a faster connection.";
      throw new AppError("malformed", "body_incomplete", detail);
    }
    this.#upload.hash.update(chunk);
  }

  end(): string {
    const sha256 = hex(this.#upload.hash.digest());
    const { sha256: wanted } = this.#upload;
    if (wanted === undefined || wanted === sha256) return sha256;
    const message = "is not the digest of the body that arrived. Send the file again.";
    throw invalidParameters([{ path: "/content-digest", code: "digest_mismatch", message }]);
  }
}

/** Stores a file. No entry refers to it yet. */
export async function uploadFile(deps: Deps, upload: Upload): Promise<UploadedFile> {
  const { fileBytes } = deps.config;
  if ((upload.length ?? 0) > fileBytes) throw tooLargeFile(fileBytes);
  const arriving = new Arriving(deps, upload);
  const body = upload.body[Symbol.asyncIterator]();
  const first = await receiveAhead(deps, body);
  const authorized = async (): Promise<Authority> => {
    const found = await upload.authority();
    requireUpload(found.actor, found.live);
    return found;
  };
  const early = first.ended ? undefined : await authorized();
  const chunks = chunked(following(first.parts, body));
  const ahead: Uint8Array[] = [];
  while (ahead.length < AHEAD) {
    const next = await chunks.next();
    if (next.done === true) break;
    arriving.take(next.value);
    ahead.push(next.value);
  }
  const { actor, live } = early ?? (await authorized());
  return countedFile(deps, actor, upload.orb, () =>
    store(deps, upload, { actor, live, arriving, ahead, rest: first.ended ? undefined : chunks }),
  );
}

async function* following(
  parts: readonly Uint8Array[],
  body: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* parts;
  yield* { [Symbol.asyncIterator]: () => body };
}

interface Content extends Authority {
  arriving: Arriving;
  ahead: readonly Uint8Array[];
  rest: AsyncIterable<Uint8Array> | undefined;
}

async function store(deps: Deps, upload: Upload, content: Content): Promise<UploadedFile> {
  const { orb } = upload;
  const id = newFileId(deps);
  const nuid = deps.randomToken(ID_BYTES);
  const short = content.rest === undefined ? content.arriving.end() : undefined;
  const known = await openStore(deps, orb, short);
  await storeCheck(deps, orb, id, { nuid, sha256: short });
  let object: ObjectInfo | undefined;
  let sha256 = short;
  let { actor } = content;
  try {
    // Send the chunks even if the application already has the content. Without this, such an upload would take less
    // time and quota, which would tell the caller that another account has the same file.
    const runs = await sendChunks(deps, orb, nuid, charged(deps, orb, content));
    if (sha256 === undefined) {
      sha256 = content.arriving.end();
      // During a long upload, the session may have ended, the caller may have lost rights, or the application may
      // have been deleted.
      const now = await upload.authority();
      requireUpload(now.actor, now.live);
      actor = now.actor;
      await storeCheck(deps, orb, id, { nuid, sha256 });
    }
    const mine = infoOf(orb, sha256, { nuid, size: content.arriving.size, runs });
    object = (await keepContent(deps, orb, sha256, mine, short === undefined ? undefined : known)) ?? mine;
  } finally {
    // If this fails, the sweep removes the chunks later.
    if (object?.nuid !== nuid) deps.afterwards(removeChunks(deps, orb, nuid));
  }
  const { name: said, type: declared } = upload;
  const record = newRecord(
    deps,
    { id, by: accountOf(actor), name: said, type: declared },
    object,
    content.ahead[0],
  );
  await addImageFacts(deps, content.live, record, {
    head: content.ahead,
    isWhole: content.rest === undefined,
  });
  const messages = recordMessages(orb, record, upload.lifetime ?? UNUSED_SECONDS);
  await withoutOrb(deps, orb, deps.store.pipeline(streams.orb(orb), messages));
  const { size, type, name, image } = record;
  return { id, size, type, sha256: record.sha256, name, ...image };
}

/**
 * Creates the application's object store if it does not exist.
 * @returns the stored metadata of the content with this hash, or null if none is stored; undefined without a hash
 */
async function openStore(
  deps: Deps,
  orb: string,
  sha256: string | undefined,
): Promise<StoredInfo | null | undefined> {
  if (sha256 !== undefined) {
    try {
      return await retry(WHILE_STARTING, () => readInfo(deps, orb, sha256));
    } catch (error) {
      if (!(error instanceof StreamMissing)) throw error;
    }
  }
  await createFileStream(deps, orb);
  return sha256 === undefined ? undefined : null;
}

async function* charged(
  deps: Deps,
  orb: string,
  { actor, arriving, ahead, rest }: Content,
): AsyncGenerator<Uint8Array> {
  for (const chunk of ahead) {
    await countFileBytes(deps, actor, orb, chunk.length);
    yield chunk;
  }
  if (rest === undefined) return;
  for await (const chunk of rest) {
    arriving.take(chunk);
    await countFileBytes(deps, actor, orb, chunk.length);
    yield chunk;
  }
}
