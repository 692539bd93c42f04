/** The inputs for a file and for a list of files: show the stored files, and let the user choose new ones. */
import { useRef } from "preact/hooks";
import { ChooseFile, DescribeFile } from "../files/choose.tsx";
import { DropZone } from "../files/drop-zone.tsx";
import { Thumbnail } from "../files/thumbnail.tsx";
import { useUploads } from "../files/uploads.ts";
import { shownFile } from "../files/value.ts";
import { labelOf } from "../model/orb.ts";
import { t } from "../texts/t.ts";
import { IconButton } from "../ui/button.tsx";
import type { CellProps, FieldKind, InputProps } from "./parts/kind.ts";

function FileLink({ field, value }: CellProps) {
  const file = shownFile(value);
  if (file === undefined) return null;
  if (!file.url.startsWith("/api/")) return <code class="clip">{file.name}</code>;
  return (
    <>
      <Thumbnail field={field} value={value} />
      <a class="clip" href={file.url} target="_blank" rel="noreferrer">
        {file.name}
      </a>
    </>
  );
}

function FileCell(props: CellProps) {
  return (
    <span class="file-cell">
      <FileLink {...props} />
    </span>
  );
}

function FileInput({
  field,
  value,
  onChange,
  attributes,
  disabled = false,
  orb,
  onFault,
  onUpload,
}: InputProps) {
  const uploads = useUploads({ orb, field, disabled, onStored: onChange, onProgress: onUpload, onFault });
  const file = shownFile(value);
  if (file === undefined)
    return (
      <div class="file-input">
        <DropZone {...{ uploads, attributes, disabled }} accept={field.accept} multiple={false} />
        <ChooseFile
          {...{ orb, field }}
          disabled={disabled || uploads.progress !== undefined}
          onPick={onChange}
        />
      </div>
    );
  return (
    <div class="chosen-entry">
      <FileLink field={field} value={value} />
      <DescribeFile orb={orb} file={file} />
      {disabled ? null : (
        <IconButton
          label={t("fields.clear", { field: labelOf(field) })}
          icon="x"
          onClick={() => onChange(null)}
        />
      )}
    </div>
  );
}

function GalleryFile({ field, orb, value }: CellProps & { orb: string }) {
  const file = shownFile(value);
  return (
    <div class="chosen-entry">
      <FileLink field={field} value={value} />
      {file === undefined ? null : <DescribeFile orb={orb} file={file} />}
    </div>
  );
}

/** A gallery. Several files can be added at once, and each can be moved and removed. */
function FileListInput({
  field,
  value,
  onChange,
  attributes,
  disabled = false,
  orb,
  onFault,
  onUpload,
}: InputProps) {
  const items: readonly unknown[] = Array.isArray(value) ? value.filter((item) => item !== null) : [];
  // Two uploads may end before the form is rendered again.
  const newest = useRef(items);
  newest.current = items;
  const put = (next: readonly unknown[]) => {
    newest.current = next;
    onChange(next.length === 0 ? null : next);
  };
  const add = (file: object) => put([...newest.current, file]);
  const uploads = useUploads({ orb, field, disabled, onStored: add, onProgress: onUpload, onFault });
  const move = (from: number, to: number) => {
    const next = [...items];
    next.splice(to, 0, ...next.splice(from, 1));
    put(next);
  };
  const name = (number: number) => t("fields.item", { field: labelOf(field), number });
  return (
    <div class="list-input">
      <ol class="gallery">
        {items.map((item, at) => (
          <li key={at}>
            <GalleryFile {...{ field, orb }} value={item} />
            {disabled ? null : (
              <div class="list-buttons">
                <IconButton
                  label={t("fields.up", { item: name(at + 1) })}
                  icon="arrowUp"
                  disabled={at === 0}
                  onClick={() => move(at, at - 1)}
                />
                <IconButton
                  label={t("fields.down", { item: name(at + 1) })}
                  icon="arrowDown"
                  disabled={at === items.length - 1}
                  onClick={() => move(at, at + 1)}
                />
                <IconButton
                  label={t("fields.remove", { item: name(at + 1) })}
                  icon="x"
                  onClick={() => put(items.toSpliced(at, 1))}
                />
              </div>
            )}
          </li>
        ))}
      </ol>
      {disabled ? (
        items.length === 0 ? (
          <p class="hint">{t("fields.none")}</p>
        ) : null
      ) : (
        <div class="file-input">
          <DropZone {...{ uploads, attributes, disabled }} accept={field.accept} multiple />
          <ChooseFile {...{ orb, field, disabled }} onPick={add} />
        </div>
      )}
    </div>
  );
}

const nameOf = (value: unknown) => shownFile(value)?.name ?? "";

export const fileKind: FieldKind = {
  Cell: FileCell,
  Input: FileInput,
  ListInput: FileListInput,
  filterOps: ["null"],
  parse: () => ({ value: null }),
  format: nameOf,
};
