/** Moves live copies of entries to the subjects of another audience. */
import type { Deps } from "../deps.ts";
import { type LiveRole, streams, subjects } from "../store/subjects.ts";
import { type Append, Conflict } from "../store/types.ts";
import { publishedOf } from "./held.ts";
import { type LoadedEntry, loaded } from "./resolve.ts";
import { cancelMessages, leave, publishMessages } from "./schedules.ts";
import { visible } from "./snapshot.ts";

/**
 * Moves the live copies of some entries of one orb. The entries must fit into one batch.
 * @param to null takes it away
 */
export async function moveEntries(
  deps: Deps,
  entries: readonly LoadedEntry[],
  from: LiveRole | null,
  to: LiveRole | null,
): Promise<number> {
  const orb = entries[0]?.address.orb;
  if (orb === undefined) return 0;
  const messages = (await Promise.all(entries.map((entry) => moveMessages(deps, entry, from, to)))).flat();
  if (messages.length === 0) return 0;
  try {
    await deps.store.batch(streams.orb(orb), messages);
    return entries.length;
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
  }
  // Another writer changed one of them. Move each entry by itself, from its current state.
  let moved = 0;
  for (const entry of entries) {
    for (let attempt = 0; attempt < 8; attempt++) {
      const log = subjects.entryLog(entry.address);
      const now = loaded(await deps.store.get(streams.orb(orb), log));
      if (now === null) break;
      const some = now.head.publishedRevision === null ? [] : await moveMessages(deps, now, from, to);
      if (some.length === 0) break;
      try {
        await deps.store.batch(streams.orb(orb), some);
        moved++;
        break;
      } catch (error) {
        if (!(error instanceof Conflict) || attempt === 7) throw error;
      }
    }
  }
  return moved;
}

/** The messages that move one entry; the head must not move meanwhile. */
async function moveMessages(
  deps: Deps,
  entry: LoadedEntry,
  from: LiveRole | null,
  to: LiveRole | null,
): Promise<Append[]> {
  const published = await publishedOf(deps, entry);
  if (published === null) return [];
  const now = deps.clock.now();
  const at = new Date(now).toISOString();
  const guard = { subject: subjects.entryLog(entry.address), seq: entry.seq };
  const out = from === null ? [] : [leave(entry.address, from, published, at)];
  const closed = published.liveTo !== null && Date.parse(published.liveTo) <= now;
  const shown = visible(entry.head, now) || !closed;
  const there = () =>
    to === null
      ? cancelMessages(entry.address, entry.head)
      : publishMessages(entry.address, to, published, null, now);
  const messages = shown ? there().map((message) => ({ ...message, rollup: true })) : [];
  return [...out, ...messages].map((message, index) =>
    index === 0 ? { ...message, expect: guard } : message,
  );
}
