/** Reads entries as they were at a time in the past, from their logs. */

import { normaliseInstant } from "../../definition/fields/parts/index.ts";
import type { Deps } from "../../deps.ts";
import { invalidParameters } from "../../kernel/errors.ts";
import { MOMENT_FORM } from "../../kernel/faults.ts";
import { PAIR_BYTES, READ_BYTES, REQUEST_BYTES, type ReadBudget, SMALL_BYTES } from "../../store/budget.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { type EntryAddress, type Home, streams, subjects } from "../../store/subjects.ts";
import type { Store, StoredMessage } from "../../store/types.ts";
import type { IndexEntry } from "../index/index.ts";
import { addressIn, effective, type StoredSnapshot, snapshotOf } from "../model/index.ts";
import type { Places } from "../query/index.ts";

const REVISIONS_PER_READ = 500;
/** Revisions per read of one entry's log. One revision is enough, so the number is small. */
const REVISIONS_OF_ENTRY = 20;
/**
 * Maximum bytes that a list may read to find its entries. It needs the other half of its limit to read their content.
 */
const FIND_BYTES = REQUEST_BYTES / 2;
/**
 * The search reads this many milliseconds beyond the requested time. The broker stores a revision slightly after the
 * revision's `updatedAt`, and the clocks of hosts differ.
 */
const SLACK_MS = 5000;

/**
 * Parses the query parameter `at` to milliseconds since the epoch.
 * @param revision the query parameter `revision`, which names another revision than `at`
 */
export function readMoment(text: string, revision?: string): number {
  if (revision !== undefined)
    throw invalidParameters([
      { path: "/revision", code: "not_applicable", message: "must not be given together with at" },
    ]);
  const instant = normaliseInstant(text);
  if (instant !== undefined) return Date.parse(instant);
  throw invalidParameters([{ path: "/at", code: "invalid_value", message: MOMENT_FORM }]);
}

export interface PastEntry {
  /** Size of the stored revision in bytes. */
  size: number;
  /** The newest revision at the requested time. It appears as unpublished if its `validTo` had already passed. */
  snapshot: StoredSnapshot;
}

/** Returns whether a revision was written after the time `at`. */
function isAfter(message: StoredMessage, at: number): boolean {
  if (message.time > at + SLACK_MS) return true;
  const snapshot = snapshotOf(message);
  return snapshot !== null && Date.parse(snapshot.updatedAt) > at;
}

/** Returns the revision of a log that was the newest at a given time. */
async function newestAt(
  store: Store,
  orb: string,
  log: string,
  at: number,
): Promise<StoredMessage | undefined> {
  const stream = streams.orb(orb);
  const options = { maxBytes: PAIR_BYTES, upTo: { time: at - SLACK_MS } };
  const early = (await nullIfMissing(store.getMany(stream, [log], options)))?.get(log);
  let newest = early === undefined || isAfter(early, at) ? undefined : early;
  for (let fromSeq = (newest?.seq ?? 0) + 1; ; ) {
    const limits = { fromSeq, limit: REVISIONS_OF_ENTRY, maxBytes: SMALL_BYTES };
    const page = await nullIfMissing(store.scan(stream, log, limits));
    for (const message of page?.messages ?? []) {
      if (message.time > at + SLACK_MS) return newest;
      if (!isAfter(message, at)) newest = message;
    }
    const last = page?.messages.at(-1);
    if (page === null || last === undefined || page.pending === 0) return newest;
    fromSeq = last.seq + 1;
  }
}

function pastEntry(message: StoredMessage | undefined, at: number): PastEntry | undefined {
  const stored = snapshotOf(message);
  if (message === undefined || stored === null) return undefined;
  const snapshot = effective(stored, at);
  return snapshot.status === "DELETED" ? undefined : { size: message.size, snapshot };
}

/** Returns an entry as it was at a given time, or null if it did not exist then or was purged. */
export async function entryAt(
  deps: Pick<Deps, "store">,
  address: EntryAddress,
  at: number,
): Promise<PastEntry | null> {
  const message = await newestAt(deps.store, address.orb, subjects.entryLog(address), at);
  return pastEntry(message, at) ?? null;
}

/** The entries of an application or schema as they were at a given time. */
export class PastEntries {
  readonly #store: Store;
  readonly #budget: ReadBudget;
  readonly #orb: string;
  readonly #filter: string;
  readonly #at: number;
  /** Sequence numbers of revisions that are not the first one of their entry, so that no entry is listed twice. */
  readonly #later = new Set<number>();

  constructor(plain: Store, budget: ReadBudget, orb: string, home: Home | undefined, at: number) {
    this.#store = budget.charging(plain);
    this.#budget = budget;
    this.#orb = orb;
    this.#filter = home === undefined ? subjects.allLogs(orb) : subjects.schemaLogs({ orb, ...home });
    this.#at = at;
  }

  /**
   * Reads the next revisions of all entries, oldest first. {@link read} returns each entry only for its first revision,
   * so the list is in order of creation.
   */
  async places(after: number, most: number): Promise<Places> {
    const places: IndexEntry[] = [];
    for (let reached = after; ; ) {
      const page = await nullIfMissing(
        this.#store.scan(streams.orb(this.#orb), this.#filter, {
          fromSeq: reached + 1,
          limit: Math.min(REVISIONS_PER_READ, most - places.length),
          maxBytes: READ_BYTES,
        }),
      );
      for (const message of page?.messages ?? []) {
        if (message.time > this.#at + SLACK_MS) return { places, complete: true, reached };
        const { subject, seq } = message;
        if (snapshotOf(message)?.revision !== 1 || isAfter(message, this.#at)) this.#later.add(seq);
        places.push({ ...addressIn(subject), seq });
        reached = seq;
      }
      if (page === null || page.pending === 0) return { places, complete: true, reached };
      if (places.length >= most || this.#budget.spent >= FIND_BYTES)
        return { places, complete: false, reached };
    }
  }

  /**
   * Returns the entries in `places` as they were at the requested time. The result contains undefined for each entry
   * that did not exist then.
   */
  async read(places: readonly IndexEntry[], maxBytes: number): Promise<(PastEntry | undefined)[]> {
    const at = this.#at;
    const logs = places.map((place) =>
      this.#later.has(place.seq) ? undefined : subjects.entryLog({ orb: this.#orb, ...place }),
    );
    const wanted = logs.filter((log) => log !== undefined);
    const options = { maxBytes, upTo: { time: at + SLACK_MS } };
    const found = await nullIfMissing(this.#store.getMany(streams.orb(this.#orb), wanted, options));
    const entries: (PastEntry | undefined)[] = [];
    for (const log of logs) {
      const message = log === undefined ? undefined : found?.get(log);
      const isLater = log !== undefined && message !== undefined && isAfter(message, at);
      entries.push(pastEntry(isLater ? await newestAt(this.#store, this.#orb, log, at) : message, at));
    }
    return entries;
  }
}
