/**
 * Opens an index: reads its root (the list of its sorted pages) and its log (the later changes). No change between the
 * two reads is missed.
 */

import { BoundedMap } from "../../kernel/bounded-map.ts";
import { type AppError, unavailable } from "../../kernel/errors.ts";
import { Again, type RetryPolicy, retry } from "../../kernel/retry.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { readNewer } from "../../store/policy.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { Consistency, Page, Store, StoredMessage } from "../../store/types.ts";
import { readPage } from "../index/index.ts";
import { changeIn } from "../model/index.ts";
import { EMPTY, type OrderedField, type Pair, REMOVED, type Root, rootOf, type StoredRoot } from "./pages.ts";

/**
 * Maximum changes to read from the log of an index. If the log is longer, requests do without the index until a
 * compaction (a job that moves the changes into pages) has shortened the log.
 */
const LONGEST_LOG = 4_000;
/** Maximum changes per read of the log. A larger read would have to wait for other large reads. */
const LOG_READ = 500;
/** Returns the error for an index that is compacted again and again, or whose log has become too long. */
export function tooFast(): AppError {
  return unavailable("an index changes too fast");
}

/** Reads an index again if a compaction has replaced what the first attempt wants to read. */
export const WHILE_COMPACTED: RetryPolicy = { attempts: 8, failed: tooFast };

/** A message of this many bytes or more contains a root. A shorter one can be the placeholder of an erased index. */
const LONGEST_REMOVED = 500;

export interface OpenedIndex {
  root: Root;
  /** Pairs from the log that the root does not include, in the order in which they were written. */
  added: Pair[];
  /** Number of changes in the log that are not in the root (the list of the index's pages) yet. */
  logged: number;
}

/**
 * For each index, the sequence number at which its log began when it was last read. The next reader starts there, so it
 * can read the log and the root at the same time.
 */
const starts = new BoundedMap<string, number>(10_000);

interface KnownRoot<R> {
  seq: number;
  time: number;
  root: R;
  /** Time at which the last change in the root was written. Undefined until that change has been read from the log. */
  logTime: number | undefined;
}

/** Parses the roots of one kind of index, and caches the results. */
export class RootParser<R extends { upTo: number }> {
  readonly #known: BoundedMap<string, KnownRoot<R>>;
  readonly #empty: R;
  readonly #parse: (message: StoredMessage) => R;

  constructor(empty: R, parse: (message: StoredMessage) => R, most: number) {
    this.#empty = empty;
    this.#parse = parse;
    this.#known = new BoundedMap(most);
  }

  parsed(message: StoredMessage | null): R {
    if (message === null || message.size === 0 || isRemoved(message)) return this.#empty;
    const { subject, seq, time } = message;
    const known = this.#known.get(subject);
    if (known?.seq === seq && known.time === time) return known.root;
    const root = this.#parse(message);
    this.#known.set(subject, { seq, time, root, logTime: undefined });
    return root;
  }

  /** Returns the cached root. */
  known(subject: string): KnownRoot<R> | undefined {
    return this.#known.get(subject);
  }

  /** Records when the last change that the cached root includes was written. */
  confirm(subject: string, root: R, logTime: number): void {
    const known = this.#known.get(subject);
    if (known?.root === root) known.logTime = logTime;
  }
}

const roots = new RootParser<Root>(EMPTY, (message) => rootOf(message.json<StoredRoot>()), 200);

export function parsedRoot(message: StoredMessage | null): Root {
  return roots.parsed(message);
}

function isRemoved(message: StoredMessage | null): boolean {
  return message !== null && message.size < LONGEST_REMOVED && message.text() === REMOVED;
}

interface ReadRoot<R> {
  root: R;
  removed: boolean;
  /**
   * Time at which the last change in the root (the list of the index's pages) was written. Present only if the root
   * comes from the cache.
   */
  logTime?: number;
}

async function readRoot<R extends { upTo: number }>(
  store: Store,
  index: OrderedField,
  parser: RootParser<R>,
  consistency: Consistency,
): Promise<ReadRoot<R>> {
  const subject = subjects.orderedRoot(index, index.field);
  const message = await nullIfMissing(store.get(streams.orb(index.orb), subject, { consistency }));
  return { root: parser.parsed(message), removed: isRemoved(message) };
}

