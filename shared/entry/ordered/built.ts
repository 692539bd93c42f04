/** Tells whether an index still has all changes that were written before its definition became active. */
import type { Deps } from "../../deps.ts";
import { type Home, streams, subjects } from "../../store/subjects.ts";

type Place = Home & { orb: string };

/** For each index, returns the sequence number of its first change after `since`. Omits indexes without any. */
export async function firstChanges(
  { store }: Pick<Deps, "store">,
  place: Place,
  fields: readonly string[],
  since: number,
): Promise<Record<string, number>> {
  const found = fields.map(async (field) => {
    const log = subjects.orderedLog(place, field);
    return { field, message: await store.nextMessage(streams.orb(place.orb), log, since + 1) };
  });
  const first: Record<string, number> = {};
  for (const { field, message } of await Promise.all(found)) if (message !== null) first[field] = message.seq;
  return first;
}

/**
 * Returns whether no process has erased or compacted one of the indexes since these changes were written. The work for
 * an earlier definition, which another process does late, may erase an index of the same name.
 * @param first for each index, the sequence number of its first change
 * @param roots for each index that was built as a whole, the sequence number of its root
 */
export async function isUntouched(
  { store }: Pick<Deps, "store">,
  place: Place,
  first: Readonly<Record<string, number>>,
  roots: Readonly<Record<string, number>>,
): Promise<boolean> {
  const stream = streams.orb(place.orb);
  const all = Object.entries(first).map(async ([field, seq]) => {
    const [message, root] = await Promise.all([
      store.nextMessage(stream, subjects.orderedLog(place, field), seq),
      store.get(stream, subjects.orderedRoot(place, field)),
    ]);
    const built = roots[field];
    const isSameRoot = built === undefined ? root === null || root.seq < seq : root?.seq === built;
    return message?.seq === seq && isSameRoot;
  });
  return (await Promise.all(all)).every(Boolean);
}
