import type { Deps } from "../../deps.ts";
import { inBatches, messagesInOrder, type Part, type ScanStart } from "../../entry/index/index.ts";
import { ReadBudget } from "../../store/budget.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { streams } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";

export interface Listing<T> {
  orb: string;
  /** The subject that has the ids of the items, in order of creation. */
  order: string;
  subjectOf: (id: string) => string;
  newestFirst: boolean;
  /** Place of the last item that was read for the previous page. */
  after?: number | undefined;
  limit: number;
  /** The ids of the items that the list may contain. Others are not read, but count as if they were. Default: all. */
  among?: ReadonlySet<string> | undefined;
  /** Returns the item in a message, or undefined if the list leaves it out. */
  take: (message: StoredMessage) => T | undefined;
}

export interface Listed<T> {
  items: T[];
  /** Place of the last item that was read; null if there are no more. */
  next: number | null;
}

/** An item's id, and the sequence number of the message that has it. */
interface Place {
  id: string;
  seq: number;
}

/** Maximum number of items that one request reads. */
const MOST_READ = 1_000;
/** Maximum number of items that one read names. */
const AT_ONCE = 100;

/** Lists items in order of creation. A page may be shorter than `limit`. */
export async function listInOrder<T>(deps: Deps, listing: Listing<T>): Promise<Listed<T>> {
  const { subjectOf, limit, take } = listing;
  const items: T[] = [];
  const budget = new ReadBudget();
  let last: number | null = null;
  let read = 0;
  for await (const { wanted, result } of partsOf(deps, listing, budget)) {
    for (const { id, seq } of wanted) {
      const message = result.get(subjectOf(id));
      const item = message === undefined ? undefined : take(message);
      if (read === MOST_READ || (item !== undefined && items.length === limit)) return { items, next: last };
      if (item !== undefined) items.push(item);
      last = seq;
      read += 1;
    }
    if (budget.over) return { items, next: last };
  }
  return { items, next: null };
}

async function* partsOf(
  deps: Deps,
  { orb, order, subjectOf, newestFirst, after, limit, among }: Omit<Listing<unknown>, "take">,
  budget: ReadBudget,
): AsyncGenerator<Part<Place, Map<string, StoredMessage>>> {
  const stream = streams.orb(orb);
  const store = budget.charging(deps.store);
  const newest = async (): Promise<ScanStart | undefined> => {
    const message = await nullIfMissing(store.get(stream, order));
    return message === null ? undefined : { seq: message.seq + 1, density: 0 };
  };
  const read = (places: readonly Place[], maxBytes: number) => {
    const wanted = places.filter(({ id }) => among?.has(id) !== false).map(({ id }) => subjectOf(id));
    return wanted.length === 0 ? Promise.resolve(new Map()) : store.getMany(stream, wanted, { maxBytes });
  };
  const start = after === undefined ? undefined : { seq: after, density: 0 };
  const scan = { orb, filter: order, first: limit + 1 };
  for await (const { messages } of messagesInOrder(store, scan, newestFirst, start, newest)) {
    const places = messages.map((message) => ({ id: message.text(), seq: message.seq }));
    for (let at = 0; at < places.length; at += AT_ONCE)
      yield* inBatches(budget, places.slice(at, at + AT_ONCE), read);
  }
}
