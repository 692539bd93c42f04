/** What a caller of the runtime API sees of entries: their live side, judged by the head. */
import type { Deps } from "../deps.ts";
import type { CompiledSchema } from "../orb/compile.ts";
import { type EntryAddress, streams, subjects } from "../store/subjects.ts";
import type { Consistency, Store, StoredMessage } from "../store/types.ts";
import { addressOf, orNull } from "./resolve.ts";
import {
  type EntrySnapshot,
  effective,
  type LiveCopy,
  liveCopyOf,
  maskValues,
  snapshotOf,
  visible,
} from "./snapshot.ts";

/** An entry as somebody sees it. */
export interface Seen {
  schema: CompiledSchema;
  address: EntryAddress;
  /** The newest revision as it is stored. */
  head: EntrySnapshot;
  /** The revision that is shown, without sealed values. */
  shown: Omit<LiveCopy, "v" | "status" | "publishedRevision"> &
    Pick<EntrySnapshot, "status" | "publishedRevision">;
  /** Number of the newest revision: what entity tags begin with. */
  newest: number;
}

/** An entry that is asked for. */
export interface Wanted {
  schema: CompiledSchema;
  id: string;
}

/** A stored revision as it may be shown. */
export function shownOf(schema: CompiledSchema, snapshot: EntrySnapshot): Seen["shown"] {
  return schema.sensitive.length === 0 ? snapshot : { ...snapshot, values: maskValues(snapshot.values) };
}

/**
 * Reads the live side of entries of one orb: their heads in one request (of 1,024), which hold what is live unless a
 * draft lies beside it; then one more for the live copies of those. Those that are not live at this moment are
 * undefined. A live copy that lags behind its head is passed over for the log's own.
 */
export async function readLive(
  deps: Pick<Deps, "store" | "clock">,
  orb: string,
  wanted: readonly Wanted[],
  consistency: Consistency,
): Promise<(Seen | undefined)[]> {
  if (wanted.length === 0) return [];
  const stream = streams.orb(orb);
  const addresses = wanted.map(({ schema, id }) => addressOf(schema, id));
  const logs = addresses.map((address) => subjects.entryLog(address));
  const found = await orNull(lastOf(deps.store, stream, logs, consistency));
  if (found === null) return wanted.map(() => undefined);
  const now = deps.clock.now();
  const drafts: { at: number; live: string }[] = [];
  const seen = wanted.map(({ schema }, at): Seen | undefined => {
    const address = addresses[at];
    const head = snapshotOf(found.get(logs[at] ?? ""));
    if (address === undefined || head === null || !visible(head, now)) return undefined;
    const isWhole = head.revision === head.publishedRevision;
    if (!isWhole) drafts.push({ at, live: subjects.entryLive(address, schema.liveRole) });
    return { schema, address, head, newest: head.revision, shown: shownOf(schema, head) };
  });
  if (drafts.length === 0) return seen;
  const copies = await lastOf(
    deps.store,
    stream,
    drafts.map(({ live }) => live),
    consistency,
  );
  await Promise.all(
    drafts.map(async ({ at, live }) => {
      const entry = seen[at];
      if (entry === undefined) return;
      const { head, schema } = entry;
      const copy = liveCopyOf(copies.get(live));
      if (copy?.revision === head.publishedRevision) {
        seen[at] = { ...entry, shown: copy };
        return;
      }
      const published = await readPublished(deps, stream, head, consistency);
      seen[at] = published === null ? undefined : { ...entry, shown: shownOf(schema, published) };
    }),
  );
  return seen;
}

/** The last message of each subject; a single one is asked for in the cheapest way. */
async function lastOf(
  store: Store,
  stream: string,
  wanted: readonly string[],
  consistency: Consistency,
): Promise<Map<string, StoredMessage>> {
  const [only] = wanted;
  if (wanted.length > 1 || only === undefined) return store.getMany(stream, wanted, { consistency });
  const message = await store.get(stream, only, { consistency });
  return new Map(message === null ? [] : [[only, message]]);
}

/** The live revision out of the log; null when it was purged. */
export async function readPublished(
  deps: Pick<Deps, "store">,
  stream: string,
  head: EntrySnapshot,
  consistency: Consistency,
): Promise<EntrySnapshot | null> {
  if (head.publishedRevision === null) return null;
  if (head.revision === head.publishedRevision) return head;
  if (head.publishedSeq === null) return null;
  return snapshotOf(await deps.store.getSeq(stream, head.publishedSeq, { consistency }));
}

/** The newest revision as those who may write see it. */
export function newestOf(
  schema: CompiledSchema,
  address: EntryAddress,
  head: EntrySnapshot,
  now: number,
): Seen {
  const at = effective(head, now);
  return { schema, address, head, shown: shownOf(schema, at), newest: at.revision };
}
