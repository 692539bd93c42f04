/** The record of a file in the stream of its orb. */
import type { Deps } from "../deps.ts";
import { nullIfMissing } from "../entry/model/resolve.ts";
import { isObject } from "../kernel/json.ts";
import { fileSubjects } from "../store/file-subjects.ts";
import { type Home, isToken, streams } from "../store/subjects.ts";
import type { Append, StoredMessage } from "../store/types.ts";
import type { Run } from "./object.ts";

/** Seconds until an upload that no entry refers to is removed, and a file that no entry has any more. */
export const UNUSED_SECONDS = 86_400;

/** Number of random bytes in a file's id. */
export const ID_BYTES = 18;

export interface FileRecord {
  v: 1;
  id: string;
  /** Hexadecimal. */
  sha256: string;
  size: number;
  type: string;
  name: string;
  /** Account that uploaded the file, with its realm. */
  by: string;
  /** ISO 8601. */
  at: string;
  /** Where the content is stored. Without `runs`, the information of the object has them. */
  object: { nuid: string; runs?: readonly Run[] };
  /** The entries that have the file in a revision. */
  entries: readonly FileUse[];
}

export interface FileUse extends Home {
  id: string;
}

/** The value of a field of type file, as entries store and show it. */
export interface FileValue {
  file: string;
  url: string;
  type: string;
  size: number;
  name: string;
  sha256: string;
}

/** Returns the path of a file. The name at its end is for people. */
export function fileUrl(orb: string, { id, name }: Pick<FileRecord, "id" | "name">): string {
  return `/api/${orb}/files/${id}/${encodeURIComponent(name)}`;
}

export function fileValue(orb: string, record: FileRecord): FileValue {
  const { id, type, size, name, sha256 } = record;
  return { file: id, url: fileUrl(orb, record), type, size, name, sha256 };
}

/** Returns whether a stored value is that of a file. Values in the format of another definition are not. */
export function isFileValue(value: unknown): value is FileValue {
  return isObject(value) && typeof value.file === "string" && typeof value.sha256 === "string";
}

/** Reads the record of a file. Returns null if there is none. */
export async function readRecord(
  deps: Pick<Deps, "store">,
  orb: string,
  id: string,
): Promise<{ record: FileRecord; seq: number } | null> {
  if (!isToken(id)) return null;
  return recordIn(await nullIfMissing(deps.store.get(streams.orb(orb), fileSubjects.record(orb, id))));
}

export function recordIn(
  message: StoredMessage | null | undefined,
): { record: FileRecord; seq: number } | null {
  if (message === null || message === undefined || message.size === 0) return null;
  return { record: message.json<FileRecord>(), seq: message.seq };
}

/**
 * Returns the messages that store a record. The content's message comes first, so that the sweep never finds a record
 * without it.
 * @param ttl seconds until both expire; without it they stay
 */
export function recordMessages(orb: string, record: FileRecord, ttl?: number): [Append, Append] {
  const kept = { rollup: true, ...(ttl === undefined ? {} : { ttl }) };
  return [
    { subject: fileSubjects.content(orb, record.sha256, record.id), data: "1", ...kept },
    { subject: fileSubjects.record(orb, record.id), data: JSON.stringify(record), ...kept },
  ];
}
