/** Sends the messages of a write as one act. */
import type { Deps } from "../deps.ts";
import { streams, subjects } from "../store/subjects.ts";
import { BATCH_LIMIT } from "../store/types.ts";
import { claimMessages, isUniqueKey, lateMarks } from "./claims.ts";
import { followNewer } from "./follow.ts";
import { type EntryWrite, messagesOf, onlyHints } from "./messages.ts";
import type { OrbContext } from "./resolve.ts";

/**
 * Commits a write. What changes only the head is one message; a new entry without claims is messages in a row, hints
 * first and truth last; everything else is one atomic batch, but for index messages that it has no room to free.
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
  return messages.length > BATCH_LIMIT ? sendLarge(deps, write) : deps.store.batch(stream, messages);
}

/**
 * An entry may come to hold more, write by write, than one act can free. What is a mere hint is freed behind the act, as
 * long as nobody writes the entry: he could hold it again. One that stays is passed over by readers.
 */
async function sendLarge(deps: Deps, write: EntryWrite): Promise<number> {
  const { address, claims } = write;
  const stream = streams.orb(address.orb);
  const frees = claims.frees.filter(isUniqueKey);
  const seq = await deps.store.batch(stream, messagesOf({ ...write, claims: { ...claims, frees } }));
  const later = { adds: [], frees: claims.frees.filter((key) => !isUniqueKey(key)) };
  const messages = [...claimMessages(address, later), ...lateMarks(address, later)];
  const expect = { subject: subjects.entryLog(address), seq };
  try {
    for (let i = 0; i < messages.length; i += BATCH_LIMIT) {
      const [first, ...rest] = messages.slice(i, i + BATCH_LIMIT);
      if (first !== undefined) await deps.store.batch(stream, [{ ...first, expect }, ...rest]);
    }
  } catch {
    // The write stands, whatever became of these.
  }
  return seq;
}
