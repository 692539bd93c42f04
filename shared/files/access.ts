/**
 * Decides who may upload, use and read files. A file has no access rules of its own: a caller may read a file if they
 * may read an entry that refers to it.
 */
import { type Actor, accountBehind, accountOf } from "../access/actor.ts";
import { isOwn, may, mayField, type Principal, principalIn, requireScope } from "../access/authorize.ts";
import { refusal } from "../access/refusals.ts";
import type { CompiledField, CompiledOrb, CompiledSchema } from "../definition/compile.ts";
import type { Values } from "../definition/validate.ts";
import { leavesOf } from "../definition/values.ts";
import type { Deps } from "../deps.ts";
import { nullIfMissing, type OrbContext, parseEntry, schemaOf } from "../entry/model/resolve.ts";
import { type EntrySnapshot, effective, nextEdge, snapshotOf, visible } from "../entry/model/snapshot.ts";
import { notFound } from "../kernel/errors.ts";
import { streams, subjects } from "../store/subjects.ts";
import { type FileRecord, isFileValue } from "./record.ts";

function* schemasWithFiles(compiled: CompiledOrb): Generator<CompiledSchema> {
  for (const schema of compiled.byHome.values()) if (schema.files.length > 0) yield schema;
}

/** Throws 401, 403 or 404 unless the caller may write a field of type file. */
export function requireUpload(actor: Actor, { orb, compiled }: OrbContext): void {
  const schemas = [...schemasWithFiles(compiled)];
  if (schemas.length === 0)
    throw notFound("file", "No schema of this orb has a field of type file. Add one to the orb's document.");
  requireScope(actor, "create", orb);
  const caller = principalIn(actor, orb, compiled);
  const allowed = schemas.some((schema) => {
    const { access } = schema;
    const writes = (own: boolean) =>
      may(caller, own ? "update" : "create", { access, own }) &&
      schema.files.some((field) => mayField(caller, "write", { access: field.access, own }));
    return writes(false) || writes(true);
  });
  if (!allowed) throw refusal(actor);
}

function fieldsWith(schema: CompiledSchema, values: EntrySnapshot["values"], id: string): CompiledField[] {
  return schema.files.filter((field) =>
    leavesOf(field, values as Values).some(({ value }) =>
      [value].flat().some((each) => isFileValue(each) && each.file === id),
    ),
  );
}

async function liveValues(
  deps: Deps,
  orb: string,
  head: EntrySnapshot,
): Promise<EntrySnapshot["values"] | undefined> {
  const now = deps.clock.now();
  const edge = nextEdge(head, now);
  if (edge !== undefined) deps.expires?.(edge);
  if (!visible(head, now)) return undefined;
  if (head.publishedSeq === null) return head.values;
  return snapshotOf(await deps.store.getSeq(streams.orb(orb), head.publishedSeq))?.values;
}

/**
 * `public`: anyone who knows the URL of the file may read it. `private`: only some callers may read it, among them this
 * one.
 */
export type Reading = "public" | "private";

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
  const head = effective(entry.head, deps.clock.now());
  const own = isOwn(caller.actor, head.createdBy);
  const on = { access: schema.access, own };
  const readable = (field: CompiledField) => mayField(caller, "read", { access: field.access, own });
  const isPublic = ({ definition }: CompiledField) => definition.public === true;
  const drafted = fieldsWith(schema, head.values, id);
  // Check the newest revision first, because the live one may be an older message, which takes a request to the broker.
  if (drafted.some(isPublic)) return "public";
  const live = await liveValues(deps, orb, head);
  const shown = live === undefined ? [] : fieldsWith(schema, live, id);
  if (shown.some(isPublic)) return "public";
  if (shown.some(readable) && may(caller, "read", on)) return "private";
  if (drafted.some(readable) && may(caller, "readDraft", on)) return "private";
  // Only older revisions of the entry contain the file, and the file's record does not say in which field. So the
  // caller must be allowed to read all file fields.
  const older = shown.length === 0 && drafted.length === 0 && may(caller, "readRevisions", on);
  return older && schema.files.every(readable) ? "private" : undefined;
}

/**
 * Returns whether everyone or only some callers may read a file. Returns undefined if this caller may not read it.
 */
export async function readingOf(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  record: FileRecord,
): Promise<Reading | undefined> {
  if (record.entries.length === 0) return isUploader(actor, record) ? "private" : undefined;
  const caller = principalIn(actor, context.orb, context.compiled);
  for (const use of record.entries) {
    const reading = await readingThrough(deps, caller, context, use, record.id);
    if (reading !== undefined) return reading;
  }
  return undefined;
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
  if (record.entries.length === 0) return record.by === accountOf(actor);
  return (await readingOf(deps, actor, context, record)) !== undefined;
}
