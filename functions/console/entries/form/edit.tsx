/** The page of an existing entry: its form, its state and its actions. */
import { isProblem } from "../../../../shared/client/problem.ts";
import { isPlatformAdmin, may } from "../../api/caller.ts";
import { type EntryItem, type EntryPlace, readEntry } from "../../api/entries.ts";
import { newContent } from "../../model/cells.ts";
import { titleOf } from "../../model/orb.ts";
import { orbLink, type PageParams } from "../../shell/nav.ts";
import { changeIn } from "../../state/change.ts";
import { useLoad, useReloadOnShow } from "../../state/load.ts";
import { t } from "../../texts/t.ts";
import { LinkButton } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Shows } from "../../ui/states.tsx";
import { type Place, WithSchema } from "../place.tsx";
import { Editor } from "./editor.tsx";

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

function Entry({ place, id }: { place: Place; id: string }) {
  const { orb, module, schema } = place;
  const change = changeIn(orb.id);
  const entry = useLoad(`orbs/${orb.id}/entry/${module.id}/${schema.id}/${id}?${change ?? ""}`, (signal) =>
    read(place, id, change, signal),
  );
  useReloadOnShow(entry);
  const path = orbLink(orb.id, "entries", module.id, schema.id);
  const gone = isProblem(entry.error) && (entry.error.status === 404 || entry.error.status === 410);
  if (entry.data !== undefined)
    return (
      <Editor
        {...place}
        key={change ?? ""}
        entry={entry.data}
        start={newContent(schema, orb)}
        onStored={entry.set}
      />
    );
  return (
    <Page
      title={id}
      path={[
        { label: titleOf(orb), to: orbLink(orb.id) },
        { label: titleOf(schema), to: path },
      ]}
    >
      {gone ? (
        <Empty icon="search" title={t("entry.gone")}>
          <p>{t("entry.goneText")}</p>
          <LinkButton to={path}>{t("entry.allEntries")}</LinkButton>
        </Empty>
      ) : (
        <Shows of={entry}>{() => null}</Shows>
      )}
    </Page>
  );
}

export default function EditEntry({ params }: { params: PageParams }) {
  const { id = "" } = params;
  return <WithSchema params={params}>{(place) => <Entry key={id} place={place} id={id} />}</WithSchema>;
}
