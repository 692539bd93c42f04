/** The library of an application's files. */
import { useState } from "preact/hooks";
import { useSearchParams } from "wouter-preact";
import { isPlatformAdmin, maySome } from "../api/caller.ts";
import { type FilesPlace, type LibraryFile, updateFile } from "../api/files.ts";
import { DropZone } from "../files/drop-zone.tsx";
import {
  ANY_FILE,
  FileGrid,
  filesKey,
  type LibraryFilter,
  LibraryFilters,
  NO_FILTER,
  type Selected,
  useLibrary,
} from "../files/library.tsx";
import { useUploads } from "../files/uploads.ts";
import { titleOf } from "../model/orb.ts";
import { orbLink, type PageParams } from "../shell/nav.ts";
import { refresh } from "../state/cache.ts";
import { useCaller, useOrb } from "../state/session.ts";
import { t } from "../texts/t.ts";
import { Page } from "../ui/page.tsx";
import { complain } from "../ui/toast.tsx";
import { FileDetail } from "./detail.tsx";
import { Selection } from "./selection.tsx";

/** Uploads files into the library. A described file stays, although no entry refers to it. */
function Upload({ place }: { place: FilesPlace }) {
  const uploads = useUploads({
    orb: place.orb,
    field: ANY_FILE,
    disabled: false,
    onStored: (value) =>
      void updateFile(place, String(Reflect.get(value, "file")), {}).then(
        () => refresh(filesKey(place.orb)),
        complain,
      ),
    onProgress: undefined,
    onFault: undefined,
  });
  const attributes = { id: "media-upload", "aria-describedby": undefined, "aria-invalid": undefined };
  return (
    <DropZone
      uploads={uploads}
      attributes={{ ...attributes, "aria-label": t("fields.uploadMany") }}
      accept={undefined}
      multiple
      disabled={false}
    />
  );
}

const FILTERS = ["search", "type", "tag", "only"] as const;

function Library({
  place,
  languages,
  mayChange,
}: {
  place: FilesPlace;
  languages: readonly string[];
  mayChange: boolean;
}) {
  const [search, setSearch] = useSearchParams();
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const filter: LibraryFilter = { ...NO_FILTER };
  for (const name of FILTERS) filter[name] = search.get(name) ?? "";
  const files = useLibrary(place, filter, cursors.at(-1));
  const put = (values: Readonly<Record<string, string>>) =>
    setSearch(
      (now) => {
        const next = new URLSearchParams(now);
        for (const [name, value] of Object.entries(values)) {
          if (value === "") next.delete(name);
          else next.set(name, value);
        }
        return next;
      },
      { replace: true },
    );
  const onFilter = (next: LibraryFilter) => {
    setCursors([]);
    put({ ...next });
  };
  const opened = search.get("file");
  const [selected, setSelected] = useState<Selected>(new Map());
  const onSelect = (file: LibraryFile) => {
    const next = new Map(selected);
    if (!next.delete(file.id)) next.set(file.id, file);
    setSelected(next);
  };
  return (
    <>
      {mayChange ? <Upload place={place} /> : null}
      <LibraryFilters place={place} filter={filter} onChange={onFilter} />
      {mayChange ? (
        <Selection {...{ place, selected }} shown={files.data?.items ?? []} onSelected={setSelected} />
      ) : null}
      <FileGrid
        {...{ files, filter, cursors, onFilter, selected }}
        onSelect={mayChange ? onSelect : undefined}
        onCursors={setCursors}
        onOpen={({ id }) => put({ file: id })}
        empty={<p>{t("media.noneText")}</p>}
      />
      {opened === null ? null : (
        <FileDetail
          key={opened}
          {...{ place, languages, mayChange }}
          id={opened}
          onOpen={(id) => put({ file: id })}
          onClose={() => put({ file: "" })}
        />
      )}
    </>
  );
}

export default function Media({ params: { orb: id = "" } }: { params: PageParams }) {
  const caller = useCaller(id).data;
  const orb = useOrb(id).data;
  return (
    <Page
      title={t("nav.media")}
      lead={t("media.lead")}
      path={[{ label: orb === undefined ? id : titleOf(orb), to: orbLink(id) }]}
      wide
    >
      {caller === undefined || orb === undefined ? null : (
        <Library
          place={{ orb: id, managed: isPlatformAdmin(caller) }}
          languages={orb.languages}
          mayChange={maySome(caller, ["update"], false)}
        />
      )}
    </Page>
  );
}
