/**
 * Shared by the compactions of ordered indexes and word indexes. Reads the changes of an index from its log, and
 * replaces the root: the message that lists the index's pages.
 */
import type { Fence } from "../../definition/live-orb.ts";
import { fenceGuard } from "../../definition/stored/fence.ts";
import type { Deps } from "../../deps.ts";
import { LOG_START, streams, subjects } from "../../store/subjects.ts";
import type { Append, Store, StoredMessage } from "../../store/types.ts";
import { GONE_SECONDS } from "../model/messages.ts";
import { changeIn } from "../model/ordered-value.ts";
import { lost } from "./lost.ts";
import { type OrderedField, type Pair, pairKey, REMOVED } from "./pages.ts";

/**
 * Returns the pairs (of a value and an entry id) that the log adds to an index, and the outdated pairs of the same
 * entries.
 * @param upTo sequence of the last change that the index already includes
 */
export async function changesOf(
  store: Store,
  index: OrderedField,
  upTo: number,
  messages: readonly StoredMessage[],
): Promise<{ added: Pair[]; gone: Pair[] }> {
  const added = new Map<string, { pair: Pair; seq: number }>();
  const dropped = new Map<string, { pair: Pair; seq: number }>();
  for (const message of messages) {
    const { seq } = message;
    const { id, adds, drops } = changeIn(message.json());
    for (const value of drops) dropped.set(pairKey({ value, id }), { pair: { value, id }, seq });
    for (const value of adds) added.set(pairKey({ value, id }), { pair: { value, id }, seq });
  }
  const drops = [...dropped].map(([key, drop]) => ({ ...drop, since: added.get(key)?.seq ?? upTo }));
  return { added: [...added.values()].map(({ pair }) => pair), gone: await lost(store, index, drops) };
}

/**
 * Writes a root and its new pages in one batch.
 * @param seq sequence of the root to replace, 0 if there is none
 * @returns the sequence of the new root
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
 * Marks an index as erased. No reader uses the index until it gets a new root.
 * @param end sequence before which the log will be erased
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

/** Returns messages that remove the pages which a new root no longer lists. */
export function freedPages(index: OrderedField, names: readonly string[]): Append[] {
  return names.map((name) => ({
    subject: subjects.orderedPage(index, index.field, name),
    data: "",
    rollup: true,
    ttl: GONE_SECONDS,
  }));
}
