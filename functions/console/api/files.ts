/** Uploads files, and works with the library of an application's files. */
import {
  type FileChange,
  type FilePage,
  type Files,
  filesOf,
  type LibraryFile,
  type LibraryFileDetail,
  type ListFilesOptions,
  type ReplacedFile,
  type TagChange,
  type UploadedFile,
} from "../../../shared/client/files.ts";
import { asked, transport } from "./http.ts";
import { orbPath } from "./orbs.ts";

export type {
  FileChange,
  FileUser,
  LibraryFile,
  LibraryFileDetail,
  ListFilesOptions,
} from "../../../shared/client/files.ts";

/** The library of an application. */
export interface FilesPlace {
  orb: string;
  /** Whether the caller is a platform admin. */
  managed: boolean;
}

const libraryOf = ({ orb, managed }: FilesPlace): Files =>
  filesOf(transport, orb, managed ? `${orbPath(orb)}/files` : undefined);

/**
 * Uploads a file to an application.
 * @param onProgress called with the fraction of the file that is stored, from 0 to 1
 * @throws Problem if the platform responds with an error; TypeError if it cannot be reached
 */
export const uploadFile = (
  orb: string,
  file: File,
  onProgress: (share: number) => void,
): Promise<UploadedFile> => asked(filesOf(transport, orb).upload(file, { onProgress }));

export const listFiles = (place: FilesPlace, options: ListFilesOptions): Promise<FilePage> =>
  asked(libraryOf(place).list(options));

export const readFile = (place: FilesPlace, id: string, signal: AbortSignal): Promise<LibraryFileDetail> =>
  asked(libraryOf(place).get(id, { signal }));

/** @param revision of the description that the change is based on */
export const updateFile = (
  place: FilesPlace,
  id: string,
  change: FileChange,
  revision?: number,
): Promise<LibraryFile> =>
  asked(libraryOf(place).update(id, change, revision === undefined ? {} : { revision }));

export const replaceFile = (place: FilesPlace, id: string, by: string): Promise<ReplacedFile> =>
  asked(libraryOf(place).replace(id, by));

export const listTags = (place: FilesPlace, signal: AbortSignal): Promise<string[]> =>
  asked(libraryOf(place).tags({ signal }));

/** @param to null removes the tag from all files */
export const changeTag = (place: FilesPlace, from: string, to: string | null): Promise<string[]> =>
  asked(libraryOf(place).changeTag(from, to));

export const tagFiles = (
  place: FilesPlace,
  ids: readonly string[],
  change: TagChange,
): Promise<LibraryFile[]> => asked(libraryOf(place).tag(ids, change));

export const deleteFile = (place: FilesPlace, id: string): Promise<void> =>
  asked(libraryOf(place).delete(id));
