import type { Deps } from "../../deps.ts";
import { indexBytes, READ_BYTES, ReadBudget } from "../../store/budget.ts";
import { scanPages } from "../../store/pages.ts";
import { type Home, parsedHome, streams, subjects } from "../../store/subjects.ts";
import { nullIfMissing, parseEntry, type StoredEntry } from "../model/resolve.ts";
import { ahead, inBatches } from "./batches.ts";

const ENTRIES_PER_PAGE = 200;

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
  yield* walk(deps, orb, { filter, fromSeq: 1, maxBytes: indexBytes(ENTRIES_PER_PAGE), upTo });
}

/**
 * Yields pages of existing entries that were written after a given sequence number of the stream. An entry may appear
 * twice.
 * @param options.deleted also yields deleted entries
 */
export async function* entriesSince(
  deps: Pick<Deps, "store">,
  orb: string,
  home: Home,
  seq: number,
  { deleted = false }: { deleted?: boolean } = {},
): AsyncGenerator<StoredEntry[]> {
  yield* walk(deps, orb, {
    filter: subjects.schemaLogs({ orb, ...home }),
    fromSeq: seq + 1,
    maxBytes: READ_BYTES,
    deleted,
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
    maxBytes,
    upTo,
    deleted = false,
    ...start
  }: { filter: string; fromSeq: number; maxBytes: number; upTo?: number | undefined; deleted?: boolean },
): AsyncGenerator<StoredEntry[]> {
  const stream = streams.orb(orb);
  const budget = new ReadBudget(Number.POSITIVE_INFINITY);
  const store = budget.charging(deps.store);
  // Ask the leader for the last sequence number, because a replica may not have the newest entries yet.
  const newest = await nullIfMissing(deps.store.get(stream, filter));
  if (newest !== null && newest.seq < start.fromSeq) return;
  const page = async (fromSeq: number) =>
    (await nullIfMissing(
      deps.store.scan(stream, filter, { fromSeq, limit: ENTRIES_PER_PAGE, maxBytes }),
    )) ?? { messages: [], pending: 0 };
  const pages = scanPages(page, { fromSeq: start.fromSeq, until: newest?.seq ?? 0 });
  for await (const messages of ahead(pages)) {
    const some = messages.filter((message) => message.size > 0).map(({ subject }) => logIn(subject));
    const logs = [...new Set(some)];
    const read = (some: readonly string[], maxBytes: number) =>
      store.getMany(stream, some, { maxBytes, ...(upTo === undefined ? {} : { upTo }) });
    for await (const { wanted, result } of inBatches(budget, logs, read)) {
      const entries = wanted.map((log) => parseEntry(result.get(log)));
      yield entries.filter(
        (entry): entry is StoredEntry => entry !== null && (deleted || entry.head.status !== "DELETED"),
      );
    }
  }
}