/**
 * Reads the root (the list of an index's pages) only if it is newer than the cached root, because a root can have 100
 * KB. The cached root may belong to a deleted application with the same id. So the caller must compare `logTime` with
 * the log.
 */
async function newerRoot<R extends { upTo: number }>(
  store: Store,
  index: OrderedField,
  parser: RootParser<R>,
): Promise<ReadRoot<R>> {
  const subject = subjects.orderedRoot(index, index.field);
  const known = parser.known(subject);
  // Read the root if no reader has compared the cached one with the log yet.
  if (known?.logTime === undefined) return readRoot(store, index, parser, "stale");
  const bounds = { seq: known.seq, maxBytes: SMALL_BYTES };
  const message = await nullIfMissing(readNewer(store, streams.orb(index.orb), subject, bounds));
  if (message === undefined) return { root: known.root, removed: false, logTime: known.logTime };
  return { root: parser.parsed(message), removed: isRemoved(message) };
}

function readLog(store: Store, index: OrderedField, fromSeq: number): Promise<Page> {
  const filter = subjects.orderedLog(index, index.field);
  return readPage(store, index.orb, filter, { fromSeq, limit: LOG_READ });
}

/**
 * Returns the root of an index (the list of its pages), and the changes in its log that are not in the pages. Returns
 * undefined if the log is too long to read in one request.
 *
 * Between the two reads, a compaction may replace the root and shorten the log. It always keeps the last change that
 * the newest root includes. So if the log still has that change, no later change is missing.
 */
export async function openLog<R extends { upTo: number }>(
  store: Store,
  index: OrderedField,
  parser: RootParser<R>,
): Promise<{ root: R; changes: StoredMessage[] } | undefined> {
  const name = subjects.orderedLog(index, index.field);
  return retry(WHILE_COMPACTED, async (attempt) => {
    const start = starts.get(name);
    const [ahead, found] = await Promise.all([
      start === undefined ? undefined : readLog(store, index, start),
      attempt === 0 ? newerRoot(store, index, parser) : readRoot(store, index, parser, "leader"),
    ]);
    const { logTime } = found;
    let { root, removed } = found;
    const reached = start !== undefined && start <= Math.max(1, root.upTo);
    let page = reached && ahead !== undefined ? ahead : await readLog(store, index, Math.max(1, root.upTo));
    // No root was found. Another process may have just written the first root, so ask the leader.
    if (root.upTo === 0) ({ root, removed } = await readRoot(store, index, parser, "leader"));
    if (removed) return undefined;
    const changes = page.messages.filter(({ seq }) => seq >= root.upTo);
    while (page.pending > 0 && page.messages.length > 0) {
      if (changes.length + page.pending > LONGEST_LOG) return undefined;
      page = await readLog(store, index, Math.max(root.upTo, (page.messages.at(-1)?.seq ?? 0) + 1));
      changes.push(...page.messages);
    }
    const first = changes[0];
    if (root.upTo > 0 && first !== undefined && first.seq !== root.upTo) throw new Again();
    if (logTime !== undefined && first?.time !== logTime) throw new Again();
    if (root.upTo > 0 && first !== undefined)
      parser.confirm(subjects.orderedRoot(index, index.field), root, first.time);
    starts.set(name, Math.max(1, root.upTo));
    const { upTo } = root;
    return { root, changes: changes.filter(({ seq }) => seq > upTo) };
  });
}

/** Reads the state of an ordered index. Returns undefined if the log of changes is too long to read. */
export async function openIndex(store: Store, index: OrderedField): Promise<OpenedIndex | undefined> {
  const opened = await openLog(store, index, roots);
  if (opened === undefined) return undefined;
  const { root, changes } = opened;
  return { root, added: changes.flatMap(pairsAdded), logged: changes.length };
}

export function pairsAdded(message: StoredMessage): Pair[] {
  const { id, adds } = changeIn(message.json());
  return adds.map((value) => ({ value, id }));
}
