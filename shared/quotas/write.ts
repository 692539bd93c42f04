import type { Actor } from "../access/actor.ts";
import type { Deps } from "../deps.ts";
import { countGuess, type Guesses, releaseGuess } from "./guesses.ts";
import { chargeOnce } from "./paid.ts";
import { countBytes, countWrite, isCounted } from "./quotas.ts";
import { requireFileStorage, requireStorage } from "./storage.ts";

/**
 * Counts a write against the rate limits, then executes it.
 * @param writes number of entries that it writes
 */
export async function counted<T>(
  deps: Deps,
  actor: Actor,
  orb: string,
  write: () => Promise<T>,
  writes = 1,
): Promise<T> {
  await countWrite(deps, actor, orb, writes);
  try {
    const written = await write();
    releaseGuess(deps);
    return written;
  } catch (error) {
    releaseGuess(deps, error);
    throw error;
  }
}

/**
 * Counts the bytes of a write, and its new unique values, against the quotas of the caller. Call this before the commit,
 * because a commit that fails tells the caller that another entry has the value.
 * @param values.publish whether the values are those of a published revision
 * @param values.guesses unique fields whose new values the caller may not read in other entries
 */
export async function countValues(
  deps: Deps,
  actor: Actor,
  orb: string,
  values: { bytes: number; publish: boolean; guesses: Guesses },
): Promise<void> {
  if (!isCounted(actor)) return;
  await chargeOnce(deps, values.publish ? "live" : "draft", values.bytes, async (bytes) => {
    await requireStorage(deps, orb, bytes);
    await countBytes(deps, actor, bytes);
  });
  await countGuess(deps, actor, orb, values.guesses);
}

/** Approximate bytes of the messages that describe a file. */
const RECORD_BYTES = 2048;

/**
 * Counts an upload against the rate limits, then executes it. Rejects the upload if the application has no room for
 * the record that describes the file.
 */
export function countedFile<T>(deps: Deps, actor: Actor, orb: string, write: () => Promise<T>): Promise<T> {
  return counted(deps, actor, orb, async () => {
    if (isCounted(actor)) await requireStorage(deps, orb, RECORD_BYTES);
    return write();
  });
}

/**
 * Checks that the application's file storage has room, and counts the bytes of a part of a file towards the limit of
 * the caller.
 */
export async function countFileBytes(deps: Deps, actor: Actor, orb: string, bytes: number): Promise<void> {
  if (!isCounted(actor)) return;
  await requireFileStorage(deps, orb, bytes);
  await countBytes(deps, actor, bytes);
}
