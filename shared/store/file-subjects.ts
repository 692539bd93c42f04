/**
 * Names of the streams and subjects for files. A record describes each file and is stored in the application's stream.
 * The content is in an object store of the broker.
 */
import { token } from "./subjects.ts";

const PREFIX = "OBJ_files_";

/** Returns the name of the object store that holds the content of an application's files. */
export function fileBucket(orb: string): string {
  return `files_${token(orb, "orb")}`;
}

/** Returns the stream in which the broker stores the content of the object store. */
export function fileStream(orb: string): string {
  return `OBJ_${fileBucket(orb)}`;
}

/** Returns the application whose files a stream holds. */
export function orbOfFiles(stream: string): string | undefined {
  return stream.startsWith(PREFIX) ? stream.slice(PREFIX.length) : undefined;
}

/** Encodes the name of an object as clients of object stores do: base64url with padding. */
function encodedName(name: string): string {
  return btoa(name).replaceAll("+", "-").replaceAll("/", "_");
}

const inOrb = (orb: string, space: string) => `${token(orb, "orb")}.${space}`;

export const fileSubjects = {
  /** The record of a file: its properties, who uploaded it, and which entries use it. */
  record: (orb: string, id: string) => `${inOrb(orb, "_file")}.${token(id, "file")}`,
  records: (orb: string) => `${inOrb(orb, "_file")}.*`,
  /** The names of the tags of all files. */
  tags: (orb: string) => `${inOrb(orb, "_tags")}.names`,
  /** Marks that a file has the content with this hash. */
  content: (orb: string, sha256: string, id: string) =>
    `${inOrb(orb, "_blob")}.${token(sha256, "file")}.${token(id, "file")}`,
  contentOf: (orb: string, sha256: string) => `${inOrb(orb, "_blob")}.${token(sha256, "file")}.*`,
  /** Marks that a revision of the entry refers to the file. */
  use: (orb: string, entry: string, id: string) =>
    `${inOrb(orb, "_has")}.${token(entry, "entry")}.${token(id, "file")}`,
  usesBy: (orb: string, entry: string) => `${inOrb(orb, "_has")}.${token(entry, "entry")}.*`,
  /** Tells the background job that deletes unused content to examine an upload later. */
  check: (orb: string, id: string) => `${inOrb(orb, "_sweep")}.${token(id, "file")}`,
  checks: (orb: string) => `${inOrb(orb, "_sweep")}.*`,
  /** A variant (smaller copy) of an image. The message says where its content is, or that a request is making it. */
  variant: (orb: string, sha256: string, key: string) =>
    `${inOrb(orb, "_variant")}.${token(sha256, "file")}.${token(key, "variant")}`,
  variantsOf: (orb: string, sha256: string) => `${inOrb(orb, "_variant")}.${token(sha256, "file")}.*`,
  chunks: (orb: string, nuid: string) => `$O.${fileBucket(orb)}.C.${token(nuid, "file")}`,
  info: (orb: string, sha256: string) => `$O.${fileBucket(orb)}.M.${encodedName(token(sha256, "file"))}`,
  /**
   * The state of a resumable upload. The platform adds this subject to the object store's stream. Other clients of the
   * object store ignore the subject.
   */
  upload: (orb: string, id: string) => `$O.${fileBucket(orb)}.U.${token(id, "upload")}`,
  ofStore: (orb: string) => ["C", "M", "U"].map((space) => `$O.${fileBucket(orb)}.${space}.>`),
  everyStore: "$O.>",
} as const;
