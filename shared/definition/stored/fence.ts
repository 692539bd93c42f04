/**
 * The fence of an application (like a fencing token): with it, the broker rejects writes that were validated with an
 * outdated definition.
 *
 * The fence is a set of messages in the application's stream. A publication replaces them before it stores the
 * definition, together with their new sequence number. Every write expects this number. There are 256 such messages,
 * replaced in one atomic batch. Successive writes check different ones, because a replicated broker rejects concurrent
 * checks of the same message.
 */
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Append, type Consistency, StreamMissing } from "../../store/types.ts";
import { type Fence, stopsWrites } from "../live-orb.ts";

/** The fence (marker of the active definition) of applications that versions without fences have stored. */
export const UNFENCED: Fence = { incarnation: 0, seq: 0 };

/** Returns whether two definitions belong to different applications that had the same id, judging by their fences. */
export function isAnotherOrb(before: Fence | undefined, now: Fence | undefined): boolean {
  // Earlier versions of the platform stored no fence. Treat an application with a missing fence as the same one.
  return before !== undefined && now !== undefined && now.incarnation !== before.incarnation;
}

const PARTS = 256;

/**
 * The fence consists of {@link PARTS} messages, and this is the index of the one that the last write checked. Each
 * write checks the next message, so that concurrent writes check different messages.
 */
let next = Math.floor(Math.random() * PARTS);

function partOf(orb: string, fence: Fence, part: number): { subject: string; seq: number } {
  return {
    subject: subjects.fence(orb, fence.incarnation, part),
    seq: fence.seq === 0 ? 0 : fence.seq - (PARTS - 1) + part,
  };
}

/** Seconds after which a client may try again. An operator has to decide first. */
const DECIDED_SECONDS = 60;

/**
 * Checks that an application may be written.
 * @throws AppError orb_damaged if its stream has lost messages and no operator has decided about them
 */
export function requireWhole(orb: string, { loss }: Fence = UNFENCED): void {
  if (!stopsWrites(loss)) return;
  const { from, to, at } = loss;
  throw new AppError(
    "unavailable",
    "orb_damaged",
    `The stored data of ${orb} has lost messages between the sequences ${from} and ${to}. It can be read, but not written, until the operator restores a backup or accepts the loss.`,
    { retryAfter: DECIDED_SECONDS, data: { from, to, since: at } },
  );
}

/**
 * Returns a condition for a write. It makes the broker reject the write if the definition is outdated.
 * @throws AppError orb_damaged
 */
export function fenceGuard(orb: string, fence: Fence = UNFENCED): { subject: string; seq: number } {
  requireWhole(orb, fence);
  next = (next + 1) % PARTS;
  return partOf(orb, fence, next);
}

export async function fenceNow(
  deps: Pick<Deps, "store">,
  orb: string,
  fence: Fence = UNFENCED,
  consistency: Consistency = "leader",
): Promise<Fence> {
  const { incarnation } = fence;
  const first = await deps.store.get(streams.orb(orb), subjects.fence(orb, incarnation, 0), { consistency });
  return { incarnation, seq: first === null ? 0 : first.seq + PARTS - 1 };
}

/** Returns the messages that replace the fence. */
function partsOf(orb: string, incarnation: number): Append[] {
  return Array.from({ length: PARTS }, (_, part) => ({
    subject: subjects.fence(orb, incarnation, part),
    data: "",
    rollup: true,
  }));
}

/** A definition that waits for the batch which publishes a change set. */
interface Waiting {
  /** Identifies the publication. */
  id: string;
  set: string;
}

/**
 * Returns the messages that activate a definition together with entries: they replace the fence if it is still this one,
 * and say so. They must be the last of their batch, so that all who read the last message can read the entries too.
 */
export function deciding(orb: string, fence: Fence, { id, set }: Waiting): Append[] {
  requireWhole(orb, fence);
  const [first, ...rest] = partsOf(orb, fence.incarnation);
  const { seq } = partOf(orb, fence, 0);
  const guarded = first === undefined ? [] : [{ ...first, expect: { seq } }];
  return [...guarded, ...rest, { subject: subjects.changeDecided(orb, set), data: id, rollup: true }];
}

/**
 * Returns the fence of a definition that waits for the publication of a change set; undefined if the set is not
 * published.
 */
export async function decidedFence(
  deps: Pick<Deps, "store">,
  { orb, next }: { orb: string; next?: (Waiting & { incarnation: number }) | undefined },
  consistency: Consistency = "leader",
): Promise<Fence | undefined> {
  if (next === undefined) return undefined;
  try {
    const last = await deps.store.get(streams.orb(orb), subjects.changeDecided(orb, next.set), {
      consistency,
    });
    // The message follows those of the fence.
    return last?.text() === next.id ? { incarnation: next.incarnation, seq: last.seq - 1 } : undefined;
  } catch (error) {
    if (error instanceof StreamMissing) return undefined;
    throw error;
  }
}

/**
 * Replaces the messages of the fence, so that the broker rejects every write that was validated before.
 * @param revision revision of the application, for one that has no fence yet
 * @throws Conflict if another process moved the fence at the same time
 */
export async function moveFence(
  deps: Pick<Deps, "store">,
  orb: string,
  from: Fence | undefined,
  revision: number,
  options: { expect?: Fence | undefined } = {},
): Promise<Fence> {
  const incarnation = from?.incarnation ?? revision;
  // A deleted application with the same id may come from a version without fences. Late writes to it must fail too.
  const legacy =
    from === undefined && incarnation !== UNFENCED.incarnation ? partsOf(orb, UNFENCED.incarnation) : [];
  const expected = options.expect === undefined ? undefined : partOf(orb, options.expect, 0);
  const messages = [...legacy, ...partsOf(orb, incarnation)].map((message) =>
    message.subject === expected?.subject ? { ...message, expect: { seq: expected.seq } } : message,
  );
  // In a stream that was cut, the new messages can take the sequences of the previous ones.
  for (;;) {
    const seq = await deps.store.batch(streams.orb(orb), messages);
    if (seq !== from?.seq) return { incarnation, seq };
  }
}
