import type { Fence } from "../../definition/live-orb.ts";
import { fenceGuard } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { untilWritten } from "../../store/pages.ts";
import { type LiveRole, streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict } from "../../store/types.ts";
import { liveTombstone, publishMessages, storedPublished } from "../index/index.ts";
import { GONE_SECONDS, parseEntry, type StoredEntry, visible } from "../model/index.ts";

export interface Move {
  from: LiveRole | null;
  to: LiveRole;
  fence: Fence | undefined;
}

/**
 * Moves the published copies of entries to another subject, after a change of who may read them. Returns the number of
 * moved entries.
 */
export async function moveEntries(deps: Deps, entries: readonly StoredEntry[], move: Move): Promise<number> {
  const orb = entries[0]?.address.orb;
  if (orb === undefined) return 0;
  const messages = (await Promise.all(entries.map((entry) => moveMessages(deps, entry, move)))).flat();
  if (messages.length === 0) return 0;
  try {
    await deps.store.batch(streams.orb(orb), fenced(orb, move.fence, messages));
    return entries.length;
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
  }
  let moved = 0;
  for (const entry of entries) {
    await untilWritten(async () => {
      const log = subjects.entryLog(entry.address);
      const now = parseEntry(await deps.store.get(streams.orb(orb), log));
      if (now === null || now.head.publishedRevision === null) return;
      const some = await moveMessages(deps, now, move);
      if (some.length === 0) return;
      await deps.store.batch(streams.orb(orb), fenced(orb, move.fence, some));
      moved++;
    });
  }
  return moved;
}

async function moveMessages(deps: Deps, entry: StoredEntry, { from, to }: Move): Promise<Append[]> {
  const published = await storedPublished(deps, entry);
  if (published === null) return [];
  const now = deps.clock.now();
  const at = new Date(now).toISOString();
  const guard = { subject: subjects.entryLog(entry.address), seq: entry.seq };
  const out =
    from === null ? [] : [liveTombstone(entry.address, from, { ...published, change: undefined }, at)];
  const closed = published.liveTo !== null && Date.parse(published.liveTo) <= now;
  const shown = visible(entry.head, now) || !closed;
  const there = () => publishMessages(entry.address, to, published, null, now);
  const messages = shown ? there().map((message) => ({ ...message, rollup: true })) : [];
  return [...out, ...messages].map((message, index) =>
    index === 0 ? { ...message, expect: guard } : message,
  );
}

/** Adds a message to a batch. With this message, the broker rejects the batch if the definition is no longer active. */
export function fenced(orb: string, fence: Fence | undefined, messages: readonly Append[]): Append[] {
  if (fence === undefined) return [...messages];
  const subject = subjects.guard(orb, "move", 0);
  return [{ subject, data: "", ttl: GONE_SECONDS, expect: fenceGuard(orb, fence) }, ...messages];
}
