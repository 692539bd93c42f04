/** Reads the pages of sorted indexes from the broker. */
import { BoundedMap } from "../../kernel/bounded-map.ts";
import { Again } from "../../kernel/retry.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Consistency, type Store, type StoredMessage, TooMuch } from "../../store/types.ts";
import type { OrderedField } from "./pages.ts";

/** Maximum pages of an index per read. Such small reads start immediately, while larger ones wait in a queue. */
export const PAGES_AT_ONCE = 4;

/** Pages of an index that stay in memory. */
const KEPT = 64;

/** Thrown if a page no longer exists. Between the reads of its name and its content, a compaction replaced it. */
export class PageGone extends Again {}

export async function readMessages(
  store: Store,
  stream: string,
  pages: readonly string[],
  consistency: Consistency,
): Promise<Map<string, StoredMessage>> {
  try {
    if (pages.length > 1) return await store.getMany(stream, pages, { consistency, maxBytes: SMALL_BYTES });
  } catch (error) {
    if (!(error instanceof TooMuch)) throw error;
  }
  const messages = new Map<string, StoredMessage>();
  for (const page of pages) {
    const message = await store.get(stream, page, { consistency });
    if (message !== null) messages.set(page, message);
  }
  return messages;
}

/**
 * Returns the content of pages by their names.
 * @throws PageGone if a compaction has replaced one of the pages
 */
type ReadPages<T> = (
  store: Store,
  index: OrderedField,
  names: readonly string[],
  consistency: Consistency,
) => Promise<Map<string, T>>;

/**
 * Returns a function that reads pages and keeps the newest ones in memory: pages never change, and their names are never
 * reused.
 */
export function pageReader<T>(decode: (message: StoredMessage) => T): ReadPages<T> {
  const known = new BoundedMap<string, T>(KEPT);
  return async (store, index, names, consistency) => {
    const subjectOf = (name: string) => subjects.orderedPage(index, index.field, name);
    const found = new Map<string, T>();
    const missing = names.filter((name) => {
      const page = known.get(subjectOf(name));
      if (page !== undefined) found.set(name, page);
      return page === undefined;
    });
    const parts = Array.from({ length: Math.ceil(missing.length / PAGES_AT_ONCE) }, (_, part) =>
      missing.slice(part * PAGES_AT_ONCE, (part + 1) * PAGES_AT_ONCE),
    );
    const stream = streams.orb(index.orb);
    const read = await Promise.all(
      parts.map((part) => readMessages(store, stream, part.map(subjectOf), consistency)),
    );
    for (const [at, part] of parts.entries()) {
      for (const name of part) {
        const message = read[at]?.get(subjectOf(name));
        if (message === undefined || message.size === 0) throw new PageGone();
        const page = decode(message);
        known.set(subjectOf(name), page);
        found.set(name, page);
      }
    }
    return found;
  };
}
