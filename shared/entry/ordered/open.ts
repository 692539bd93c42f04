/** Reads the root and the log of an ordered index together, so that no change is missed between them. */
import { BoundedMap } from "../../kernel/bounded-map.ts";
import { unavailable } from "../../kernel/errors.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { Consistency, Page, Store, StoredMessage } from "../../store/types.ts";
import { readPage } from "../index/scan.ts";
import { changeIn } from "../model/ordered-value.ts";
import { nullIfMissing } from "../model/resolve.ts";
import { EMPTY, type OrderedField, type Pair, type Root, rootOf, type StoredRoot } from "./pages.ts";

/** Readers take at most this many changes from the log. With more, the index is not usable until a compaction. */
const LONGEST_LOG = 4_000;
/** Maximum changes per read of the log. A larger read would wait in the queue for large reads. */
const LOG_READ = 500;
const ATTEMPTS = 8;

export interface OpenedIndex {
  root: Root;
  /** Pairs that the log adds to the root, in the order in which they were written. */
  added: Pair[];
  /** Number of changes in the log that the root does not include. */
  logged: number;
}

/**
 * For each index, the sequence from which its log was last read. The next read of the log starts there, while the root
 * is still being read.
 */
const starts = new BoundedMap<string, number>(10_000);

interface ParsedRoot {
  seq: number;
  time: number;
  root: Root;
}

/** Roots that this process has parsed. */
const roots = new BoundedMap<string, ParsedRoot>(200);

export function parsedRoot(message: StoredMessage | null): Root {
  if (message === null || message.size === 0) return EMPTY;
  const { subject, seq, time } = message;
  const known = roots.get(subject);
  if (known?.seq === seq && known.time === time) return known.root;
  const root = rootOf(message.json<StoredRoot>());
  roots.set(subject, { seq, time, root });
  return root;
}

async function readRoot(store: Store, index: OrderedField, consistency: Consistency): Promise<Root> {
  const subject = subjects.orderedRoot(index, index.field);
  return parsedRoot(await nullIfMissing(store.get(streams.orb(index.orb), subject, { consistency })));
}

function readLog(store: Store, index: OrderedField, fromSeq: number): Promise<Page> {
  const filter = subjects.orderedLog(index, index.field);
  return readPage(store, index.orb, filter, { fromSeq, limit: LOG_READ });
}

/**
 * Returns the state of an ordered index. Undefined if its log is too long to be read for one request.
 *
 * A compaction may replace the root and shorten the log between the two reads. It never removes the last change that
 * the newest root includes. So the log was read completely if that change is in it.
 */
export async function openIndex(store: Store, index: OrderedField): Promise<OpenedIndex | undefined> {
  const name = subjects.orderedLog(index, index.field);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const consistency = attempt === 0 ? "stale" : "leader";
    const start = starts.get(name);
    const [ahead, found] = await Promise.all([
      start === undefined ? undefined : readLog(store, index, start),
      readRoot(store, index, consistency),
    ]);
    let root = found;
    const reached = start !== undefined && start <= Math.max(1, root.upTo);
    let page = reached && ahead !== undefined ? ahead : await readLog(store, index, Math.max(1, root.upTo));
    // No root was found. Another process may have written the first one in the meantime, so ask the leader again.
    if (root.upTo === 0) root = await readRoot(store, index, "leader");
    const changes = page.messages.filter(({ seq }) => seq >= root.upTo);
    while (page.pending > 0 && page.messages.length > 0) {
      if (changes.length + page.pending > LONGEST_LOG) return undefined;
      page = await readLog(store, index, Math.max(root.upTo, (page.messages.at(-1)?.seq ?? 0) + 1));
      changes.push(...page.messages);
    }
    const first = changes[0]?.seq ?? root.upTo;
    if (root.upTo > 0 && first !== root.upTo) continue;
    starts.set(name, Math.max(1, root.upTo));
    const added = changes.filter(({ seq }) => seq > root.upTo);
    return { root, added: added.flatMap(pairsAdded), logged: added.length };
  }
  throw unavailable("an ordered index changes too fast");
}

function pairsAdded(message: StoredMessage): Pair[] {
  const { id, adds } = changeIn(message.json());
  return adds.map((value) => ({ value, id }));
}
