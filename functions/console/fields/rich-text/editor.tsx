/** The input for rich text. It is a file of its own for the browser, which loads it with the first rich text. */
import type { ComponentType } from "preact";
import { useRef, useState } from "preact/hooks";
import type { Node } from "prosemirror-model";
import { NodeSelection } from "prosemirror-state";
import { isObject } from "../../../../shared/kernel/json.ts";
import { type Progress, useUploads } from "../../files/uploads.ts";
import { type FieldModel, labelOf, type Shape } from "../../model/orb.ts";
import { t } from "../../texts/t.ts";
import { Button, IconButton } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import type { BlockForms, InputProps } from "../parts/kind.ts";
import { TargetName } from "../parts/target.tsx";
import type { CardHooks } from "./card.tsx";
import type { ClipboardHooks } from "./clipboard.ts";
import { insertObject, linkAt, moveBlock, setLink } from "./commands.ts";
import { itemKey } from "./convert.ts";
import { LinkDialog } from "./link.tsx";
import { formatsOf } from "./schema.ts";
import { Toolbar } from "./toolbar.tsx";
import { type Editing, useEditing } from "./view.ts";

const segmenter = new Intl.Segmenter(undefined, { granularity: "word" });
/** The words of blocks that did not change need not be counted again. */
const counts = new WeakMap<Node, number>();

function countIn(block: Node): number {
  const found = counts.get(block);
  if (found !== undefined) return found;
  let count = 0;
  for (const { isWordLike } of segmenter.segment(block.textBetween(0, block.content.size, "", " ")))
    if (isWordLike === true) count++;
  counts.set(block, count);
  return count;
}

/** Returns the number of words in the text of a document, in all languages. */
const wordsIn = (doc: Node): number => doc.children.reduce((sum, block) => sum + countIn(block), 0);

interface Props extends InputProps {
  /** The input for a reference, which the dialog of a link uses. */
  Reference: ComponentType<InputProps>;
}

const NO_FORMS: BlockForms = {
  shapes: [],
  create: () => ({}),
  form: () => null,
  isWrong: () => false,
  textOf: () => "",
};

/** Returns the component and the field for images that the user drops: the first that takes images, else any file. */
function imagePlace(shapes: readonly Shape[]): { shape: Shape; field: FieldModel } | undefined {
  const places = shapes.flatMap((shape) =>
    shape.fields
      .filter(({ type, translatable, marketSpecific }) => type === "file" && !translatable && !marketSpecific)
      .map((field) => ({ shape, field })),
  );
  const takesImages = ({ accept }: FieldModel) => accept?.some((type) => type.startsWith("image/")) ?? true;
  return places.find(({ field }) => takesImages(field)) ?? places[0];
}

/** Uploads files that the user drops or pastes, and inserts a block for each. */
function useImages(props: InputProps, forms: BlockForms, editing: () => Editing) {
  const place = imagePlace(forms.shapes);
  const uploads = useUploads({
    orb: props.orb,
    field: place?.field ?? props.field,
    disabled: props.disabled === true || place === undefined,
    onProgress: props.onUpload,
    onFault: props.onFault,
    onStored: (file) => {
      if (place === undefined) return;
      const { run, mark } = editing();
      const value = {
        ...forms.create(place.shape),
        [place.field.name]: place.field.list === true ? [file] : file,
      };
      run(insertObject(value, mark.current));
    },
  });
  return { uploads, takesFiles: place !== undefined };
}

/** What the editor shows below the text: the link at the cursor, and the number of words. */
function Foot({
  editing: { state },
  onLink,
  disabled,
}: {
  editing: Editing;
  onLink: () => void;
  disabled: boolean;
}) {
  if (state === undefined) return null;
  const def = linkAt(state)?.def;
  const reference = isObject(def?.reference) ? def.reference : undefined;
  return (
    <div class="rich-foot hint">
      {def === undefined ? null : (
        <span class="rich-foot-link">
          {t("rich.linksTo")}{" "}
          {reference === undefined ? (
            <bdi class="clip">{String(def.href)}</bdi>
          ) : (
            <TargetName reference={String(reference.schema)} id={String(reference.id)} />
          )}
          {disabled ? null : (
            <Button size="small" kind="quiet" onClick={onLink}>
              {t("rich.editShort")}
            </Button>
          )}
        </span>
      )}
      <span class="rich-words">{t("rich.words", { count: wordsIn(state.doc) })}</span>
    </div>
  );
}

