/** Lists the files of an application, those that were changed last first. */

import type { Actor } from "../access/actor.ts";
import { type Principal, principalIn, requireAct, requireScope } from "../access/authorize.ts";
import { refusal } from "../access/refusals.ts";
import type { Deps } from "../deps.ts";
import { messagesInOrder } from "../entry/index/index.ts";
import type { OrbContext } from "../entry/model/index.ts";
import { mayBrowse, mayBrowseFile, requireFiles } from "../files/access.ts";
import { readTags, shownTags, type TagNames, tagName } from "../files/assets/index.ts";
import { accepts } from "../files/content-type.ts";
import type { FileRecord } from "../files/record.ts";
import { fileSubjects } from "../store/file-subjects.ts";
import { nullIfMissing } from "../store/pages.ts";
import { streams } from "../store/subjects.ts";
import { type FileView, fileView } from "./view.ts";

/** Maximum records that one request reads. A page may end early after this many. */
export const MOST_READ = 2_000;
/** Bytes of records after which a request reads no more. A page may end early after them too. */
const MOST_BYTES = 4 * 1024 * 1024;

/** Which files a list has. */
export interface FileFilter {
  /** Words that the name, the texts, the tags or the id must contain. */
  search?: string | undefined;
  /** A media type, or a group of them such as `image/*`. */
  type?: string | undefined;
  tag?: string | undefined;
  /** `unused`: only files that no entry has. `replaced`: only files that another one replaced. Default: no replaced ones. */
  only?: "unused" | "replaced" | undefined;
}

export interface FileQuery extends FileFilter {
  limit: number;
  /** Position of the last file of the previous page. */
  before?: number | undefined;
}

export interface FilePage {
  items: FileView[];
  next: number | null;
}

/**
 * Returns the caller's rights in the library.
 * @throws AppError 401, 403 or 404 if the caller may see no file in it
 */
export function requireBrowse(actor: Actor, { orb, compiled }: OrbContext): Principal {
  requireFiles(compiled);
  const caller = principalIn(actor, orb, compiled);
  if (mayBrowse(caller, compiled)) return caller;
  requireAct(caller, "entries:read");
  requireScope(actor, "readDraft", orb);
  throw refusal(actor);
}

const folded = (text: string) => text.normalize("NFKC").toLowerCase();

function wordsOf(record: FileRecord, tags: readonly string[]): string {
  const { id, name, type, asset } = record;
  const { alt = {}, caption = {} } = asset ?? {};
  return folded([id, name, type, ...Object.values(alt), ...Object.values(caption), ...tags].join("\n"));
}

/** Returns a function that tells whether a file is one of those that a filter names. */
function matching(
  { search = "", type, tag, only }: FileFilter,
  names: TagNames,
): (record: FileRecord) => boolean {
  const wanted = tag === undefined ? undefined : tagName(tag);
  const words = folded(search).split(/\s+/).filter(Boolean);
  return (record) => {
    const { asset } = record;
    if ((asset?.replacedBy !== undefined) !== (only === "replaced")) return false;
    if (only === "unused" && record.entries.length > 0) return false;
    if (type !== undefined && !accepts([type], record.type)) return false;
    const tags = shownTags(names, asset?.tags);
    if (wanted !== undefined && !tags.includes(wanted)) return false;
    if (words.length === 0) return true;
    const text = wordsOf(record, tags);
    return words.every((word) => text.includes(word));
  };
}

/** Lists the files that the caller sees in the library. A page may be shorter than `limit`, although others follow. */
export async function listFiles(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  { limit, before, ...filter }: FileQuery,
): Promise<FilePage> {
  const caller = requireBrowse(actor, context);
  const { orb, compiled } = context;
  const records = fileSubjects.records(orb);
  const { names } = await readTags(deps, orb);
  const isWanted = matching(filter, names);
  const newest = async () => {
    const last = await nullIfMissing(deps.store.get(streams.orb(orb), records));
    return last === null ? undefined : { seq: last.seq + 1, density: 0 };
  };
  const start = before === undefined ? undefined : { seq: before, density: 0 };
  const items: FileView[] = [];
  let read = 0;
  let bytes = 0;
  const scan = { orb, filter: records, first: limit };
  for await (const { messages } of messagesInOrder(deps.store, scan, true, start, newest)) {
    for (const message of messages) {
      read++;
      bytes += message.size;
      // An empty message marks a file that was removed.
      const record = message.size === 0 ? undefined : message.json<FileRecord>();
      if (record !== undefined && mayBrowseFile(caller, compiled, record) && isWanted(record))
        items.push(fileView(orb, record, names));
      if (items.length === limit || read === MOST_READ || bytes >= MOST_BYTES)
        return { items, next: message.seq };
    }
  }
  return { items, next: null };
}
