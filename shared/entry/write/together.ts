/** Commits the writes of several entries in one atomic batch. */
import { fenceGuard } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { streams, subjects, TOGETHER } from "../../store/subjects.ts";
import { type Append, BATCH_LIMIT, Conflict } from "../../store/types.ts";
import { tendWritten } from "../listed/index.ts";
import { type EntryWrite, type Guard, guard, messagesOf, type OrbContext } from "../model/index.ts";
import { tendIndexes } from "../ordered/index.ts";

export interface TogetherOptions {
  /** Maximum messages of the batch. */
  messages: number;
  /** Returns the error for a batch of more messages. */
  tooMany(messages: number): AppError;
  /** Whether readers see all writes or none. Their requests read again if the writes come between two reads. */
  isWhole?: boolean;
  /** The last messages of the batch, if they check that the definition is still active. */
  last?: readonly Append[] | undefined;
}

/**
 * Commits the writes of different entries, all or none, but only if the definition that they were validated with is
 * still active.
 * @param more further messages of the batch
 * @param options.last the last messages, if they check the definition themselves
 * @throws Conflict if an entry, a unique value, a guarded subject or the definition has changed; nothing was written
 * @throws AppError too_large `batch_too_large`
 */
export async function commitTogether(
  deps: Deps,
  by: OrbContext,
  writes: readonly EntryWrite[],
  more: readonly Append[],
  { messages: most, tooMany, isWhole, last }: TogetherOptions = {
    messages: BATCH_LIMIT,
    tooMany: batchTooLarge,
  },
): Promise<void> {
  const guards = last === undefined ? [fenceGuard(by.orb, by.fence)] : [];
  const messages = [...more, ...messagesTogether(writes, guards), ...(last ?? [])];
  if (messages.length > most) throw tooMany(messages.length);
  await deps.store.batch(streams.orb(by.orb), isWhole === true ? messages.map(marked) : messages);
  for (const write of writes) {
    tendIndexes(deps, by, write.address, write.claims.adds);
    tendWritten(deps, by, write);
  }
}

const marked = (message: Append): Append => ({
  ...message,
  headers: { ...message.headers, [TOGETHER]: "1" },
});

function batchTooLarge(messages: number): AppError {
  const detail = `Together, the items need ${messages} messages, and one atomic write holds ${BATCH_LIMIT}. Send fewer items, or split them into two requests.`;
  return new AppError("too_large", "batch_too_large", detail);
}

/** Returns the messages of all writes, each condition once. */
function messagesTogether(writes: readonly EntryWrite[], conditions: readonly Guard[]): Append[] {
  const [first] = writes;
  if (first === undefined) return [];
  const heads = new Map(writes.map(({ address, headSeq }) => [subjects.entryLog(address), headSeq]));
  const guards = [...conditions];
  const messages = writes.flatMap((write) => {
    const carried: Guard[] = [];
    for (const one of write.guards ?? []) {
      const own = heads.get(one.subject);
      if (one.carriers !== undefined) carried.push(one);
      // The batch writes this entry itself, so its own condition checks the entry.
      else if (own === undefined) guards.push(one);
      else if (own !== one.seq) throw new Conflict();
    }
    return messagesOf({ ...write, guards: carried });
  });
  return guard(first.address, onceEach(messages), guards);
}

/**
 * Returns messages in which no subject is replaced twice, because the broker refuses that. The last message wins, with
 * the condition of the first one. If one entry frees a unique value and another one takes it, only the second message
 * stays.
 */
export function onceEach(messages: readonly Append[]): Append[] {
  const taken = new Set(
    messages.flatMap(({ subject, rollup, expect }) =>
      rollup !== true && expect !== undefined ? [subject] : [],
    ),
  );
  const at = new Map<string, number>();
  const out: Append[] = [];
  for (const message of messages) {
    const { subject, rollup, expect } = message;
    if (rollup === true && taken.has(subject)) continue;
    const index = rollup === true ? at.get(subject) : undefined;
    const before = index === undefined ? undefined : out[index];
    if (index === undefined || before === undefined) {
      if (rollup === true) at.set(subject, out.length);
      out.push(message);
      continue;
    }
    if (expect?.seq !== before.expect?.seq) throw new Conflict();
    out[index] = message;
  }
  return out;
}
