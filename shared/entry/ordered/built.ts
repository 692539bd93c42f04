/** Tells whether an index still has all changes that were written before its definition became active. */
import type { KeyWork } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { type Home, streams, subjects } from "../../store/subjects.ts";

type Place = Home & { orb: string };

/**
 * For each index that got keys, returns the sequence number of its first change after `since`. The number is 0 if
 * another process has erased the changes already.
 */
export async function firstChanges(
  { store }: Pick<Deps, "store">,
  place: Place,
  fields: readonly string[],
  since: number,
): Promise<Record<string, number>> {
  const found = fields.map(async (field) => {
    const log = subjects.orderedLog(place, field);
    const message = await store.nextMessage(streams.orb(place.orb), log, since + 1);
    return [field, message?.seq ?? 0] as const;
  });
  return Object.fromEntries(await Promise.all(found));
}

/**
 * Returns whether no process has erased or compacted one of the indexes since these changes were written. The work for
 * an earlier definition, which another process does late, may erase an index of the same name. So may another
 * publication that builds it.
 * @param built.since sequence number of the stream before the indexes were written
 * @param built.first for each index, the sequence number of its first change
 * @param built.roots for each index that was built as a whole, the sequence number of its root
 */
export async function isUntouched(
  { store }: Pick<Deps, "store">,
  place: Place,
  { since, first = {}, roots = {} }: Pick<KeyWork, "first" | "roots"> & { since: number },
): Promise<boolean> {
  const stream = streams.orb(place.orb);
  const all = Object.entries(first).map(async ([field, seq]) => {
    const [message, root] = await Promise.all([
      store.nextMessage(stream, subjects.orderedLog(place, field), Math.max(1, seq)),
      store.get(stream, subjects.orderedRoot(place, field)),
    ]);
    const built = roots[field];
    // A root of another process may say that the changes before it are erased, even if later ones are left.
    const isSameRoot = built === undefined ? root === null || root.seq <= since : root?.seq === built;
    return message?.seq === seq && isSameRoot;
  });
  return (await Promise.all(all)).every(Boolean);
}
