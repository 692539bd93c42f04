/** The input for a reference: shows the title of the chosen entry, or lets the user search for one. */
import { useEffect, useState } from "preact/hooks";
import { type EntryItem, findEntries } from "../api/entries.ts";
import { Thumbnail } from "../files/thumbnail.tsx";
import { isPolymorphic, labelOf, pointerIn, refsOf, type SchemaModel, titleOf } from "../model/orb.ts";
import { focusSoon } from "../state/focus.ts";
import { t } from "../texts/t.ts";
import { StateBadge } from "../ui/badge.tsx";
import { IconButton } from "../ui/button.tsx";
import { Combobox, type ComboboxOption } from "../ui/combobox.tsx";
import { Icon } from "../ui/icon.tsx";
import { wordsOf } from "../ui/problem.tsx";
import type { EntryTarget, FieldKind, InputProps } from "./parts/kind.ts";
import { nameOfEntry, TargetName, useTarget, useTargetName } from "./parts/target.tsx";
import { plainText } from "./parts/text-input.tsx";

/** The search starts when the user has typed nothing for this many milliseconds. */
const PAUSE = 200;

function Chosen({
  value,
  props: { field, onChange, attributes, disabled, onOpen },
}: {
  value: string;
  props: InputProps;
}) {
  const [reference = ""] = refsOf(field);
  const { entry, name, error } = useTargetName(reference, value);
  const [orb = "", module = "", schema = ""] = reference.split("/");
  const target: EntryTarget = { orb, module, schema, id: value };
  return (
    <div class={`chosen-entry ${attributes["aria-invalid"] === undefined ? "" : "wrong"}`}>
      <button
        id={attributes.id}
        aria-describedby={attributes["aria-describedby"]}
        aria-invalid={attributes["aria-invalid"]}
        type="button"
        class="chosen-name"
        dir="auto"
        title={name}
        aria-label={t("fields.openBeside", { field: attributes["aria-label"] ?? labelOf(field), name })}
        disabled={onOpen === undefined || entry === undefined || entry === null}
        onClick={() => onOpen?.(target)}
      >
        {name}
      </button>
      {entry === undefined || entry === null ? null : <StateBadge of={entry} />}
      {error === undefined && entry !== null ? null : <span class="error">{t("fields.targetGone")}</span>}
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

/** Finds entries by a part of their title, a moment after the user has stopped typing. */
function useFound(
  target: ReturnType<typeof useTarget>,
  text: string,
  open: boolean,
): { found: readonly EntryItem[] | undefined; error: unknown } {
  const [found, setFound] = useState<readonly EntryItem[]>();
  const [error, setError] = useState<unknown>();
  const field = searchedField(target);
  useEffect(() => {
    if (!open || target === undefined) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(
      () =>
        findEntries(target.place, { text, field, signal: abort.signal }).then(
          ({ items }) => {
            setFound(items);
            setError(undefined);
          },
          (reason: unknown) => {
            if (!abort.signal.aborted) setError(reason);
          },
        ),
      found === undefined ? 0 : PAUSE,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [open, text, field, target === undefined]);
  return { found, error };
}

/** Returns the field of the target's title, if the title is a text of the entry itself. */
function searchedField(target: ReturnType<typeof useTarget>): string | undefined {
  return target?.field?.type === "reference" ? undefined : target?.field?.name;
}

function Search({ field, onChange, attributes, disabled, onCreate }: InputProps) {
  const [reference = ""] = refsOf(field);
  const target = useTarget(reference);
  const { model } = target ?? {};
  const create = model === undefined || disabled === true ? undefined : onCreate?.(field);
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const { found, error } = useFound(target, text, open);
  const pick = (chosen: string) => {
    onChange(chosen);
    // The chosen entry replaces the search input, so move the focus to the entry.
    focusSoon(() => document.getElementById(attributes.id));
  };
  const options: ComboboxOption[] = (found ?? []).map((entry) => ({
    key: entry.id,
    content: (
      <>
        <Picture model={model} entry={entry} />
        {target?.field?.type === "reference" ? (
          <TargetName reference={reference} id={entry.id} />
        ) : (
          <span dir="auto">{nameOfEntry(target, entry)}</span>
        )}
        <StateBadge of={entry} />
      </>
    ),
  }));
  // The last option creates an entry.
  if (create !== undefined && model !== undefined && found !== undefined)
    options.push({ key: "create", class: "create", content: <NewEntry name={titleOf(model)} text={text} /> });
  return (
    <Combobox
      attributes={attributes}
      text={text}
      onText={setText}
      open={open}
      onOpen={setOpen}
      options={options}
      onChoose={(at) => {
        const entry = found?.[at];
        if (entry !== undefined) return pick(entry.id);
        setOpen(false);
        create?.(text.trim(), pick);
      }}
      label={t("fields.found")}
      placeholder={t("fields.search", {
        name: model === undefined ? (reference.split("/")[2] ?? "") : titleOf(model),
      })}
      disabled={disabled}
    >
      {error !== undefined ? (
        <p class="error">{wordsOf(error)}</p>
      ) : found?.length === 0 ? (
        <p class="hint">{text === "" ? t("fields.noTargets") : t("fields.noneFound")}</p>
      ) : null}
    </Combobox>
  );
}

/** Shows the first image of an entry; nothing if its schema has no images. */
function Picture({ model, entry }: { model: SchemaModel | undefined; entry: EntryItem }) {
  const field = model?.fields.find(({ type, list, translatable, marketSpecific }) => {
    return type === "file" && list !== true && translatable !== true && marketSpecific !== true;
  });
  if (field === undefined) return null;
  return (
    <span class="option-picture">
      <Thumbnail field={field} value={entry.values[field.name]} />
    </span>
  );
}

function NewEntry({ name, text }: { name: string; text: string }) {
  const typed = text.trim();
  return (
    <span>
      <Icon name="plus" />{" "}
      {typed === "" ? t("fields.create", { name }) : t("fields.createNamed", { name, text: typed })}
    </span>
  );
}

function ReferencePicker(props: InputProps) {
  const { field, value } = props;
  if (isPolymorphic(field)) return <KindPicker {...props} />;
  return typeof value === "string" && value !== "" ? (
    <Chosen value={value} props={props} />
  ) : (
    <Search {...props} />
  );
}

function KindOption({ reference }: { reference: string }) {
  const { model } = useTarget(reference) ?? {};
  return <option value={reference}>{model === undefined ? reference.split("/")[2] : titleOf(model)}</option>;
}

/** The input for a reference to one of several schemas: the user chooses a schema, and then an entry. */
function KindPicker(props: InputProps) {
  const { field, value, onChange, attributes, disabled } = props;
  const refs = refsOf(field);
  const [schema, setSchema] = useState(refs[0] ?? "");
  const pointer = pointerIn(field, value);
  if (pointer !== undefined)
    return <Chosen value={pointer.id} props={{ ...props, field: { ...field, ref: pointer.schema } }} />;
  return (
    <div class="reference-kind">
      <select
        aria-label={t("fields.kindOf", { field: attributes["aria-label"] ?? labelOf(field) })}
        value={schema}
        disabled={disabled}
        onChange={({ currentTarget }) => setSchema(currentTarget.value)}
      >
        {refs.map((one) => (
          <KindOption key={one} reference={one} />
        ))}
      </select>
      <Search
        key={schema}
        {...props}
        field={{ ...field, ref: schema }}
        onChange={(id) => onChange(id === null ? null : { schema, id })}
      />
    </div>
  );
}

const parse: FieldKind["parse"] = (text) => ({ value: text.trim() === "" ? null : text.trim() });

export const referenceKind: FieldKind = {
  Cell: ({ field, value, name }) => {
    const { schema, id = "" } = pointerIn(field, value) ?? {};
    if (id === "") return null;
    if (name === undefined) return <TargetName reference={schema} id={id} />;
    return (
      <span class="clip" dir="auto" title={id}>
        {name}
      </span>
    );
  },
  Input: ReferencePicker,
  filterOps: ["eq", "ne", "in", "null"],
  parse,
  format: (value, field) => pointerIn(field, value)?.id ?? plainText(value),
};
