/** What each write of an entry passes. */
import type { Actor } from "../access/actor.ts";
import type { Deps } from "../deps.ts";
import { countGuess, settleGuess } from "./guesses.ts";
import { countBytes, countWrite, isCounted } from "./quotas.ts";
import { takeRoom } from "./room.ts";

/**
 * Counts a write of an actor who may write, and does it.
 * @throws AppError too_many `too_many_writes`, and what the write throws
 */
export async function counted<T>(deps: Deps, actor: Actor, orb: string, write: () => Promise<T>): Promise<T> {
  await countWrite(deps, actor, orb);
  try {
    const written = await write();
    settleGuess(deps);
    return written;
  } catch (error) {
    settleGuess(deps, error);
    throw error;
  }
}

/**
 * Counts what a write is about to store, before anything of it is known to others or of others.
 * @param values.bytes of all values
 * @param values.guesses the field of each value that must be unique and is sensitive, and that the entry did not hold before
 * @throws AppError too_many `too_many_bytes`, `too_many_conflicts`; full `orb_full`
 */
export async function countValues(
  deps: Deps,
  actor: Actor,
  orb: string,
  values: { bytes: number; guesses: readonly string[] },
): Promise<void> {
  if (!isCounted(actor)) return;
  await takeRoom(deps, orb, values.bytes);
  await countBytes(deps, actor, values.bytes);
  await countGuess(deps, actor, orb, values.guesses);
}
