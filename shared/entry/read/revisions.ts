/** The history of an entry: its log, read by sequence. */
import type { Actor } from "../../access/actor.ts";
import { isOwn, may, mayOperate, refusal, roleIn } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { type Operation, patch } from "../../definition/document/diff.ts";
import { MASK } from "../../definition/document/mask.ts";
import type { Deps } from "../../deps.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { scanPages } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { maskValues } from "../model/masking.ts";
import { type LoadedEntry, loadEntry, type OrbContext, schemaOf } from "../model/resolve.ts";
import { type EntrySnapshot, effective, SCHEDULER, type StoredValue, snapshotOf } from "../model/snapshot.ts";

/** A revision in a list. */
export interface RevisionItem {
  revision: number;
  operation: EntrySnapshot["operation"];
  status: EntrySnapshot["status"];
  publishedRevision: number | null;
  validFrom: string | null;
  validTo: string | null;
  /** Time and author. `scheduler` closes windows. */
  at: string;
  by: string;
  /** When the scheduler opened this revision's window. Omitted if it was live at once, or has not opened yet. */
  opened?: { at: string; by: string };
}

/** A revision with its values, masked. */
export interface Revision extends RevisionItem {
  id: string;
  orb: string;
  module: string;
  schema: string;
  values: Record<string, StoredValue>;
}

interface Which {
  orbId: string;
  orb: OrbContext | Promise<OrbContext>;
  id: string;
}

/**
 * Returns the entry and its current schema if the actor may read its history. Only platform admins may read that of
 * deleted entries.
 */
async function readable(
  deps: Deps,
  actor: Actor,
  which: Which,
): Promise<{ entry: LoadedEntry; schema: CompiledSchema | undefined }> {
  const [context, entry] = await Promise.all([which.orb, loadEntry(deps, which.orbId, which.id)]);
  if (entry === null) throw notFound("entry");
  const schema = schemaOf(context.compiled, entry.address);
  if (mayOperate(actor, "entries.manage")) return { entry, schema };
  const access = schema?.access ?? { read: "admin", write: "admin" };
  const on = { access, own: isOwn(actor, entry.head.createdBy) };
  if (entry.head.status === "DELETED") throw notFound("entry");
  if (!may(roleIn(actor, context.orb, context.compiled), "readRevisions", on)) throw refusal(actor);
  return { entry, schema };
}

function item(snapshot: EntrySnapshot, now: number): RevisionItem {
  const { liveFrom, revision } = snapshot;
  const opened =
    snapshot.publishedRevision === revision &&
    liveFrom !== null &&
    Date.parse(liveFrom) > Date.parse(snapshot.updatedAt) &&
    Date.parse(liveFrom) <= now;
  return {
    revision,
    operation: snapshot.operation,
    status: snapshot.status,
    publishedRevision: snapshot.publishedRevision,
    validFrom: snapshot.validFrom,
    validTo: snapshot.validTo,
    at: snapshot.updatedAt,
    by: snapshot.updatedBy,
    ...(opened && liveFrom !== null ? { opened: { at: liveFrom, by: SCHEDULER } } : {}),
  };
}

function revisionOf(snapshot: EntrySnapshot, schema: CompiledSchema | undefined, now: number): Revision {
  return {
    ...item(snapshot, now),
    id: snapshot.id,
    orb: snapshot.orb,
    module: snapshot.module,
    schema: snapshot.schema,
    values: maskValues(snapshot.values, schema),
  };
}

const REVISIONS_PER_READ = 250;
/** Maximum bytes per page, because entries may be large. */
const PAGE_BYTES = 4 * 1024 * 1024;

/**
 * Yields the log's snapshots, oldest first, and finally the closing of the window if no write has appended it yet.
 * Retries until it has reached the given head, because pages may come from a lagging replica.
 */
async function* snapshots(deps: Deps, entry: LoadedEntry): AsyncGenerator<EntrySnapshot> {
  const log = subjects.entryLog(entry.address);
  let newest: EntrySnapshot | undefined;
  const read = (fromSeq: number) =>
    deps.store.scan(streams.orb(entry.address.orb), log, {
      fromSeq,
      limit: REVISIONS_PER_READ,
      maxBytes: PAGE_BYTES,
    });
  for await (const messages of scanPages(read, { until: entry.seq })) {
    for (const message of messages) {
      const snapshot = snapshotOf(message);
      if (snapshot === null) continue;
      newest = snapshot;
      yield snapshot;
    }
  }
  if (newest === undefined) return;
  const now = effective(newest, deps.clock.now());
  if (now !== newest) yield now;
}

