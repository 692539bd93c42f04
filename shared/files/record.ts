/** The record of a file: one message in the stream of its application. */

import type { Deps } from "../deps.ts";
import { isObject } from "../kernel/json.ts";
import { fileSubjects } from "../store/file-subjects.ts";
import { nullIfMissing } from "../store/pages.ts";
import { type Home, isToken, streams } from "../store/subjects.ts";
import type { Append, ReadOptions, StoredMessage } from "../store/types.ts";
import type { Asset } from "./assets/index.ts";
import type { Run } from "./object.ts";

/** Seconds until an uploaded file expires if no entry refers to it. */
export const UNUSED_SECONDS = 86_400;

/** Number of random bytes in a file's id. */
export const ID_BYTES = 18;

/** Returns the id of a new file. The id never begins with `-`, because commands would take it for an option. */
export function newFileId(deps: Pick<Deps, "randomToken">): string {
  const id = deps.randomToken(ID_BYTES);
  return id.startsWith("-") ? newFileId(deps) : id;
}

export interface FileRecord {
  v: 1;
  id: string;
  /** SHA-256 of the content, as hexadecimal text. */
  sha256: string;
  size: number;
  type: string;
  name: string;
  /** Account that uploaded the file, prefixed with its realm. */
  by: string;
  /** ISO 8601. */
  at: string;
  /**
   * Where the content is stored. `runs` are the sequence numbers of its chunks. If `runs` is missing, the metadata of
   * the object lists them.
   */
  object: { nuid: string; runs?: readonly Run[] };
  image?: ImageFacts;
  /** The description that editors gave the file. A file with one stays, although no entry refers to it. */
  asset?: Asset;
  /** Entries that refer to the file in at least one of their revisions. */
  entries: readonly FileUse[];
  /** The schema of the last entry that referred to the file. Counts only if `entries` is empty. */
  last?: Home;
}

export interface ImageFacts {
  /** Width of the image as shown, after its EXIF orientation is applied. */
  width: number;
  height: number;
  /** `#rrggbb`. */
  color?: string;
  /** Whether the image has several frames. */
  animated?: true;
}

export interface FileUse extends Home {
  id: string;
}

/** The value of a field of type file, in stored entries and in responses. */
export interface FileValue extends Partial<ImageFacts> {
  file: string;
  url: string;
  type: string;
  size: number;
  name: string;
  sha256: string;
}

/**
 * Returns the URL path of a file. The path ends with the file name for human readers. The platform ignores the name.
 */
export function fileUrl(orb: string, { id, name }: Pick<FileRecord, "id" | "name">): string {
  return `/api/${orb}/files/${id}/${encodeURIComponent(name)}`;
}

export function fileValue(orb: string, record: FileRecord): FileValue {
  const { id, type, size, name, sha256, image } = record;
  return { file: id, url: fileUrl(orb, record), type, size, name, sha256, ...image };
}

/**
 * Returns whether a stored value describes a file. Values from an earlier definition, in which the field had another
 * type, do not.
 */
export function isFileValue(value: unknown): value is FileValue {
  return isObject(value) && typeof value.file === "string" && typeof value.sha256 === "string";
}

/** Reads the record of a file. Returns null if there is none. */
export async function readRecord(
  deps: Pick<Deps, "store">,
  orb: string,
  id: string,
  options: ReadOptions = {},
): Promise<{ record: FileRecord; seq: number } | null> {
  if (!isToken(id)) return null;
  return recordIn(
    await nullIfMissing(deps.store.get(streams.orb(orb), fileSubjects.record(orb, id), options)),
  );
}

export function recordIn(
  message: StoredMessage | null | undefined,
): { record: FileRecord; seq: number } | null {
  if (message === null || message === undefined || message.size === 0) return null;
  return { record: message.json<FileRecord>(), seq: message.seq };
}

/**
 * Returns the messages that store the record of a file. The first message links the content to the record. It must be
 * stored first, because content without such a link may be removed.
 * @param ttl seconds until both messages expire; by default they do not expire
 */
export function recordMessages(orb: string, record: FileRecord, ttl?: number): [Append, Append] {
  const kept = { rollup: true, ...(ttl === undefined ? {} : { ttl }) };
  return [
    { subject: fileSubjects.content(orb, record.sha256, record.id), data: "1", ...kept },
    { subject: fileSubjects.record(orb, record.id), data: JSON.stringify(record), ...kept },
  ];
}
