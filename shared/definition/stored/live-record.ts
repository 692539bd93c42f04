/**
 * Stores published definitions. Before that, replaces the fence, a marker in the application's stream. From then on,
 * the broker rejects writes that were validated with an older definition.
 */

import type { Deps } from "../../deps.ts";
import { nullOnConflict, untilWritten } from "../../store/pages.ts";
import { buckets, streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict, StreamMissing } from "../../store/types.ts";
import type { OrbDocument } from "../document/document.ts";
import { runsAfter } from "../document/hooks.ts";
import type { Fence } from "../live-orb.ts";
import { fenceNow, moveFence, UNFENCED } from "./fence.ts";
import { type EntryWork, exists, findRevision, type OrbHead, orbHead } from "./history.ts";
import { type LiveRecord, recordOf } from "./live.ts";

/** Maximum number of attempts if other processes write at the same time. */
const ATTEMPTS = 24;

export interface StoredLiveRecord {
  record: LiveRecord;
  revision: number;
}
export type CurrentLiveRecord = StoredLiveRecord | null;

/** Returns the stored definition of an orb (application). Damaged data counts as an empty definition. */
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

/**
 * Returns the record that should be stored, according to the definition's history. Null if the history lacks the
 * published revision.
 */
export async function wantedRecord(deps: Deps, orb: string, head: OrbHead): Promise<LiveRecord | null> {
  const want = exists(head) ? head.publishedRevision : null;
  const target = want === null ? head : await findRevision(deps, orb, head, want);
  if (target === null) {
    deps.log.error("the published revision of an orb is missing", { orb, revision: want });
    return null;
  }
  return {
    v: 1,
    orb,
    revision: target.revision,
    at: target.at,
    document: want === null ? null : target.document,
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
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (current !== null && current.record.revision >= record.revision) return current;
    const put = await replace(deps, current, record, { moved: attempt === 0 ? moved : undefined });
    if (put !== null) return put;
    current = await liveRecord(deps, record.orb);
  }
  throw new Conflict();
}

/**
 * Replaces the stored definition. Returns null on a conflict. Keeps the updates of entries (`work`) that are still to
 * be done for the old definition.
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
    since: sinceOf(current?.record, record.document, fence?.seq ?? 0),
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
 * Records that an application was deleted. Writes need not be blocked, because the caller deletes the application's
 * stream next.
 */
export async function putDeleted(deps: Pick<Deps, "store">, orb: string, head: OrbHead): Promise<void> {
  const gone: LiveRecord = { v: 1, orb, revision: head.revision, at: head.at, document: null };
  for (;;) {
    const current = await liveRecord(deps, orb);
    if (current !== null && current.record.revision >= gone.revision) return;
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
  if (!exists(head)) return;
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
