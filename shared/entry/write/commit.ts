/** Sends the messages of a write to the broker. */
import { fenceGuard } from "../../definition/stored/fence.ts";
import type { Deps } from "../../deps.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { BATCH_LIMIT } from "../../store/types.ts";
import { isUniqueKey } from "../model/index-keys.ts";
import { keyMessages, lateMarks } from "../model/key-messages.ts";
import { type EntryWrite, messagesOf, onlyHints } from "../model/messages.ts";
import type { OrbContext } from "../model/resolve.ts";
import { appendFenced } from "./fenced.ts";

/**
 * Commits a write if the definition that decided it is still active (the fence). The form depends on the write:
 *
 * - The head alone is one message.
 * - A new entry without reservations is a pipeline of messages: hints first, the head last. If it breaks off, readers
 *   skip the hints, because they have no head.
 * - Everything else is one atomic batch. Index messages for which the batch has no room are deleted afterwards.
 *
 * @param by the definition that decided the write
 * @param options.atomic always commit atomically
 * @returns the sequence of the resulting snapshot
 * @throws Conflict when the head, a reservation, a guard or the fence has moved; nothing was written
 */
export async function commit(
  deps: Deps,
  by: OrbContext,
  write: EntryWrite,
  options: { atomic?: boolean } = {},
): Promise<number> {
  const stream = streams.orb(write.address.orb);
  const fence = fenceGuard(by.orb, by.fence);
  const alone = messagesOf(write);
  const [only] = alone;
  if (alone.length === 1 && only !== undefined) return appendFenced(deps, by, write, [only]);
  // With replicas, a batch costs little more than a pipeline, and a refused batch leaves no hints behind.
  if (options.atomic !== true && deps.config.replicas === 1 && onlyHints(write)) {
    // The id is new, so the head can expect the fence instead of an empty subject.
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
 * Over many writes an entry can collect more index keys than one batch can delete. This deletes the keys that are
 * mere hints after the batch. Each of these batches expects the head, because the next write may need the keys again.
 * Readers skip a hint that stays.
 */
async function sendLarge(deps: Deps, write: EntryWrite): Promise<number> {
  const { address, claims } = write;
  const stream = streams.orb(address.orb);
  const frees = claims.frees.filter(isUniqueKey);
  const seq = await deps.store.batch(stream, messagesOf({ ...write, claims: { ...claims, frees } }));
  const later = { adds: [], frees: claims.frees.filter((key) => !isUniqueKey(key)) };
  const messages = [...keyMessages(address, later), ...lateMarks(address, later)];
  const expect = { subject: subjects.entryLog(address), seq };
  try {
    for (let i = 0; i < messages.length; i += BATCH_LIMIT) {
      const [first, ...rest] = messages.slice(i, i + BATCH_LIMIT);
      if (first !== undefined) await deps.store.batch(stream, [{ ...first, expect }, ...rest]);
    }
  } catch {
    // The write has succeeded. Hints that could not be deleted do no harm.
  }
  return seq;
}
