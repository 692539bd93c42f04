/** Reads one file of the library, and changes or deletes it. */
import { type Actor, accountOf } from "../access/actor.ts";
import { type Principal, principalIn, requireAct, requireScope } from "../access/authorize.ts";
import { refusal } from "../access/refusals.ts";
import type { CompiledField, CompiledSchema } from "../definition/compile.ts";
import { requireWhole } from "../definition/stored/index.ts";
import type { Deps } from "../deps.ts";
import { type OrbContext, schemaOf } from "../entry/model/index.ts";
import { mayBrowseFile, mayDescribe, mayDescribeFile, mayInAll } from "../files/access.ts";
import {
  type AssetChange,
  assetRevision,
  fileChange,
  nextAsset,
  readTags,
  registerTags,
  textIn,
} from "../files/assets/index.ts";
import { safeName } from "../files/content-type.ts";
import { type FileRecord, readRecord, recordMessages } from "../files/record.ts";
import { eraseMessages, removeContents } from "../files/release.ts";
import { AppError, invalid, notFound, revisionMismatch, writeConflict } from "../kernel/errors.ts";
import { retry } from "../kernel/retry.ts";
import { counted } from "../quotas/write.ts";
import { ON_CONFLICT } from "../store/pages.ts";
import { streams } from "../store/subjects.ts";
import type { Append } from "../store/types.ts";
import { requireBrowse } from "./list.ts";
import { type FileUser, seenUses, usersOf } from "./uses.ts";
import { type FileView, fileView } from "./view.ts";

export interface FileDetail extends FileView {
  /** The entries that refer to the file, and whose drafts the caller may read. */
  usedIn: FileUser[];
}

export interface FileTarget {
  id: string;
  /** Number of the description's version that the client has read. */
  ifMatch?: number | undefined;
}

export interface StoredFile {
  record: FileRecord;
  seq: number;
}

/** Reads a file that the library shows to the caller. */
async function seenFile(
  deps: Deps,
  caller: Principal,
  { orb, compiled }: OrbContext,
  id: string,
): Promise<StoredFile> {
  const found = await readRecord(deps, orb, id);
  if (found === null || !mayBrowseFile(caller, compiled, found.record)) throw notFound("file");
  return found;
}

/** Returns a file of the library with the entries that refer to it. */
export async function describeFile(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  id: string,
): Promise<FileDetail> {
  const caller = requireBrowse(actor, context);
  const { record } = await seenFile(deps, caller, context, id);
  const { names } = await readTags(deps, context.orb);
  const users = await usersOf(deps, context, record, seenUses(caller, context, record));
  return { ...fileView(context.orb, record, names), usedIn: users.map(({ user }) => user) };
}

/** Throws 401 or 403 if the caller may change no file of the library. */
export function requireDescribe(actor: Actor, context: OrbContext): Principal {
  const caller = requireBrowse(actor, context);
  if (mayDescribe(caller, context.compiled)) return caller;
  requireAct(caller, "entries:write");
  requireScope(actor, "update", context.orb);
  throw refusal(actor);
}

/**
 * Reads a file that the caller may change.
 * @throws AppError forbidden `file_in_other_entries` if entries show the file that the caller may not change
 */
export async function changeableFile(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  { id, ifMatch }: FileTarget,
): Promise<StoredFile> {
  const caller = requireDescribe(actor, context);
  const found = await seenFile(deps, caller, context, id);
  if (!mayDescribeFile(caller, context.compiled, found.record)) {
    const detail = "Entries that you may not change use this file. Ask someone who may change all of them.";
    throw new AppError("forbidden", "file_in_other_entries", detail);
  }
  const revision = assetRevision(found.record.asset);
  if (ifMatch !== undefined && ifMatch !== revision) throw revisionMismatch(revision);
  return found;
}

/** Repeats a change of a file while entries begin to refer to it, or other requests change it. */
export function changing<T>(
  deps: Deps,
  actor: Actor,
  { orb, fence }: OrbContext,
  change: () => Promise<T>,
): Promise<T> {
  requireWhole(orb, fence);
  return counted(deps, actor, orb, () => retry({ ...ON_CONFLICT, failed: writeConflict }, change));
}

/** Returns the messages that store a new version of a record, expecting the one that was read. */
export function storeMessages(orb: string, record: FileRecord, seq: number, ttl?: number): Append[] {
  const [content, described] = recordMessages(orb, record, ttl);
  return [content, { ...described, expect: { seq } }];
}

