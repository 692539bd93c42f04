/**
 * Chooses how the broker is asked, so that no other code depends on it: one batch or single messages, ahead of time or
 * only when needed. Two facts decide: whether the store keeps data in memory, and whether streams have replicas.
 */
import type { Append, Store, StoredMessage, StreamConfig } from "./types.ts";

export interface Installation {
  store: Store;
  config: { readonly replicas: number };
}

/** Returns whether the process serves many requests. Only such a process keeps data in memory. */
export const isLongLived = (store: Store): boolean => store.isCached === true;

/** Returns whether reading what may turn out useless saves a round trip. It saves none if the data is in memory. */
export const readsAhead = (store: Store): boolean => store.isCached !== true;

/** Returns whether reads may come from memory, where messages arrive a moment later than they are stored. */
export const readsMemory = (store: Store): boolean => store.isCached === true;

/** Returns whether reads may miss the newest messages of a stream, as those of a replica do. */
export const mayLag = ({ num_replicas: replicas = 1 }: StreamConfig): boolean => Number(replicas) > 1;

/** Returns whether every read sees all acknowledged writes. */
export const seesAllWrites = ({ config }: Pick<Installation, "config">): boolean => config.replicas === 1;

/**
 * Returns whether single messages are faster than an atomic batch. On a single broker, a batch takes twenty times as
 * long as a message. With replicas, a batch costs little more, and leaves nothing behind if it fails.
 */
export const writesApart = ({ config }: Pick<Installation, "config">): boolean => config.replicas === 1;

/**
 * Appends messages that are valid only while the condition of another message, the guard, holds.
 * @returns the sequence number of the last message, and whether the condition is known to have held. If it is not, the
 *   caller must check it, and undo the write if the condition did not hold.
 */
export async function appendGuarded(
  installation: Installation,
  stream: string,
  messages: readonly Append[],
  guard: Append,
): Promise<{ seq: number; held: boolean }> {
  const { store } = installation;
  if (!writesApart(installation)) return { seq: await store.batch(stream, [guard, ...messages]), held: true };
  const [only, ...more] = messages;
  const [written, behind] = await Promise.allSettled([
    only !== undefined && more.length === 0
      ? store.append(stream, only)
      : store.pipeline(stream, messages).then((sequences) => sequences.at(-1) ?? 0),
    // If the store has a cache, the caller finds what the guard checks in memory, so save the message.
    store.isCached === true ? 0 : store.append(stream, guard),
  ]);
  if (written.status === "rejected") throw written.reason;
  const seq = written.value;
  // A guard that was stored before the write, because the broker had to be asked again, says nothing of the write.
  return { seq, held: behind.status === "fulfilled" && behind.value > seq };
}

/**
 * Reads the last message of a subject only if it is newer than a known one, because it may be large. It may be read in
 * any case if it is in memory.
 * @returns null if there is no message; undefined if there is none that is newer
 */
export async function readNewer(
  store: Store,
  stream: string,
  subject: string,
  known: { seq: number; maxBytes: number },
): Promise<StoredMessage | null | undefined> {
  const last = () => store.get(stream, subject, { consistency: "stale" });
  if (store.isCached === true) return last();
  const { seq, maxBytes } = known;
  const { messages, pending } = await store.scan(stream, subject, { fromSeq: seq + 1, limit: 1, maxBytes });
  return messages[0] ?? (pending === 0 ? undefined : last());
}
