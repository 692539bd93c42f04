/**
 * Stores published definitions. Before that, replaces the fence, a marker in the application's stream. From then on,
 * the broker rejects writes that were validated with an older definition.
 */

import type { Deps } from "../../deps.ts";
import { retry } from "../../kernel/retry.ts";
import { nullOnConflict, ON_CONFLICT, untilWritten } from "../../store/pages.ts";
import { buckets, streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict, StreamMissing } from "../../store/types.ts";
import { type OrbDocument, runsAfter } from "../document/index.ts";
import { type Fence, type StreamLoss, stopsWrites } from "../live-orb.ts";
import { countForms, hasRulesOrMoves, type StoredNames } from "../names/index.ts";
import { fenceNow, moveFence, UNFENCED } from "./fence.ts";
import { type EntryWork, exists, findRevision, type OrbHead, orbHead } from "./history.ts";
import { type ActivatedForms, activationOf, type LiveRecord, recordOf } from "./live.ts";
import { requireReadable } from "./readable.ts";

/**
 * Version of the normal forms of texts in index keys: 1 compares unique texts in their normal form, and lists texts in
 * ordered indexes in Unicode Normalization Form C. Increase it whenever index keys of unchanged values change.
 */
export const FORMS_VERSION = 1;

export interface StoredLiveRecord {
  record: LiveRecord;
  revision: number;
}
export type CurrentLiveRecord = StoredLiveRecord | null;

/**
 * Returns the stored definition of an orb (application). Damaged data counts as an empty definition.
 * @throws AppError unavailable `definition_unreadable` if a newer version stored it
 */
export async function liveRecord(deps: Pick<Deps, "store">, orb: string): Promise<CurrentLiveRecord> {
  const entry = await deps.store.kvGet(buckets.orbs, orb);
  return entry === null ? null : { record: recordOf(entry), revision: entry.revision };
}

/** Returns whether the stored definition is the published revision, and all entries have been updated for it. */
export function isReconciled(head: OrbHead, live: LiveRecord | null): boolean {
  if (live?.work !== undefined) return false;
  if (!exists(head)) return live === null || live.document === null;
  const { publishedRevision, basis } = head;
  if (publishedRevision !== null) return live !== null && live.revision >= publishedRevision;
  // While no definition is published, entries are validated with a draft, whose revision is `basis`. Writes validated
  // with an older draft must fail. So the stored record must not be older than `basis`.
  return live !== null && live.document === null && live.revision >= basis;
}

/** Returns the version of the record: a version of the platform that does not know it must not serve the entries. */
const versionOf = (names: StoredNames | undefined): LiveRecord["v"] =>
  names === undefined ? 1 : hasRulesOrMoves(names) ? 4 : countForms(names) === 0 ? 2 : 3;

/**
 * Returns the record that should be stored, according to the definition's history. Null if the history lacks the
 * published revision.
 * @throws AppError unavailable `definition_unreadable` if a newer version stored that revision
 */
export async function wantedRecord(deps: Deps, orb: string, head: OrbHead): Promise<LiveRecord | null> {
  const want = exists(head) ? head.publishedRevision : null;
  const target = want === null ? head : await findRevision(deps, orb, head, want);
  if (target === null) {
    deps.log.error("the published revision of an orb is missing", { orb, revision: want });
    return null;
  }
  if (want !== null) requireReadable(orb, target.document);
  const names = want === null ? undefined : target.names;
  return {
    v: versionOf(names),
    orb,
    revision: target.revision,
    at: target.at,
    document: want === null ? null : target.document,
    ...(names === undefined ? {} : { names }),
    ...(target.work === undefined ? {} : { work: target.work }),
  };
}

/**
 * Replaces the fence (the marker that every write expects), and stores the definition. Does nothing if the same or a
 * later revision is already stored.
 * @param moved the new fence, if it was already replaced
 * @throws Conflict if other processes changed the definition first in every attempt
 */
export async function activateRecord(
  deps: Deps,
  record: LiveRecord,
  known: CurrentLiveRecord,
  moved?: Fence,
): Promise<CurrentLiveRecord> {
  let current = known;
  return retry(ON_CONFLICT, async (attempt) => {
    if (attempt > 0) current = await liveRecord(deps, record.orb);
    if (current !== null && current.record.revision >= record.revision) return current;
    const put = await replace(deps, current, record, { moved: attempt === 0 ? moved : undefined });
    if (put === null) throw new Conflict();
    return put;
  });
}

/**
 * Replaces the stored definition. Returns null on a conflict. Keeps the updates of entries (`work`) that are still to
 * be done for the old definition, and the loss of the stream.
 */
