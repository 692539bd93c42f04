/** Sends the messages of a write as one act. */
import { fenceGuard } from "../../definition/stored/fence.ts";
import type { Deps } from "../../deps.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { BATCH_LIMIT } from "../../store/types.ts";
import { claimMessages, isUniqueKey, lateMarks } from "../model/claims.ts";
import { type EntryWrite, messagesOf, onlyHints } from "../model/messages.ts";
import type { OrbContext } from "../model/resolve.ts";
import { appendFenced } from "./fenced.ts";

/**
 * Commits a write if the definition that it was decided by is still in force. A write of the head alone is one message. A new
 * entry without claims is several messages in a row, hints first and the head last. Everything else is one atomic batch, but for
 * index messages that the batch has no room to free.
 * @param by the definition that the write was decided by
 * @param options.whole one act in any case
 * @returns the sequence of the resulting snapshot
 * @throws Conflict when the head, a claim, a guard or the fence moved: nothing was written
 */
export async function commit(
  deps: Deps,
  by: OrbContext,
  write: EntryWrite,
  options: { whole?: boolean } = {},
): Promise<number> {
  const stream = streams.orb(write.address.orb);
  const fence = fenceGuard(by.orb, by.fence);
  const alone = messagesOf(write);
  const [only] = alone;
  if (alone.length === 1 && only !== undefined) return appendFenced(deps, by, write, [only]);
  // With replicas a batch costs little more, and a refused write leaves no hints.
  if (options.whole !== true && deps.config.replicas === 1 && onlyHints(write)) {
    // No other entry has its id, so the head can expect the fence instead of an empty subject.
    const messages = alone.map((message, at) =>
      at === alone.length - 1 ? { ...message, expect: fence } : message,
    );
    return (await deps.store.pipeline(stream, messages)).at(-1) ?? 0;
  }
  const fenced = { ...write, guards: [...(write.guards ?? []), fence] };
  const messages = messagesOf(fenced);
  return messages.length > BATCH_LIMIT ? sendLarge(deps, fenced) : deps.store.batch(stream, messages);
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
