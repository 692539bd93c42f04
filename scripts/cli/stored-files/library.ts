/** The commands `orb files list`, `describe`, `tag`, `tags`, `rename-tag`, `remove-tag`, `replace` and `delete`. */
import { openAsBlob } from "node:fs";
import { basename } from "node:path";
import {
  type FileChange,
  type Files,
  filesOf,
  type LibraryFile,
  type LibraryFileDetail,
  type ListFilesOptions,
} from "../../../shared/client/files.ts";
import { isProblem } from "../../../shared/client/problem.ts";
import { CommandError, type Context } from "../command/context.ts";
import { pagesOf } from "../command/pages.ts";

/** Files per request. */
const PAGE = 100;

const libraryOf = (context: Context, orb: string): Files => filesOf(context.transport, orb);

/** Yields the files of the library, page by page. */
const filesIn = (library: Files, options: ListFilesOptions) =>
  pagesOf((at) => library.list({ ...options, limit: PAGE, ...at }));

const lineOf = ({ id, name, type, size, uses, tags }: LibraryFile) =>
  [id, name, type, `${size} bytes`, `${uses} entries`, ...(tags.length === 0 ? [] : [tags.join(", ")])].join(
    "  ",
  );

/** Which files a command is about. */
export interface LibraryChoice {
  search?: string | undefined;
  type?: string | undefined;
  tag?: string | undefined;
  unused: boolean;
  replaced: boolean;
}

function filterOf({ search, type, tag, unused, replaced }: LibraryChoice): ListFilesOptions {
  if (unused && replaced) throw new CommandError("Use --unused or --replaced, not both.");
  const only = unused ? "unused" : replaced ? "replaced" : undefined;
  return { search, type, tag, only };
}

/** Prints the files of an orb, those that changed last first. */
export async function listLibrary(
  context: Context,
  { orb, limit, ...choice }: LibraryChoice & { orb: string; limit: number },
): Promise<number> {
  const found: LibraryFile[] = [];
  for await (const { items } of filesIn(libraryOf(context, orb), filterOf(choice))) {
    found.push(...items);
    if (found.length >= limit) break;
  }
  const files = found.slice(0, limit);
  context.result(files, () => (files.length === 0 ? "Nothing was found." : files.map(lineOf)));
  return 0;
}

/** The options of `orb files describe`. */
export interface Description {
  name?: string | undefined;
  /** Texts, each as `language=text`. An empty text removes one. */
  alt: readonly string[];
  caption: readonly string[];
  /** Two fractions, or `none`. */
  focal?: string | undefined;
  /** Four fractions, or `none`. */
  crop?: string | undefined;
}

function textsOf(option: string, given: readonly string[]): Record<string, string | null> {
  return Object.fromEntries(
    given.map((each) => {
      const at = each.indexOf("=");
      if (at < 1)
        throw new CommandError(
          `--${option} must name the language: --${option} en="A red chair" (is ${each}).`,
        );
      return [each.slice(0, at), each.slice(at + 1) || null];
    }),
  );
}

/** Returns fractions, or null for `none`. */
function fractionsOf(option: string, text: string, count: number): number[] | null {
  if (text === "none") return null;
  const parts = text.split(",").map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
  if (parts.length === count && parts.every(Number.isFinite)) return parts;
  throw new CommandError(
    `--${option} must be ${count} fractions from 0 to 1, with commas, or none (is ${text}).`,
  );
}

function changeOf({ name, alt, caption, focal, crop }: Description): FileChange {
  const point = focal === undefined ? undefined : fractionsOf("focal", focal, 2);
  const area = crop === undefined ? undefined : fractionsOf("crop", crop, 4);
  const [x = 0, y = 0] = point ?? [];
  const [left = 0, top = 0, w = 0, h = 0] = area ?? [];
  return {
    ...(name === undefined ? {} : { name }),
    ...(alt.length === 0 ? {} : { alt: textsOf("alt", alt) }),
    ...(caption.length === 0 ? {} : { caption: textsOf("caption", caption) }),
    ...(point === undefined ? {} : { focal: point && { x, y } }),
    ...(area === undefined ? {} : { crop: area && { x: left, y: top, w, h } }),
  };
}

