/**
 * Scans all stored entries of a schema or orb, page by page. For work on whole collections, such as publishing an orb
 * or rekeying.
 */
import type { Deps } from "../../deps.ts";
import { pause } from "../../kernel/pause.ts";
import { indexBytes, READ_BYTES, ReadBudget } from "../../store/budget.ts";
import { type Home, type ModuleToken, streams, subjects } from "../../store/subjects.ts";
import { type LoadedEntry, nullIfMissing, parseEntry } from "../model/resolve.ts";
import { inBatches } from "./batches.ts";

const ENTRIES_PER_PAGE = 200;

/**
 * Retries of a lagging replica, and milliseconds between them. The number is limited because the missing message may
 * have expired meanwhile.
 */
const MAX_CATCH_UPS = 10;
const CATCH_UP_MS = 20;

/**
 * Yields pages of existing entries, oldest first. Two requests per page, more for large entries. Entries created
 * during the scan may be missing.
 * @param home the schema to scan; all schemas of the orb if omitted
 */
export async function* scanEntries(
  deps: Pick<Deps, "store">,
  orb: string,
  home?: Home,
): AsyncGenerator<LoadedEntry[]> {
  const filter = home === undefined ? subjects.orbIndex(orb) : subjects.schemaIndex({ orb, ...home });
  yield* walk(deps, orb, { filter, fromSeq: 1, maxBytes: indexBytes(ENTRIES_PER_PAGE) });
}

/** Pages of the entries of a schema that exist and were written after a sequence; some may come twice. One request for none. */
export async function* entriesSince(
  deps: Pick<Deps, "store">,
  orb: string,
  home: Home,
  seq: number,
): AsyncGenerator<LoadedEntry[]> {
  yield* walk(deps, orb, {
    filter: subjects.schemaLogs({ orb, ...home }),
    fromSeq: seq + 1,
    maxBytes: READ_BYTES,
  });
}

/** The entry that an index message or a log message belongs to: `<orb>._ix.<type>.<schema>.<id>`, or the log itself. */
function logIn(subject: string): string {
  const [orb = "", second = "", type = "", schema = "", id = ""] = subject.split(".");
  return second === "_ix" ? subjects.entryLog({ orb, type: type as ModuleToken, schema, id }) : subject;
}

async function* walk(
  deps: Pick<Deps, "store">,
  orb: string,
  { filter, maxBytes, ...start }: { filter: string; fromSeq: number; maxBytes: number },
): AsyncGenerator<LoadedEntry[]> {
  const stream = streams.orb(orb);
  // Whatever is stored is read, a part at a time.
  const budget = new ReadBudget(Number.POSITIVE_INFINITY);
  const store = budget.charging(deps.store);
  // Pages may come from a replica that lags: the leader tells how far they must reach.
  const newest = await nullIfMissing(deps.store.get(stream, filter));
  if (newest !== null && newest.seq < start.fromSeq) return;
  let catchUps = MAX_CATCH_UPS;
  for (let { fromSeq } = start; ; ) {
    const page = await nullIfMissing(
      deps.store.scan(stream, filter, { fromSeq, limit: ENTRIES_PER_PAGE, maxBytes }),
    );
    if (page === null) return;
    const some = page.messages.filter((message) => message.size > 0).map(({ subject }) => logIn(subject));
    const logs = [...new Set(some)];
    const read = (some: readonly string[], maxBytes: number) => store.getMany(stream, some, { maxBytes });
    for await (const { wanted, result } of inBatches(budget, logs, read)) {
      const entries = wanted.map((log) => parseEntry(result.get(log)));
      yield entries.filter((entry) => entry !== null && entry.head.status !== "DELETED") as LoadedEntry[];
    }
    const last = page.messages.at(-1);
    if (last !== undefined) fromSeq = last.seq + 1;
    if (page.pending > 0 && last !== undefined) continue;
    if (newest === null || fromSeq > newest.seq || catchUps-- === 0) return;
    await pause(CATCH_UP_MS);
  }
}
