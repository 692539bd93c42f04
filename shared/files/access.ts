/**
 * Decides who may upload, use and read files. A file has no access rules of its own: a caller may read a file if they
 * may read an entry that refers to it.
 */

import { type Actor, accountBehind, accountOf, anonymous, atLeast } from "../access/actor.ts";
import { isOwn, may, mayField, type Principal, principalIn, requireScope } from "../access/authorize.ts";
import { refusal } from "../access/refusals.ts";
import type { CompiledField, CompiledOrb, CompiledSchema } from "../definition/compile.ts";
import type { Values } from "../definition/validate.ts";
import { leavesOf } from "../definition/walk.ts";
import type { Deps } from "../deps.ts";
import {
  type EntrySnapshot,
  effective,
  nextEdge,
  type OrbContext,
  parseEntry,
  schemaOf,
  snapshotOf,
  visible,
  withNames,
} from "../entry/model/index.ts";
import { notFound } from "../kernel/errors.ts";
import { nullIfMissing } from "../store/pages.ts";
import { streams, subjects } from "../store/subjects.ts";
import { type FileRecord, type FileUse, isFileValue } from "./record.ts";

function schemasWithFiles(compiled: CompiledOrb): CompiledSchema[] {
  return [...compiled.byHome.values()].filter(({ files }) => files.length > 0);
}

/** Throws 404 if the application stores no files. */
export function requireFiles(compiled: CompiledOrb): void {
  if (schemasWithFiles(compiled).length > 0) return;
  throw notFound("file", "No schema of this orb has a field of type file. Add one to the orb's document.");
}

/** Throws 401, 403 or 404 unless the caller may write a field of type file. */
export function requireUpload(actor: Actor, { orb, compiled }: OrbContext): void {
  requireFiles(compiled);
  requireScope(actor, "create", orb);
  const caller = principalIn(actor, orb, compiled);
  const allowed = schemasWithFiles(compiled).some((schema) => {
    const { access } = schema;
    const writes = (own: boolean) =>
      may(caller, own ? "update" : "create", { access, own }) &&
      schema.files.some((field) => mayField(caller, "write", { access: field.access, own }));
    return writes(false) || writes(true);
  });
  if (!allowed) throw refusal(actor);
}

/** Returns the fields of a schema whose values have the file. */
export function fieldsWith(
  schema: CompiledSchema,
  values: EntrySnapshot["values"],
  id: string,
): CompiledField[] {
  return schema.files.filter((field) =>
    leavesOf(field, values as Values).some(({ value }) =>
      [value].flat().some((each) => isFileValue(each) && each.file === id),
    ),
  );
}

/** Returns the values of the revision of an entry that is published, also if readers see it only later. */
export async function publishedValues(
  deps: Deps,
  orb: string,
  schema: CompiledSchema,
  { publishedRevision, publishedSeq, values }: EntrySnapshot,
): Promise<EntrySnapshot["values"] | undefined> {
  if (publishedRevision === null) return undefined;
  if (publishedSeq === null) return values;
  const stored = snapshotOf(await deps.store.getSeq(streams.orb(orb), publishedSeq));
  return stored === null ? undefined : withNames(schema, stored).values;
}

/** Returns the values that readers see of an entry now, or undefined if it is not live. */
export async function liveValues(
  deps: Deps,
  orb: string,
  schema: CompiledSchema,
  head: EntrySnapshot,
): Promise<EntrySnapshot["values"] | undefined> {
  const now = deps.clock.now();
  const edge = nextEdge(head, now);
  if (edge !== undefined) deps.expires?.(edge);
  return visible(head, now) ? publishedValues(deps, orb, schema, head) : undefined;
}

type LibraryOperation = "readDraft" | "update" | "publish";

/**
 * Returns whether a caller may see and use the files of all entries of a schema, change them, or publish them: whether
 * it may do so with entries of others and with all file fields.
 */
export function mayInAll(caller: Principal, operation: LibraryOperation, schema: CompiledSchema): boolean {
  const action = operation === "readDraft" ? "read" : "write";
  return (
    // The files of an application are never listed for anonymous callers, even if they may write its entries.
    atLeast(caller.role, "user") &&
    may(caller, operation, { access: schema.access, own: false }) &&
    schema.files.every((field) => mayField(caller, action, { access: field.access, own: false }))
  );
}

