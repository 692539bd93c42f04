/** Where entries are in a tree, in which each entry refers to its parent. */
import { type EntryItem, type EntryPlace, listEntries } from "../../../api/entries.ts";
import type { FieldModel } from "../../../model/orb.ts";
import { type Line, outsideIn, parentOf } from "../data/outside.ts";

/** Maximum entries above another one that are read. */
const DEPTH = 100;
const PAGE = 200;
/** Maximum pages that are read to find entries outside of the tree. */
const PAGES = 50;

/** Returns the ids of an entry and of all entries above it, as they are now. */
export async function ancestorsOf(place: EntryPlace, field: FieldModel, id: string): Promise<string[]> {
  const found: string[] = [];
  for (let at: string | undefined = id; at !== undefined && !found.includes(at); ) {
    found.push(at);
    if (found.length === DEPTH) break;
    const query = new URLSearchParams({ "filter[id]": at, fields: field.name, limit: "1" });
    const [item]: readonly EntryItem[] = (await listEntries(place, { query })).items;
    at = item === undefined ? undefined : parentOf(field, item);
  }
  return found;
}

/** Reads the entries of a schema, and returns those outside of the tree. */
export async function outsideOf(
  place: EntryPlace,
  field: FieldModel,
  names: readonly string[],
  signal: AbortSignal,
): Promise<{ lines: Line[]; complete: boolean }> {
  const items: EntryItem[] = [];
  let cursor: string | null = "";
  for (let page = 0; page < PAGES && cursor !== null; page++) {
    const query = new URLSearchParams({ fields: names.join(), limit: String(PAGE) });
    if (cursor !== "") query.set("cursor", cursor);
    const found: Awaited<ReturnType<typeof listEntries>> = await listEntries(place, { query, signal });
    items.push(...found.items);
    cursor = found.nextCursor;
  }
  const complete = cursor === null;
  return { lines: outsideIn(field, items, complete), complete };
}