/**
 * Stores a new version of a record, expecting the one that was read.
 * @param ttl seconds until the file expires; by default it stays until it is deleted
 */
export async function storeRecord(
  deps: Deps,
  orb: string,
  record: FileRecord,
  seq: number,
  ttl?: number,
): Promise<void> {
  await deps.store.batch(streams.orb(orb), storeMessages(orb, record, seq, ttl));
}

/**
 * Checks a change of what readers of published entries see. Publications need the right to publish, and so does this.
 * @throws AppError forbidden `file_in_other_entries` if the caller may not publish one of the entries; invalid
 *   `alt_required` if the field of one requires the text that the change removes
 */
async function checkPublished(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  record: FileRecord,
  change: AssetChange,
): Promise<void> {
  const { orb, compiled } = context;
  const { defaultLanguage } = compiled;
  if (!READERS_SEE.some((member) => Object.hasOwn(change, member))) return;
  const caller = principalIn(actor, orb, compiled);
  const hadText = textIn(record.asset?.alt, [defaultLanguage]) !== null;
  const removes = hadText && Object.hasOwn(change, "alt") && textIn(change.alt, [defaultLanguage]) === null;
  const isGuarded = (schema: CompiledSchema | undefined) =>
    schema !== undefined &&
    (!mayInAll(caller, "publish", schema) || (removes && schema.files.some(needsText)));
  const uses = record.entries.filter((use) => isGuarded(schemaOf(compiled, use)));
  if (uses.length === 0) return;
  const users = (await usersOf(deps, context, record, uses)).filter(({ published }) => published.length > 0);
  if (users.some(({ schema }) => !mayInAll(caller, "publish", schema))) {
    const detail =
      "Published entries that you may not publish show this file. Ask someone who may publish them.";
    throw new AppError("forbidden", "file_in_other_entries", detail);
  }
  if (!removes || !users.some(({ published }) => published.some(needsText))) return;
  const path = `/alt/${defaultLanguage}`;
  const message = "must not be removed, because a published entry requires the text";
  throw invalid([{ path, code: "alt_required", message }]);
}

/** The members of a description that readers see. */
const READERS_SEE = ["alt", "caption", "focal", "crop"] as const;

const needsText = ({ definition }: CompiledField) => definition.altRequired === true;

/** Returns who changes a description, and when. */
export const stampOf = (deps: Pick<Deps, "clock">, actor: Actor) => ({
  by: accountOf(actor),
  at: new Date(deps.clock.now()).toISOString(),
});

/** Changes the description of a file. @param patch a JSON Merge Patch */
export async function updateFile(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  target: FileTarget,
  patch: unknown,
): Promise<FileView> {
  return changing(deps, actor, context, async () => {
    const { orb, compiled } = context;
    const { record, seq } = await changeableFile(deps, actor, context, target);
    const isImage = record.image !== undefined;
    const change = fileChange(patch, record.asset, compiled.languages, isImage);
    await checkPublished(deps, actor, context, record, change.asset);
    const { tags: named } = change.asset;
    const tags = registerTags(deps, orb, await readTags(deps, orb), named ?? []);
    const asset = named === undefined ? change.asset : { ...change.asset, tags: tags.ids };
    const next: FileRecord = {
      ...record,
      ...(change.name === undefined ? {} : { name: safeName(change.name) }),
      asset: nextAsset(record.asset, asset, stampOf(deps, actor)),
    };
    await deps.store.batch(streams.orb(orb), [...tags.message, ...storeMessages(orb, next, seq)]);
    return fileView(orb, next, tags.names);
  });
}

/**
 * Deletes a file that no entry has.
 * @throws AppError conflict `file_in_use` if a revision of an entry refers to it
 */
export async function deleteFile(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  target: FileTarget,
): Promise<void> {
  const { orb } = context;
  const erased = await changing(deps, actor, context, async () => {
    const { record, seq } = await changeableFile(deps, actor, context, target);
    const uses = record.entries.length;
    if (uses > 0) {
      const entries = uses === 1 ? "1 entry refers" : `${uses} entries refer`;
      const detail = `${entries} to the file, also in older revisions. Replace the file, or purge the entries.`;
      throw new AppError("conflict", "file_in_use", detail, { data: { uses } });
    }
    await deps.store.batch(streams.orb(orb), eraseMessages(orb, record, seq));
    return record;
  });
  // If this removal fails, the sweep (the job that removes unused content) does it later.
  deps.afterwards(removeContents(deps, orb, [erased]));
}
