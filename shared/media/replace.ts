/** Replaces a file by another one in all entries, in one atomic write. */
import type { Actor } from "../access/actor.ts";
import type { Values } from "../definition/validate.ts";
import { leavesOf, replaceLeaves } from "../definition/walk.ts";
import type { Deps } from "../deps.ts";
import { type BatchItem, writeBatch } from "../entry/index.ts";
import { hasDraft, type OrbContext, storedInput } from "../entry/model/index.ts";

import { nextAsset, readTags } from "../files/assets/index.ts";
import { type FileRecord, isFileValue, readRecord, UNUSED_SECONDS } from "../files/record.ts";
import { AppError, invalid } from "../kernel/errors.ts";
import { retry } from "../kernel/retry.ts";
import { nullOnConflict } from "../store/pages.ts";
import { changeableFile, changing, type FileTarget, stampOf, storeRecord } from "./describe.ts";
import { type FileUser, type FoundUser, usersOf } from "./uses.ts";
import { type FileView, fileView } from "./view.ts";

/** The result of a replacement. */
export interface Replaced {
  /** The file that the entries have now. */
  file: FileView;
  /** The entries of which a new revision has the new file. Those that were live without a draft are published. */
  changed: FileUser[];
  /** Entries that are live with a draft. Readers see the old file until the draft is published. */
  left: FileUser[];
}

/** Attempts of a replacement while other requests change its entries. */
const ATTEMPTS = 4;

/** Returns the item of a batch that replaces a file in the newest revision of an entry. */
function itemOf(found: FoundUser, from: string, to: string): BatchItem {
  const { schema, head } = found;
  const given = storedInput(schema, head.values) as Values;
  const leaves = schema.files.flatMap((field) =>
    leavesOf(field, given).flatMap(({ value, trail }) => {
      const swapped = (one: unknown) => (isFileValue(one) && one.file === from ? { file: to } : one);
      const has = [value].flat().some((one) => isFileValue(one) && one.file === from);
      return has ? [{ trail, value: Array.isArray(value) ? value.map(swapped) : swapped(value) }] : [];
    }),
  );
  const next = replaceLeaves(given, leaves);
  const roots = new Set(leaves.flatMap(({ trail: [root] }) => (root === undefined ? [] : [root])));
  return {
    update: `${schema.module}/${schema.id}/${head.id}`,
    values: Object.fromEntries([...roots].map((root) => [root, next[root]])),
    ifMatch: head.revision,
    publish: isPublished(found),
  };
}

const isChangeable = ({ user }: FoundUser) => user.newest && user.status !== "ARCHIVED";

/** Returns whether a replacement in the newest revision is also published, because nothing else would be. */
const isPublished = ({ head }: FoundUser) => head.status === "PUBLISHED" && !hasDraft(head);

/**
 * Gives the new file the texts and tags of the old one, unless it has a description of its own.
 * @returns a function that takes this back, for a replacement that is refused
 */
async function inherit(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  old: FileRecord,
  target: FileTarget,
): Promise<() => Promise<void>> {
  const { orb } = context;
  const given = await changing(deps, actor, context, async () => {
    const { record, seq } = await changeableFile(deps, actor, context, target);
    if (record.asset !== undefined && record.asset.replacedBy === undefined) return undefined;
    const { alt, caption, tags } = old.asset ?? {};
    const change = record.asset === undefined ? { alt, caption, tags } : { replacedBy: undefined };
    const asset = nextAsset(record.asset, change, stampOf(deps, actor));
    await storeRecord(deps, orb, { ...record, asset }, seq);
    return { before: record.asset, revision: asset.revision };
  });
  return async () => {
    const found = given && (await readRecord(deps, orb, target.id));
    // Keep what others have changed since.
    if (!found || found.record.asset?.revision !== given.revision) return;
    const { asset: _given, ...rest } = found.record;
    const record: FileRecord = given.before === undefined ? rest : { ...rest, asset: given.before };
    const isUnused = record.asset === undefined && record.entries.length === 0;
    await nullOnConflict(storeRecord(deps, orb, record, found.seq, isUnused ? UNUSED_SECONDS : undefined));
  };
}

async function writeAll(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  { old, to, renew }: { old: FileRecord; to: string; renew: (() => Promise<OrbContext>) | undefined },
): Promise<FoundUser[]> {
  const after = (error: unknown) => error instanceof AppError && error.code === "revision_mismatch";
  return retry({ attempts: ATTEMPTS, after }, async () => {
    const users = await usersOf(deps, context, old, old.entries);
    const items = users.filter(isChangeable).map((user) => itemOf(user, old.id, to));
    if (items.length > 0)
      await writeBatch(deps, actor, { orbId: context.orb, orb: context, renew, items, routed: false });
    return users;
  });
}

/**
 * Replaces a file by another one in the newest revision of each entry that has it. Writes all entries or none. Older
 * revisions keep the old file.
 * @throws AppError if the caller may not change one of the entries
 */
export async function replaceFile(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  target: FileTarget & { by: string; renew?: (() => Promise<OrbContext>) | undefined },
): Promise<Replaced> {
  const { id, by, renew } = target;
  if (by === id) {
    const message = "must be the id of another file";
    throw invalid([{ path: "/by", code: "format", message }]);
  }
  const { record: old } = await changeableFile(deps, actor, context, target);
  const undo = await inherit(deps, actor, context, old, { id: by });
  const all: FoundUser[] = [];
  const seen = new Set<string>();
  for (let known: FileRecord | undefined = old; known !== undefined; ) {
    // Entries may begin to refer to the old file meanwhile. The next round replaces it there.
    const entries = known.entries.filter((use) => !seen.has(use.id));
    try {
      all.push(...(await writeAll(deps, actor, context, { old: { ...known, entries }, to: by, renew })));
    } catch (error) {
      if (seen.size === 0) await undo();
      throw error;
    }
    for (const use of entries) seen.add(use.id);
    known = await markReplaced(deps, actor, context, { id, by, seen });
  }
  const { record: file } = await changeableFile(deps, actor, context, { id: by });
  const { names } = await readTags(deps, context.orb);
  const changed = all.filter(isChangeable);
  return {
    file: fileView(context.orb, file, names),
    changed: changed.map(({ user }) => user),
    left: all
      .filter((found) => found.user.live && !(changed.includes(found) && isPublished(found)))
      .map(({ user }) => user),
  };
}

/**
 * Marks a file as replaced, unless an entry refers to it that was not seen.
 * @returns the file's record if there is one
 */
async function markReplaced(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  { id, by, seen }: { id: string; by: string; seen: ReadonlySet<string> },
): Promise<FileRecord | undefined> {
  return changing(deps, actor, context, async () => {
    const { record, seq } = await changeableFile(deps, actor, context, { id });
    if (record.entries.some((use) => !seen.has(use.id))) return record;
    const asset = nextAsset(record.asset, { replacedBy: by }, stampOf(deps, actor));
    await storeRecord(deps, context.orb, { ...record, asset }, seq);
    return undefined;
  });
}
