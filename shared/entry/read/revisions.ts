import type { Actor } from "../../access/actor.ts";
import { isOwn, may, mayOperate, principalIn, requireMay, requireScope } from "../../access/authorize.ts";
import { refusal } from "../../access/refusals.ts";
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { ADMINS_ONLY, MASK, type Operation, patch } from "../../definition/document/index.ts";
import type { Values } from "../../definition/validate.ts";
import { counterpart, leavesOf, withNested } from "../../definition/walk.ts";
import type { Deps } from "../../deps.ts";
import type { WordChange } from "../../differences/index.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { pointer } from "../../kernel/faults.ts";
import { equal } from "../../kernel/json.ts";
import { NumberedLog, nextPlace, placeAfter } from "../../store/numbered-log.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { Place, StoredMessage } from "../../store/types.ts";
import {
  type EntrySnapshot,
  effective,
  type LoadedEntry,
  loadEntry,
  maskValues,
  namedEntry,
  type OrbContext,
  ofFields,
  type RevisionState,
  readableBy,
  SCHEDULER,
  type StoredSnapshot,
  type StoredValue,
  schemaOf,
  snapshotOf,
  visible,
  withNames,
  withoutAnyMarks,
} from "../model/index.ts";
import type { PinnedRequest } from "../pinned/index.ts";

export interface RevisionItem {
  revision: number;
  operation: EntrySnapshot["operation"];
  status: EntrySnapshot["status"];
  publishedRevision: number | null;
  validFrom: string | null;
  validTo: string | null;
  /**
   * Time and author of the revision. The author is `scheduler` if the entry was unpublished because `validTo` passed.
   */
  at: string;
  by: string;
  /** The handler that wrote the revision on behalf of its author. */
  through?: string;
  /** Id of the change set whose publication wrote the revision. */
  change?: string;
  /** Set if an import wrote the revision and said who created the entry, when, or its state. */
  imported?: true;
  /** If `validFrom` was later than the publication: when the revision became visible, and who made it visible. */
  opened?: { at: string; by: string };
}

export interface Revision extends RevisionItem {
  id: string;
  orb: string;
  module: string;
  schema: string;
  values: Record<string, unknown>;
}

interface Which {
  orbId: string;
  orb: OrbContext | Promise<OrbContext>;
  id: string;
  /** Schema that the entry must have. If missing, any schema is accepted. */
  schema?: CompiledSchema | undefined;
  /** The earlier revision of the definition whose shape the response has. */
  pinned?: PinnedRequest | undefined;
}

/** Throws without reading anything if the caller may read no history, not even that of their own entries. */
function refuseEarly(actor: Actor, { orbId, orb, schema }: Which): void {
  requireScope(actor, "readRevisions", orbId);
  if (schema === undefined || orb instanceof Promise) return;
  requireMay(principalIn(actor, orbId, orb.compiled), "readRevisions", { access: schema.access, own: true });
}

/**
 * Reads an entry whose history the caller may read.
 * @throws AppError 404 if the caller cannot see the entry, otherwise 401 or 403; only platform admins may read the
 * history of deleted entries
 */
async function readable(deps: Deps, actor: Actor, which: Which): Promise<Readable> {
  refuseEarly(actor, which);
  const [context, stored] = await Promise.all([
    which.orb,
    loadEntry(deps, which.orbId, which.id, which.schema),
  ]);
  if (stored === null) throw notFound("entry");
  const entry = namedEntry(context.compiled, stored);
  const schema = schemaOf(context.compiled, entry.address);
  if (mayOperate(actor, "entries.read", which.orbId))
    return { entry, shown: (values) => values, schema, view: schema, pinned: which.pinned };
  const access = schema?.access ?? ADMINS_ONLY;
  const on = { access, own: isOwn(actor, entry.head.createdBy) };
  if (entry.head.status === "DELETED") throw notFound("entry");
  const caller = principalIn(actor, context.orb, context.compiled);
  if (!may(caller, "readRevisions", on)) {
    const seen = may(caller, "read", on) && visible(entry.head, deps.clock.now());
    throw seen || actor.kind === "anonymous" ? refusal(actor) : notFound("entry");
  }
  const view = schema === undefined ? undefined : readableBy(schema, caller, on.own);
  // Only the current definition tells who may read a field. So fields that were removed since are visible to platform
  // admins only.
  const shown = (values: Stored) => (view === undefined ? {} : ofFields(view, values));
  return { entry, shown, schema, view, pinned: which.pinned };
}