/** A page of an entry's revisions. */
export interface RevisionPage {
  items: RevisionItem[];
  /** `after` of the next page: the last revision number of this one. Null at the end. */
  nextAfter: number | null;
  /** Number of all revisions. */
  total: number;
  /** Newest revision number, for entity tags. */
  newest: number;
}

/**
 * Lists revisions. Reads the entry's whole log, one request for every 250 revisions.
 * @param input.after last revision number of the previous page, in the direction of the list
 * @throws AppError not_found; forbidden, unauthenticated
 */
export async function listRevisions(
  deps: Deps,
  actor: Actor,
  input: Which & { order: "asc" | "desc"; limit: number; after?: number | undefined },
): Promise<RevisionPage> {
  const { entry } = await readable(deps, actor, input);
  const now = deps.clock.now();
  const all: RevisionItem[] = [];
  for await (const snapshot of snapshots(deps, entry)) all.push(item(snapshot, now));
  const newest = all.at(-1)?.revision ?? 0;
  if (input.order === "desc") all.reverse();
  const { after } = input;
  const rest =
    after === undefined
      ? all
      : all.filter(({ revision }) => (input.order === "asc" ? revision > after : revision < after));
  const items = rest.slice(0, input.limit);
  const nextAfter = rest.length > input.limit ? (items.at(-1)?.revision ?? null) : null;
  return { items, nextAfter, total: all.length, newest };
}

/** Returns one stored revision. @throws AppError not_found `revision_not_found` */
export async function revisionSnapshot(
  deps: Deps,
  entry: LoadedEntry,
  revision: number,
): Promise<EntrySnapshot> {
  const now = effective(entry.head, deps.clock.now());
  if (now.revision === revision) return now;
  if (entry.head.revision === revision) return entry.head;
  for await (const snapshot of snapshots(deps, entry)) if (snapshot.revision === revision) return snapshot;
  throw notFound("revision");
}

/** Reads one revision. @throws AppError not_found; forbidden, unauthenticated */
export async function getRevision(
  deps: Deps,
  actor: Actor,
  input: Which & { revision: number },
): Promise<Revision> {
  const { entry, schema } = await readable(deps, actor, input);
  return revisionOf(await revisionSnapshot(deps, entry, input.revision), schema, deps.clock.now());
}

/** The difference of two revisions. */
export interface Comparison {
  from: number;
  to: number;
  /**
   * JSON Patch from `from` to `to`: values, status and window. A changed sensitive value is shown as a mask replaced
   * by a mask.
   */
  patch: Operation[];
}

/** Compares a revision with another one. @throws AppError not_found; forbidden, unauthenticated */
export async function compareRevisions(
  deps: Deps,
  actor: Actor,
  input: Which & { revision: number; against: number },
): Promise<Comparison> {
  const { entry, schema } = await readable(deps, actor, input);
  const [from, to] = await Promise.all([
    revisionSnapshot(deps, entry, input.against),
    revisionSnapshot(deps, entry, input.revision),
  ]);
  const shown = patch(comparable(from, schema), comparable(to, schema));
  return {
    from: from.revision,
    to: to.revision,
    patch: [...shown, ...sealedChanges(from.values, to.values)],
  };
}

function comparable(snapshot: EntrySnapshot, schema: CompiledSchema | undefined): unknown {
  return {
    status: snapshot.status,
    validFrom: snapshot.validFrom,
    validTo: snapshot.validTo,
    values: maskValues(snapshot.values, schema),
  };
}

/** Returns operations for changed sensitive values: they reveal that a value changed, but not the value. */
function sealedChanges(
  from: Readonly<Record<string, StoredValue>>,
  to: Readonly<Record<string, StoredValue>>,
): Operation[] {
  return Object.keys(to).flatMap((name) => {
    const [before, after] = [from[name], to[name]];
    const hidden = JSON.stringify(maskValues({ x: before })) === JSON.stringify(maskValues({ x: after }));
    if (before === undefined || !hidden || JSON.stringify(before) === JSON.stringify(after)) return [];
    return [{ op: "replace" as const, path: `/values/${name}`, value: MASK }];
  });
}

/** Parses a revision number. @throws AppError not_found */
export function revisionNumber(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new AppError("not_found", "revision_not_found", "There is no such revision.");
}
