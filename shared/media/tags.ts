/** Lists the tags of an application's files, renames and deletes them, and tags several files at once. */
import type { Actor } from "../access/actor.ts";
import type { Deps } from "../deps.ts";
import type { OrbContext } from "../entry/model/index.ts";
import { mayDescribeAll } from "../files/access.ts";
import {
  checkTagCount,
  idsOfTag,
  nextAsset,
  readTags,
  registerTags,
  shownTags,
  tagName,
  tagNames,
  tagsIn,
  tagsMessage,
} from "../files/assets/index.ts";
import { AppError, invalid, notFound } from "../kernel/errors.ts";
import { Faults } from "../kernel/faults.ts";
import { streams } from "../store/subjects.ts";
import { changeableFile, changing, requireDescribe, stampOf, storeMessages } from "./describe.ts";
import { requireBrowse } from "./list.ts";
import { type FileView, fileView } from "./view.ts";

/** Maximum files that one request tags. */
export const MOST_TAGGED = 100;

/** Returns the names of all tags. */
export async function listTags(deps: Deps, actor: Actor, context: OrbContext): Promise<string[]> {
  requireBrowse(actor, context);
  return tagNames((await readTags(deps, context.orb)).names);
}

/**
 * Renames a tag in all files, or deletes it, in one write. The new name of a tag can be that of another one: the files
 * then have that one.
 * @param to the new name; null deletes the tag
 * @returns the names of all tags
 * @throws AppError forbidden `file_in_other_entries` if the caller may not change all files
 */
export async function changeTag(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  { from, to }: { from: string; to: string | null },
): Promise<string[]> {
  const { orb, compiled } = context;
  const faults = new Faults();
  const [name] = to === null ? [] : tagsIn([to], "", faults);
  if (faults.any) throw invalid(faults.list().map((fault) => ({ ...fault, path: "/to" })));
  return changing(deps, actor, context, async () => {
    const caller = requireDescribe(actor, context);
    if (!mayDescribeAll(caller, compiled)) {
      const detail =
        "Files that you may not change can have this tag. Ask someone who may change all of them.";
      throw new AppError("forbidden", "file_in_other_entries", detail);
    }
    const { names, seq } = await readTags(deps, orb);
    const ids = idsOfTag(names, tagName(from));
    if (ids.length === 0) throw notFound("tag");
    const next = new Map(names);
    for (const id of ids) {
      if (name === undefined) next.delete(id);
      else next.set(id, name);
    }
    if (name !== from) await deps.store.batch(streams.orb(orb), [tagsMessage(orb, next, seq)]);
    return tagNames(next);
  });
}

/** Which tags to add to files, and which to remove. */
export interface TagChange {
  /** Ids of files. */
  files: readonly string[];
  add: readonly string[];
  remove: readonly string[];
}

/** Returns the names of a change in their stored form. */
function namesOf({ add, remove }: TagChange): { add: string[]; remove: string[] } {
  const faults = new Faults();
  const names = { add: tagsIn(add, "/add", faults), remove: tagsIn(remove, "/remove", faults) };
  if (names.add.length + names.remove.length === 0)
    faults.add("", "required", "must have a tag in add or remove");
  for (const [at, name] of names.add.entries())
    if (names.remove.includes(name)) faults.add(`/add/${at}`, "duplicate", "must not be in remove too");
  if (faults.any) throw invalid(faults.list());
  return names;
}

/** Adds tags to several files and removes others, in one atomic write. */
export async function tagFiles(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  change: TagChange,
): Promise<FileView[]> {
  const { orb } = context;
  const { add, remove } = namesOf(change);
  const wanted = [...new Set(change.files)];
  return changing(deps, actor, context, async () => {
    const found = await Promise.all(wanted.map((id) => changeableFile(deps, actor, context, { id })));
    const stored = await readTags(deps, orb);
    const faults = new Faults();
    const named = found.map(({ record }, at) => {
      const kept = shownTags(stored.names, record.asset?.tags).filter((tag) => !remove.includes(tag));
      const tags = [...new Set([...kept, ...add])];
      checkTagCount(tags, `/files/${at}`, faults);
      return tags;
    });
    if (faults.any) throw invalid(faults.list());
    const all = [...new Set(named.flat())];
    const { ids, names, message } = registerTags(deps, orb, stored, all, "/add");
    const idOf = new Map(all.map((name, at) => [name, ids[at]]));
    const stamp = stampOf(deps, actor);
    const next = found.map(({ record, seq }, at) => {
      const tags = named[at]?.flatMap((name) => idOf.get(name) ?? []) ?? [];
      const asset = nextAsset(record.asset, { tags: tags.length === 0 ? undefined : tags }, stamp);
      return { seq, record: { ...record, asset } };
    });
    const messages = next.flatMap(({ record, seq }) => storeMessages(orb, record, seq));
    await deps.store.batch(streams.orb(orb), [...message, ...messages]);
    return next.map(({ record }) => fileView(orb, record, names));
  });
}
