/**
 * The live record of an orb in the bucket `orbs`. The fence moves before each new record is written, so no write
 * under an older definition can follow.
 */

import type { Deps } from "../../deps.ts";
import { nullOnConflict } from "../../store/pages.ts";
import { buckets, streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict, StreamMissing } from "../../store/types.ts";
import type { Fence } from "../live-orb.ts";
import { fenceNow, moveFence, UNFENCED } from "./fence.ts";
import { type EntryWork, exists, findRevision, type OrbHead, orbHead } from "./history.ts";
import { type LiveRecord, recordOf } from "./live.ts";

/** Maximum number of runs when other processes keep writing the record. */
const ATTEMPTS = 24;

/** A live record and its revision in the bucket. */
export interface StoredLiveRecord {
  record: LiveRecord;
  revision: number;
}
export type CurrentLiveRecord = StoredLiveRecord | null;

/** Reads the live record. A damaged record counts as empty. */
export async function liveRecord(deps: Pick<Deps, "store">, orb: string): Promise<CurrentLiveRecord> {
  const entry = await deps.store.kvGet(buckets.orbs, orb);
  return entry === null ? null : { record: recordOf(entry), revision: entry.revision };
}

/** Returns whether the live record matches the history, and stored entries have been updated for it. */
export function isReconciled(head: OrbHead, live: LiveRecord | null): boolean {
  if (live?.work !== undefined) return false;
  if (!exists(head)) return live === null || live.document === null;
  const { publishedRevision, basis } = head;
  if (publishedRevision !== null) return live !== null && live.revision >= publishedRevision;
  // While nothing is live, entries follow a draft. Writes under the draft before it must fail too.
  return live !== null && live.document === null && live.revision >= basis;
}

/** Returns the record that the history requires, or null if the live revision is missing from the history. */
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
 * Moves the fence and puts a live record, unless this revision or a later one is there. Returns the record that is there then.
 * @param moved a fence that was moved for this record already
 * @throws Conflict when other processes kept winning; the next read or write of the orb puts it
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

/** Returns null when another process came first. Keeps the work that an earlier record left undone. */
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
    // There is no stream yet. The first write creates it.
    if (!(error instanceof StreamMissing)) throw error;
  }
  const next: LiveRecord = {
    ...record,
    ...(work === undefined ? {} : { work }),
    ...(fence === undefined ? {} : { fence }),
  };
  return put(deps, next, current?.revision ?? 0);
}

/** Returns null on a conflict. */
async function put(
  deps: Pick<Deps, "store">,
  record: LiveRecord,
  expect: number,
): Promise<CurrentLiveRecord> {
  const write = deps.store.kvPut(buckets.orbs, record.orb, JSON.stringify(record), { expect });
  const revision = await nullOnConflict(write);
  return revision === null ? null : { record, revision };
}

/** Writes the record of an orb that is being deleted. It needs no fence, because the stream is deleted next. */
export async function putDeleted(deps: Pick<Deps, "store">, orb: string, head: OrbHead): Promise<void> {
  const gone: LiveRecord = { v: 1, orb, revision: head.revision, at: head.at, document: null };
  for (;;) {
    const current = await liveRecord(deps, orb);
    if (current !== null && current.record.revision >= gone.revision) return;
    if ((await put(deps, gone, current?.revision ?? 0)) !== null) return;
  }
}

/** Joins two lists of work, unfinished work first. */
function joined(before: EntryWork | undefined, after: EntryWork | undefined): EntryWork | undefined {
  if (before === undefined || after === undefined) return before ?? after;
  return { claims: [...before.claims, ...after.claims], moves: [...before.moves, ...after.moves] };
}

/** Seconds for which a reopening is remembered: no publication is under way for as long. */
const REOPENED_SECONDS = 86_400;

/** The mark that every reopening leaves in the stream of the history. */
function reopening(orb: string): Append {
  return { subject: subjects.orbReopened(orb), data: "{}", rollup: true, ttl: REOPENED_SECONDS };
}

/** Sequence of the last reopening; 0 for none. One request. */
export async function lastReopening(deps: Pick<Deps, "store">, orb: string): Promise<number> {
  return (await deps.store.get(streams.platform, subjects.orbReopened(orb)))?.seq ?? 0;
}

/** A message that refuses its batch if the definition in force was reopened since. */
export function unlessReopened(orb: string, since: number): Append {
  return { ...reopening(orb), expect: { seq: since } };
}

/**
 * Repairs a live record that does not name the current fence, so that writers can go on. Finishes a publication that was
 * committed; otherwise reopens the definition in force. Does nothing if the record is right, or if the orb does not exist.
 *
 * A publication that closed the orb may be slow and not dead. A reopening therefore leaves its mark first, and the commit of the
 * publication expects that there is none: either the commit fails, or this process sees it and finishes it. The fence must not
 * have moved since it was read, so a publication that begins after the mark stays closed too.
 * @param reopen whether to reopen; a publication that is under way needs some milliseconds
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
      // A fence that no record names yet keeps out the definition before, whichever process moved it.
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
    // Other writers do the same at this moment, or there is no stream, which the next write creates.
    if (!(error instanceof Conflict || error instanceof StreamMissing)) throw error;
  }
}
