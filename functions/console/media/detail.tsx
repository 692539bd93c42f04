/** The panel of one file: its texts, tags, focal point and crop, where it is used, its replacement and deletion. */
import { useId, useLayoutEffect, useState } from "preact/hooks";
import {
  deleteFile,
  type FileChange,
  type FilesPlace,
  type LibraryFileDetail,
  readFile,
  replaceFile,
  updateFile,
} from "../api/files.ts";
import { DropZone } from "../files/drop-zone.tsx";
import { ANY_FILE, FilePicture, filesKey, isImage } from "../files/library.tsx";
import { sizeText } from "../files/size.ts";
import { useUploads } from "../files/uploads.ts";
import { useAction } from "../state/action.ts";
import { keep, refresh } from "../state/cache.ts";
import { useLoad } from "../state/load.ts";
import { languageName, t } from "../texts/t.ts";
import { Button } from "../ui/button.tsx";
import { confirm, Dialog } from "../ui/dialog.tsx";
import { TextArea, TextField } from "../ui/form.tsx";
import { faultAt, faultsOf, ProblemBox } from "../ui/problem.tsx";
import { Shows } from "../ui/states.tsx";
import { Time } from "../ui/time.tsx";
import { complain, say } from "../ui/toast.tsx";
import { FrameEditor } from "./frame.tsx";
import { UsedIn } from "./used.tsx";

interface Draft {
  name: string;
  alt: Readonly<Record<string, string>>;
  caption: Readonly<Record<string, string>>;
  tags: string;
  focal: LibraryFileDetail["focal"];
  crop: LibraryFileDetail["crop"];
}

const draftOf = ({ name, alt, caption, tags, focal, crop }: LibraryFileDetail): Draft => ({
  ...{ name, alt, caption, focal, crop },
  tags: tags.join(", "),
});

/** Returns the changes of a draft. */
function changeOf(draft: Draft, file: LibraryFileDetail): FileChange {
  const before = draftOf(file);
  const tags = draft.tags
    .split(",")
    .map((tag) => tag.trim())
    .filter(Boolean);
  const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
  return {
    ...(draft.name === before.name ? {} : { name: draft.name }),
    ...(isSame(draft.alt, before.alt) ? {} : { alt: draft.alt }),
    ...(isSame(draft.caption, before.caption) ? {} : { caption: draft.caption }),
    ...(draft.tags === before.tags ? {} : { tags }),
    ...(isSame(draft.focal, before.focal) ? {} : { focal: draft.focal }),
    ...(isSame(draft.crop, before.crop) ? {} : { crop: draft.crop }),
  };
}

/** The inputs for a text in each language. */
function TextsInput({
  languages,
  draft,
  image,
  disabled,
  faults,
  onChange,
}: {
  languages: readonly string[];
  draft: Draft;
  image: boolean;
  disabled: boolean;
  faults: ReturnType<typeof faultsOf>;
  onChange: (draft: Draft) => void;
}) {
  const label = (text: string, language: string) =>
    languages.length > 1 ? `${text} (${languageName(language)})` : text;
  return (
    <>
      {languages.map((language) => (
        <div key={language} class="media-texts">
          {image ? (
            <TextField
              label={label(t("media.alt"), language)}
              lang={language}
              hint={language === languages[0] ? t("media.altHint") : undefined}
              value={draft.alt[language] ?? ""}
              disabled={disabled}
              error={faultAt(faults, `/alt/${language}`)}
              onChange={(text) => onChange({ ...draft, alt: { ...draft.alt, [language]: text } })}
            />
          ) : null}
          <TextArea
            label={label(t("media.caption"), language)}
            lang={language}
            rows={2}
            value={draft.caption[language] ?? ""}
            disabled={disabled}
            error={faultAt(faults, `/caption/${language}`)}
            onChange={(text) => onChange({ ...draft, caption: { ...draft.caption, [language]: text } })}
          />
        </div>
      ))}
    </>
  );
}

interface DetailProps {
  place: FilesPlace;
  file: LibraryFileDetail;
  languages: readonly string[];
  /** Whether the caller may change files of the library. */
  mayChange: boolean;
  onOpen: (id: string) => void;
  onClose: () => void;
}

