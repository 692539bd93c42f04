/**
 * Functions that the compactions of ordered indexes and word indexes share. They read the changes of an index from its
 * log, and replace its root (the message that lists the index's pages).
 */
import type { Fence } from "../../definition/live-orb.ts";
import { fenceGuard } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { LOG_START, streams, subjects } from "../../store/subjects.ts";
import type { Append, Store, StoredMessage } from "../../store/types.ts";
import { changeIn, GONE_SECONDS } from "../model/index.ts";
import { lost } from "./lost.ts";
import { type OrderedField, type Pair, REMOVED } from "./pages.ts";

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

/**
 * Writes the root of an index (the list of its pages) and new pages in one batch.
 * @param seq sequence number of the root to replace, 0 if there is none
 * @returns the sequence number of the new root
 * @throws Conflict if the root or the definition changed
 */
export function writeRoot(
  { deps, index, fence }: { deps: Pick<Deps, "store">; index: OrderedField; fence: Fence | undefined },
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
    headers: { [LOG_START]: String(root.upTo) },
  };
  return deps.store.batch(streams.orb(orb), [guardOf(orb, fence), ...messages, next]);
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
export function writeRemovedRoot(
  { deps, index, fence }: { deps: Pick<Deps, "store">; index: OrderedField; fence: Fence | undefined },
  end: number,
): Promise<number> {
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
