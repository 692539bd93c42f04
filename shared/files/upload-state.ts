/**
 * The state of a resumable upload: one message in the application's object store. It contains all that another process
 * needs to continue.
 */

import { type Actor, accountOf } from "../access/actor.ts";
import type { Deps } from "../deps.ts";
import { AppError, notFound } from "../kernel/errors.ts";
import { concatBytes } from "../kernel/ids.ts";
import { fileStream, fileSubjects } from "../store/file-subjects.ts";
import { nullIfMissing } from "../store/pages.ts";
import { isToken } from "../store/subjects.ts";
import { type Append, Conflict } from "../store/types.ts";
import type { Run } from "./object.ts";

/** Milliseconds until an upload that is not complete is removed. */
export const UPLOAD_MS = 86_400_000;

export interface UploadState {
  v: 1;
  id: string;
  /** Account that began the upload, prefixed with its realm. */
  by: string;
  /** Milliseconds since the epoch. */
  expires: number;
  /** Bytes of the whole file. */
  size: number;
  /** Bytes that are stored. */
  offset: number;
  /** Sequences of the stored chunks, without the chunks that {@link chunks} counts. */
  runs: readonly Run[];
  /**
   * Number of chunks stored in the same batch as this message, directly before it. Their sequence numbers follow from
   * that of the message.
   */
  chunks: number;
  /** Intermediate state of the SHA-256 computation: it covers all complete chunks. */
  hash: string;
  /** SHA-256 as hexadecimal text. Present once all bytes are stored. */
  sha256?: string;
  /** Present once the record of the file is stored. */
  done?: true;
  name?: string;
  type?: string;
  /** The header `Upload-Metadata`. `HEAD` requests return it to the client. */
  metadata?: string;
}

export interface StoredUpload {
  state: UploadState;
  seq: number;
  /** The bytes after the last complete chunk, which are stored in the message itself. */
  tail: Uint8Array;
}

const NEWLINE = 10;

export function uploadMissing(): AppError {
  return notFound("upload", "There is no such upload, or it has expired. Begin a new one.");
}

/**
 * Reads an upload of the caller. For an anonymous caller, the id of the upload is the only proof that the caller began
 * it.
 */
export async function readUpload(deps: Deps, orb: string, id: string, actor: Actor): Promise<StoredUpload> {
  const message = isToken(id)
    ? await nullIfMissing(deps.store.get(fileStream(orb), fileSubjects.upload(orb, id)))
    : null;
  if (message === null || message.size === 0) throw uploadMissing();
  const { data, seq } = message;
  const end = data.indexOf(NEWLINE);
  const state = JSON.parse(new TextDecoder().decode(data.subarray(0, end))) as UploadState;
  if (state.by !== accountOf(actor) || state.expires <= deps.clock.now()) throw uploadMissing();
  const { chunks } = state;
  const runs: Run[] = chunks === 0 ? [...state.runs] : [...state.runs, [seq - chunks, chunks]];
  return { state: { ...state, runs, chunks: 0 }, seq, tail: data.slice(end + 1) };
}

/**
 * Returns the message that replaces an upload's state. Its write fails if another request has replaced the state first.
 */
export function stateMessage(
  deps: Deps,
  orb: string,
  state: UploadState,
  { seq, tail = new Uint8Array(0) }: { seq: number; tail?: Uint8Array },
): Append {
  return {
    subject: fileSubjects.upload(orb, state.id),
    data: concatBytes([new TextEncoder().encode(`${JSON.stringify(state)}\n`), tail]),
    rollup: true,
    expect: { seq },
    ttl: Math.max(1, (state.expires - deps.clock.now()) / 1000),
  };
}

/** Returns the message that ends an upload. After that, writes of other requests to the upload fail. */
export function endMessage(orb: string, { state, seq }: StoredUpload): Append {
  return { subject: fileSubjects.upload(orb, state.id), data: "", rollup: true, expect: { seq }, ttl: 1 };
}

/** Converts a conflict between two requests to the same upload into an error for the client. */
export async function orBusy<T>(write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
    const detail =
      "Another request has written to this upload. Read its offset with HEAD, and continue from there.";
    throw new AppError("conflict", "upload_busy", detail);
  }
}

export function tooLong(remaining: number): AppError {
  const detail = `The part is too long: the upload lacks only ${remaining} bytes. Send at most that many.`;
  return new AppError("too_large", "upload_too_long", detail, { data: { limitBytes: remaining } });
}

export function tooManyParts(): AppError {
  const detail = "The parts of the upload are too small. Begin again, and send parts of at least 1 MiB.";
  return new AppError("too_large", "upload_too_many_parts", detail);
}
