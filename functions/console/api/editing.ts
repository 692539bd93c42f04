/** Requests of forms: unsaved changes, which only the caller sees, and who edits an entry. */
import type { EntryPlace } from "./entries.ts";
import { get, pathOf, put, remove } from "./http.ts";
import { orbPath } from "./orbs.ts";

/** Values and times, as far as a form has changed them. */
export interface Part {
  values: Readonly<Record<string, unknown>>;
  validFrom?: string | null;
  validTo?: string | null;
}

/** What a form has changed. */
export interface Changed {
  /** Number of the revision that the form shows; 0 for a new entry. */
  revision: number;
  /** What that revision has where the form has something else. */
  base: Part;
  draft: Part;
}

export interface Unsaved extends Changed {
  /** The id of the entry, or that of a new one. */
  entry: string;
  version: number;
  savedAt: string;
  /** JSON Pointers to values that were not kept. */
  left: readonly string[];
}

/** Another person who edits the entry. */
export interface Present {
  by: { id: string; name: string | null };
  since: string;
  field: string | null;
}

const pathIn = ({ orb, module, schema, managed }: EntryPlace) =>
  `${managed ? orbPath(orb) : `/api${pathOf(orb)}`}/editing${pathOf(module, schema)}`;
const unsavedPath = (place: EntryPlace, id: string) => `${pathIn(place)}${pathOf(id, "unsaved")}`;
const presencePath = (place: EntryPlace, id: string) => `${pathIn(place)}${pathOf(id, "presence")}`;

/** Lists the caller's unsaved changes. @param entry id of the only entry; undefined for all of the schema */
export async function listUnsaved(place: EntryPlace, entry: string | undefined): Promise<readonly Unsaved[]> {
  const query = { entry, change: place.change };
  return (await get<{ items: Unsaved[] }>(pathIn(place), { query })).items;
}

/** @param version the version that this replaces; undefined if there must be none */
export function keepUnsaved(
  place: EntryPlace,
  id: string,
  changed: Changed,
  version: number | undefined,
): Promise<Unsaved> {
  return put(unsavedPath(place, id), changed, { query: { change: place.change }, revision: version });
}

export function discardUnsaved(place: EntryPlace, id: string, version: number): Promise<void> {
  return remove(unsavedPath(place, id), { query: { change: place.change }, revision: version });
}

/** Tells the other editors of an entry that the caller edits it, and returns them. */
export function attend(
  place: EntryPlace,
  id: string,
  field: string | null,
): Promise<{ items: readonly Present[]; every: number }> {
  return put(presencePath(place, id), { field }, { query: { change: place.change } });
}

export function leaveEntry(place: EntryPlace, id: string): Promise<void> {
  return remove(presencePath(place, id), { query: { change: place.change } });
}
