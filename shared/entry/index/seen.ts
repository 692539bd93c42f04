/** What a caller of the runtime API sees of entries: their live side, judged by the head. */
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { type EntryAddress, streams, subjects } from "../../store/subjects.ts";
import type { Consistency, Store, StoredMessage } from "../../store/types.ts";
import { maskValues } from "../model/masking.ts";
import { addressOf, orNull } from "../model/resolve.ts";
import {
  type EntrySnapshot,
  effective,
  hasDraft,
  type LiveCopy,
  liveCopyOf,
  nextEdge,
  snapshotOf,
  visible,
} from "../model/snapshot.ts";
import { publishedOf } from "./held.ts";

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

/** An entry of a list. */
export interface ListedSeen extends Seen {
  /** What was read of it, in bytes as they are stored. */
  bytes: number;
}

/** An entry that is asked for. */
export interface Wanted {
  schema: CompiledSchema;
  id: string;
}

/** A stored revision or live copy as readers may see it: masked by the definition in force. */
export function shownOf(schema: CompiledSchema, stored: Seen["shown"]): Seen["shown"] {
  return schema.sensitive.length === 0 ? stored : { ...stored, values: maskValues(stored.values, schema) };
}

/**
 * Reads the live side of entries of one orb: heads and live copies in one request (of 1,024 subjects). What is live is
 * the head itself, unless a draft lies beside it; then it is the live copy. Those that are not live at this moment are
 * undefined. A live copy that lags behind its head is passed over for the log's own.
 * @throws TooMuch when they are larger than `maxBytes` together
 */
export async function readLive(
  deps: Pick<Deps, "store" | "clock" | "expires">,
  orb: string,
  wanted: readonly Wanted[],
  consistency: Consistency,
  maxBytes: number,
): Promise<(ListedSeen | undefined)[]> {
  if (wanted.length === 0) return [];
  const stream = streams.orb(orb);
  const places = wanted.map(({ schema, id }) => {
    const address = addressOf(schema, id);
    return { address, log: subjects.entryLog(address), live: subjects.entryLive(address, schema.liveRole) };
  });
  const found = await orNull(lastOf(deps.store, stream, places, consistency, maxBytes));
  if (found === null) return wanted.map(() => undefined);
  const now = deps.clock.now();
  return Promise.all(
    places.map(async ({ address, log, live }, at): Promise<ListedSeen | undefined> => {
      const schema = wanted[at]?.schema;
      const message = found.get(log);
      const head = snapshotOf(message);
      if (schema === undefined || head === null) return undefined;
      const edge = nextEdge(head, now);
      if (edge !== undefined) deps.expires?.(edge);
      if (!visible(head, now)) return undefined;
      const bytes = (message?.size ?? 0) + (found.get(live)?.size ?? 0);
      const seen = { schema, address, head, newest: head.revision, bytes };
      if (head.revision === head.publishedRevision) return { ...seen, shown: shownOf(schema, head) };
      const copy = liveCopyOf(found.get(live));
      if (copy?.revision === head.publishedRevision) return { ...seen, shown: shownOf(schema, copy) };
      const published = await publishedOf(deps, { head, address }, consistency);
      return published === null ? undefined : { ...seen, shown: shownOf(schema, published) };
    }),
  );
}

/**
 * Heads and live copies. Where each turn is waited for, both are asked for at once. A store that remembers is near, and large
 * entries take longer than a turn: of those, a live copy is asked for only where it is needed, beside a draft.
 */
async function lastOf(
  store: Store,
  stream: string,
  places: readonly { log: string; live: string }[],
  consistency: Consistency,
  maxBytes: number,
): Promise<Map<string, StoredMessage>> {
  const read = (subjects: readonly string[]) => lastOfAll(store, stream, subjects, consistency, maxBytes);
  if (store.remembers !== true && maxBytes <= SMALL_BYTES)
    return read(places.flatMap(({ log, live }) => [log, live]));
  const heads = await read(places.map(({ log }) => log));
  const beside = places.filter(({ log }) => {
    const head = snapshotOf(heads.get(log));
    return head !== null && head.publishedRevision !== null && hasDraft(head);
  });
  if (beside.length === 0) return heads;
  return new Map([...heads, ...(await read(beside.map(({ live }) => live)))]);
}

/** The last message of each subject. One or two are asked for by name, which is the broker's cheapest read. */
async function lastOfAll(
  store: Store,
  stream: string,
  asked: readonly string[],
  consistency: Consistency,
  maxBytes: number,
): Promise<Map<string, StoredMessage>> {
  if (asked.length > 2) return store.getMany(stream, asked, { consistency, maxBytes });
  const messages = await Promise.all(asked.map((subject) => store.get(stream, subject, { consistency })));
  return new Map(messages.flatMap((message) => (message === null ? [] : [[message.subject, message]])));
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
