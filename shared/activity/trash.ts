/** Lists the deleted entries of an application, which can be restored until they are purged. */
import type { Actor } from "../access/actor.ts";
import { requireOperator } from "../access/authorize.ts";
import type { Deps } from "../deps.ts";
import { messagesBackwards } from "../entry/index/index.ts";
import {
  type EntryView,
  entryView,
  type OrbContext,
  schemaOf,
  snapshotOf,
  withNames,
} from "../entry/model/index.ts";
import { PAIR_BYTES, READ_BYTES } from "../store/budget.ts";
import { nullIfMissing } from "../store/pages.ts";
import { parsedHome, streams, subjects } from "../store/subjects.ts";
import type { StoredMessage } from "../store/types.ts";
import { ACTIVITY_LIMITS } from "./activity.ts";
import { type By, namesFor } from "./by.ts";

/** Types of modules whose deleted entries can be restored. */
const RESTORED: ReadonlySet<string> = new Set(["content", "config", "rules"]);

/** A deleted entry, as it was before its deletion. */
export interface TrashItem extends EntryView {
  deletedAt: string;
  deletedBy: By;
  /** Number of the revision that says that the entry is deleted. */
  deletedRevision: number;
}

export interface TrashPage {
  items: TrashItem[];
  /** Sequence number before which the next page begins; null after the last page. */
  next: number | null;
}

/** Returns the messages among these that say that an entry is deleted, and that are still the last ones of their entries. */
async function deletionsIn(
  { store }: Deps,
  stream: string,
  messages: readonly StoredMessage[],
): Promise<ReadonlySet<number>> {
  const deletions = messages.filter((message) => {
    const [, type = ""] = message.subject.split(".");
    return RESTORED.has(type) && snapshotOf(message)?.status === "DELETED";
  });
  if (deletions.length === 0) return new Set();
  const logs = deletions.map(({ subject }) => subject);
  const heads = await store.getMany(stream, logs, { maxBytes: PAIR_BYTES });
  return new Set(
    deletions.filter(({ subject, seq }) => heads.get(subject)?.seq === seq).map(({ seq }) => seq),
  );
}

/** Returns the last revision of an entry before its deletion. */
async function lastBefore({ store }: Deps, stream: string, { subject, seq }: StoredMessage) {
  const options = { maxBytes: PAIR_BYTES, upTo: seq - 1 };
  const found = (await store.getMany(stream, [subject], options)).get(subject);
  return { size: found?.size ?? 0, snapshot: snapshotOf(found) };
}

/**
 * Lists deleted entries, those that were deleted last first. A page may be shorter than `limit`, although others follow.
 * @param before the sequence number where the page before ended
 */
export async function listTrash(
  deps: Deps,
  actor: Actor,
  { orb, compiled }: OrbContext,
  { limit, before }: { limit: number; before?: number | undefined },
): Promise<TrashPage> {
  requireOperator(actor, "entries.read", orb);
  const stream = streams.orb(orb);
  const filter = subjects.allLogs(orb);
  const start = before ?? ((await nullIfMissing(deps.store.get(stream, filter)))?.seq ?? 0) + 1;
  const found: Omit<TrashItem, "deletedBy">[] = [];
  const by: string[] = [];
  let [read, bytes] = [0, 0];
  const page = async (next: number | null): Promise<TrashPage> => {
    const nameOf = await namesFor(deps, actor, { orb, compiled }, by);
    return { items: found.map((item, at) => ({ ...item, deletedBy: nameOf(by[at] ?? "") })), next };
  };
  const scan = { stream, filter, first: limit, maxBytes: READ_BYTES };
  for await (const { messages } of messagesBackwards(deps.store, scan, { seq: start, density: 0 })) {
    const deleted = await deletionsIn(deps, stream, messages);
    for (const message of messages) {
      read++;
      bytes += message.size;
      const gone = deleted.has(message.seq) ? snapshotOf(message) : null;
      if (gone !== null) {
        const { size, snapshot } = await lastBefore(deps, stream, message);
        bytes += size;
        const [, type = "", , home = ""] = message.subject.split(".");
        const schema = schemaOf(compiled, parsedHome(type, home));
        if (snapshot !== null) {
          const view = entryView(withNames(schema, snapshot), schema);
          found.push({ ...view, deletedAt: gone.updatedAt, deletedRevision: gone.revision });
          by.push(gone.updatedBy);
        }
      }
      const isFull = found.length === limit || read >= ACTIVITY_LIMITS.read;
      if (isFull || bytes >= ACTIVITY_LIMITS.bytes) return page(message.seq > 1 ? message.seq : null);
    }
  }
  return page(null);
}
