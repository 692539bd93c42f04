/** Reads entries by id. Reads that start at almost the same time share a request. */
import { type EntryItem, type EntryPlace, listEntries } from "./entries.ts";

/** Milliseconds that a read waits for further reads. */
const WAIT_MS = 10;
/** Maximum number of entries that one request reads. */
const AT_ONCE = 100;

interface Reader {
  found: (entry: EntryItem | null) => void;
  failed: (error: unknown) => void;
}

interface Batch {
  place: EntryPlace;
  query: Readonly<Record<string, string>>;
  readers: Map<string, Reader[]>;
}

const batches = new Map<string, Batch>();

async function read({ place, query }: Batch, some: readonly (readonly [string, Reader[]])[]): Promise<void> {
  const search = new URLSearchParams({
    ...query,
    "filter[id][in]": some.map(([id]) => id).join(","),
    limit: String(AT_ONCE),
  });
  try {
    const { items } = await listEntries(place, { query: search });
    const byId = new Map(items.map((item) => [item.id, item]));
    for (const [id, readers] of some) for (const { found } of readers) found(byId.get(id) ?? null);
  } catch (error) {
    for (const [, readers] of some) for (const { failed } of readers) failed(error);
  }
}

/**
 * Reads an entry; null if the caller cannot see it.
 * @param fields names of the fields to read; must not be empty
 * @param drafts whether to read the newest revision. Only for callers who may read drafts
 */
export function readOne(
  place: EntryPlace,
  id: string,
  { fields, drafts }: { fields: readonly string[]; drafts: boolean },
): Promise<EntryItem | null> {
  const query = {
    fields: fields.join(","),
    ...(place.managed ? {} : { revision: drafts ? "latest" : "published" }),
  };
  const key = JSON.stringify([place, query]);
  let batch = batches.get(key);
  if (batch === undefined) {
    const made: Batch = { place, query, readers: new Map() };
    batch = made;
    batches.set(key, made);
    setTimeout(() => {
      batches.delete(key);
      const all = [...made.readers];
      for (let from = 0; from < all.length; from += AT_ONCE) void read(made, all.slice(from, from + AT_ONCE));
    }, WAIT_MS);
  }
  const { readers } = batch;
  return new Promise((found, failed) => {
    readers.set(id, [...(readers.get(id) ?? []), { found, failed }]);
  });
}
