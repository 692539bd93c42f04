import type { Append } from "../../store/types.ts";
import type { EntrySnapshot, EntryWrite, OrbContext } from "../model/index.ts";

/** Where the writes of a batch go instead of the entries: into a change set, for example. */
export interface TogetherDestination {
  /** Name of the turn in which writes to the destination follow each other on this host. */
  turn: string;
  /**
   * Stores decided writes, all or none.
   * @param more returns further messages of the atomic batch for the revisions that the response shows
   * @returns these revisions, in the order of the writes
   * @throws Conflict if what the writes are based on has changed; nothing was written
   */
  store(
    by: OrbContext,
    writes: readonly { write: EntryWrite; force: boolean }[],
    more: (snapshots: readonly EntrySnapshot[]) => readonly Append[],
  ): Promise<readonly EntrySnapshot[]>;
}
