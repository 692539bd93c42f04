/** An input for an account: shows its name, or lets the user search for a name. */
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { type AccountName, findAccounts } from "../api/people.ts";
import { focusSoon } from "../state/focus.ts";
import { learnNames } from "../state/names.ts";
import { t } from "../texts/t.ts";
import { IconButton } from "../ui/button.tsx";
import { Combobox } from "../ui/combobox.tsx";
import { Field, type InputAttributes } from "../ui/form.tsx";

/** The search starts when the user has typed nothing for this many milliseconds. */
const PAUSE = 200;

/** The form of an account's id. */
const ID = /^[0-9a-f]{32}$/;

interface Props {
  label: string;
  /** Id of the chosen account; empty if none is chosen. */
  value: string;
  /** Name of the chosen account. */
  name: string;
  onChange: (id: string) => void;
  /** The application whose accounts are found; undefined for all accounts. */
  orb: string | undefined;
  /** Whether the caller may search all accounts. Otherwise, only `known` ones are found. */
  searches: boolean;
  /** Accounts to offer at once. */
  known: readonly { id: string; name: string }[];
}

/** Finds accounts by a part of their name: known ones at once, and others with a request. */
function useFound({ orb, searches, known }: Props, text: string, open: boolean): readonly AccountName[] {
  const [others, setOthers] = useState<{ text: string; items: readonly AccountName[] }>();
  const wanted = text.trim().toLowerCase();
  useEffect(() => {
    if (!open || !searches || wanted === "") return undefined;
    const abort = new AbortController();
    const timer = setTimeout(
      () =>
        findAccounts(orb, wanted, abort.signal).then(
          (items) => {
            learnNames(orb, items);
            setOthers({ text: wanted, items });
          },
          () => undefined,
        ),
      PAUSE,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [open, wanted]);
  if (!open) return [];
  const near = known
    .map((one): AccountName => ({ ...one, realm: "" }))
    .filter(({ id, name }) => name.toLowerCase().includes(wanted) || id === wanted);
  const far =
    others?.text === wanted ? others.items.filter(({ id }) => !known.some((one) => one.id === id)) : [];
  return [...near, ...far];
}

function Search(
  props: Props & {
    attributes: InputAttributes;
    /** Chooses an account when the focus has left the input. */
    onLeave: (id: string) => void;
  },
) {
  const { attributes, onChange } = props;
  const [text, setText] = useState("");
  const [open, setOpen] = useState(false);
  const found = useFound(props, text, open);
  const exact = found.filter(({ name }) => name.toLowerCase() === text.trim().toLowerCase());
  const [only] = found.length === 1 ? exact : [];
  // The whole name of the only match needs no further choice.
  useLayoutEffect(() => {
    if (only !== undefined) onChange(only.id);
  }, [only?.id]);
  return (
    <Combobox
      attributes={attributes}
      text={text}
      onText={setText}
      open={open}
      onOpen={setOpen}
      options={found.map(({ id, name, realm, removed }) => ({
        key: id,
        content: (
          <>
            <span dir="auto">{removed === true ? t("names.removed", { name }) : name}</span>
            <span class="hint">{realm}</span>
          </>
        ),
      }))}
      onChoose={(at) => onChange(found[at]?.id ?? "")}
      onEnter={() => {
        // An id can be entered as it is.
        const typed = text.trim();
        if (typed !== "") onChange(typed);
        return typed !== "";
      }}
      onLeave={() => {
        const chosen = exact[0]?.id ?? (ID.test(text.trim()) ? text.trim() : undefined);
        if (chosen !== undefined) props.onLeave(chosen);
      }}
      label={t("names.found")}
      placeholder={t("names.find")}
    />
  );
}

function Chosen({ attributes, label, value, name, onChange }: Props & { attributes: InputAttributes }) {
  return (
    <div class="chosen-entry">
      <button
        id={attributes.id}
        type="button"
        class="chosen-name"
        dir="auto"
        title={value}
        onClick={() => onChange("")}
      >
        {name}
      </button>
      <IconButton label={t("fields.clear", { field: label })} icon="x" onClick={() => onChange("")} />
    </div>
  );
}

export function AccountPicker(props: Props) {
  return (
    <Field label={props.label}>
      {(attributes) => {
        const onChange = (id: string) => {
          props.onChange(id);
          // The name and the search replace each other, so move the focus to the one that is shown now.
          focusSoon(() => document.getElementById(attributes.id));
        };
        const own = { ...props, attributes, onChange };
        return props.value === "" ? <Search {...own} onLeave={props.onChange} /> : <Chosen {...own} />;
      }}
    </Field>
  );
}
