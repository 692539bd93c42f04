/** Saved views of the lists of a schema. */
import { type View, type ViewInput, type ViewPage, viewsOf } from "../../../shared/client/views.ts";
import type { EntryPlace } from "./entries.ts";
import { asked, pathOf, transport } from "./http.ts";
import { orbPath } from "./orbs.ts";

export type { View as SavedView, ViewInput, ViewList, ViewPage } from "../../../shared/client/views.ts";

const viewsIn = ({ orb, module, schema, managed }: EntryPlace) =>
  viewsOf(transport, managed ? orbPath(orb) : `/api${pathOf(orb)}`, module, schema);

export const listViews = (place: EntryPlace, signal: AbortSignal): Promise<ViewPage> =>
  asked(viewsIn(place).list({ signal }));

/** Saves a new view, or replaces one that the user has read. */
export const saveView = (
  place: EntryPlace,
  view: ViewInput,
  replaced?: Pick<View, "id" | "revision">,
): Promise<View> =>
  asked(
    replaced === undefined
      ? viewsIn(place).create(view)
      : viewsIn(place).update(replaced.id, view, { revision: replaced.revision }),
  );

export const removeView = (place: EntryPlace, { id, revision }: View): Promise<void> =>
  asked(viewsIn(place).delete(id, { revision }));
