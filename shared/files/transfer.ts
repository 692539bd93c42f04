/**
 * Exports and imports the files of an application. One line describes a file, and the lines that follow contain its
 * content.
 */
import type { CompiledOrb, CompiledSchema } from "../definition/compile.ts";
import { homeKey, homeOf } from "../definition/document/index.ts";
import type { Values } from "../definition/validate.ts";
import type { Deps } from "../deps.ts";
import { toBase64 } from "../kernel/base64.ts";
import { createFileStream } from "../store/broker/index.ts";
import { READ_BYTES, SMALL_BYTES } from "../store/budget.ts";
import { fileSubjects } from "../store/file-subjects.ts";
import { pagesOf, untilWritten } from "../store/pages.ts";
import { type Home, streams } from "../store/subjects.ts";
import type { Append } from "../store/types.ts";
import { type Asset, readTags, registerTags, shownTags, tagName } from "./assets/index.ts";
import { completedIn, storedFiles } from "./attach.ts";
import { contentOf } from "./download.ts";
import { newRecord, storeCheck } from "./keep.ts";
import { CHUNK_BYTES, infoOf, keepContent, removeChunks, sendChunks } from "./object.ts";
import {
  type FileRecord,
  type FileValue,
  fileValue,
  ID_BYTES,
  readRecord,
  recordIn,
  recordMessages,
  UNUSED_SECONDS,
} from "./record.ts";
import { Sha256 } from "./sha256.ts";
import { chunked } from "./upload.ts";

export type ExportedFile = Pick<
  FileRecord,
  "id" | "sha256" | "size" | "type" | "name" | "by" | "at" | "image" | "asset" | "last"
>;

export interface FileLine {
  kind: "file";
  file: ExportedFile;
}

/** The next bytes of the file in the last {@link FileLine}, in base64. */
export interface ContentLine {
  kind: "content";
  data: string;
}

/**
 * Maximum ids of exported files to remember. Beyond this limit, a file that several entries use may be exported several
 * times.
 */
const REMEMBERED = 100_000;

const RECORDS_PER_READ = 500;

/** Yields the files of an entry that have not been exported yet. */
export async function* fileLines(
  deps: Deps,
  orb: string,
  schema: CompiledSchema,
  values: readonly Readonly<Record<string, unknown>>[],
  seen: Set<string>,
): AsyncGenerator<FileLine | ContentLine> {
  for (const id of idsIn(schema, values)) {
    if (seen.has(id)) continue;
    if (seen.size < REMEMBERED) seen.add(id);
    const found = await readRecord(deps, orb, id);
    if (found !== null) yield* linesOf(deps, orb, found.record);
  }
}

/**
 * Yields the described files that no revision of the export has, also those of older revisions. Call this after the last
 * entry.
 */
export async function* unusedFileLines(
  deps: Deps,
  { id: orb, byHome }: CompiledOrb,
  seen: ReadonlySet<string>,
): AsyncGenerator<FileLine | ContentLine> {
  const page = { limit: RECORDS_PER_READ, maxBytes: READ_BYTES };
  for await (const messages of pagesOf(deps.store, streams.orb(orb), fileSubjects.records(orb), page)) {
    for (const message of messages) {
      const record = recordIn(message)?.record;
      if (record?.asset === undefined || seen.has(record.id)) continue;
      const home = record.entries.at(-1) ?? record.last;
      const schema = home === undefined ? undefined : byHome.get(homeKey(home));
      // An export has the names of the document.
      const last = schema === undefined ? home : homeOf(schema.moduleType, schema.id);
      yield* linesOf(deps, orb, record, last);
    }
  }
}

async function* linesOf(
  deps: Deps,
  orb: string,
  record: FileRecord,
  last?: Home,
): AsyncGenerator<FileLine | ContentLine> {
  const { id, sha256, size, type, name, by, at, image, asset } = record;
  const described = { id, sha256, size, type, name, by, at };
  const file = {
    ...described,
    ...(image === undefined ? {} : { image }),
    ...(asset === undefined ? {} : { asset: await exportedAsset(deps, orb, asset) }),
    ...(last === undefined ? {} : { last: { type: last.type, schema: last.schema } }),
  };
  yield { kind: "file", file };
  for await (const data of contentOf(deps, orb, record, { start: 0, end: size }))
    yield { kind: "content", data: toBase64(data) };
}

/** Returns a description with the names of its tags, as exports have it. */
async function exportedAsset(deps: Deps, orb: string, { tags, ...asset }: Asset): Promise<Asset> {
  if (tags === undefined) return asset;
  const { names } = await readTags(deps, orb);
  return { ...asset, tags: shownTags(names, tags) };
}

