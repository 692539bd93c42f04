import type { EntryOperation } from "../../access/credentials/index.ts";
import { fenceGuard } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { batchTooLarge } from "../../store/errors.ts";
import { writesApart } from "../../store/policy.ts";
import { type EntryAddress, streams, subjects } from "../../store/subjects.ts";
import { BATCH_LIMIT } from "../../store/types.ts";
import { tendWritten } from "../listed/index.ts";
import {
  type EntrySnapshot,
  type EntryWrite,
  isOneMessage,
  isUniqueKey,
  keyMessages,
  lateMarks,
  messagesOf,
  type OrbContext,
  onlyHints,
  onlyOrdered,
} from "../model/index.ts";
import { tendIndexes } from "../ordered/index.ts";
import { appendFenced } from "./fenced.ts";

/** Where decided writes go instead of the entries: into a change set, for example. */
export interface Destination {
  /** Returns the operations that the caller must be permitted to do for a write that takes `acts` in the orb itself. */
  acts(acts: readonly EntryOperation[]): readonly EntryOperation[];
  /**
   * Stores a decided write.
   * @returns the revision that the response shows, and the sequence number of its message
   * @throws Conflict if what the write is based on has changed; nothing was written
   */
  store(deps: Deps, by: OrbContext, write: EntryWrite): Promise<{ snapshot: EntrySnapshot; seq: number }>;
  /** Returns the newest revision of an entry in the orb itself; null if there is none. */
  newest(by: OrbContext, address: EntryAddress): Promise<EntrySnapshot | null>;
}

/**
 * Commits a write, but only if the definition that it was validated with is still active. A new entry without unique
 * values is sent as separate messages, its revision last, because this is faster than a batch. Most other writes are
 * one atomic batch.
 * @param by the definition that the write was validated with
 * @param options.atomic whether to send an atomic batch in any case. Without it, a draft may stay although the commit
 *   throws Conflict: if the definition has changed, and another process changes the draft before it is undone.
 * @returns the sequence number of the new revision
 * @throws Conflict if the entry, a unique value, a guarded subject or the definition has changed
 */
export async function commit(
  deps: Deps,
  by: OrbContext,
  write: EntryWrite,
  options: { atomic?: boolean } = {},
): Promise<number> {
  const seq = await send(deps, by, write, options);
  tendIndexes(deps, by, write.address, write.claims.adds);
  tendWritten(deps, by, write);
  return seq;
}

async function send(
  deps: Deps,
  by: OrbContext,
  write: EntryWrite,
  options: { atomic?: boolean },
): Promise<number> {
  const stream = streams.orb(write.address.orb);
  const fence = fenceGuard(by.orb, by.fence);
  const separate = options.atomic !== true && writesApart(deps);
  // Index changes may be stored before the revision, because readers of an ordered index compare each change with the
  // entry. So an atomic batch is not needed here.
  if ((isOneMessage(write) && options.atomic !== true) || (separate && onlyOrdered(write)))
    return appendFenced(deps, by, write, messagesOf(write));
  if (separate && onlyHints(write)) {
    const messages = messagesOf(write);
    const revision = messages.pop();
    // A message can have only one condition. No other process writes to the log of a new entry, so use the condition to
    // check that the definition is unchanged.
    if (revision !== undefined) messages.push({ ...revision, expect: fence });
    return (await deps.store.pipeline(stream, messages)).at(-1) ?? 0;
  }
  const fenced = { ...write, guards: [...(write.guards ?? []), fence] };
  const messages = messagesOf(fenced);
  return messages.length > BATCH_LIMIT ? sendLarge(deps, fenced) : deps.store.batch(stream, messages);
}

/**
 * Commits a write that needs more messages than a batch allows. The first batch contains the write, and further batches
 * delete the remaining index keys. If a further batch fails, outdated keys remain, which readers ignore.
 */
async function sendLarge(deps: Deps, write: EntryWrite): Promise<number> {
  const { address, claims } = write;
  const stream = streams.orb(address.orb);
  const frees = claims.frees.filter(isUniqueKey);
  const first = messagesOf({ ...write, claims: { ...claims, frees } });
  if (first.length > BATCH_LIMIT) throw batchTooLarge(BATCH_LIMIT);
  const seq = await deps.store.batch(stream, first);
  const later = { adds: [], frees: claims.frees.filter((key) => !isUniqueKey(key)) };
  const messages = [...keyMessages(address, later), ...lateMarks(address, later)];
  const expect = { subject: subjects.entryLog(address), seq };
  try {
    for (let i = 0; i < messages.length; i += BATCH_LIMIT) {
      const [first, ...rest] = messages.slice(i, i + BATCH_LIMIT);
      if (first !== undefined) await deps.store.batch(stream, [{ ...first, expect }, ...rest]);
    }
  } catch {
    // The write itself has succeeded. Readers ignore the keys that could not be deleted.
  }
  return seq;
}
