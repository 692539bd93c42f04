/**
 * Functions that the compactions of ordered indexes and word indexes share. They read the changes of an index from its
 * log, and replace its root (the message that lists the index's pages).
 */
import type { Fence } from "../../definition/live-orb.ts";
import { fenceGuard } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { ReadBudget } from "../../store/budget.ts";
import { LOG_START, streams, subjects, TOGETHER } from "../../store/subjects.ts";
import type { Append, Store, StoredMessage } from "../../store/types.ts";
import { inBatches } from "../index/index.ts";
import { changeBody, changeIn, GONE_SECONDS, orderedKey, parseEntry } from "../model/index.ts";
import { type OrderedField, type Pair, REMOVED } from "./pages.ts";

/**
 * Returns the pairs (of a value and an entry id) that are outdated, because a later revision gave the entry another
 * value. A writer first adds a pair to the log, and then stores the revision with that value. So the stored revision
 * may be older than the pair. Only a newer revision proves that the pair is outdated.
 * @param drops pairs that a write removed, each with the highest sequence number at which it can have been added
 */
async function lost(
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

/**
 * For each pair (of a value and an entry id), the sequence number of the last change in the log that contains the pair.
 */
class PairSeqs {
  readonly #byId = new Map<string, Map<Pair["value"], number>>();

  set(id: string, values: readonly Pair["value"][], seq: number): void {
    let known = this.#byId.get(id);
    if (known === undefined) {
      known = new Map();
      this.#byId.set(id, known);
    }
    for (const value of values) known.set(value, seq);
  }

  of({ value, id }: Pair): number | undefined {
    return this.#byId.get(id)?.get(value);
  }

  all(): { pair: Pair; seq: number }[] {
    return [...this.#byId].flatMap(([id, values]) =>
      [...values].map(([value, seq]) => ({ pair: { value, id }, seq })),
    );
  }
}

/**
 * Returns the pairs (of a value and an entry id) that the log adds to an index, and the pairs of the same entries that
 * no longer apply.
 * @param upTo sequence number of the last change that the index already includes
 */
export async function changesOf(
  store: Store,
  index: OrderedField,
  upTo: number,
  messages: readonly StoredMessage[],
): Promise<{ added: Pair[]; gone: Pair[] }> {
  const added = new PairSeqs();
  const dropped = new PairSeqs();
  for (const message of messages) {
    const { id, adds, drops } = changeIn(message.json());
    dropped.set(id, drops, message.seq);
    added.set(id, adds, message.seq);
  }
  const drops = dropped.all().map((drop) => ({ ...drop, since: added.of(drop.pair) ?? upTo }));
  return { added: added.all().map(({ pair }) => pair), gone: await lost(store, index, drops) };
}

export interface RootWriter {
  deps: Pick<Deps, "store">;
  index: OrderedField;
  fence: Fence | undefined;
  /**
   * Whether the root includes changes of a publication that readers see as a whole, or not at all. The log no longer
   * shows them.
   */
  isTogether?: boolean;
}

/**
 * Writes the root of an index (the list of its pages) and new pages in one batch.
 * @param seq sequence number of the root to replace, 0 if there is none
 * @returns the sequence number of the new root
 * @throws Conflict if the root or the definition changed
 */
export function writeRoot(
  { deps, index, fence, isTogether }: RootWriter,
  seq: number,
  messages: readonly Append[],
  root: { upTo: number; body: string },
): Promise<number> {
  const { orb } = index;
  const next: Append = {
    subject: subjects.orderedRoot(index, index.field),
    data: root.body,
    rollup: true,
    expect: { seq },
    headers: { [LOG_START]: String(root.upTo), ...(isTogether === true ? { [TOGETHER]: "1" } : {}) },
  };
  return deps.store.batch(streams.orb(orb), [guardOf(orb, fence), ...messages, next]);
}

/**
 * Appends a change to the log of an index.
 * @returns its sequence number
 * @throws Conflict if the definition changed
 */
export function appendChange(
  { deps, index, fence }: RootWriter,
  change: Parameters<typeof changeBody>[0],
): Promise<number> {
  const { orb } = index;
  const next: Append = { subject: subjects.orderedLog(index, index.field), data: changeBody(change) };
  return deps.store.batch(streams.orb(orb), [guardOf(orb, fence), next]);
}

function guardOf(orb: string, fence: Fence | undefined): Append {
  return {
    subject: subjects.guard(orb, "order", 0),
    data: "",
    ttl: GONE_SECONDS,
    expect: fenceGuard(orb, fence),
  };
}

/**
 * Marks an index as erased. Readers ignore the index until it gets a new root (the message that lists its pages).
 * @param end sequence number before which the index's log will be erased
 * @throws Conflict if the definition changed
 */
export function writeRemovedRoot({ deps, index, fence }: RootWriter, end: number): Promise<number> {
  const { orb } = index;
  const root: Append = {
    subject: subjects.orderedRoot(index, index.field),
    data: REMOVED,
    rollup: true,
    headers: { [LOG_START]: String(end) },
  };
  return deps.store.batch(streams.orb(orb), [guardOf(orb, fence), root]);
}

/** Returns messages that delete the pages which a new root no longer lists. */
export function freedPages(index: OrderedField, names: readonly string[]): Append[] {
  return names.map((name) => ({
    subject: subjects.orderedPage(index, index.field, name),
    data: "",
    rollup: true,
    ttl: GONE_SECONDS,
  }));
}
