/** Sends the messages of a write as one act. */
import type { Deps } from "../deps.ts";
import { streams } from "../store/subjects.ts";
import { followNewer } from "./follow.ts";
import { type EntryWrite, messagesOf, onlyHints } from "./messages.ts";
import type { OrbContext } from "./resolve.ts";

/**
 * Commits a write. What changes only the head is one message; a new entry without claims is messages in a row, hints
 * first and truth last; everything else is one atomic batch.
 * @param by the definition that it was decided by: should a newer one be in force by now, the entry follows that
 * @param options.whole one act in any case
 * @returns the sequence of the resulting snapshot
 * @throws Conflict when the head, a claim or a guard moved: nothing was written
 */
export async function commit(
  deps: Deps,
  by: OrbContext,
  write: EntryWrite,
  options: { whole?: boolean } = {},
): Promise<number> {
  const seq = await send(deps, write, options.whole === true);
  followNewer(deps, by, [write.address]);
  return seq;
}

async function send(deps: Deps, write: EntryWrite, whole: boolean): Promise<number> {
  const stream = streams.orb(write.address.orb);
  const messages = messagesOf(write);
  const only = messages[0];
  if (messages.length === 1 && only !== undefined) return deps.store.append(stream, only);
  if (!whole && onlyHints(write)) {
    const sequences = await deps.store.pipeline(stream, messages);
    return sequences.at(-1) ?? 0;
  }
  return deps.store.batch(stream, messages);
}
