/** Lists the deleted entries of an application, which can be restored until they are purged. */
import type { Actor } from "../access/actor.ts";
import { requireOperator } from "../access/authorize.ts";
import type { Deps } from "../deps.ts";
import { messagesBackwards } from "../entry/index/index.ts";
import {
  type EntryView,
  entryView,
  type OrbContext,
  type StoredSnapshot,
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

/** Deletions that are looked at together. Their entries have at most about as many bytes as one read may have. */
const AT_ONCE = 7;

const isDeletion = (message: StoredMessage): boolean => {
  const [, type = ""] = message.subject.split(".");
  return RESTORED.has(type) && snapshotOf(message)?.status === "DELETED";
};

type Before = { size: number; snapshot: StoredSnapshot };

/** Looks at deletions. Returns the last revision before each of those after which nothing was written. */
async function standing(
  { store }: Deps,
  stream: string,
  deletions: readonly StoredMessage[],
): Promise<Map<StoredMessage, Before>> {
  const logs = deletions.map(({ subject }) => subject);
  const [heads, ...earlier] = await Promise.all([
    store.getMany(stream, logs, { maxBytes: PAIR_BYTES }),
    ...deletions.map(({ subject, seq }) =>
      store.getMany(stream, [subject], { maxBytes: PAIR_BYTES, upTo: seq - 1 }),
    ),
  ]);
  const found = new Map<StoredMessage, Before>();
  for (const [at, deletion] of deletions.entries()) {
    const before = earlier[at]?.get(deletion.subject);
    const snapshot = snapshotOf(before);
    if (heads.get(deletion.subject)?.seq === deletion.seq && before !== undefined && snapshot !== null)
      found.set(deletion, { size: before.size, snapshot });
  }
  return found;
}

/** Yields messages together with the entry that each of them has deleted, if it still is. */
async function* examined(
  deps: Deps,
  stream: string,
  messages: readonly StoredMessage[],
): AsyncGenerator<{ message: StoredMessage; before: Before | undefined }> {
  const deletions = messages.filter(isDeletion);
  let looked = new Map<StoredMessage, Before>();
  let next = 0;
  for (const message of messages) {
    if (deletions[next] === message && next % AT_ONCE === 0)
      looked = await standing(deps, stream, deletions.slice(next, next + AT_ONCE));
    if (deletions[next] === message) next++;
    yield { message, before: looked.get(message) };
  }
}

/**
 * Lists deleted entries, those that were deleted last first. A page may be shorter than `limit`, although others follow.
 * @param input.before the sequence number where the page before ended
 */
export async function listTrash(
  deps: Deps,
  actor: Actor,
  { orb, compiled }: OrbContext,
  { limit, before: from }: { limit: number; before?: number | undefined },
): Promise<TrashPage> {
  requireOperator(actor, "entries.read", orb);
  const stream = streams.orb(orb);
  const filter = subjects.allLogs(orb);
  const start = from ?? ((await nullIfMissing(deps.store.get(stream, filter)))?.seq ?? 0) + 1;
  const found: Omit<TrashItem, "deletedBy">[] = [];
  const by: string[] = [];
  let [read, bytes] = [0, 0];
  const page = async (next: number | null): Promise<TrashPage> => {
    const nameOf = await namesFor(deps, actor, { orb, compiled }, by);
    return { items: found.map((item, at) => ({ ...item, deletedBy: nameOf(by[at] ?? "") })), next };
  };
  const scan = { stream, filter, first: limit, maxBytes: READ_BYTES };
  for await (const { messages } of messagesBackwards(deps.store, scan, { seq: start, density: 0 })) {
    for await (const { message, before } of examined(deps, stream, messages)) {
      read++;
      bytes += message.size;
      const gone = before === undefined ? null : snapshotOf(message);
      if (before !== undefined && gone !== null) {
        bytes += before.size;
        const [, type = "", , home = ""] = message.subject.split(".");
        const schema = schemaOf(compiled, parsedHome(type, home));
        const view = entryView(withNames(schema, before.snapshot), schema);
        found.push({ ...view, deletedAt: gone.updatedAt, deletedRevision: gone.revision });
        by.push(gone.updatedBy);
      }
      const isFull = found.length === limit || read >= ACTIVITY_LIMITS.read;
      if (isFull || bytes >= ACTIVITY_LIMITS.bytes) return page(message.seq > 1 ? message.seq : null);
    }
  }
  return page(null);
}
