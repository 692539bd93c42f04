/** Reads the entry of a form, as far as the caller may see it. */
import { isProblem } from "../../../../../shared/client/problem.ts";
import { isPlatformAdmin, may } from "../../../api/caller.ts";
import { type EntryItem, type EntryPlace, readEntry } from "../../../api/entries.ts";
import { changeIn } from "../../../state/change.ts";
import { type Loaded, useLoad } from "../../../state/load.ts";
import type { Place } from "../../place.tsx";

/** Reads the newest revision or that of the set, or the published one if the caller may not read drafts. */
async function read(
  { caller, orb, module, schema }: Place,
  id: string,
  change: string | undefined,
  signal: AbortSignal,
): Promise<EntryItem> {
  const place: EntryPlace = {
    orb: orb.id,
    module: module.id,
    schema: schema.id,
    managed: isPlatformAdmin(caller),
    change,
  };
  const at = { module: module.id, schema: schema.id };
  const drafts = (own: boolean) => may(caller, "update", at, own) || may(caller, "publish", at, own);
  const live = () => readEntry(place, id, { signal, query: { revision: "published" } });
  if (!drafts(true)) return live();
  if (change !== undefined || drafts(false)) return readEntry(place, id, { signal });
  // The caller may read only drafts of entries that they created. The published version tells who created the entry. If
  // there is none (404), just try to read the draft.
  const shown = await live().catch((error: unknown) => {
    if (isProblem(error) && error.status === 404) return undefined;
    throw error;
  });
  return shown === undefined || shown.createdBy === caller.account?.id
    ? readEntry(place, id, { signal })
    : shown;
}

/** Loads the entry of a form: within the change set in which the user edits, if there is one. */
export function useFormEntry(place: Place, id: string): Loaded<EntryItem> {
  const { orb, module, schema } = place;
  const change = changeIn(orb.id);
  return useLoad(`orbs/${orb.id}/entry/${module.id}/${schema.id}/${id}?${change ?? ""}`, (signal) =>
    read(place, id, change, signal),
  );
}
