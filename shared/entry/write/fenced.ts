/**
 * Writes whose head expects the revision before it: a message has one expectation, so the head cannot expect the fence too.
 * With replicas such a write is a batch with a guard message. On a broker without replicas a batch takes twenty times as long as
 * a message: there the guard follows the head, and a write that the guard refuses is taken back.
 */
import { fenceGuard, fenceNow, UNFENCED } from "../../definition/stored/fence.ts";
import type { Deps } from "../../deps.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict } from "../../store/types.ts";
import { type EntryWrite, GONE_SECONDS } from "../model/messages.ts";
import type { OrbContext } from "../model/resolve.ts";
import type { EntrySnapshot } from "../model/snapshot.ts";

/** The author of a revision that takes another one back. */
const PLATFORM = "system";

/**
 * Appends messages, the head last, and checks that the definition was still in force at the head. One trip.
 * @returns the head's sequence
 * @throws Conflict when another definition was in force: the revision was taken back
 */
export async function appendFenced(
  deps: Deps,
  by: OrbContext,
  write: EntryWrite,
  messages: readonly Append[],
): Promise<number> {
  const { address } = write;
  const stream = streams.orb(address.orb);
  const told = deps.store.remembers === true;
  const guard: Append = {
    subject: subjects.guard(address.orb, address.id, 0),
    data: "",
    ttl: GONE_SECONDS,
    expect: fenceGuard(by.orb, by.fence),
  };
  if (deps.config.replicas > 1) return deps.store.batch(stream, [guard, ...messages]);
  // A host that follows the stream reads the fence from its cache instead of sending a guard.
  const [written, behind] = await Promise.allSettled([
    messages.length === 1 && messages[0] !== undefined
      ? deps.store.append(stream, messages[0])
      : deps.store.pipeline(stream, messages).then((sequences) => sequences.at(-1) ?? 0),
    told ? Promise.reject(new Conflict()) : deps.store.append(stream, guard),
  ]);
  if (written.status === "rejected") throw written.reason;
  const seq = written.value;
  if (behind.status === "fulfilled") return seq;
  // A refused guard proves nothing yet: the fence can have moved after the head.
  const { fence = UNFENCED } = by;
  const now = await fenceNow(deps, by.orb, fence, told ? "told" : "leader");
  if (now.seq === fence.seq || now.seq > seq) return seq;
  await takeBack(deps, write, seq);
  throw new Conflict();
}

/** Appends the entry as it was before. Does nothing if another write has followed: that one was decided on this revision. */
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
  try {
    await deps.store.append(streams.orb(address.orb), message);
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
  }
}
