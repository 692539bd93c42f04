import type { Deps } from "../../deps.ts";
import { AppError } from "../../kernel/errors.ts";
import { type RetryPolicy, retry } from "../../kernel/retry.ts";
import { indexBytes, READ_BYTES, ReadBudget } from "../../store/budget.ts";
import { nullIfMissing, scanPages } from "../../store/pages.ts";
import { type Home, parsedHome, streams, subjects } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";
import { addressIn, parseEntry, type StoredEntry } from "../model/index.ts";
import { ahead, inBatches, sideBySide } from "./batches.ts";

const ENTRIES_PER_PAGE = 200;
/**
 * Each page of an index is larger than the one before it, up to this number. For each page, the broker counts all
 * messages of the index, so that small pages of a large index cost more than the entries.
 */
const LARGEST_PAGE = 4_000;
const GROWTH = 4;
/** Reads of entries that are in progress at the same time. A busy broker answers each of them late. */
const READS_AT_ONCE = 4;
/** Reading all entries takes many requests. If a busy broker answers one of them too late, it is sent again. */
const TOO_LATE: RetryPolicy = {
  attempts: 3,
  after: (error) => error instanceof AppError && error.kind === "timeout",
  pauseMs: (attempt) => 200 * 2 ** attempt,
};

/**
 * Yields pages of existing entries, oldest first. May miss entries that are created during the scan.
 * @param upTo reads the entries as they were at this sequence number of the stream. Only for streams without replicas
 */
export async function* scanEntries(
  deps: Pick<Deps, "store">,
  orb: string,
  home?: Home,
  upTo?: number,
): AsyncGenerator<StoredEntry[]> {
  const filter = home === undefined ? subjects.orbIndex(orb) : subjects.schemaIndex({ orb, ...home });
  yield* walk(deps, orb, { filter, fromSeq: 1, largest: LARGEST_PAGE, maxBytes: indexBytes, upTo });
}

/**
 * Yields pages of existing entries that were written after a given sequence number of the stream. An entry may appear
 * twice.
 * @param options.deleted also yields deleted entries
 * @param options.onPurged called with the id of each purged entry. It leaves a mark for some seconds only
 */
export async function* entriesSince(
  deps: Pick<Deps, "store">,
  orb: string,
  home: Home,
  seq: number,
  { deleted = false, onPurged }: { deleted?: boolean; onPurged?: (id: string) => void } = {},
): AsyncGenerator<StoredEntry[]> {
  yield* walk(deps, orb, {
    filter: subjects.schemaLogs({ orb, ...home }),
    fromSeq: seq + 1,
    largest: ENTRIES_PER_PAGE,
    maxBytes: () => READ_BYTES,
    deleted,
    onPurged,
  });
}

function logIn(subject: string): string {
  const [orb = "", second = "", type = "", schema = "", id = ""] = subject.split(".");
  return second === "_ix" ? subjects.entryLog({ orb, ...parsedHome(type, schema), id }) : subject;
}

async function* walk(
  deps: Pick<Deps, "store">,
  orb: string,
  {
    filter,
    largest,
    maxBytes,
    upTo,
    deleted = false,
    onPurged,
    ...start
  }: {
    filter: string;
    fromSeq: number;
    /** Maximum messages of a page. */
    largest: number;
    /** Returns the maximum bytes of a page. */
    maxBytes: (messages: number) => number;
    upTo?: number | undefined;
    deleted?: boolean;
    onPurged?: ((id: string) => void) | undefined;
  },
): AsyncGenerator<StoredEntry[]> {
  const stream = streams.orb(orb);
  const budget = new ReadBudget(Number.POSITIVE_INFINITY);
  const store = budget.charging(deps.store);
  // Ask the leader for the last sequence number, because a replica may not have the newest entries yet.
  const newest = await nullIfMissing(deps.store.get(stream, filter));
  if (newest !== null && newest.seq < start.fromSeq) return;
  let next = ENTRIES_PER_PAGE;
  const page = async (fromSeq: number) => {
    const limit = next;
    next = Math.min(largest, GROWTH * limit);
    const options = { fromSeq, limit, maxBytes: maxBytes(limit) };
    const found = retry(TOO_LATE, () => deps.store.scan(stream, filter, options));
    return (await nullIfMissing(found)) ?? { messages: [], pending: 0 };
  };
  const pages = scanPages(page, { fromSeq: start.fromSeq, until: newest?.seq ?? 0 });
  const read = (some: readonly string[], maxBytes: number) =>
    retry(TOO_LATE, () => store.getMany(stream, some, { maxBytes, ...(upTo === undefined ? {} : { upTo }) }));
  const parts = sideBySide(logsOf(pages), (logs) => inBatches(budget, logs, read), READS_AT_ONCE);
  for await (const { wanted, result } of parts) {
    const entries = wanted.map((log) => {
      const message = result.get(log);
      const entry = parseEntry(message);
      if (entry === null && message !== undefined) onPurged?.(addressIn(log).id);
      return entry;
    });
    yield entries.filter(
      (entry): entry is StoredEntry => entry !== null && (deleted || entry.head.status !== "DELETED"),
    );
  }
}

/** Yields the subjects of the entries that pages of an index or a log name, some at a time. */
async function* logsOf(pages: AsyncGenerator<StoredMessage[]>): AsyncGenerator<string[]> {
  for await (const messages of ahead(pages)) {
    const some = messages.filter((message) => message.size > 0).map(({ subject }) => logIn(subject));
    const logs = [...new Set(some)];
    for (let at = 0; at < logs.length; at += ENTRIES_PER_PAGE) yield logs.slice(at, at + ENTRIES_PER_PAGE);
  }
}
