/** The page that creates an entry, either empty or as a copy of another entry. */
import { useSearchParams } from "wouter-preact";
import { isPlatformAdmin } from "../../api/caller.ts";
import { readEntry } from "../../api/entries.ts";
import { type Content, newContent } from "../../model/cells.ts";
import { shapesOf } from "../../model/orb.ts";
import type { PageParams } from "../../shell/nav.ts";
import { changeIn } from "../../state/change.ts";
import { useLoad } from "../../state/load.ts";
import { t } from "../../texts/t.ts";
import { Page } from "../../ui/page.tsx";
import { Shows } from "../../ui/states.tsx";
import { type Place, WithSchema } from "../place.tsx";
import { rightsOf } from "../rights.ts";
import { Editor } from "./editor.tsx";
import { copyOf } from "./parts/copies.ts";
import { contentOf } from "./state/draft.ts";

/**
 * Returns the content for a copy of an entry. Omits unique and sensitive values, because two entries must not share
 * them.
 */
function contentOfCopy(content: Content, { caller, ...place }: Place): Content {
  const { mayField } = rightsOf(caller, place, undefined);
  const { orb, schema } = place;
  const values = Object.entries(content.values).flatMap(([name, value]) => {
    const field = schema.fields.find((one) => one.name === name);
    if (field?.unique || field?.sensitive) return [];
    const hasObjects = field !== undefined && shapesOf(field, orb).length > 0;
    return [[name, hasObjects ? copyOf(value, field, { orb, mayField }) : value]];
  });
  return { ...contentOf(content), values: Object.fromEntries(values) };
}

function Copy({ of: id, place }: { of: string; place: Place }) {
  const { caller, orb, module, schema } = place;
  const managed = isPlatformAdmin(caller);
  const change = changeIn(orb.id);
  const entry = useLoad(`orbs/${orb.id}/copy/${id}?${change ?? ""}`, (signal) =>
    readEntry({ orb: orb.id, module: module.id, schema: schema.id, managed, change }, id, { signal }),
  );
  if (entry.data !== undefined)
    return (
      <Editor
        {...place}
        entry={undefined}
        start={contentOfCopy(entry.data, place)}
        onStored={() => undefined}
      />
    );
  return (
    <Page title={t("entry.duplicate")}>
      <Shows of={entry}>{() => null}</Shows>
    </Page>
  );
}

export default function NewEntry({ params }: { params: PageParams }) {
  const [search] = useSearchParams();
  const from = search.get("from");
  return (
    <WithSchema params={params}>
      {(place) =>
        from === null ? (
          <Editor
            {...place}
            key={`${place.module.id}/${place.schema.id} ${changeIn(place.orb.id) ?? ""}`}
            entry={undefined}
            start={newContent(place.schema, place.orb)}
            onStored={() => undefined}
          />
        ) : (
          <Copy key={`${from} ${changeIn(place.orb.id) ?? ""}`} of={from} place={place} />
        )
      }
    </WithSchema>
  );
}
