/** Every stored entry of a schema, a page at a time. For work on whole collections: publishing an orb, rekeying. */
import type { Deps } from "../../deps.ts";
import { pause } from "../../kernel/pause.ts";
import { indexBytes, READ_BYTES, ReadBudget } from "../../store/budget.ts";
import { type Home, type ModuleToken, streams, subjects } from "../../store/subjects.ts";
import { type LoadedEntry, loaded, orNull } from "../model/resolve.ts";
import { inParts } from "./parts.ts";

const PAGE = 200;

/**
 * How often a replica that lags is asked again, and after how many milliseconds. Not for ever: the message that it lacks
 * may have expired meanwhile.
 */
const PATIENCE = 10;
const CATCH_UP_MS = 20;

/**
 * Pages of entries that exist, oldest first; two requests each, more where they are large. What is created while it runs may be missing.
 * @param home all schemas of the orb when it is left out
 */
export async function* walkEntries(
  deps: Pick<Deps, "store">,
  orb: string,
  home?: Home,
): AsyncGenerator<LoadedEntry[]> {
  const filter = home === undefined ? subjects.orbIndex(orb) : subjects.schemaIndex({ orb, ...home });
  yield* walk(deps, orb, { filter, fromSeq: 1, maxBytes: indexBytes(PAGE) });
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
  const newest = await orNull(deps.store.get(stream, filter));
  if (newest !== null && newest.seq < start.fromSeq) return;
  let patience = PATIENCE;
  for (let { fromSeq } = start; ; ) {
    const page = await orNull(deps.store.scan(stream, filter, { fromSeq, limit: PAGE, maxBytes }));
    if (page === null) return;
    const some = page.messages.filter((message) => message.size > 0).map(({ subject }) => logIn(subject));
    const logs = [...new Set(some)];
    const read = (some: readonly string[], maxBytes: number) => store.getMany(stream, some, { maxBytes });
    for await (const { wanted, result } of inParts(budget, logs, read)) {
      const entries = wanted.map((log) => loaded(result.get(log)));
      yield entries.filter((entry) => entry !== null && entry.head.status !== "DELETED") as LoadedEntry[];
    }
    const last = page.messages.at(-1);
    if (last !== undefined) fromSeq = last.seq + 1;
    if (page.pending > 0 && last !== undefined) continue;
    if (newest === null || fromSeq > newest.seq || patience-- === 0) return;
    await pause(CATCH_UP_MS);
  }
}
