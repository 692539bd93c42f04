/**
 * The fence of an orb: a fencing token that makes the broker refuse a write under an outdated definition, or for a
 * deleted orb with the same id. Each activation of a definition moves the fence first. Each write of an entry expects
 * the fence at the sequence that its definition names.
 *
 * The fence has {@link PARTS} messages. If concurrent writes expect the same subject, a broker with replicas refuses
 * all but one, so each write expects another part. All parts move in one batch, so each part stands for the whole
 * fence.
 */
import type { Deps } from "../../deps.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { Append, Consistency } from "../../store/types.ts";
import type { Fence } from "../live-orb.ts";

/** The fence of orbs that were stored by versions without fences. */
export const UNFENCED: Fence = { incarnation: 0, seq: 0 };

/** Whether two fences belong to different orbs of one id. An orb's first fence follows an unfenced time of the same orb. */
export function isAnotherOrb(before: Fence | undefined, now: Fence | undefined): boolean {
  return before !== undefined && now?.incarnation !== before.incarnation;
}

const PARTS = 256;

/** The part that the next write expects. Concurrent writes should expect different parts. */
let next = Math.floor(Math.random() * PARTS);

function partOf(orb: string, fence: Fence, part: number): { subject: string; seq: number } {
  return {
    subject: subjects.fence(orb, fence.incarnation, part),
    seq: fence.seq === 0 ? 0 : fence.seq - (PARTS - 1) + part,
  };
}

/** Returns the expectation of a write: the next part of the fence. */
export function fenceGuard(orb: string, fence: Fence = UNFENCED): { subject: string; seq: number } {
  next = (next + 1) % PARTS;
  return partOf(orb, fence, next);
}

/**
 * Reads the position of the fence. One request; none on a host that follows the orb's stream, unless `consistency` is
 * `leader`.
 * @throws StreamMissing
 */
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

/**
 * Moves the fence, so that the broker refuses every write that was decided before.
 * @param from the last position; undefined for an orb that has no fence yet
 * @param revision names a new incarnation; revisions of an orb's history are unique
 * @param options.expect the position that the fence must still have
 * @throws Conflict when others moved it at the same moment; StreamMissing
 */
export async function moveFence(
  deps: Pick<Deps, "store">,
  orb: string,
  from: Fence | undefined,
  revision: number,
  options: { expect?: Fence | undefined } = {},
): Promise<Fence> {
  const incarnation = from?.incarnation ?? revision;
  const parts = (of: number): Append[] =>
    Array.from({ length: PARTS }, (_, part) => ({
      subject: subjects.fence(orb, of, part),
      data: "",
      rollup: true,
    }));
  // Writes for a deleted orb with this id, under a record without a fence, must fail too.
  const legacy =
    from === undefined && incarnation !== UNFENCED.incarnation ? parts(UNFENCED.incarnation) : [];
  const expected = options.expect === undefined ? undefined : partOf(orb, options.expect, 0);
  const messages = [...legacy, ...parts(incarnation)].map((message) =>
    message.subject === expected?.subject ? { ...message, expect: { seq: expected.seq } } : message,
  );
  return { incarnation, seq: await deps.store.batch(streams.orb(orb), messages) };
}
