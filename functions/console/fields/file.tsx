/** The input for a file: shows a link to the stored file, or lets the user choose or drop a new one. */
import { useState } from "preact/hooks";
import { uploadFile } from "../api/files.ts";
import { pathOf } from "../api/http.ts";
import { labelOf } from "../model/orb.ts";
import { t } from "../texts/t.ts";
import { IconButton } from "../ui/button.tsx";
import { wordsOf } from "../ui/problem.tsx";
import type { FieldKind, InputProps } from "./kind.ts";

interface Shown {
  file: string;
  name: string;
  url: string;
  /** Only for an image. */
  width?: number | undefined;
}

function shownFile(value: unknown): Shown | undefined {
  const { file, name, url, width } = Object(value) as Partial<Shown>;
  if (typeof file !== "string") return undefined;
  return { file, name: name ?? file, url: url ?? "", width };
}

function FileLink({ value }: { value: unknown }) {
  const file = shownFile(value);
  if (file === undefined) return null;
  if (!file.url.startsWith("/api/")) return <code class="clip">{file.name}</code>;
  return (
    <a class="clip" href={file.url} target="_blank" rel="noreferrer">
      {file.name}
    </a>
  );
}

/** Shows the first variant of an image. */
function Preview({ field, value }: Pick<InputProps, "field" | "value">) {
  const { url = "", width } = shownFile(value) ?? {};
  const variant = Object.entries(field.variants?.[0] ?? {}).map(([key, option]) => `${key}=${option}`);
  if (variant.length === 0 || width === undefined || !url.startsWith("/api/")) return null;
  return <img src={`${url}?${variant.join("&")}`} alt="" height="48" />;
}

/** Returns whether a type matches one of the accepted ones, such as `image/*` or `application/pdf`. */
function accepts(accept: readonly string[], type: string): boolean {
  return accept.some((each) => each === type || (each.endsWith("/*") && type.startsWith(each.slice(0, -1))));
}

function FileInput({ field, value, onChange, attributes, disabled, orb, onFault }: InputProps) {
  const [sending, setSending] = useState<{ name: string; share: number }>();
  const [fault, setFault] = useState<string>();
  const tell = (message: string | undefined) => {
    setFault(message);
    onFault?.(message);
  };
  const send = async (file: File | undefined) => {
    if (file === undefined || disabled === true) return;
    const { name, size } = file;
    const { accept, maxSize } = field;
    if (maxSize !== undefined && size > maxSize) return tell(t("fields.tooLarge", { max: maxSize, size }));
    setSending({ name, share: 0 });
    tell(undefined);
    try {
      const { id, width, type } = await uploadFile(orb, file, (share) => setSending({ name, share }));
      // The platform has detected the type from the content, so it can be checked only after the upload.
      if (accept !== undefined && !accepts(accept, type))
        return tell(t("fields.wrongType", { types: accept.join(", "), type }));
      onChange({ file: id, name, ...(width && { url: pathOf("api", orb, "files", id), width }) });
    } catch (error) {
      tell(wordsOf(error));
    } finally {
      setSending(undefined);
    }
  };
  if (shownFile(value) !== undefined) {
    return (
      <div class="chosen-entry">
        <Preview field={field} value={value} />
        <FileLink value={value} />
        {disabled === true ? null : (
          <IconButton
            label={t("fields.clear", { field: labelOf(field) })}
            icon="x"
            onClick={() => onChange(null)}
          />
        )}
      </div>
    );
  }
  return (
    <div>
      <input
        {...attributes}
        type="file"
        accept={field.accept?.join(",")}
        disabled={disabled === true || sending !== undefined}
        onChange={(event) => void send(event.currentTarget.files?.[0])}
      />
      {sending === undefined ? (
        <p class="hint">{t("fields.upload")}</p>
      ) : (
        <p role="status">
          <progress value={sending.share} />{" "}
          {t("fields.uploading", { name: sending.name, percent: Math.floor(sending.share * 100) })}
        </p>
      )}
      {fault === undefined ? null : (
        <p class="error" role="status">
          {fault}
        </p>
      )}
    </div>
  );
}

const nameOf = (value: unknown) => shownFile(value)?.name ?? "";

export const fileKind: FieldKind = {
  Cell: FileLink,
  Input: FileInput,
  filterOps: ["null"],
  parse: () => ({ value: null }),
  format: nameOf,
};
