/** The newest changes of all entries of an application. */
import type { Actor } from "../../access/actor.ts";
import { requireOperator } from "../../access/authorize.ts";
import type { Deps } from "../../deps.ts";
import { READ_BYTES } from "../../store/budget.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type EntrySnapshot, type StoredSnapshot, snapshotOf } from "../model/index.ts";

/** Limits of the list. */
export const RECENT = {
  /** Maximum changes in the list. */
  limit: 50,
  /** Number of the stream's messages that the first read covers. Most of them are index messages. */
  window: 256,
  /** Maximum number of reads. Each covers more messages than the one before, if that found few changes. */
  reads: 12,
} as const;

export interface EntryChangeItem {
  id: string;
  module: string;
  schema: string;
  revision: number;
  operation: EntrySnapshot["operation"];
  status: EntrySnapshot["status"];
  at: string;
  by: string;
  through?: string;
}

function itemOf(snapshot: StoredSnapshot): EntryChangeItem {
  const { id, module, schema, revision, operation, status, updatedAt, updatedBy, through } = snapshot;
  return {
    id,
    module,
    schema,
    revision,
    operation,
    status,
    at: updatedAt,
    by: updatedBy,
    ...(through === undefined ? {} : { through }),
  };
}

/**
 * Returns the newest revisions of entries, newest first. Reads only the end of the application's stream, so the work
 * does not grow with the number of entries. The list is shorter than `limit` if the last changes were very long ago.
 */
export async function recentChanges(
  deps: Deps,
  actor: Actor,
  { orbId, limit }: { orbId: string; limit: number },
): Promise<EntryChangeItem[]> {
  requireOperator(actor, "entries.read", orbId);
  const stream = streams.orb(orbId);
  const filter = subjects.allLogs(orbId);
  const newest = await deps.store.get(stream, filter);
  if (newest === null) return [];
  const found: EntryChangeItem[] = [];
  let high = newest.seq;
  let width: number = RECENT.window;
  for (let read = 0; read < RECENT.reads && high >= 1 && found.length < limit; read++) {
    const low = Math.max(1, high - width + 1);
    const page = await deps.store.scan(stream, filter, { fromSeq: low, limit: width, maxBytes: READ_BYTES });
    // The entries are large, so that one read does not cover the window. Read fewer.
    if (page.pending > 0 && (page.messages.at(-1)?.seq ?? high) < high && width > 1) {
      width = Math.ceil(width / 8);
      continue;
    }
    const inside = page.messages.filter(({ seq }) => seq <= high);
    for (const message of inside.reverse()) {
      const snapshot = snapshotOf(message);
      if (snapshot !== null && found.length < limit) found.push(itemOf(snapshot));
    }
    high = low - 1;
    if (inside.length < limit) width *= 4;
  }
  return found;
}
