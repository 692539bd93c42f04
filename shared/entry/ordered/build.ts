/**
 * Builds an ordered index of all entries at once, before the definition that has the index is active. Sorted pages are
 * written directly: a log of so many changes would have to be written, read again and sorted by compactions.
 */
import type { Fence } from "../../definition/live-orb.ts";
import type { Deps } from "../../deps.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";
import { appendChange, writeRoot } from "./changes.ts";
import { LIMITS, newPages } from "./compact.ts";
import { settled } from "./levels.ts";
import { type OrderedField, type PagePlace, type Pair, rootBody, sortedPairs } from "./pages.ts";
import { removeIndex } from "./remove.ts";

/** Pairs whose pages one atomic batch writes: less than the broker accepts in messages and in bytes. */
const PAIRS_PER_BATCH = 24_000;

/**
 * Writes an index that no active definition has. Erases what an interrupted publication has left of it.
 * @param fence the fence of the definition before
 * @returns the sequence number of the root, if there are pairs. As long as it stays the last one, no process has erased or changed the index
 * @throws Conflict if another definition has become active, or if another process builds the index too
 */
export async function buildIndex(
  deps: Pick<Deps, "store">,
  index: OrderedField,
  fence: Fence | undefined,
  pairs: readonly Pair[],
): Promise<number | undefined> {
  const sorted = sortedPairs(pairs);
  const [some] = sorted;
  if (some === undefined) return undefined;
  const before = await clear(deps, index, fence);
  // Readers find the last change that the root includes in the log. So the log has one of the pairs too.
  const writer = { deps, index, fence };
  const upTo = await appendChange(writer, { id: some.id, adds: [some.value], drops: [] });
  const places: PagePlace[] = [];
  let seq = before?.seq ?? 0;
  for (let at = 0; at < sorted.length; at += PAIRS_PER_BATCH) {
    const made = newPages(index, LIMITS, sorted.length, sorted.slice(at, at + PAIRS_PER_BATCH));
    places.push(...made.places);
    const levels = settled([places], LIMITS);
    const body = rootBody({ upTo, dead: 1, levels, recent: [], gone: [] });
    seq = await writeRoot(writer, seq, made.messages, { upTo, body });
  }
  return seq;
}

/** Erases what is left of an earlier index of this name. Returns the last root. */
async function clear(
  deps: Pick<Deps, "store">,
  index: OrderedField,
  fence: Fence | undefined,
): Promise<StoredMessage | null> {
  const { store } = deps;
  const stream = streams.orb(index.orb);
  const root = () => nullIfMissing(store.get(stream, subjects.orderedRoot(index, index.field)));
  const [found, change] = await Promise.all([
    root(),
    store.nextMessage(stream, subjects.orderedLog(index, index.field), 1),
  ]);
  if (found === null && change === null) return null;
  await removeIndex(deps, index, fence, async (filter, end) => {
    await store.purge(stream, filter, { beforeSeq: end });
  });
  return root();
}