/** What was left out of a paste, why files were not stored, and what is being uploaded. */
function Notes({
  notes,
  progress,
  onDismiss,
}: {
  notes: readonly string[];
  progress: Progress | undefined;
  onDismiss: () => void;
}) {
  return (
    <div role="status">
      {progress === undefined ? null : (
        <p class="hint">
          {t("fields.uploading", { name: progress.name, percent: Math.floor(progress.share * 100) })}
        </p>
      )}
      {notes.length === 0 ? null : (
        <div class="rich-notes">
          <ul>
            {notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
          <IconButton label={t("fields.dismiss")} icon="x" onClick={onDismiss} />
        </div>
      )}
    </div>
  );
}

/** The form of one block, in a dialog. It changes the entry's form at once. */
function BlockDialog({
  forms,
  value,
  at,
  onClose,
}: {
  forms: BlockForms;
  value: unknown;
  at: number;
  onClose: () => void;
}) {
  const block: unknown = Array.isArray(value) ? value[at] : undefined;
  const shape = isObject(block) ? forms.shapes.find(({ component }) => component === block._type) : undefined;
  if (shape === undefined) return null;
  return (
    <Dialog
      title={shape.label}
      wide
      question
      onClose={onClose}
      actions={
        <Button kind="primary" onClick={onClose}>
          {t("rich.done")}
        </Button>
      }
    >
      {forms.form(shape, at)}
    </Dialog>
  );
}

const keyAt = (value: unknown, key: string | undefined): number =>
  Array.isArray(value) ? value.findIndex((block) => isObject(block) && block._key === key) : -1;

/** Returns the attributes of the element with the text. */
function textAttributes({ attributes, disabled, language, field }: InputProps): Record<string, string> {
  const { id, "aria-label": label, "aria-describedby": described, "aria-invalid": invalid } = attributes;
  return {
    ...{ id, class: "rich-text", role: "textbox", "aria-multiline": "true", tabindex: "0" },
    ...(label === undefined ? { "aria-labelledby": `${id}-label` } : { "aria-label": label }),
    ...(described === undefined ? {} : { "aria-describedby": described }),
    ...(invalid === undefined ? {} : { "aria-invalid": invalid }),
    ...(disabled === true ? { "aria-readonly": "true" } : {}),
    ...(language === undefined || field.translatable !== true ? {} : { lang: language }),
  };
}

/** Returns what the cards of blocks show and do. */
function cardHooksOf(
  props: Props,
  forms: BlockForms,
  editing: () => Editing,
  onEdit: (key: string) => void,
): CardHooks {
  return {
    shapeOf: (block) => forms.shapes.find(({ component }) => component === block._type),
    textOf: forms.textOf,
    disabled: props.disabled === true,
    isWrong: ({ _key }) => forms.isWrong(keyAt(props.value, String(_key))),
    onEdit: ({ _key }) => onEdit(String(_key)),
    onMove: (pos, step) =>
      editing().run((state, dispatch) => {
        const selected = state.apply(state.tr.setSelection(NodeSelection.create(state.doc, pos)));
        return moveBlock(step)(selected, dispatch);
      }),
    onRemove: (pos) =>
      editing().run(({ tr, doc }, dispatch) => {
        dispatch?.(tr.delete(pos, pos + (doc.nodeAt(pos)?.nodeSize ?? 0)));
        return true;
      }),
  };
}

/** Returns a reference to the newest value. */
function useNewest<T>(value: T) {
  const newest = useRef(value);
  newest.current = value;
  return newest;
}

/** The dialog of the link at the cursor, or of a new one. */
function Linking({ props, editing, onClose }: { props: Props; editing: Editing; onClose: () => void }) {
  const { state, run, formats } = editing;
  if (state === undefined) return null;
  return (
    <LinkDialog
      now={linkAt(state)?.def}
      Reference={props.Reference}
      input={props}
      links={formats.links}
      hasText={!state.selection.empty}
      onApply={(def, text) => {
        run(setLink(def, text));
        onClose();
      }}
      onClose={onClose}
    />
  );
}

export function RichTextEditor(props: Props) {
  const { field, value, disabled = false, attributes, blocks: forms = NO_FORMS } = props;
  const [notes, setNotes] = useState<readonly string[]>([]);
  const [isLinking, setLinking] = useState(false);
  const [edited, setEdited] = useState<string>();
  const box = useRef<HTMLDivElement>(null);
  const { uploads, takesFiles } = useImages(props, forms, () => editing);
  const clipboard = useNewest<ClipboardHooks>({
    formats: formatsOf(field),
    onWarnings: (warnings) => setNotes(warnings.map((warning) => t("rich.pasted", { warning }))),
    onFiles: (files, at) => {
      if (!takesFiles) return setNotes([t("rich.noFiles")]);
      editing.mark.current = at;
      uploads.send(files);
    },
  });
  const onLink = () => setLinking(true);
  const editing: Editing = useEditing(props, {
    ...{ clipboard, onLink, edit: edited },
    cards: useNewest(cardHooksOf(props, forms, () => editing, setEdited)),
    onTools: () => box.current?.querySelector<HTMLElement>(".rich-tools [tabindex='0']")?.focus(),
    attributes: () => textAttributes(props),
  });
  const { state, run, formats } = editing;
  const back = () => queueMicrotask(editing.focus);
  const at = keyAt(value, edited);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys that the editor uses are not for the form around it.
    <div
      class={`rich ${disabled ? "disabled" : ""}`}
      ref={box}
      onKeyDown={(event) => {
        if (event.defaultPrevented) event.stopPropagation();
      }}
    >
      {state === undefined || disabled ? null : (
        <Toolbar
          {...{ state, formats, run, back, onLink }}
          label={t("rich.toolbar", { field: attributes["aria-label"] ?? labelOf(field) })}
          controls={attributes.id}
          shapes={forms.shapes}
          onInsert={(shape) => {
            const made = { ...forms.create(shape), _key: itemKey() };
            run(insertObject(made));
            setEdited(made._key);
          }}
        />
      )}
      <div ref={editing.root} />
      <Foot {...{ editing, disabled, onLink }} />
      <Notes
        notes={[...notes, ...uploads.faults]}
        progress={uploads.progress}
        onDismiss={() => {
          setNotes([]);
          uploads.dismiss();
          back();
        }}
      />
      {edited === undefined || at < 0 ? null : (
        <BlockDialog
          {...{ forms, value, at }}
          onClose={() => {
            setEdited(undefined);
            back();
          }}
        />
      )}
      {isLinking ? (
        <Linking
          {...{ props, editing }}
          onClose={() => {
            setLinking(false);
            back();
          }}
        />
      ) : null}
    </div>
  );
}
