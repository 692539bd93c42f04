/**
 * Stores published definitions. Before that, replaces the fence, a marker in the application's stream. From then on,
 * the broker rejects writes that were validated with an older definition.
 */

import type { Deps } from "../../deps.ts";
import { retry } from "../../kernel/retry.ts";
import { nullOnConflict, ON_CONFLICT, untilWritten } from "../../store/pages.ts";
import { buckets, streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict, StreamMissing } from "../../store/types.ts";
import type { OrbDocument } from "../document/index.ts";
import { type Fence, type StreamLoss, stopsWrites } from "../live-orb.ts";
import { decidedFence, fenceNow, moveFence, UNFENCED } from "./fence.ts";
import {
  appendRecord,
  type ExistingOrb,
  exists,
  findRevision,
  nextRevision,
  type OrbHead,
  orbHead,
} from "./history.ts";
import { activationOf, recordOf } from "./live.ts";
import { requireReadable } from "./readable.ts";
import { decided, type LiveRecord, type NextDefinition, successor, versionOf } from "./record.ts";

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
  if (live?.work !== undefined || isAwaiting(head, live)) return false;
  if (!exists(head)) return live === null || live.document === null;
  const { publishedRevision, basis } = head;
  if (publishedRevision !== null) return live !== null && live.revision >= publishedRevision;
  // While no definition is published, entries are validated with a draft, whose revision is `basis`. Writes validated
  // with an older draft must fail. So the stored record must not be older than `basis`.
  return live !== null && live.document === null && live.revision >= basis;
}

/** Returns whether the publication of a change set may be about to publish another definition. */
export const isAwaiting = (head: OrbHead | null, live: LiveRecord | null): boolean =>
  head?.awaits !== undefined || live?.next !== undefined;

/** Milliseconds for which a publication of a change set may be running, between its first and its last step. */
const RUNNING_MS = 3_000;

/** Milliseconds for which a writer that is blocked leaves such a publication alone. Its attempts take longer. */
const BLOCKED_MS = 500;

/** Returns whether the publication of a change set began so recently that it is probably still running. */
export function mayBeRunning(
  { clock }: Pick<Deps, "clock">,
  { awaits, at }: OrbHead,
  ms = RUNNING_MS,
): boolean {
  return awaits !== undefined && Math.abs(clock.now() - Date.parse(at)) < ms;
}

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
  let fence: Fence | undefined;
  try {
    fence = moved ?? (await moveFence(deps, orb, current?.record.fence, record.revision, { expect }));
  } catch (error) {
    if (error instanceof Conflict) return null;
    // The application has no stream yet. The first write creates it.
    if (!(error instanceof StreamMissing)) throw error;
  }
  const next = successor(current?.record, record, fence);
  return put(deps, next, current?.revision ?? 0);
}

/**
 * Finishes or withdraws the publication of a definition together with a change set, after an interruption. If the set is
 * published, completes the history and the stored definition. Otherwise moves the fence, so that the broker rejects the
 * batch of the set if it is still to come.
 * @param withdraw false leaves a publication that is not decided yet
 * @returns the newest revision
 */
export async function settleAwaited(deps: Deps, orb: string, withdraw: boolean): Promise<OrbHead | null> {
  return retry(ON_CONFLICT, async () => {
    const [head, current] = await Promise.all([orbHead(deps, orb), liveRecord(deps, orb)]);
    const record = current?.record;
    if (!exists(head) || current === null || record === undefined || !isAwaiting(head, record)) return head;
    const { next } = record;
    // Read the fence first: if the batch of the set comes after this, the fence cannot be moved any longer.
    const now = withdraw ? await fenceNow(deps, orb, record.fence) : undefined;
    const fence = await decidedFence(deps, record);
    if (next !== undefined && fence !== undefined) {
      const done = await recordDecided(deps, orb, head, next);
      if ((await put(deps, decided(record, next, fence), current.revision)) === null) throw new Conflict();
      return done;
    }
    if (now === undefined) return head;
    const moved = await moveFence(deps, orb, record.fence, record.revision, { expect: now });
    const { next: _, ...before } = record;
    const back: LiveRecord = { ...before, v: versionOf(record.names), fence: moved };
    if ((await put(deps, back, current.revision)) === null) throw new Conflict();
    if (head.awaits === undefined) return head;
    const act = { operation: "change", by: head.by, now: deps.clock.now() } as const;
    const withdrawn = nextRevision(head, act, { summary: [`did not publish change set ${head.awaits.set}`] });
    return { ...withdrawn, seq: await appendRecord(deps, orb, withdrawn, head.seq) };
  });
}

/** Appends the revision of a definition that was published with a change set, unless the history has it. */
async function recordDecided(
  deps: Deps,
  orb: string,
  head: ExistingOrb,
  next: NextDefinition,
): Promise<OrbHead> {
  if (head.awaits?.id !== next.id) return head;
  const act = { operation: "publish", by: next.by, now: Date.parse(next.at) } as const;
  const change = { ...next.change, status: "PUBLISHED", publishedRevision: next.revision } as const;
  const record = nextRevision(head, act, change);
  return { ...record, seq: await appendRecord(deps, orb, record, head.seq) };
}

/**
 * Stores a definition that waits for the publication of a change set. The one before serves until then. Its fence stays:
 * if writes are blocked, they stay so.
 * @throws Conflict if another process has changed the stored definition
 */
export async function putNext(
  deps: Pick<Deps, "store">,
  { record, revision }: StoredLiveRecord,
  next: NextDefinition,
): Promise<void> {
  if ((await put(deps, { ...record, v: 5, next }, revision)) === null) throw new Conflict();
}

/** Gives a fence to an application whose definition was stored before fences existed. */
export async function giveFence(deps: Deps, stored: StoredLiveRecord): Promise<void> {
  await replace(deps, stored, stored.record);
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
    if (current.record.next !== undefined) {
      await settleAwaited(deps, orb, true);
      throw new Conflict();
    }
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
  if (isAwaiting(head, current?.record ?? null)) {
    await nullOnConflict(settleAwaited(deps, orb, reopen && !mayBeRunning(deps, head, BLOCKED_MS)));
    return;
  }
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

/**
 * Makes all publications fail that have not been committed yet, and rejects what they still write. They begin again.
 * @throws Conflict if other processes changed the definition first in every attempt
 */
export async function stopPublications(deps: Deps, orb: string): Promise<void> {
  await retry(ON_CONFLICT, async () => {
    await repairFence(deps, orb);
    const [head, current] = await Promise.all([orbHead(deps, orb), liveRecord(deps, orb)]);
    if (!exists(head) || current === null) return;
    const { record } = current;
    if (isAwaiting(head, record)) {
      await settleAwaited(deps, orb, true);
      throw new Conflict();
    }
    const wanted = await wantedRecord(deps, orb, head);
    if (wanted !== null && record.revision < wanted.revision) throw new Conflict();
    const now = await fenceNow(deps, orb, record.fence);
    await deps.store.append(streams.platform, reopening(orb));
    // A publication that was committed before this has blocked writes, which must stay so until it is active.
    if ((await orbHead(deps, orb))?.seq !== head.seq) throw new Conflict();
    const put = await replace(deps, current, { ...record, work: undefined }, { expect: now });
    if (put === null) throw new Conflict();
  });
}
