/** The input for a reference: shows the title of the chosen entry, or lets the user search for one. */
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { type EntryItem, findEntries, readTarget } from "../api/entries.ts";
import { plainValue } from "../model/cells.ts";
import { labelOf, schemaOf, titleField, titleOf } from "../model/orb.ts";
import { useLoad } from "../state/load.ts";
import { useOrb } from "../state/session.ts";
import { t } from "../texts/t.ts";
import { StateBadge } from "../ui/badge.tsx";
import { IconButton } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { wordsOf } from "../ui/problem.tsx";
import type { EntryTarget, InputProps } from "./kind.ts";

/** The search starts when the user has typed nothing for this many milliseconds. */
const PAUSE = 200;

/** Returns the schema that a reference points to, and its title field. */
function useTarget(ref: string | undefined, managed: boolean) {
  const [orb = "", module = "", schema = ""] = (ref ?? "").split("/");
  const { data } = useOrb(orb === "" ? undefined : orb);
  const model = schemaOf(data, module, schema);
  const field = model === undefined ? undefined : titleField(model);
  const nameOf = (entry: EntryItem) =>
    (field === undefined ? "" : plainValue(entry.values[field.name])) || entry.id;
  return { place: { orb, module, schema, managed }, model, field, nameOf };
}

function Chosen({
  value,
  props: { field, onChange, attributes, disabled, managed, onOpen },
}: {
  value: string;
  props: InputProps;
}) {
  const { place, nameOf } = useTarget(field.ref, managed);
  const { data, error } = useLoad(`orbs/${place.orb}/reference/${field.ref}/${value}`, (signal) =>
    readTarget(place, value, signal),
  );
  const target: EntryTarget = { orb: place.orb, module: place.module, schema: place.schema, id: value };
  const name = data === undefined ? value : nameOf(data);
  return (
    <div class={`chosen-entry ${attributes["aria-invalid"] === undefined ? "" : "wrong"}`}>
      <button
        id={attributes.id}
        aria-describedby={attributes["aria-describedby"]}
        aria-invalid={attributes["aria-invalid"]}
        type="button"
        class="chosen-name"
        aria-label={t("fields.openBeside", { field: attributes["aria-label"] ?? labelOf(field), name })}
        disabled={onOpen === undefined || data === undefined}
        onClick={() => onOpen?.(target)}
      >
        {name}
      </button>
      {data === undefined ? null : <StateBadge of={data} />}
      {error === undefined ? null : <span class="error">{t("fields.targetGone")}</span>}
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

function Search({ field, onChange, attributes, disabled, managed }: InputProps) {
  const id = useId();
  const { place, model, field: named, nameOf } = useTarget(field.ref, managed);
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const [at, setAt] = useState(0);
  const [found, setFound] = useState<readonly EntryItem[]>();
  const [error, setError] = useState<unknown>();
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(
      () =>
        findEntries(place, { text, field: named?.name, signal: abort.signal }).then(
          ({ items }) => {
            setFound(items);
            setError(undefined);
            setAt(0);
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
  }, [open, text, named?.name]);
  const choose = (entry: EntryItem | undefined) => {
    if (entry === undefined) return;
    onChange(entry.id);
    // The chosen entry replaces the search input, so move the focus to the entry.
    setTimeout(() => document.getElementById(attributes.id)?.focus());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const count = found?.length ?? 0;
    if (step !== 0 && !event.altKey) {
      event.preventDefault();
      setOpen(true);
      setAt((at + step + count) % Math.max(1, count));
    } else if (event.key === "Enter" && open && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      choose(found?.[at]);
    } else if (event.key === "Escape" && open) {
      event.preventDefault();
      event.stopPropagation();
      setOpen(false);
    }
  };
  return (
    <div
      class="reference-search"
      ref={box}
      onFocusOut={(event) => {
        if (!box.current?.contains(event.relatedTarget as Node | null)) setOpen(false);
      }}
    >
      <Icon name="search" />
      <input
        {...attributes}
        type="text"
        role="combobox"
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        aria-autocomplete="list"
        aria-activedescendant={open && found?.[at] !== undefined ? `${id}-${at}` : undefined}
        autocomplete="off"
        disabled={disabled}
        placeholder={t("fields.search", { name: model === undefined ? place.schema : titleOf(model) })}
        value={text}
        onFocus={() => setOpen(true)}
        onClick={() => setOpen(true)}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setOpen(true);
        }}
        onKeyDown={onKeyDown}
      />
      {open ? (
        <div class="reference-found" id={id} role="listbox" aria-label={t("fields.found")}>
          {found?.map((entry, index) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the keys belong to the input above.
            <div
              key={entry.id}
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={index === at}
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => choose(entry)}
              onPointerMove={() => setAt(index)}
            >
              <span>{nameOf(entry)}</span>
              <StateBadge of={entry} />
            </div>
          ))}
          {error !== undefined ? (
            <p class="error">{wordsOf(error)}</p>
          ) : found?.length === 0 ? (
            <p class="hint">{text === "" ? t("fields.noTargets") : t("fields.noneFound")}</p>
          ) : null}
        </div>
      ) : null}
    </div>
  );
}

export function ReferencePicker(props: InputProps) {
  const { value } = props;
  return typeof value === "string" && value !== "" ? (
    <Chosen value={value} props={props} />
  ) : (
    <Search {...props} />
  );
}