/** Returns whether the caller may list the files of an application, at least those of some schema. */
export function mayBrowse(caller: Principal, compiled: CompiledOrb): boolean {
  return schemasWithFiles(compiled).some((schema) => mayInAll(caller, "readDraft", schema));
}

/** Returns whether the caller may change the descriptions of files, at least of those that no entry refers to. */
export function mayDescribe(caller: Principal, compiled: CompiledOrb): boolean {
  return schemasWithFiles(compiled).some((schema) => mayInAll(caller, "update", schema));
}

/** Returns whether the caller may change the descriptions of all files. */
export function mayDescribeAll(caller: Principal, compiled: CompiledOrb): boolean {
  return schemasWithFiles(compiled).every((schema) => mayInAll(caller, "update", schema));
}

/** Returns whether the caller may see an entry that refers to a file, in the library. */
export function mayBrowseUse(caller: Principal, compiled: CompiledOrb, use: FileUse): boolean {
  const schema = schemaOf(compiled, use);
  return schema !== undefined && mayInAll(caller, "readDraft", schema);
}

/**
 * Returns whether a caller may see or change a described file that no entry has. The last schema whose entry had it
 * decides, so that the end of an entry shows its files to no others.
 */
function mayInLast(
  caller: Principal,
  operation: LibraryOperation,
  compiled: CompiledOrb,
  { last }: FileRecord,
): boolean {
  const all = schemasWithFiles(compiled);
  const isAllowed = (schema: CompiledSchema) => mayInAll(caller, operation, schema);
  if (last === undefined) return all.some(isAllowed);
  const schema = schemaOf(compiled, last);
  // The schema was removed, so its access rules are unknown.
  return schema === undefined ? all.every(isAllowed) : isAllowed(schema);
}

/**
 * Returns whether the library shows a file to the caller. It shows the files of entries whose drafts the caller may
 * read, described files that no entry has, and the caller's own uploads.
 */
export function mayBrowseFile(caller: Principal, compiled: CompiledOrb, record: FileRecord): boolean {
  if (record.entries.length === 0) {
    const isShown = record.asset !== undefined && mayInLast(caller, "readDraft", compiled, record);
    return isShown || (isUploader(caller.actor, record) && mayBrowse(caller, compiled));
  }
  return record.entries.some((use) => mayBrowseUse(caller, compiled, use));
}

/** Returns whether the caller may change the description of a file, because it may change all entries that show it. */
export function mayDescribeFile(caller: Principal, compiled: CompiledOrb, record: FileRecord): boolean {
  if (!mayDescribe(caller, compiled) || !mayBrowseFile(caller, compiled, record)) return false;
  if (record.entries.length === 0) return mayInLast(caller, "update", compiled, record);
  return record.entries.every((use) => {
    const schema = schemaOf(compiled, use);
    return schema === undefined || mayInAll(caller, "update", schema);
  });
}

/**
 * `public`: anyone who knows the URL of the file may read it. `open`: anyone may read it, because anyone may read the
 * live revision of an entry that has it. `private`: only some callers may read it, among them this one.
 */
export type Reading = "public" | "open" | "private";

/** Returns the fields of a schema that anyone may read in a live revision. */
function openFields({ access, files }: CompiledSchema, anyone: Principal): CompiledField[] {
  if (!may(anyone, "read", { access, own: false })) return [];
  return files.filter((field) => mayField(anyone, "read", { access: field.access, own: false }));
}

const isPublic = ({ definition }: CompiledField) => definition.public === true;