/** @param onChanged learns whether the form has changes, also of the frame, that are not saved */
function DescriptionForm({
  place,
  file,
  languages,
  mayChange,
  onChanged,
}: DetailProps & { onChanged: (changed: boolean) => void }) {
  const [draft, setDraft] = useState(() => draftOf(file));
  const { busy, error, run } = useAction();
  const form = useId();
  const disabled = !mayChange;
  const faults = faultsOf(error);
  const change = changeOf(draft, file);
  const isChanged = Object.keys(change).length > 0;
  useLayoutEffect(() => onChanged(isChanged), [isChanged]);
  const save = () =>
    run(async () => {
      const saved = await updateFile(place, file.id, change, file.revision);
      // At once: until the form begins anew, the dialog takes what was saved for text that would be lost.
      keep(filesKey(place.orb, `file/${file.id}`), { ...file, ...saved });
      say(t("media.saved"));
      refresh(filesKey(place.orb));
    });
  return (
    <form
      id={form}
      onSubmit={(event) => {
        event.preventDefault();
        if (isChanged && !busy) void save();
      }}
    >
      {isImage(file) && file.width !== undefined ? (
        <FrameEditor
          file={file}
          frame={draft}
          disabled={disabled}
          onChange={(frame) => setDraft({ ...draft, ...frame })}
        />
      ) : (
        <FilePicture file={file} />
      )}
      <TextsInput {...{ languages, draft, disabled, faults }} image={isImage(file)} onChange={setDraft} />
      <TextField
        label={t("media.tags")}
        hint={t("media.tagsHint")}
        value={draft.tags}
        disabled={disabled}
        error={faultAt(faults, "/tags")}
        onChange={(tags) => setDraft({ ...draft, tags })}
      />
      <TextField
        label={t("media.name")}
        value={draft.name}
        disabled={disabled}
        error={faultAt(faults, "/name")}
        onChange={(name) => setDraft({ ...draft, name })}
      />
      {error === undefined ? null : <ProblemBox error={error} />}
      {disabled ? null : (
        <Button kind="primary" type="submit" busy={busy} disabled={!isChanged}>
          {t("media.save")}
        </Button>
      )}
    </form>
  );
}

/** Lets the user replace a file in all entries. */
function Replacement({ place, file, onOpen }: DetailProps) {
  const { busy, error, run } = useAction();
  const count = file.usedIn.filter(({ newest, status }) => newest && status !== "ARCHIVED").length;
  const replace = (by: string) =>
    run(async () => {
      const { changed, left } = await replaceFile(place, file.id, by);
      say(t("media.replaced", { count: changed.length }));
      if (left.length > 0) say(t("media.replacedLeft", { count: left.length }));
      refresh(filesKey(place.orb));
      onOpen(by);
    });
  const uploads = useUploads({
    orb: place.orb,
    field: { ...ANY_FILE, list: false },
    disabled: busy,
    onStored: (value) => void replace(String(Reflect.get(value, "file"))),
    onProgress: undefined,
    onFault: undefined,
  });
  return (
    <section aria-labelledby="media-replace">
      <h3 id="media-replace">{t("media.replace")}</h3>
      <p class="hint" id="media-replace-hint">
        {t("media.replaceText", { count })}
      </p>
      <DropZone
        uploads={uploads}
        attributes={{
          ...{
            id: "media-replace-file",
            "aria-describedby": "media-replace-hint",
            "aria-invalid": undefined,
          },
          "aria-label": t("media.replace"),
        }}
        accept={undefined}
        multiple={false}
        disabled={busy}
      />
      {error === undefined ? null : <ProblemBox error={error} />}
    </section>
  );
}

function Removal({ place, file, onClose }: DetailProps) {
  const { uses, id, name } = file;
  const remove = async () => {
    const asked = { title: t("media.deleteTitle", { name }), text: t("media.deleteText") };
    if (!(await confirm({ ...asked, action: t("media.delete"), danger: true }))) return;
    try {
      await deleteFile(place, id);
    } catch (error) {
      complain(error);
      refresh(filesKey(place.orb));
      return;
    }
    say(t("media.deleted", { name }));
    onClose();
    refresh(filesKey(place.orb));
  };
  return (
    <section aria-labelledby="media-delete">
      <h3 id="media-delete">{t("media.delete")}</h3>
      {uses > 0 ? (
        <p class="hint">{t("media.deleteUsed", { count: uses })}</p>
      ) : (
        <Button kind="danger" icon="trash" onClick={() => void remove()}>
          {t("media.delete")}
        </Button>
      )}
    </section>
  );
}

function Facts({ file }: { file: LibraryFileDetail }) {
  const { type, size, width, height, createdAt, url, replacedBy } = file;
  return (
    <p class="hint media-facts" dir="auto">
      {type} · {sizeText(size)}
      {width === undefined || height === undefined ? "" : ` · ${width} × ${height}`} · <Time at={createdAt} />{" "}
      ·{" "}
      <a href={url} target="_blank" rel="noreferrer">
        {t("media.open")}
      </a>
      {replacedBy === undefined ? null : <> · {t("media.wasReplaced")}</>}
    </p>
  );
}

/** The dialog of one file. */
export function FileDetail({
  place,
  id,
  ...props
}: Omit<DetailProps, "file"> & {
  id: string;
}) {
  const loaded = useLoad(filesKey(place.orb, `file/${id}`), (signal) => readFile(place, id, signal));
  const [changed, setChanged] = useState(false);
  return (
    <Dialog title={loaded.data?.name ?? t("media.file")} onClose={props.onClose} changed={changed} wide>
      <Shows of={loaded}>
        {(file) => (
          <div class="media-detail">
            <Facts file={file} />
            {/* A newer version of the description replaces what the form shows. */}
            <DescriptionForm
              key={`${id} ${file.revision}`}
              {...{ place, file, ...props }}
              onChanged={setChanged}
            />
            <UsedIn orb={place.orb} file={file} />
            {props.mayChange ? (
              <>
                <Replacement {...{ place, file, ...props }} />
                <Removal {...{ place, file, ...props }} />
              </>
            ) : null}
          </div>
        )}
      </Shows>
    </Dialog>
  );
}
