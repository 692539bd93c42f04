import type { Principal } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Values } from "../../definition/validate.ts";
import type { Deps } from "../../deps.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { readsAhead } from "../../store/policy.ts";
import { type EntryAddress, streams, subjects } from "../../store/subjects.ts";
import type { Consistency, Store, StoredMessage } from "../../store/types.ts";
import {
  addressOf,
  type EntrySnapshot,
  type EntryView,
  effective,
  fallbacksIn,
  hasDraft,
  liveCopyOf,
  maskValues,
  nextEdge,
  ofFields,
  type Presentation,
  presentValues,
  readableIn,
  type Source,
  type StoredSnapshot,
  snapshotOf,
  viewWith,
  visible,
  withNames,
} from "../model/index.ts";
import { publishedOf } from "./entry-keys.ts";

/** An entry as the caller may see it. */
export interface VisibleEntry {
  /** The entry's schema, reduced to the fields that the caller may read. */
  schema: CompiledSchema;
  address: EntryAddress;
  head: EntrySnapshot;
  /** The newest or published revision, with sensitive values masked. */
  shown: EntryView;
  /** Number of the entry's newest revision, which is part of its ETag. */
  newest: number;
}

export interface ListedEntry extends VisibleEntry {
  /** Number of stored bytes that were read for the entry. */
  bytes: number;
}

/** An entry to read. */
export interface WantedEntry {
  schema: CompiledSchema;
  id: string;
}

export function maskedRevision(schema: CompiledSchema, stored: VisibleEntry["shown"]): VisibleEntry["shown"] {
  return schema.sensitive.length === 0 ? stored : { ...stored, values: maskValues(stored.values, schema) };
}

type Reader = Pick<Deps, "store" | "clock" | "expires" | "sawDefinition">;

/** The newest revision of an entry, and what readers of published entries see now. */
export interface ReadEntry {
  head: EntrySnapshot;
  /** Number of stored bytes of the newest revision. */
  bytes: number;
  live: ListedEntry | undefined;
}

/** Reads the published revisions of entries. The result contains undefined for each entry that is not visible now. */
export async function readLive(
  ...request: Parameters<typeof readEntries>
): Promise<(ListedEntry | undefined)[]> {
  return (await readEntries(...request)).map((found) => found?.live);
}

/** Reads the newest and the published revisions of entries. The result contains undefined for each missing entry. */
export async function readEntries(
  deps: Reader,
  orb: string,
  wanted: readonly WantedEntry[],
  consistency: Consistency,
  maxBytes: number,
): Promise<(ReadEntry | undefined)[]> {
  if (wanted.length === 0) return [];
  const stream = streams.orb(orb);
  const places = wanted.map(({ schema, id }) => {
    const address = addressOf(schema, id);
    return { address, log: subjects.entryLog(address), live: subjects.entryLive(address, schema.liveRole) };
  });
  const found = await nullIfMissing(lastOf(deps.store, stream, places, consistency, maxBytes));
  if (found === null) return wanted.map(() => undefined);
  const { messages, heads } = found;
  const entries: (ReadEntry | undefined)[] = [];
  const waiting: Promise<void>[] = [];
  for (const [at, { address, log, live }] of places.entries()) {
    const schema = wanted[at]?.schema;
    const [stored, message] = [heads[at] ?? null, messages.get(log)];
    if (schema === undefined || stored === null || message === undefined) {
      entries.push(undefined);
      continue;
    }
    deps.sawDefinition?.(stored.defRevision);
    const entry = { schema, address, head: withNames(schema, stored) };
    const found = { message, copy: messages.get(live), consistency };
    const read: ReadEntry = { head: entry.head, bytes: message.size, live: undefined };
    entries.push(read);
    const shown = liveOf(deps, entry, found);
    const show = (one: ListedEntry | undefined) => {
      read.live = one;
    };
    // Only an entry whose published copy has to be found takes another read.
    if (shown instanceof Promise) waiting.push(shown.then(show));
    else show(shown);
  }
  await Promise.all(waiting);
  return entries;
}

/** Returns what readers of published entries see. @param copy the message with the published copy */
function liveOf(
  deps: Reader,
  { schema, address, head }: Pick<VisibleEntry, "schema" | "address" | "head">,
  found: { message: StoredMessage; copy: StoredMessage | undefined; consistency: Consistency },
): ListedEntry | undefined | Promise<ListedEntry | undefined> {
  const { message, consistency } = found;
  const now = deps.clock.now();
  const edge = nextEdge(head, now);
  if (edge !== undefined) deps.expires?.(edge);
  if (!visible(head, now)) return undefined;
  const bytes = message.size + (found.copy?.size ?? 0);
  const seen = { schema, address, head, newest: head.revision, bytes };
  if (head.revision === head.publishedRevision) return { ...seen, shown: maskedRevision(schema, head) };
  const copy = liveCopyOf(found.copy);
  const shownAs = (published: EntryView): ListedEntry => ({
    ...seen,
    shown: maskedRevision(schema, published),
  });
  if (copy?.revision === head.publishedRevision) return shownAs(withNames(schema, copy));
  return publishedOf(deps, schema, { head, address }, consistency).then((published) =>
    published === null ? undefined : shownAs(published),
  );
}

/**
 * Reads the logs and the published copies of entries in one request. If the entries are cached or large, reads the logs
 * first. It then reads a published copy only if the copy differs from the newest revision.
 */
async function lastOf(
  store: Store,
  stream: string,
  places: readonly { log: string; live: string }[],
  consistency: Consistency,
  maxBytes: number,
): Promise<{ messages: Map<string, StoredMessage>; heads: (StoredSnapshot | null)[] }> {
  const read = (subjects: readonly string[]) => lastOfAll(store, stream, subjects, consistency, maxBytes);
  const together = maxBytes <= SMALL_BYTES && readsAhead(store);
  const messages = await read(places.flatMap(({ log, live }) => (together ? [log, live] : [log])));
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

/** Reads the last message of each subject. One or two subjects are read one by one, which is cheapest. */
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
 * Returns an entry without the values that the caller may not read. Does not check whether the caller may read the
 * entry.
 */
export function seenBy<T extends VisibleEntry>(caller: Principal, seen: T): T {
  const schema = readableIn(seen.schema, caller, seen.head.createdBy);
  if (schema === seen.schema) return seen;
  return { ...seen, schema, shown: { ...seen.shown, values: ofFields(schema, seen.shown.values) } };
}

/** An entry in a response. `expand` contains referenced entries, or null if the caller cannot see them. */
export interface RuntimeEntry extends EntryView {
  expand?: Record<string, unknown>;
  /** For each field whose value is that of another language or market than asked for: which one. */
  fallback?: Record<string, Source>;
}

/** Returns an entry for a response, and adds the languages of its values to `languages`. */
export function presentEntry(
  { shown, schema }: VisibleEntry,
  presentation: Presentation,
  languages: Set<string>,
): RuntimeEntry {
  const values = presentValues(schema, shown.values, presentation, languages);
  const view = viewWith(shown, values, { module: schema.module, schema: schema.id });
  const sources = fallbacksIn(schema, shown.values as Values, presentation);
  return sources.length === 0 ? view : { ...view, fallback: Object.fromEntries(sources) };
}