async function readingThrough(
  deps: Deps,
  caller: Principal,
  { orb, compiled }: OrbContext,
  use: FileRecord["entries"][number],
  id: string,
): Promise<Reading | undefined> {
  const log = subjects.entryLog({ orb, ...use });
  const entry = parseEntry(
    await nullIfMissing(deps.store.get(streams.orb(orb), log, { consistency: "cached" })),
  );
  const schema = schemaOf(compiled, use);
  if (entry === null || schema === undefined || entry.head.status === "DELETED") return undefined;
  const head = withNames(schema, effective(entry.head, deps.clock.now()));
  const own = isOwn(caller.actor, head.createdBy);
  const on = { access: schema.access, own };
  const readable = (field: CompiledField) => mayField(caller, "read", { access: field.access, own });
  const drafted = fieldsWith(schema, head.values, id);
  // Check the newest revision first, because the live one may be an older message, which takes a request to the broker.
  if (drafted.some(isPublic)) return "public";
  const live = await liveValues(deps, orb, schema, head);
  const shown = live === undefined ? [] : fieldsWith(schema, live, id);
  if (shown.some(isPublic)) return "public";
  const open = shown.length === 0 ? [] : openFields(schema, principalIn(anonymous, orb, compiled));
  if (shown.some((field) => open.includes(field))) return "open";
  if (shown.some(readable) && may(caller, "read", on)) return "private";
  if (drafted.some(readable) && may(caller, "readDraft", on)) return "private";
  // Only older revisions of the entry contain the file, and the file's record does not say in which field. So the
  // caller must be allowed to read all file fields.
  const older = shown.length === 0 && drafted.length === 0 && may(caller, "readRevisions", on);
  return older && schema.files.every(readable) ? "private" : undefined;
}

/**
 * Returns whether everyone or only some callers may read a file. Returns undefined if this caller may not read it. The
 * answer for a file that everyone may read is the same for each caller.
 */
export async function readingOf(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  record: FileRecord,
): Promise<Reading | undefined> {
  const { orb, compiled } = context;
  const caller = principalIn(actor, orb, compiled);
  if (record.entries.length === 0)
    return isUploader(actor, record) || mayBrowseFile(caller, compiled, record) ? "private" : undefined;
  const anyone = principalIn(anonymous, orb, compiled);
  let found: Reading | undefined;
  for (const use of record.entries) {
    const schema = schemaOf(compiled, use);
    // If this caller may read the file, look only for entries through which everyone may.
    const mayOpen =
      schema !== undefined && (schema.files.some(isPublic) || openFields(schema, anyone).length > 0);
    if (found !== undefined && !mayOpen) continue;
    const reading = await readingThrough(deps, caller, context, use, record.id);
    if (reading === "public" || reading === "open") return reading;
    found ??= reading;
  }
  if (found !== undefined || accountBehind(actor).kind === "anonymous") return found;
  if (mayBrowseFile(caller, compiled, record)) return "private";
  return (await readsPending(deps, caller, context, record)) ? "private" : undefined;
}

/** Maximum change sets whose versions of an entry are compared, the newest ones. */
const MOST_SETS = 20;

/**
 * Returns whether the caller may read a file in a pending version of a change set. A file of which there are only such
 * versions also belongs to its uploader still.
 */
async function readsPending(
  deps: Deps,
  caller: Principal,
  { orb, compiled }: OrbContext,
  record: FileRecord,
): Promise<boolean> {
  const stream = streams.orb(orb);
  let isStored = false;
  for (const use of record.entries) {
    const schema = schemaOf(compiled, use);
    if (schema === undefined) continue;
    const [log, { subjects: found }] = await Promise.all([
      deps.store.get(stream, subjects.entryLog({ orb, ...use })),
      deps.store.subjects(stream, subjects.changesOfEntry(orb, use.id)),
    ]);
    isStored ||= log !== null;
    // The ids of sets are in order of time.
    for (const subject of found.toSorted().slice(-MOST_SETS)) {
      const stored = snapshotOf(await deps.store.get(stream, subject));
      if (stored === null) continue;
      const { values, createdBy } = withNames(schema, stored);
      const own = isOwn(caller.actor, createdBy);
      const isReadable = fieldsWith(schema, values, record.id).some((field) =>
        mayField(caller, "read", { access: field.access, own }),
      );
      if (isReadable && may(caller, "readDraft", { access: schema.access, own })) return true;
    }
  }
  return !isStored && isUploader(caller.actor, record);
}

/**
 * Returns whether the caller uploaded the file. Always false for anonymous callers, because the platform cannot tell
 * them apart.
 */
export function isUploader(actor: Actor, record: FileRecord): boolean {
  return accountBehind(actor).kind !== "anonymous" && record.by === accountOf(actor);
}

/** Returns whether the caller may refer to the file in an entry. */
export async function mayUse(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  record: FileRecord,
): Promise<boolean> {
  // All anonymous callers are the same account here. Only the uploader knows the file's id, so the id is the proof.
  if (record.entries.length === 0 && record.by === accountOf(actor)) return true;
  return (await readingOf(deps, actor, context, record)) !== undefined;
}
