/** Every stored entry of a schema, a page at a time. For work on whole collections: publishing an orb, rekeying. */
import type { Deps } from "../../deps.ts";
import { pause } from "../../kernel/pause.ts";
import { indexBytes, ReadBudget } from "../../store/budget.ts";
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
  const stream = streams.orb(orb);
  const filter = home === undefined ? subjects.orbIndex(orb) : subjects.schemaIndex({ orb, ...home });
  // Whatever is stored is read, a part at a time.
  const budget = new ReadBudget(Number.POSITIVE_INFINITY);
  const store = budget.charging(deps.store);
  // Pages may come from a replica that lags: the leader tells how far they must reach.
  const newest = await orNull(deps.store.get(stream, filter));
  let patience = PATIENCE;
  for (let fromSeq = 1; ; ) {
    const page = await orNull(
      deps.store.scan(stream, filter, { fromSeq, limit: PAGE, maxBytes: indexBytes(PAGE) }),
    );
    if (page === null) return;
    // <orb>._ix.<type>.<schema>.<id>
    const logs = page.messages
      .filter((message) => message.size > 0)
      .map((message) => message.subject.split("."))
      .map(([, , type = "", schema = "", id = ""]) =>
        subjects.entryLog({ orb, type: type as ModuleToken, schema, id }),
      );
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
