/** Visible entries of the runtime API: the live revision, verified against the head, and its form in responses. */
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { type EntryAddress, streams, subjects } from "../../store/subjects.ts";
import type { Consistency, Store, StoredMessage } from "../../store/types.ts";
import { type Presentation, presentValues } from "../model/localize.ts";
import { maskValues } from "../model/masking.ts";
import { addressOf, nullIfMissing } from "../model/resolve.ts";
import {
  type EntrySnapshot,
  type EntryView,
  effective,
  hasDraft,
  liveCopyOf,
  nextEdge,
  snapshotOf,
  viewWith,
  visible,
} from "../model/snapshot.ts";
import { publishedOf } from "./entry-keys.ts";

/** An entry as the caller may see it. */
export interface VisibleEntry {
  schema: CompiledSchema;
  address: EntryAddress;
  /** The newest stored revision. */
  head: EntrySnapshot;
  /** The revision to show, without sealed values. */
  shown: EntryView;
  /** Number of the newest revision. Entity tags begin with it. */
  newest: number;
}

/** A visible entry in a list. */
export interface ListedEntry extends VisibleEntry {
  /** Stored bytes that were read for it. */
  bytes: number;
}

/** An entry to read. */
export interface EntryKey {
  schema: CompiledSchema;
  id: string;
}

/** A stored revision or live copy as readers may see it: masked by the definition in force. */
export function maskedRevision(schema: CompiledSchema, stored: VisibleEntry["shown"]): VisibleEntry["shown"] {
  return schema.sensitive.length === 0 ? stored : { ...stored, values: maskValues(stored.values, schema) };
}

/**
 * Reads the live revisions of entries of one orb, heads and live copies in one request (of up to 1,024 subjects). The
 * live revision is the head itself or, if a newer draft exists, the live copy. A live copy that lags behind its head
 * is ignored, and the revision is read from the log instead. Entries that are not live now are undefined.
 * @throws TooMuch when the entries are together larger than `maxBytes`
 */
export async function readLive(
  deps: Pick<Deps, "store" | "clock" | "expires">,
  orb: string,
  wanted: readonly EntryKey[],
  consistency: Consistency,
  maxBytes: number,
): Promise<(ListedEntry | undefined)[]> {
  if (wanted.length === 0) return [];
  const stream = streams.orb(orb);
  const places = wanted.map(({ schema, id }) => {
    const address = addressOf(schema, id);
    return { address, log: subjects.entryLog(address), live: subjects.entryLive(address, schema.liveRole) };
  });
  const found = await nullIfMissing(lastOf(deps.store, stream, places, consistency, maxBytes));
  if (found === null) return wanted.map(() => undefined);
  const { messages, heads } = found;
  const now = deps.clock.now();
  return Promise.all(
    places.map(async ({ address, log, live }, at): Promise<ListedEntry | undefined> => {
      const schema = wanted[at]?.schema;
      const head = heads[at] ?? null;
      if (schema === undefined || head === null) return undefined;
      const edge = nextEdge(head, now);
      if (edge !== undefined) deps.expires?.(edge);
      if (!visible(head, now)) return undefined;
      const bytes = (messages.get(log)?.size ?? 0) + (messages.get(live)?.size ?? 0);
      const seen = { schema, address, head, newest: head.revision, bytes };
      if (head.revision === head.publishedRevision) return { ...seen, shown: maskedRevision(schema, head) };
      const copy = liveCopyOf(messages.get(live));
      if (copy?.revision === head.publishedRevision) return { ...seen, shown: maskedRevision(schema, copy) };
      const published = await publishedOf(deps, { head, address }, consistency);
      return published === null ? undefined : { ...seen, shown: maskedRevision(schema, published) };
    }),
  );
}

/**
 * Reads and parses heads, and reads live copies, in one request to save a round trip. A store with a local cache has no
 * round trip to save, and large entries take longer than one. In both cases live copies are read only for entries with a
 * newer draft.
 */
async function lastOf(
  store: Store,
  stream: string,
  places: readonly { log: string; live: string }[],
  consistency: Consistency,
  maxBytes: number,
): Promise<{ messages: Map<string, StoredMessage>; heads: (EntrySnapshot | null)[] }> {
  const read = (subjects: readonly string[]) => lastOfAll(store, stream, subjects, consistency, maxBytes);
  const together = store.isCached !== true && maxBytes <= SMALL_BYTES;
  const messages = await read(places.flatMap(({ log, live }) => (together ? [log, live] : [log])));
  // Parse each head once: it may be large.
  const heads = places.map(({ log }) => snapshotOf(messages.get(log)));
  if (together) return { messages, heads };
  const withDraft = places.filter((_, at) => {
    const head = heads[at];
    return head !== undefined && head !== null && head.publishedRevision !== null && hasDraft(head);
  });
  if (withDraft.length === 0) return { messages, heads };
  const copies = await read(withDraft.map(({ live }) => live));
  return { messages: new Map([...messages, ...copies]), heads };
}

/** Reads the last message of each subject. One or two are read by subject, which is the broker's cheapest read. */
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

/** Returns the newest revision for callers who may read drafts. */
export function newestRevision(
  schema: CompiledSchema,
  address: EntryAddress,
  head: EntrySnapshot,
  now: number,
): VisibleEntry {
  const at = effective(head, now);
  return { schema, address, head, shown: maskedRevision(schema, at), newest: at.revision };
}

/**
 * An entry in runtime API responses. `expand` contains referenced entries by field, or null for those that the caller
 * cannot see.
 */
export interface RuntimeEntry extends EntryView {
  expand?: Record<string, unknown>;
}

/** Returns an entry for a runtime API response. @param languages collects the languages of its values */
export function presentEntry(
  { shown, schema }: VisibleEntry,
  presentation: Presentation,
  languages: Set<string>,
): RuntimeEntry {
  const view = viewWith(shown, presentValues(schema, shown.values, presentation, languages));
  return { ...view, module: schema.module, schema: schema.id };
}
