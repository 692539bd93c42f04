/** A dialog in which the user chooses a file of the library for a field. The browser loads it when it is first opened. */
import { useState } from "preact/hooks";
import type { FilesPlace, LibraryFile } from "../api/files.ts";
import { pathOf } from "../api/http.ts";
import type { FieldModel } from "../model/orb.ts";
import { t } from "../texts/t.ts";
import { Dialog } from "../ui/dialog.tsx";
import { FileGrid, LibraryFilters, NO_FILTER, useLibrary } from "./library.tsx";
import { accepts } from "./uploads.ts";

/** Returns the value of a field with a file of the library. */
function fieldValue(orb: string, { id, name, type, size, animated }: LibraryFile): object {
  const url = pathOf("api", orb, "files", id);
  return { file: id, name, url, type, size, ...(animated === true ? { animated } : {}) };
}

export function LibraryPicker({
  place,
  field,
  onPick,
  onClose,
}: {
  place: FilesPlace;
  field: FieldModel;
  onPick: (value: object) => void;
  onClose: () => void;
}) {
  const { accept, maxSize } = field;
  const [only] = accept?.length === 1 ? accept : [];
  const [filter, setFilter] = useState({ ...NO_FILTER, type: only ?? "" });
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const files = useLibrary(place, filter, cursors.at(-1));
  const fits = ({ type, size }: LibraryFile) =>
    (accept === undefined || accepts(accept, type)) && (maxSize === undefined || size <= maxSize);
  const { data } = files;
  const fitting =
    data === undefined ? files : { ...files, data: { ...data, items: data.items.filter(fits) } };
  return (
    <Dialog title={t("media.pick")} onClose={onClose} wide question>
      <LibraryFilters
        place={place}
        filter={filter}
        onChange={(next) => {
          setCursors([]);
          setFilter(next);
        }}
        {...(accept === undefined ? {} : { types: accept })}
        picks
      />
      <FileGrid
        files={fitting}
        filter={filter}
        cursors={cursors}
        onFilter={setFilter}
        onCursors={setCursors}
        onOpen={(file) => {
          onPick(fieldValue(place.orb, file));
          onClose();
        }}
        empty={<p>{t("media.noneToPick")}</p>}
      />
    </Dialog>
  );
}