/** Returns a description of an export with the ids of its tags. Stores those that the application does not have. */
async function importedAsset(deps: Deps, orb: string, { tags, ...asset }: Asset): Promise<Asset> {
  if (tags === undefined) return asset;
  // The file may come from elsewhere. A name in another form could not be found, renamed or removed.
  const wanted = [...new Set(tags.map(tagName))].filter((name) => name !== "");
  return untilWritten(async () => {
    const { ids, message } = registerTags(deps, orb, await readTags(deps, orb), wanted);
    if (message.length > 0) await deps.store.batch(streams.orb(orb), message);
    return { ...asset, tags: ids };
  });
}

/** Returns the ids of the files in the values of an entry. */
export function idsIn(
  schema: CompiledSchema,
  values: readonly Readonly<Record<string, unknown>>[],
): string[] {
  const fields = schema.files;
  return [...new Set(values.flatMap((each) => [...storedFiles(fields, each).keys()]))];
}

/**
 * Stores a file of an import. A file without a description expires after a day unless an imported entry refers to it.
 * @returns whether the content has the described hash
 */
export async function importFile(
  deps: Deps,
  orb: string,
  file: ExportedFile,
  body: AsyncIterable<Uint8Array>,
): Promise<boolean> {
  const nuid = deps.randomToken(ID_BYTES);
  await createFileStream(deps, orb);
  await storeCheck(deps, orb, nuid, { nuid, sha256: undefined });
  const hash = new Sha256();
  let tail: Uint8Array = new Uint8Array(0);
  let head: Uint8Array | undefined;
  async function* hashed() {
    for await (const chunk of chunked(body)) {
      head ??= chunk;
      if (chunk.length === CHUNK_BYTES) hash.update(chunk);
      else tail = chunk;
      yield chunk;
    }
  }
  const runs = await sendChunks(deps, orb, nuid, hashed());
  const { sha256, size } = file;
  if (hash.digest(tail, size) !== sha256) return false;
  await storeCheck(deps, orb, nuid, { nuid, sha256 });
  const mine = infoOf(orb, sha256, { nuid, size, runs });
  const object = (await keepContent(deps, orb, sha256, mine)) ?? mine;
  if (object.nuid !== nuid) await removeChunks(deps, orb, nuid);
  const { at, image, asset, last } = file;
  // A large export can have a file again after entries that refer to it.
  const { entries } = (await readRecord(deps, orb, file.id))?.record ?? { entries: [] };
  const record: FileRecord = {
    ...newRecord(deps, file, object, head),
    ...{ at, entries },
    ...(image === undefined ? {} : { image }),
    ...(asset === undefined ? {} : { asset: await importedAsset(deps, orb, asset) }),
    ...(last === undefined ? {} : { last }),
  };
  const isKept = asset !== undefined || entries.length > 0;
  const lifetime = isKept ? undefined : UNUSED_SECONDS;
  await deps.store.pipeline(streams.orb(orb), recordMessages(orb, record, lifetime));
  return true;
}

/** Reads the records of an imported entry's files. */
export async function importedFiles(
  deps: Deps,
  orb: string,
  schema: CompiledSchema,
  values: readonly Readonly<Record<string, unknown>>[],
): Promise<FileRecord[]> {
  const subjects = idsIn(schema, values).map((id) => fileSubjects.record(orb, id));
  if (subjects.length === 0) return [];
  const found = await deps.store.getMany(streams.orb(orb), subjects, { maxBytes: SMALL_BYTES * 4 });
  return [...found.values()].flatMap((message) => recordIn(message)?.record ?? []);
}

/** Returns the messages that attach files to an imported entry. */
export function importMessages(
  orb: string,
  home: Home,
  entry: string,
  files: readonly FileRecord[],
): Append[] {
  return files.flatMap((file) => {
    const entries = [...file.entries, { ...home, id: entry }];
    const link = { subject: fileSubjects.use(orb, entry, file.id), data: "1", rollup: true };
    return [...recordMessages(orb, { ...file, entries }), link];
  });
}

/**
 * Adds the properties of each file to imported values. Takes them from the stored records, because the import may
 * contain wrong ones.
 */
export function withFiles(
  orb: string,
  schema: CompiledSchema,
  values: Values,
  files: readonly FileRecord[],
): Values {
  const known = new Map<string, FileValue>(files.map((file) => [file.id, fileValue(orb, file)]));
  return completedIn(schema.files, values, known);
}
