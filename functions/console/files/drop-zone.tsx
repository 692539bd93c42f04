/** Lets the user choose files, drop them, or paste them. Shows the progress of their upload. */
import { useState } from "preact/hooks";
import { t } from "../texts/t.ts";
import { IconButton } from "../ui/button.tsx";
import type { InputAttributes } from "../ui/form.tsx";
import type { Uploads } from "./uploads.ts";

const filesIn = (transfer: DataTransfer | null): File[] => [...(transfer?.files ?? [])];

export function DropZone({
  uploads,
  attributes,
  accept,
  multiple,
  disabled,
}: {
  uploads: Uploads;
  attributes: InputAttributes;
  accept: readonly string[] | undefined;
  multiple: boolean;
  disabled: boolean;
}) {
  const [isOver, setOver] = useState(false);
  const { progress, faults, send, dismiss } = uploads;
  const isClosed = disabled || (progress !== undefined && !multiple);
  const take = (event: Event, files: File[]) => {
    if (files.length === 0) return;
    event.preventDefault();
    setOver(false);
    if (!isClosed) send(multiple ? files : files.slice(0, 1));
  };
  return (
    <fieldset
      class={`drop-zone ${isOver ? "over" : ""}`}
      aria-label={t(multiple ? "fields.uploadMany" : "fields.upload")}
      tabIndex={-1}
      onDragOver={(event) => {
        if (event.dataTransfer?.types.includes("Files") !== true) return;
        event.preventDefault();
        setOver(!isClosed);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => take(event, filesIn(event.dataTransfer))}
      onPaste={(event) => take(event, filesIn(event.clipboardData))}
    >
      <input
        {...attributes}
        type="file"
        accept={accept?.join(",")}
        multiple={multiple}
        disabled={isClosed}
        onChange={(event) => {
          send([...(event.currentTarget.files ?? [])]);
          // So that the same file can be chosen again.
          event.currentTarget.value = "";
        }}
      />
      {progress === undefined ? (
        <p class="hint">{t(multiple ? "fields.uploadMany" : "fields.upload")}</p>
      ) : (
        <p role="status">
          <progress value={progress.share} />{" "}
          {t("fields.uploading", { name: progress.name, percent: Math.floor(progress.share * 100) })}
        </p>
      )}
      {faults.length === 0 ? null : (
        <div class="error drop-faults" role="status">
          <ul>
            {faults.map((fault) => (
              <li key={fault}>{fault}</li>
            ))}
          </ul>
          <IconButton label={t("fields.dismiss")} icon="x" onClick={dismiss} />
        </div>
      )}
    </fieldset>
  );
}