type Stored = Readonly<Record<string, StoredValue>>;

interface Readable {
  entry: LoadedEntry;
  schema: CompiledSchema | undefined;
  /** The schema with the fields that the caller may read. */
  view: CompiledSchema | undefined;
  pinned: PinnedRequest | undefined;
  /** Returns only the values that the caller may read. */
  shown(values: Stored): Stored;
}

/** Returns the values that the caller sees: masked, and in the shape of the revision that the request names. */
function presented({ schema, view, pinned, shown }: Readable, values: Stored): Record<string, unknown> {
  const masked = maskValues(withoutAnyMarks(shown(values)), schema);
  return view === undefined ? masked : (pinned?.asOld(view, masked) ?? masked);
}

function item(snapshot: RevisionState, now: number): RevisionItem {
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
    ...(snapshot.through === undefined ? {} : { through: snapshot.through }),
    ...(snapshot.change === undefined ? {} : { change: snapshot.change }),
    ...(snapshot.imported === true ? { imported: true } : {}),
    ...(opened && liveFrom !== null ? { opened: { at: liveFrom, by: SCHEDULER } } : {}),
  };
}

function revisionOf(snapshot: EntrySnapshot, found: Readable, now: number): Revision {
  const { schema, pinned } = found;
  return {
    ...item(snapshot, now),
    id: snapshot.id,
    orb: snapshot.orb,
    module: snapshot.module,
    schema: schema?.id ?? snapshot.schema,
    ...pinned?.names,
    values: presented(found, snapshot.values),
  };
}

/**
 * Returns a reader for an entry's log of revisions. The log of an imported entry begins with the revision that was
 * published.
 */
export function logOf<T>(
  deps: Deps,
  entry: LoadedEntry,
  view: (snapshot: StoredSnapshot, message: StoredMessage) => T,
): NumberedLog<T> {
  return new NumberedLog(deps.store, {
    stream: streams.orb(entry.address.orb),
    subject: subjects.entryLog(entry.address),
    last: { number: entry.head.revision, seq: entry.seq },
    parse: (message) => {
      const snapshot = snapshotOf(message);
      return snapshot === null ? null : { number: snapshot.revision, value: view(snapshot, message) };
    },
  });
}

export interface RevisionPage {
  items: RevisionItem[];
  next: Place | null;
  total: number | undefined;
  newest: number;
}

export interface ListRevisions {
  order: "asc" | "desc";
  limit: number;
  after?: Place | undefined;
  count?: boolean | undefined;
}

/**
 * Lists the revisions of an entry. If the request has read its maximum number of bytes, the page is shorter than
 * `limit`.
 */
export async function listRevisions(
  deps: Deps,
  actor: Actor,
  input: Which & ListRevisions,
): Promise<RevisionPage> {
  const { entry } = await readable(deps, actor, input);
  const now = deps.clock.now();
  const log = logOf(deps, entry, (snapshot) => item(snapshot, now));
  const newest = effective(entry.head, now);
  const behind = placeAfter({ number: entry.head.revision, seq: entry.seq });
  // After `validTo`, the entry counts as unpublished. No write has stored a revision that says so, so add one to the
  // list.
  const closings = newest === entry.head ? [] : [{ value: item(newest, now), ...behind }];
  const [page, total] = await Promise.all([
    input.order === "asc" ? oldestFirst(log, input, closings) : newestFirst(log, input, closings),
    input.count === true ? log.total() : undefined,
  ]);
  return {
    items: page.items.map(({ value }) => value),
    next: nextPlace(page),
    total: total === undefined ? undefined : total + closings.length,
    newest: newest.revision,
  };
}

type Item = Place & { value: RevisionItem };
type ItemPage = { items: Item[]; more: boolean };

async function oldestFirst(
  log: NumberedLog<RevisionItem>,
  { limit, after }: ListRevisions,
  closings: readonly Item[],
): Promise<ItemPage> {
  const { items, more } = await log.ascending(limit, after);
  if (more) return { items, more };
  const all = [...items, ...closings];
  return { items: all.slice(0, limit), more: all.length > limit };
}

async function newestFirst(
  log: NumberedLog<RevisionItem>,
  { limit, after }: ListRevisions,
  closings: readonly Item[],
): Promise<ItemPage> {
  const first = after === undefined ? closings : [];
  const { items, more } = await log.descending(limit - first.length, after);
  return { items: [...first, ...items], more };
}