async function replace(
  deps: Deps,
  current: CurrentLiveRecord,
  record: LiveRecord,
  options: { moved?: Fence | undefined; expect?: Fence | undefined } = {},
): Promise<CurrentLiveRecord> {
  const { orb } = record;
  const { moved, expect } = options;
  const work = joined(current?.record.work, record.work);
  let fence: Fence | undefined;
  try {
    fence = moved ?? (await moveFence(deps, orb, current?.record.fence, record.revision, { expect }));
  } catch (error) {
    if (error instanceof Conflict) return null;
    // The application has no stream yet. The first write creates it.
    if (!(error instanceof StreamMissing)) throw error;
  }
  const next: LiveRecord = {
    ...record,
    ...(work === undefined ? {} : { work }),
    ...(fence === undefined ? {} : { fence }),
    damaged: "damaged" in record ? record.damaged : current?.record.damaged,
    since: sinceOf(current?.record, record.document, fence?.seq ?? 0),
    scheduled: scheduledOf(current?.record, record),
    forms: formsOf(current?.record, record, work),
  };
  return put(deps, next, current?.revision ?? 0);
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

/** Writes the definition. Returns null on a conflict. */
async function put(
  deps: Pick<Deps, "store">,
  record: LiveRecord,
  expect: number,
): Promise<CurrentLiveRecord> {
  const write = deps.store.kvPut(buckets.orbs, record.orb, JSON.stringify(record), { expect });
  const revision = await nullOnConflict(write);
  return revision === null ? null : { record, revision };
}

/**
 * Replaces the stored definition by an equivalent one, for example with secrets that are encrypted with another key.
 * Writes continue, because the fence (the marker that every write expects) stays the same.
 * @param rewrite returns the given document if there is nothing to change
 */
export async function rewriteLive(
  deps: Pick<Deps, "store">,
  orb: string,
  rewrite: (document: OrbDocument) => Promise<OrbDocument>,
): Promise<void> {
  await untilWritten(async () => {
    const current = await liveRecord(deps, orb);
    const before = current?.record.document ?? null;
    if (current === null || before === null) return;
    const document = await rewrite(before);
    if (document === before) return;
    const data = JSON.stringify({ ...current.record, document });
    await deps.store.kvPut(buckets.orbs, orb, data, { expect: current.revision });
  });
}

/**
 * Blocks all writes of an application whose stream has lost messages, or allows them again. Moves the fence, so that
 * writes under way are rejected too.
 * @param damaged undefined after an operator has decided
 */
export async function setDamaged(deps: Deps, orb: string, damaged: StreamLoss | undefined): Promise<void> {
  await retry(ON_CONFLICT, async () => {
    const current = await liveRecord(deps, orb);
    // Without a usable record, no write succeeds either.
    if (current === null || current.record.revision === 0) return;
    if (current.record.damaged?.at === damaged?.at) return;
    const put = await replace(deps, current, { ...current.record, work: undefined, damaged });
    if (put === null) throw new Conflict();
  });
}

/**
 * Returns whether the broker finds the fence that it has stored. After damage to its files, a broker may need another
 * start to find new messages. Until then, every write has a conflict.
 */
export async function findsFence(deps: Pick<Deps, "store">, orb: string): Promise<boolean> {
  const fence = (await liveRecord(deps, orb))?.record.fence;
  return fence === undefined || (await fenceNow(deps, orb, fence)).seq === fence.seq;
}

/**
 * Records that an application was deleted. Writes need not be blocked, because the caller deletes the application's
 * stream next.
 */
export async function putDeleted(deps: Pick<Deps, "store">, orb: string, head: OrbHead): Promise<void> {
  const gone: LiveRecord = { v: 1, orb, revision: head.revision, at: head.at, document: null };
  for (;;) {
    const current = await deps.store.kvGet(buckets.orbs, orb);
    // A deletion also replaces a definition that is damaged, or that a newer version stored.
    const known = current === null ? undefined : activationOf(current);
    if (known !== undefined && "forms" in known && known.revision >= gone.revision) return;
    if ((await put(deps, gone, current?.revision ?? 0)) !== null) return;
  }
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

/** Seconds after which the message of {@link reopening} expires. This is longer than any publication takes. */
const REOPENED_SECONDS = 86_400;

function reopening(orb: string): Append {
  return { subject: subjects.orbReopened(orb), data: "{}", rollup: true, ttl: REOPENED_SECONDS };
}

export async function lastReopening(deps: Pick<Deps, "store">, orb: string): Promise<number> {
  return (await deps.store.get(streams.platform, subjects.orbReopened(orb)))?.seq ?? 0;
}

/**
 * Returns a message for the batch that publishes a definition. The batch fails if another process took the publication
 * for crashed, and has unblocked writes after the sequence number `since`.
 */
export function unlessReopened(orb: string, since: number): Append {
  return { ...reopening(orb), expect: { seq: since } };
}

/**
 * Repairs an application that rejects all writes because a process crashed during a publication. The process had
 * changed the fence, which blocks writes under the earlier definition, but had not stored the new definition. If the
 * publication was committed, completes it. Otherwise allows writes under the earlier definition again. A publication
 * that was only slow then fails.
 * @param reopen false gives a running publication time to commit
 */
export async function repairFence(deps: Deps, orb: string, reopen = true): Promise<void> {
  const [head, current] = await Promise.all([orbHead(deps, orb), liveRecord(deps, orb)]);
  // The fence may be among the messages that were lost.
  if (!exists(head) || stopsWrites(current?.record.damaged)) return;
  const wanted = await wantedRecord(deps, orb, head);
  if (wanted === null) return;
  const fence = current?.record.fence ?? UNFENCED;
  try {
    if (current === null || current.record.revision < wanted.revision) {
      const now = current?.record.fence === undefined ? fence : await fenceNow(deps, orb, fence);
      // If the fence was already replaced, for example by the process that crashed, do not replace it again.
      await activateRecord(deps, wanted, current, now.seq === fence.seq ? undefined : now);
      return;
    }
    if (!reopen) return;
    const now = await fenceNow(deps, orb, fence);
    if (now.seq === fence.seq) return;
    await deps.store.append(streams.platform, reopening(orb));
    if ((await orbHead(deps, orb))?.seq !== head.seq) return await repairFence(deps, orb);
    await replace(deps, current, { ...current.record, work: undefined }, { expect: now });
  } catch (error) {
    // Ignore the error: another process repairs the definition too, or there is no stream until the first write
    // creates it.
    if (!(error instanceof Conflict || error instanceof StreamMissing)) throw error;
  }
}
