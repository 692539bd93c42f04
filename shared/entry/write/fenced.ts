/**
 * Makes sure that no write commits under an outdated definition of the application. Each new definition replaces a
 * certain message, the fence. A write succeeds only if the fence of its own definition is still there.
 *
 * The message with a new revision already expects that the entry's log is unchanged. A message can have only one
 * expectation, so it cannot also expect the fence. An extra message, the guard, expects the fence. If the store does not
 * send it in the same batch, the platform undoes the write if the broker rejects the guard.
 */

import type { Actor } from "../../access/actor.ts";
import { fenceGuard, fenceNow, UNFENCED } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { encodeText } from "../../kernel/ids.ts";
import { countValues } from "../../quotas/write.ts";
import { nullOnConflict } from "../../store/pages.ts";
import { appendGuarded } from "../../store/policy.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict } from "../../store/types.ts";
import {
  type EntrySnapshot,
  type EntryWrite,
  GONE_SECONDS,
  isOrderedKey,
  keyMessages,
  type OrbContext,
  UNDOES,
  withStoredNames,
} from "../model/index.ts";

/** Author (`updatedBy`) of a revision that undoes another one. */
const PLATFORM = "system";

/**
 * Appends messages, and checks that the writer's definition was still active when the broker stored them. Returns the
 * sequence number of the new revision.
 * @throws Conflict if another definition was active; the write has then been undone
 */
export async function appendFenced(
  deps: Deps,
  by: OrbContext,
  write: EntryWrite,
  messages: readonly Append[],
): Promise<number> {
  const { address } = write;
  const stream = streams.orb(address.orb);
  const guard: Append = {
    subject: subjects.guard(address.orb, address.id, 0),
    data: "",
    ttl: GONE_SECONDS,
    expect: fenceGuard(by.orb, by.fence),
  };
  const { seq, held } = await appendGuarded(deps, stream, messages, guard);
  if (held) return seq;
  // If the definition changed only after the write was stored, the write is valid. Keep it.
  const { fence = UNFENCED } = by;
  const now = await fenceNow(deps, by.orb, fence, "cached");
  if (now.seq === fence.seq || now.seq > seq) return seq;
  await takeBack(deps, write, seq);
  throw new Conflict();
}

/**
 * Undoes a write: appends the previous state of the entry as a new revision, unless another process has written
 * since. In this case the write stays, so a write that must not be repeated needs an atomic batch instead.
 */
async function takeBack(
  deps: Deps,
  { address, schema, snapshots, before, undid }: EntryWrite,
  seq: number,
): Promise<void> {
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
    through: undefined,
    token: undefined,
    imported: undefined,
    values: before.values,
    claims: before.claims,
    defRevision: before.defRevision,
  };
  const message = {
    subject: subjects.entryLog(address),
    data: JSON.stringify(withStoredNames(schema, restored)),
    expect: { seq },
    headers: { [UNDOES]: String(undid ?? before.revision) },
  };
  // A compaction (a job that rebuilds an index's sorted pages) may have removed the previous values from the ordered
  // indexes already. So add them again.
  const adds = before.claims.filter((key) => isOrderedKey(key) && !made.claims.includes(key));
  const messages = [...keyMessages(address, { adds, frees: [] }), message];
  await nullOnConflict(deps.store.pipeline(streams.orb(address.orb), messages));
}

const NO_GUESSES = { secret: [], unread: [] };

/**
 * Stores what an application has beside its entries, such as change sets, in one atomic write, unless the definition of the application or what a message expects has changed.
 * @param id of what the messages are about
 * @throws Conflict
 */
export async function storeBeside(
  deps: Deps,
  actor: Actor,
  { orb, fence }: OrbContext,
  id: string,
  messages: readonly Append[],
): Promise<void> {
  const guard: Append = {
    subject: subjects.guard(orb, id, 0),
    data: "",
    ttl: GONE_SECONDS,
    expect: fenceGuard(orb, fence),
  };
  const bytes = messages.reduce(
    (sum, { data }) => sum + (typeof data === "string" ? encodeText(data) : data).length,
    0,
  );
  await countValues(deps, actor, orb, { bytes, publish: false, guesses: NO_GUESSES });
  await deps.store.batch(streams.orb(orb), [guard, ...messages]);
}
