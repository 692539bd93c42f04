/** The page of an existing entry: its form, its state and its actions. */
import { isProblem } from "../../../../shared/client/problem.ts";
import { newContent } from "../../model/cells.ts";
import { titleOf } from "../../model/orb.ts";
import { orbLink, type PageParams } from "../../shell/nav.ts";
import { changeIn } from "../../state/change.ts";
import { useReloadOnShow } from "../../state/load.ts";
import { t } from "../../texts/t.ts";
import { LinkButton } from "../../ui/link.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty, Shows } from "../../ui/states.tsx";
import { type Place, WithSchema } from "../place.tsx";
import { Editor } from "./editor.tsx";
import { useFormEntry } from "./state/read.ts";

function Entry({ place, id }: { place: Place; id: string }) {
  const { orb, module, schema } = place;
  const change = changeIn(orb.id);
  const entry = useFormEntry(place, id);
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
