/** Sets one value in many entries. Entries of one request change together, or not at all. */
import { isProblem } from "../../../../../shared/client/problem.ts";
import { type EntryPlace, listEntries, patchTogether, revisionIn } from "../../../api/entries.ts";
import { type Cell, valueAt, withValue } from "../../../model/cells.ts";

/** Entries of a request. A batch takes up to 1,000 messages, and an entry with several indexes needs about ten. */
const AT_ONCE = 100;

/** An entry that was changed, and what takes the change back. */
interface Done {
  id: string;
  revision: number;
  before: unknown;
  published: boolean;
}

export interface ValueOutcome {
  done: readonly Done[];
  /** Entries that had the value already, or are gone. */
  same: number;
  /** Why further entries were not changed, and the entry with the fault, if it is known. */
  error?: { reason: unknown; id: string | undefined };
}

interface Change {
  cell: Cell;
  value: unknown;
  /** Whether to publish the change in entries that are live without a draft. */
  publish: boolean;
}

const EMPTY = { values: {}, validFrom: null, validTo: null };

/** Returns the values of a JSON Merge Patch that sets a cell. */
const patchOf = (cell: Cell, value: unknown) => withValue(EMPTY, cell, value ?? null).values;

async function changeSome(
  place: EntryPlace,
  ids: readonly string[],
  { cell, value, publish }: Change,
): Promise<Done[]> {
  const query = new URLSearchParams({
    "filter[id][in]": ids.join(","),
    fields: cell.field.name,
    limit: String(AT_ONCE),
  });
  const { items } = await listEntries(place, { query });
  const wanted = JSON.stringify(value ?? null);
  const changes = items
    .filter((item) => JSON.stringify(valueAt(item, cell)) !== wanted)
    .map((item) => {
      const isLive = item.status === "PUBLISHED" && item.publishedRevision === item.revision;
      return { item, publish: publish && isLive };
    });
  if (changes.length === 0) return [];
  const patches = changes.map(({ item, publish: live }) => ({
    ...{ id: item.id, revision: revisionIn(place, item), values: patchOf(cell, value) },
    ...(live ? { publish: true } : {}),
  }));
  const written = await patchTogether(place, patches).catch((reason: unknown) => {
    throw new Refused(reason, changes[entryIn(reason) ?? -1]?.item.id);
  });
  return changes.flatMap(({ item, publish: published }, at) => {
    const revision = written[at]?.revision;
    return revision === undefined ? [] : [{ id: item.id, revision, before: valueAt(item, cell), published }];
  });
}

/** A refused batch, and the entry with the fault, if it is known. */
class Refused {
  readonly reason: unknown;
  readonly id: string | undefined;

  constructor(reason: unknown, id: string | undefined) {
    this.reason = reason;
    this.id = id;
  }
}

/** Returns the position in the batch of the item that the platform refused. */
function entryIn(reason: unknown): number | undefined {
  const at = isProblem(reason) ? reason.body.item : undefined;
  return typeof at === "number" ? at : undefined;
}

/**
 * Sets a value in entries, and stops at the first request that is refused.
 * @param tell called with the number of entries so far
 */
export async function setValues(
  place: EntryPlace,
  ids: readonly string[],
  change: Change,
  { signal, tell }: { signal: AbortSignal; tell: (count: number) => void },
): Promise<ValueOutcome> {
  const done: Done[] = [];
  let seen = 0;
  for (let from = 0; from < ids.length && !signal.aborted; from += AT_ONCE) {
    const some = ids.slice(from, from + AT_ONCE);
    try {
      done.push(...(await changeSome(place, some, change)));
    } catch (error) {
      const refused = error instanceof Refused ? error : new Refused(error, undefined);
      return { done, same: seen - done.length, error: refused };
    }
    seen += some.length;
    tell(seen);
  }
  return { done, same: seen - done.length };
}

/** Takes a change back. Fails if one of the entries has changed since. */
export async function undoValues(place: EntryPlace, cell: Cell, done: readonly Done[]): Promise<void> {
  for (let from = 0; from < done.length; from += AT_ONCE)
    await patchTogether(
      place,
      done.slice(from, from + AT_ONCE).map(({ id, revision, before, published }) => ({
        ...{ id, revision, values: patchOf(cell, before) },
        ...(published ? { publish: true } : {}),
      })),
    );
}
