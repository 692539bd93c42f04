/**
 * Compares live indexes with the entries. An instance of an older version does not change the index when it publishes
 * or deletes an entry, for example while an update of several instances is under way.
 */

import { pause } from "../../kernel/pause.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { Store } from "../../store/types.ts";
import { isSameListing, type Listing, listingOf, parseEntry } from "../model/index.ts";
import type { OrderedField } from "../ordered/index.ts";
import { readListings } from "./build.ts";
import { isOver } from "./pages.ts";
import { openLive, readLivePages } from "./scan.ts";

/** A write may come between the reads of an entry and of the index. So this many further reads must find a difference. */
const LOOKS = 3;
const LOOK_AGAIN_MS = 500;

/** Returns how the index lists each entry, or undefined if it cannot be read. */
async function listed(store: Store, index: OrderedField): Promise<Map<string, Listing> | undefined> {
  const state = await openLive(store, index);
  if (typeof state === "string") return undefined;
  const all = new Map<string, Listing>();
  for (const page of state.root.pages) {
    const [places = []] = await readLivePages(store, index, [page], "leader");
    for (const { id, listing } of places) all.set(id, listing);
  }
  for (const [id, { after }] of state.corrections) all.set(id, after);
  return all;
}

/**
 * Returns whether the index lists the entries as their newest revisions say.
 * @param since compares only entries that were written after this sequence number of the stream; 0 for all of them
 */
export async function isLiveComplete(
  store: Store,
  index: OrderedField,
  since: number,
  now: () => number,
): Promise<boolean> {
  const differs = (a: Listing, b: Listing) => !isSameListing(a, b) && !(isOver(a, now()) && isOver(b, now()));
  const wanted =
    since === 0
      ? await readListings(store, index)
      : await readListings(store, index, subjects.schemaLogs(index), since + 1);
  const found = await listed(store, index);
  if (found === undefined) return false;
  const ids = new Set(since === 0 ? [...found.keys(), ...wanted.keys()] : wanted.keys());
  let doubtful = [...ids].filter((id) => differs(wanted.get(id)?.[1] ?? 0, found.get(id) ?? 0));
  for (let look = 0; look < LOOKS && doubtful.length > 0; look++) {
    await pause(LOOK_AGAIN_MS);
    const again = await listed(store, index);
    if (again === undefined) return false;
    const still: string[] = [];
    for (const id of doubtful) {
      const log = subjects.entryLog({ ...index, id });
      const head = parseEntry(await nullIfMissing(store.get(streams.orb(index.orb), log)))?.head;
      if (differs(listingOf(head), again.get(id) ?? 0)) still.push(id);
      // One difference is enough to build the index again.
      if (still.length > 0 && look === LOOKS - 1) return false;
    }
    doubtful = still;
  }
  return doubtful.length === 0;
}