function linesOf(file: LibraryFileDetail): string[] {
  const { alt, caption, focal, crop, usedIn } = file;
  return [
    lineOf(file),
    ...Object.entries(alt).map(([language, text]) => `alt ${language}  ${text}`),
    ...Object.entries(caption).map(([language, text]) => `caption ${language}  ${text}`),
    ...(focal === null ? [] : [`focal  ${focal.x},${focal.y}`]),
    ...(crop === null ? [] : [`crop  ${crop.x},${crop.y},${crop.w},${crop.h}`]),
    ...usedIn.map(({ module, schema, id, status }) => `used in  ${module}/${schema} ${id}  ${status}`),
  ];
}

/** Changes the description of a file if there is something to change, and prints it. */
export async function describeFile(
  context: Context,
  { orb, id, ...given }: Description & { orb: string; id: string },
): Promise<number> {
  const library = libraryOf(context, orb);
  const change = changeOf(given);
  if (Object.keys(change).length > 0) await library.update(id, change);
  const file = await library.get(id);
  context.result(file, () => linesOf(file));
  return 0;
}

/** Adds tags to files and removes others, up to 100 files in one write. */
export async function tagFiles(
  context: Context,
  { orb, ids, add, remove }: { orb: string; ids: readonly string[]; add: string[]; remove: string[] },
): Promise<number> {
  const library = libraryOf(context, orb);
  const files: LibraryFile[] = [];
  for (let at = 0; at < ids.length; at += PAGE)
    files.push(...(await library.tag(ids.slice(at, at + PAGE), { add, remove })));
  context.result(files, () => files.map(lineOf));
  return 0;
}

export async function listTags(context: Context, orb: string): Promise<number> {
  const tags = await libraryOf(context, orb).tags();
  context.result(tags, () => (tags.length === 0 ? "No file has a tag." : tags));
  return 0;
}

/** Renames a tag in all files, or removes it from all. @param to null removes it */
export async function changeTag(
  context: Context,
  { orb, from, to }: { orb: string; from: string; to: string | null },
): Promise<number> {
  const tags = await libraryOf(context, orb).changeTag(from, to);
  context.result(tags, () => tags);
  return 0;
}

/** Replaces a file in all entries. @param by id of a file, or undefined to upload `file` */
export async function replaceLibraryFile(
  context: Context,
  {
    orb,
    id,
    by,
    file,
    signal,
  }: { orb: string; id: string; by?: string | undefined; file?: string | undefined; signal: AbortSignal },
): Promise<number> {
  if ((by === undefined) === (file === undefined))
    throw new CommandError("Name the new file: --by <id>, or --file <path> to upload it.");
  const library = libraryOf(context, orb);
  const upload = async (path: string) =>
    (await library.upload(await openAsBlob(path), { name: basename(path), signal })).id;
  const next = by ?? (await upload(file ?? ""));
  const answer = await library.replace(id, next);
  context.result(answer, () => [
    `${answer.changed.length} entries have the file ${next} now.`,
    ...answer.left.map(
      (user) => `${user.module}/${user.schema} ${user.id} shows the old file until its draft is published.`,
    ),
  ]);
  return 0;
}

/** Deletes files that no entry has: those that are named, or with `unused` all that no entry has. */
export async function deleteFiles(
  context: Context,
  { orb, ids, unused, yes }: { orb: string; ids: readonly string[]; unused: boolean; yes: boolean },
): Promise<number> {
  if (unused === ids.length > 0) throw new CommandError("Name files by their ids, or use --unused.");
  const library = libraryOf(context, orb);
  const wanted: string[] = [...ids];
  if (unused) {
    const files: LibraryFile[] = [];
    for await (const { items } of filesIn(library, { only: "unused" })) files.push(...items);
    if (!yes) {
      context.result(files, () => [...files.map(lineOf), `${files.length} files. Add --yes to delete them.`]);
      return 0;
    }
    wanted.push(...files.map(({ id }) => id));
  }
  const deleted: string[] = [];
  for (const id of wanted) {
    try {
      await library.delete(id);
      deleted.push(id);
    } catch (error) {
      // An entry began to use the file since, or the caller may not change it.
      if (!unused || !isProblem(error) || error.status < 400 || error.status >= 500 || error.status === 401)
        throw error;
      context.note(`${id} stays: ${error.message}`);
    }
  }
  context.result(deleted, () => [...deleted, `${deleted.length} files are deleted.`]);
  return 0;
}
