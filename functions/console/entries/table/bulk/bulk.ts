/** Changes many entries, with one request per entry, and collects the results. */
import { type EntryItem, type EntryPlace, moveEntry, removeEntry, revisionIn } from "../../../api/entries.ts";
import { sessionEnded } from "../../../api/http.ts";
import type { Row } from "../data/rows.ts";

export type Act = "publish" | "unpublish" | "archive" | "restore" | "delete";

/** Actions that the caller may use in this list. The platform checks access again for each entry. */
export interface Rights {
  /** Whether the entries are read-only here, because only handlers may write them. */
  fixed: boolean;
  create: boolean;
  update: boolean;
  publish: boolean;
  remove: boolean;
  drafts: boolean;
}

/** Returns whether an entry's state allows an action. Entries in other states are skipped instead of failing. */
export function allows(act: Act, row: Row, inSet: boolean): boolean {
  const { status, revision, publishedRevision } = row;
  switch (act) {
    case "publish":
      return (
        status === "SAVED" ||
        status === "UNPUBLISHED" ||
        // A set does not take over the draft of a live entry in this way.
        (status === "PUBLISHED" && publishedRevision !== revision && !inSet)
      );
    case "unpublish":
      return status === "PUBLISHED";
    case "archive":
      return status !== "ARCHIVED";
    case "restore":
      return status === "ARCHIVED";
    default:
      return true;
  }
}

export interface Failure {
  item: Row;
  error: unknown;
}

export interface Outcome {
  /** The entries after the change; undefined for a deleted entry. */
  changed: Map<string, EntryItem | undefined>;
  failed: Failure[];
  /** Entries for which no request was sent, because the user cancelled or the platform became unreachable. */
  left: Row[];
}

/** Maximum concurrent requests. The platform would only queue further requests. */
const AT_ONCE = 6;

/**
 * Performs an action on each entry, based on the revision that the user saw.
 * @param signal stops further requests; pending requests still complete
 */
export async function runBulk(
  place: EntryPlace,
  act: Act,
  items: readonly Row[],
  { force, signal, tell }: { force: boolean; signal: AbortSignal; tell: (outcome: Outcome) => void },
): Promise<Outcome> {
  const outcome: Outcome = { changed: new Map(), failed: [], left: [] };
  const waiting = [...items].reverse();
  let stopped = false;
  const work = async () => {
    for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) {
      if (stopped || signal.aborted) {
        waiting.push(item);
        return;
      }
      const seen = { id: item.id, revision: revisionIn(place, item) };
      try {
        if (act === "delete") {
          await removeEntry(place, seen, force);
          outcome.changed.set(item.id, undefined);
        } else outcome.changed.set(item.id, await moveEntry(place, seen, act, force));
      } catch (error) {
        outcome.failed.push({ item, error });
        // The platform is unreachable or the session has ended, so requests for the remaining entries would fail too.
        if (error instanceof TypeError || sessionEnded.value) stopped = true;
      }
      tell(outcome);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  outcome.left = waiting.reverse();
  return outcome;
}
