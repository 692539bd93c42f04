/**
 * The tags of an application's files. The descriptions of files have the ids of tags, and one message has the names of
 * all ids. So one write renames a tag in all files.
 */
import type { Deps } from "../../deps.ts";
import { invalid } from "../../kernel/errors.ts";
import type { Faults } from "../../kernel/faults.ts";
import { fileSubjects } from "../../store/file-subjects.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { streams } from "../../store/subjects.ts";
import type { Append } from "../../store/types.ts";
import { ASSET_LIMITS } from "./limits.ts";

/** Names by id. Several ids have the same name after a tag was renamed to another one. */
export type TagNames = ReadonlyMap<string, string>;

/** The tags of an application, as they are stored. */
export interface StoredTags {
  names: TagNames;
  /** Sequence number of the message, 0 if there is none. */
  seq: number;
}

interface TagsMessage {
  v: 1;
  names: Readonly<Record<string, string>>;
}

/** The form of ids. */
const ID = /^~[\w-]{12}$/;
/** Number of random bytes in an id. */
const ID_BYTES = 9;

/** Reads the tags of an application. */
export async function readTags(deps: Pick<Deps, "store">, orb: string): Promise<StoredTags> {
  const stored = await nullIfMissing(deps.store.get(streams.orb(orb), fileSubjects.tags(orb)));
  if (stored === null) return { names: new Map(), seq: 0 };
  return { names: new Map(Object.entries(stored.json<TagsMessage>().names)), seq: stored.seq };
}

/** Returns the message that stores the names of all tags, expecting those that were read. */
export function tagsMessage(orb: string, names: TagNames, seq: number): Append {
  const data: TagsMessage = { v: 1, names: Object.fromEntries(names) };
  return { subject: fileSubjects.tags(orb), data: JSON.stringify(data), rollup: true, expect: { seq } };
}

/** Returns the names of the tags of a file, as `asset.tags` stores them. */
export function shownTags(names: TagNames, stored: readonly string[] = []): string[] {
  // An id without a name is that of a deleted tag. Texts that are no ids were stored before tags had ids.
  const found = stored.flatMap((id) => names.get(id) ?? (ID.test(id) ? [] : [id]));
  return [...new Set(found)];
}

/** Returns the ids that have a name. */
export const idsOfTag = (names: TagNames, name: string): string[] =>
  [...names].flatMap(([id, each]) => (each === name ? [id] : []));

/** Returns the names of all tags, in the order of their letters. */
export const tagNames = (names: TagNames): string[] =>
  [...new Set(names.values())].sort((one, other) => (one < other ? -1 : 1));

/**
 * Returns the ids of tags, with new ones for names that no tag has.
 * @param path of the names in the request
 * @returns `message` stores the new tags. It must be part of the batch that stores the ids.
 */
export function registerTags(
  deps: Pick<Deps, "randomToken">,
  orb: string,
  { names, seq }: StoredTags,
  wanted: readonly string[],
  path = "/tags",
): { ids: string[]; names: TagNames; message: Append[] } {
  const all = new Map(names);
  const ids = wanted.map((name) => {
    const [known] = idsOfTag(all, name);
    if (known !== undefined) return known;
    const id = `~${deps.randomToken(ID_BYTES)}`;
    all.set(id, name);
    return id;
  });
  const isNew = all.size > names.size;
  if (isNew && all.size > ASSET_LIMITS.allTags) {
    const message = `must not be a new tag, because the orb has ${names.size} tags. Delete tags that you do not need.`;
    throw invalid([{ path, code: "too_many", message }]);
  }
  return { ids, names: all, message: isNew ? [tagsMessage(orb, all, seq)] : [] };
}

/** Returns a name in its stored form. */
export const tagName = (text: string): string => text.normalize("NFC").trim();

/** Returns names of tags in their stored form: without white space around them, each once. */
export function tagsIn(value: unknown, path: string, faults: Faults): string[] {
  if (!Array.isArray(value)) {
    faults.add(path, "type", "must be a list of texts");
    return [];
  }
  const tags = value.map((tag: unknown, at) => {
    const text = typeof tag === "string" ? tagName(tag) : "";
    if (text === "" || text.length > ASSET_LIMITS.tag)
      faults.add(`${path}/${at}`, "format", `must be a text of 1 to ${ASSET_LIMITS.tag} characters`);
    return text;
  });
  return [...new Set(tags)];
}

/** Reports too many tags of one file. */
export function checkTagCount(tags: readonly string[], path: string, faults: Faults): void {
  const { tags: most } = ASSET_LIMITS;
  if (tags.length > most) faults.add(path, "too_many", `must be at most ${most} tags (are ${tags.length})`);
}