export async function revisionSnapshot(
  deps: Deps,
  schema: CompiledSchema | undefined,
  entry: LoadedEntry,
  revision: number,
): Promise<EntrySnapshot> {
  const now = effective(entry.head, deps.clock.now());
  if (now.revision === revision) return now;
  if (entry.head.revision === revision) return entry.head;
  const found = await logOf(deps, entry, (stored) => withNames(schema, stored)).find(revision);
  if (found === null) throw notFound("revision");
  return found.value;
}

/** Finds where a revision is stored. Returns null if there is none. */
export function revisionPlace(deps: Deps, entry: LoadedEntry, revision: number): Promise<Place | null> {
  return logOf(deps, entry, () => null).find(revision);
}

export async function getRevision(
  deps: Deps,
  actor: Actor,
  input: Which & { revision: number },
): Promise<Revision> {
  const found = await readable(deps, actor, input);
  return revisionOf(
    await revisionSnapshot(deps, found.schema, found.entry, input.revision),
    found,
    deps.clock.now(),
  );
}

export interface Comparison {
  from: number;
  to: number;
  /**
   * Differences as a JSON Patch. A changed sensitive value appears as an operation that replaces the mask with the
   * mask, so that neither value is revealed.
   */
  patch: Operation[];
  /** The changed texts of several words. `path` leads to the text, or to the paragraph of rich text, in revision `to`. */
  words: { path: string; parts: WordChange[] }[];
}

export async function compareRevisions(
  deps: Deps,
  actor: Actor,
  input: Which & { revision: number; against: number },
): Promise<Comparison> {
  const found = await readable(deps, actor, input);
  const { entry, schema, shown } = found;
  const [from, to] = await Promise.all([
    revisionSnapshot(deps, schema, entry, input.against),
    revisionSnapshot(deps, schema, entry, input.revision),
  ]);
  const [before, after] = [comparable(from, found), comparable(to, found)];
  const changes = patch(before, after);
  const sealed = sealedChanges(found.schema, shown(from.values), shown(to.values));
  return {
    from: from.revision,
    to: to.revision,
    patch: [
      ...changes,
      ...sealed.map((one) => ({ ...one, path: found.pinned?.pathOf(one.path) ?? one.path })),
    ],
    words: await changedWords(before.values, after.values),
  };
}

/** Returns the words that differ in texts. A text that is new or a single word is told by the patch alone. */
async function changedWords(before: unknown, after: unknown): Promise<Comparison["words"]> {
  const { changesIn, pathOf } = await import("../../differences/index.ts");
  return changesIn(before, after).flatMap(({ way, words = [] }) =>
    words.some(({ op, text }) => op === "keep" || /\s/.test(text))
      ? [{ path: `/values${pathOf(after, way)}`, parts: words }]
      : [],
  );
}

function comparable(snapshot: EntrySnapshot, found: Readable) {
  return {
    status: snapshot.status,
    validFrom: snapshot.validFrom,
    validTo: snapshot.validTo,
    values: presented(found, snapshot.values),
  };
}

/** Returns patch operations that show which sensitive values changed, without the values. */
function sealedChanges(
  schema: CompiledSchema | undefined,
  from: Readonly<Record<string, StoredValue>>,
  to: Readonly<Record<string, StoredValue>>,
): Operation[] {
  return Object.keys(to).flatMap((name) => {
    const [before, after] = [from[name], to[name]];
    const root = schema?.fields.get(name);
    if (root?.shapes !== undefined) return sealedInside(root, from, to);
    const hidden = JSON.stringify(maskValues({ x: before })) === JSON.stringify(maskValues({ x: after }));
    if (before === undefined || !hidden || JSON.stringify(before) === JSON.stringify(after)) return [];
    return [{ op: "replace" as const, path: `/values/${name}`, value: MASK }];
  });
}

/** Returns patch operations for the sensitive values inside the objects of a field. */
function sealedInside(
  root: CompiledField,
  from: Readonly<Record<string, StoredValue>>,
  to: Readonly<Record<string, StoredValue>>,
): Operation[] {
  const secret = withNested(root).filter(({ sensitive }) => sensitive);
  return secret
    .flatMap((field) => leavesOf(field, to as Values))
    .flatMap(({ trail, value }) => {
      const before = counterpart(to, trail, from);
      if (before === undefined || equal(before, value)) return [];
      return [{ op: "replace" as const, path: `/values${pointer(trail)}`, value: MASK }];
    });
}

export function revisionNumber(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new AppError(
    "not_found",
    "revision_not_found",
    "There is no such revision. List the revisions of the entry.",
  );
}
