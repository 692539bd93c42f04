import { ReadBudget } from "../../store/budget.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { Store } from "../../store/types.ts";
import { inBatches } from "../index/index.ts";
import { orderedKey, parseEntry } from "../model/index.ts";
import type { OrderedField, Pair } from "./pages.ts";

/**
 * Returns the pairs (of a value and an entry id) that are outdated, because a later revision gave the entry another
 * value. A writer first adds a pair to the log, and then stores the revision with that value. So the stored revision
 * may be older than the pair. Only a newer revision proves that the pair is outdated.
 * @param drops pairs that a write removed, each with the highest sequence number at which it can have been added
 */
export async function lost(
  plain: Store,
  index: OrderedField,
  drops: readonly { pair: Pair; seq: number; since: number }[],
): Promise<Pair[]> {
  const doubtful = drops.filter(({ seq, since }) => seq > since);
  if (doubtful.length === 0) return [];
  const byId = Map.groupBy(doubtful, ({ pair: { id } }) => id);
  const byLog = new Map([...byId].map(([id, some]) => [subjects.entryLog({ ...index, id }), some]));
  const budget = new ReadBudget(Number.POSITIVE_INFINITY);
  const store = budget.charging(plain);
  const read = (logs: readonly string[], maxBytes: number) =>
    store.getMany(streams.orb(index.orb), logs, { maxBytes });
  const gone: Pair[] = [];
  for await (const { wanted, result } of inBatches(budget, [...byLog.keys()], read)) {
    for (const log of wanted) {
      const entry = parseEntry(result.get(log));
      const keys = new Set([...(entry?.head.claims ?? []), ...(entry?.head.liveClaims ?? [])]);
      for (const { pair, since } of byLog.get(log) ?? []) {
        const isKept = keys.has(orderedKey(index.field, pair.value));
        if (!isKept && (entry === null || entry.seq > since)) gone.push(pair);
      }
    }
  }
  return gone;
}
