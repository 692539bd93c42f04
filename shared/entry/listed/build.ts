/** Builds the live index of a schema from its entries. Entries of older versions are in no live index. */
import { pause } from "../../kernel/pause.ts";
import { indexBytes, ReadBudget } from "../../store/budget.ts";
import { nullIfMissing, nullOnConflict, pagesOf } from "../../store/pages.ts";
import { lastToken, streams, subjects } from "../../store/subjects.ts";
import { BATCH_LIMIT, type Store } from "../../store/types.ts";
import { inBatches, readPage } from "../index/index.ts";
import { type Listing, listingBody, listingIn, listingOf, parseEntry } from "../model/index.ts";
import { freedPages, type OrderedField } from "../ordered/index.ts";
import { type LiveCompaction, livePagesOf, writeLiveRoot } from "./compact.ts";
import { isOver, type ListedPlace } from "./pages.ts";
import { readRoot } from "./scan.ts";

/** Index messages per read. */
const PLACES_PER_READ = 1_000;
/** Pages per batch. One page has up to 50 KB, and a batch must not be too large for the broker. */
const PAGES_PER_BATCH = 20;
const CATCH_UP_MS = 20;
const CATCH_UPS = 500;

/** Writes a change that changes nothing. Its position in the log tells which changes came before it. */
function mark(store: Store, index: OrderedField): Promise<number> {
  const data = listingBody({ id: "", after: 0, before: 0, isNew: false });
  return store.append(streams.orb(index.orb), { subject: subjects.orderedLog(index, index.field), data });
}

/**
 * Reads how the index must list entries.
 * @param filter the messages that name the entries; their subjects end with the id
 * @param fromSeq sequence number of the first of these messages to read
 * @returns for each id, the sequence number of its message and the listing. Purged entries are missing.
 */
export async function readListings(
  store: Store,
  index: OrderedField,
  filter = subjects.schemaIndex(index),
  fromSeq = 1,
): Promise<Map<string, [number, Listing]>> {
  const stream = streams.orb(index.orb);
  const newest = await nullIfMissing(store.get(stream, filter));
  const found = new Map<string, [number, Listing]>();
  const budget = new ReadBudget(Number.POSITIVE_INFINITY);
  const charging = budget.charging(store);
  const read = (logs: readonly string[], maxBytes: number) => charging.getMany(stream, logs, { maxBytes });
  const page = { limit: PLACES_PER_READ, maxBytes: indexBytes(PLACES_PER_READ) };
  const range = { fromSeq, until: newest?.seq ?? 0 };
  for await (const messages of pagesOf(store, stream, filter, page, range)) {
    const seqs = new Map<string, number>();
    for (const { subject, seq, size } of messages) if (size > 0) seqs.set(lastToken(subject), seq);
    const logs = [...seqs.keys()].map((id) => subjects.entryLog({ ...index, id }));
    for await (const { result } of inBatches(budget, logs, read))
      for (const message of result.values()) {
        const entry = parseEntry(message);
        if (entry === null) continue;
        const { id } = entry.address;
        found.set(id, [seqs.get(id) ?? 0, listingOf(entry.head)]);
      }
  }
  return found;
}

/**
 * Reads the changes of the log between two marks.
 * @param until sequence number of the last change to read; a replica may not have it yet
 */
async function changesBetween(store: Store, index: OrderedField, after: number, until: number) {
  const log = subjects.orderedLog(index, index.field);
  const changes: { id: string; after: Listing; seq: number | undefined }[] = [];
  let [from, catchUps] = [after + 1, CATCH_UPS];
  while (from <= until && catchUps > 0) {
    const { messages } = await readPage(store, index.orb, log, { fromSeq: from, limit: PLACES_PER_READ });
    for (const message of messages) {
      if (message.seq > until) break;
      const change = listingIn(message.json());
      if (change === null || change.id === "") continue;
      changes.push({ ...change, seq: change.isNew ? message.seq + 1 : undefined });
    }
    from = (messages.at(-1)?.seq ?? from - 1) + 1;
    if (messages.length > 0) continue;
    catchUps--;
    await pause(CATCH_UP_MS);
  }
  return from <= until ? undefined : changes;
}

/**
 * Builds a live index, or builds it again. Writes of other processes continue meanwhile: their changes are in the log,
 * and the index is complete up to a mark in the log.
 * @returns false if another process has changed the index at the same time
 */
export async function buildLive(compaction: LiveCompaction): Promise<boolean> {
  const { deps, index, limits } = compaction;
  const { store } = deps;
  const stream = streams.orb(index.orb);
  const root = await readRoot(store, index, "leader");
  const start = await mark(store, index);
  const found = await readListings(store, index);
  const end = await mark(store, index);
  const changes = await changesBetween(store, index, start, end);
  if (changes === undefined) return false;
  for (const { id, after, seq } of changes) {
    const known = found.get(id);
    // Without a position, the entry was created and changed after its listing was read.
    if (known !== undefined) found.set(id, [known[0], after]);
    else if (seq !== undefined) found.set(id, [seq, after]);
  }
  const late = changes.filter(({ id }) => !found.has(id));
  // An entry was created as a draft and published while this function read the others. The next attempt finds it.
  if (late.some(({ after }) => after !== 0)) return false;
  const now = deps.clock.now();
  const places = [...found].flatMap(([id, [seq, listing]]): ListedPlace[] =>
    listing === 0 || isOver(listing, now) ? [] : [{ id, seq, listing }],
  );
  places.sort((a, b) => a.seq - b.seq);
  const most = Math.max(limits.page, Math.ceil(Math.sqrt(places.length)));
  const { pages, messages } = livePagesOf(index, places, most, now);
  const made = { name: crypto.randomUUID(), upTo: end, dead: 0, pages, recent: new Map() };
  const names = pages.map(({ name }) => name);
  let first: number | undefined;
  for (let at = 0; at < messages.length; at += PAGES_PER_BATCH) {
    const some = messages.slice(at, at + PAGES_PER_BATCH);
    const last = await store.batch(stream, some);
    first ??= last - some.length + 1;
  }
  const written = await nullOnConflict(writeLiveRoot(compaction, root?.seq ?? 0, [], made));
  if (written === null) {
    for (let at = 0; at < names.length; at += BATCH_LIMIT)
      await store.batch(stream, freedPages(index, names.slice(at, at + BATCH_LIMIT)));
    return false;
  }
  // Remove the pages of the earlier root, and those of builds that did not finish.
  const old = subjects.orderedPages(index, index.field);
  if (root !== null) await store.purge(stream, old, { beforeSeq: first ?? written });
  return true;
}
