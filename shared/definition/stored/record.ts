/** What is stored of the definition that serves an application, and what follows it. */
import { type OrbDocument, runsAfter } from "../document/index.ts";
import type { Fence, StreamLoss } from "../live-orb.ts";
import { countForms, hasRulesOrMoves, type StoredNames } from "../names/index.ts";
import { UNFENCED } from "./fence.ts";
import type { EntryWork, OrbRecord } from "./history.ts";

/**
 * Version of the normal forms of texts in index keys: 1 compares unique texts in their normal form, and lists texts in
 * ordered indexes in Unicode Normalization Form C. Increase it whenever index keys of unchanged values change.
 */
export const FORMS_VERSION = 1;

export interface LiveRecord {
  /**
   * 2 if some names in stored data differ from the document, 3 if fields have values from before a change of type, 4 if
   * rules convert such values: earlier versions would not find the values. 5 while `next` waits: earlier versions would
   * not see that it is decided.
   */
  v: 1 | 2 | 3 | 4 | 5;
  orb: string;
  /** Revision in the application's history. Only a higher revision can replace the definition. */
  revision: number;
  at: string;
  /** Null if no definition is published. */
  document: OrbDocument | null;
  /** Names in stored data that differ from those of the document. */
  names?: StoredNames | undefined;
  work?: EntryWork | undefined;
  /**
   * The fence (see {@link Fence}) that belongs to this definition. Missing if the definition was stored before fences
   * existed.
   */
  fence?: Fence | undefined;
  /**
   * For each hook that runs after writes, the stream's sequence number when the hook was published. The hook runs only
   * for later revisions.
   */
  since?: Record<string, number> | undefined;
  /** For each schedule, the revision of the definition with which it was published. Unpublishing ends it. */
  scheduled?: Record<string, number> | undefined;
  forms?: ActivatedForms | undefined;
  /** Set while the application cannot be written, because its stream has lost messages. */
  damaged?: StreamLoss | undefined;
  /** A definition that is published together with entries, by one batch in the application's stream. */
  next?: NextDefinition | undefined;
}

/**
 * A definition that waits for the batch which publishes a change set. The last message of the batch contains `id`. It
 * decides that the definition is the live one, for all who read the application's stream up to this message.
 */
export interface NextDefinition {
  id: string;
  /** Id of the change set. */
  set: string;
  /** The incarnation of the application's fence. */
  incarnation: number;
  /** Number of its revision in the application's history. */
  revision: number;
  at: string;
  by: string;
  /** What its revision in the history changes. */
  change: Pick<OrbRecord, "document" | "changes" | "summary" | "basis" | "names" | "retired" | "work">;
}

/** Returns the fence for writers and readers of an application. It contains the loss of its stream. */
export function fenceOf({ fence, damaged }: LiveRecord): Fence | undefined {
  return damaged === undefined ? fence : { ...(fence ?? UNFENCED), loss: damaged };
}

/** Which definitions were activated by versions that add the index keys of all normal forms. */
export interface ActivatedForms {
  /** Version of the normal forms. */
  version: number;
  /** All definitions from this revision on were activated by such a version. */
  from: number;
  /** Set while `work` is left. An earlier version that finishes this work leaves the mark. */
  pending?: true;
}

/** Returns the version of the record: a version of the platform that does not know it must not serve the entries. */
export const versionOf = (names: StoredNames | undefined): LiveRecord["v"] =>
  names === undefined ? 1 : hasRulesOrMoves(names) ? 4 : countForms(names) === 0 ? 2 : 3;

/**
 * Returns the record that replaces a stored one. Keeps the updates of entries (`work`) that are still to be done for the
 * old definition, and the loss of the stream.
 * @param fence undefined if the application has no stream yet
 */
export function successor(
  current: LiveRecord | undefined,
  record: LiveRecord,
  fence: Fence | undefined,
): LiveRecord {
  const work = joined(current?.work, record.work);
  return {
    ...record,
    ...(work === undefined ? {} : { work }),
    ...(fence === undefined ? {} : { fence }),
    damaged: "damaged" in record ? record.damaged : current?.damaged,
    since: sinceOf(current, record.document, fence?.seq ?? 0),
    scheduled: scheduledOf(current, record),
    forms: formsOf(current, record, work),
  };
}

/** Returns the record of the definition that waits in a stored one, once it is decided. @param fence its fence */
export function decided(record: LiveRecord, next: NextDefinition, fence: Fence): LiveRecord {
  const { document, names, work } = next.change;
  const { orb } = record;
  const { revision, at } = next;
  const own: LiveRecord = {
    v: versionOf(names),
    orb,
    revision,
    at,
    document,
    ...(names === undefined ? {} : { names }),
    ...(work === undefined ? {} : { work }),
  };
  return successor(record, own, fence);
}

/**
 * For each hook that runs after writes, returns a sequence number of the stream. The hook runs only for later revisions
 * of entries. A new hook starts at the publication of its definition. A hook of the previous definition keeps its
 * number.
 */
function sinceOf(
  before: LiveRecord | undefined,
  document: OrbDocument | null,
  fence: number,
): Record<string, number> | undefined {
  const after = (document?.hooks ?? []).filter(runsAfter);
  if (after.length === 0) return undefined;
  return Object.fromEntries(after.map(({ id }) => [id, before?.since?.[id] ?? fence]));
}

/**
 * For each schedule, returns the revision of the definition that began it. A schedule of the previous definition keeps
 * its number, so that only unpublishing or removing it ends it.
 */
function scheduledOf(
  before: LiveRecord | undefined,
  { document, revision }: LiveRecord,
): Record<string, number> | undefined {
  const schedules = document?.schedules ?? [];
  if (schedules.length === 0) return undefined;
  const known = new Set(before?.document?.schedules?.map(({ id }) => id));
  return Object.fromEntries(
    schedules.map(({ id }) => [id, known.has(id) ? (before?.scheduled?.[id] ?? 0) : revision]),
  );
}

/** Says that this version activates the definition. A version that does not know this member drops it. */
function formsOf(
  before: LiveRecord | undefined,
  { revision }: LiveRecord,
  work: EntryWork | undefined,
): ActivatedForms | undefined {
  if (before?.revision === revision) return before.forms;
  const known = before?.forms;
  const follows = known?.version === FORMS_VERSION && known.pending !== true;
  const from = follows ? known.from : revision;
  return { version: FORMS_VERSION, from, ...(work === undefined ? {} : { pending: true }) };
}

/** Returns a stored definition without the `work` that is done. */
export function withoutWork({ work: _, forms, ...record }: LiveRecord): LiveRecord {
  if (forms === undefined) return record;
  const { pending: _done, ...activated } = forms;
  return { ...record, forms: activated };
}

function joined(before: EntryWork | undefined, after: EntryWork | undefined): EntryWork | undefined {
  if (before === undefined || after === undefined) return before ?? after;
  const both = <T>(list: (work: EntryWork) => T[] | undefined) => [
    ...(list(before) ?? []),
    ...(list(after) ?? []),
  ];
  return {
    claims: both(({ claims }) => claims),
    moves: both(({ moves }) => moves),
    added: both(({ added }) => added),
    removed: both(({ removed }) => removed),
  };
}
