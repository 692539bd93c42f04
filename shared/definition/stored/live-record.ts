/**
 * The live record of an orb in the bucket `orbs`. The fence moves before each new record is written, so no write
 * under an older definition can follow.
 */
import type { Deps } from "../../deps.ts";
import { buckets } from "../../store/subjects.ts";
import { Conflict, StreamMissing } from "../../store/types.ts";
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
 * Activates a definition: moves the fence and writes the live record, unless this revision or a later one is already
 * there. Returns the record in the bucket.
 * @throws Conflict when other processes keep winning; the next read or write of the orb writes the record
 */
export async function activateRecord(
  deps: Deps,
  record: LiveRecord,
  known: CurrentLiveRecord,
): Promise<CurrentLiveRecord> {
  let current = known;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    if (current !== null && current.record.revision >= record.revision) return current;
    const put = await replace(deps, current, record);
    if (put !== null) return put;
    current = await liveRecord(deps, record.orb);
  }
  throw new Conflict();
}

/** Returns null on a conflict. Keeps the unfinished work of the previous record. */
async function replace(
  deps: Deps,
  current: CurrentLiveRecord,
  record: LiveRecord,
): Promise<CurrentLiveRecord> {
  const { orb } = record;
  const work = joined(current?.record.work, record.work);
  let fence: Fence | undefined;
  try {
    fence = await moveFence(deps, orb, current?.record.fence, record.revision);
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
  try {
    const revision = await deps.store.kvPut(buckets.orbs, record.orb, JSON.stringify(record), { expect });
    return { record, revision };
  } catch (error) {
    if (error instanceof Conflict) return null;
    throw error;
  }
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

/**
 * Repairs a live record that does not name the current fence, so that writers can continue. Finishes a publication
 * that stopped halfway. If there is none, moves the fence again under the same definition. Does nothing if the record
 * is right, or if the orb does not exist.
 */
export async function repairFence(deps: Deps, orb: string): Promise<void> {
  const [head, current] = await Promise.all([orbHead(deps, orb), liveRecord(deps, orb)]);
  if (!exists(head)) return;
  const wanted = await wantedRecord(deps, orb, head);
  if (wanted === null) return;
  if (current === null || current.record.revision < wanted.revision) {
    // Other writers may do the same at this time.
    await activateRecord(deps, wanted, current).catch((error: unknown) => {
      if (!(error instanceof Conflict)) throw error;
    });
    return;
  }
  const { fence = UNFENCED, work: _, ...record } = { ...current.record };
  try {
    if ((await fenceNow(deps, orb, fence)).seq !== fence.seq) await replace(deps, current, record);
  } catch (error) {
    // The next write creates the stream.
    if (!(error instanceof StreamMissing)) throw error;
  }
}
