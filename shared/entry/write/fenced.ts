/**
 * The fence for writes whose head expects the revision before it. The fence is a message that every activation of a
 * definition moves, so that no write is committed under a definition that has been replaced. A message can have only
 * one expectation, so the head cannot expect the fence too.
 *
 * With replicas such a write is a batch with a guard message that expects the fence. Without replicas a batch takes
 * twenty times as long as a message. There the guard is sent right behind the head, and a write is taken back if the
 * guard is refused.
 */

import { fenceGuard, fenceNow, UNFENCED } from "../../definition/stored/fence.ts";
import type { Deps } from "../../deps.ts";
import { nullOnConflict } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict } from "../../store/types.ts";
import { type EntryWrite, GONE_SECONDS } from "../model/messages.ts";
import type { OrbContext } from "../model/resolve.ts";
import type { EntrySnapshot } from "../model/snapshot.ts";

/** `updatedBy` of a revision that takes another one back. */
const PLATFORM = "system";

/**
 * Appends messages, the head last, and verifies that the definition was still active at the head's sequence. One
 * round trip.
 * @returns the head's sequence
 * @throws Conflict when another definition was active; the revision has been taken back
 */
export async function appendFenced(
  deps: Deps,
  by: OrbContext,
  write: EntryWrite,
  messages: readonly Append[],
): Promise<number> {
  const { address } = write;
  const stream = streams.orb(address.orb);
  const isCached = deps.store.isCached === true;
  const guard: Append = {
    subject: subjects.guard(address.orb, address.id, 0),
    data: "",
    ttl: GONE_SECONDS,
    expect: fenceGuard(by.orb, by.fence),
  };
  if (deps.config.replicas > 1) return deps.store.batch(stream, [guard, ...messages]);
  // A host with a cache of the stream reads the fence from it instead of sending a guard.
  const [written, behind] = await Promise.allSettled([
    messages.length === 1 && messages[0] !== undefined
      ? deps.store.append(stream, messages[0])
      : deps.store.pipeline(stream, messages).then((sequences) => sequences.at(-1) ?? 0),
    isCached ? Promise.reject(new Conflict()) : deps.store.append(stream, guard),
  ]);
  if (written.status === "rejected") throw written.reason;
  const seq = written.value;
  if (behind.status === "fulfilled") return seq;
  // A refused guard is not proof: the fence may have moved after the head was written.
  const { fence = UNFENCED } = by;
  const now = await fenceNow(deps, by.orb, fence, isCached ? "cached" : "leader");
  if (now.seq === fence.seq || now.seq > seq) return seq;
  await takeBack(deps, write, seq);
  throw new Conflict();
}

/**
 * Appends the previous state of the entry as a new revision. Does nothing if another write has followed, because that
 * write was decided on this revision.
 */
async function takeBack(deps: Deps, { address, snapshots, before }: EntryWrite, seq: number): Promise<void> {
  const made = snapshots.at(-1);
  if (made === undefined || before === undefined) return;
  const revision = made.revision + 1;
  const restored: EntrySnapshot = {
    ...made,
    operation: "revert",
    status: before.status,
    revision,
    publishedRevision: made.publishedRevision === made.revision ? revision : made.publishedRevision,
    validFrom: before.validFrom,
    validTo: before.validTo,
    updatedAt: new Date(deps.clock.now()).toISOString(),
    updatedBy: PLATFORM,
    values: before.values,
    defRevision: before.defRevision,
  };
  const message = { subject: subjects.entryLog(address), data: JSON.stringify(restored), expect: { seq } };
  await nullOnConflict(deps.store.append(streams.orb(address.orb), message));
}
