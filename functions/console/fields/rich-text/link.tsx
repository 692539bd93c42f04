/** The dialog of a link: to an address, or to an entry. */
import type { ComponentType } from "preact";
import { useState } from "preact/hooks";
import { addressFlaw, LINK } from "../../../../shared/definition/types/index.ts";
import { isObject } from "../../../../shared/kernel/json.ts";
import { type FieldModel, pointerIn } from "../../model/orb.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, SelectField, TextField } from "../../ui/form.tsx";
import type { InputProps } from "../parts/kind.ts";
import { type Item, itemKey, referenceTo } from "./convert.ts";

/** Adds the usual scheme to an address such as `example.org` or `ann@example.org`. */
function withScheme(text: string): string {
  const address = text.trim();
  if (/^[^\s@/:]+@[^\s@/]+\.[^\s@/]+$/.test(address)) return `mailto:${address}`;
  return /^[^\s/:#?.]+(\.[^\s/:#?.]+)*\.[a-z]{2,}(:\d+)?([/?#]\S*)?$/i.test(address)
    ? `https://${address}`
    : address;
}

/** Returns the field with which the user chooses an entry. */
const fieldOf = (links: readonly string[]): FieldModel => {
  const [first = ""] = links;
  return { name: "link", label: t("rich.entry"), type: "reference", ref: links.length === 1 ? first : links };
};

interface Props {
  /** The link at the cursor. */
  now: Item | undefined;
  links: readonly string[];
  /** Whether there is a text to link. */
  hasText: boolean;
  Reference: ComponentType<InputProps>;
  input: InputProps;
  onApply: (def: Item | undefined, text: string) => void;
  onClose: () => void;
}

/** What the user has entered in the dialog. */
function useLink({ now, links, onApply }: Props) {
  const field = fieldOf(links);
  const pointer = isObject(now?.reference) ? pointerIn({ ref: links }, now.reference) : undefined;
  const [kind, setKind] = useState(pointer === undefined ? "address" : "entry");
  const [address, setAddress] = useState(typeof now?.href === "string" ? now.href : "");
  const [entry, setEntry] = useState<unknown>(links.length === 1 ? pointer?.id : pointer);
  const [text, setText] = useState("");
  const [tried, setTried] = useState(false);
  const chosen = pointerIn(field, entry);
  const href = withScheme(address);
  const flaw = kind === "address" ? addressFlaw(href) : chosen === undefined ? t("rich.noEntry") : undefined;
  const apply = () => {
    setTried(true);
    if (flaw !== undefined) return;
    const key = typeof now?._key === "string" ? now._key : itemKey();
    const title = typeof now?.title === "string" ? { title: now.title } : {};
    const target = kind === "address" || chosen === undefined ? { href } : { reference: referenceTo(chosen) };
    onApply(
      { _type: LINK, _key: key, ...target, ...title },
      text.trim() || address.trim() || (chosen?.id ?? ""),
    );
  };
  const error = tried ? flaw : undefined;
  return { field, kind, setKind, address, setAddress, entry, setEntry, text, setText, error, apply };
}

function Inputs({ props, link }: { props: Props; link: ReturnType<typeof useLink> }) {
  const { now, links, hasText, Reference, input } = props;
  const { field, kind, setKind, address, setAddress, entry, setEntry, text, setText, error } = link;
  return (
    <>
      {links.length === 0 ? null : (
        <SelectField
          label={t("rich.linkTo")}
          value={kind}
          onChange={setKind}
          options={[
            { value: "address", label: t("rich.address") },
            { value: "entry", label: t("rich.entry") },
          ]}
        />
      )}
      {kind === "address" ? (
        <TextField
          label={t("rich.address")}
          hint={t("rich.addressHint")}
          class="mono"
          value={address}
          onChange={setAddress}
          error={error}
          spellcheck={false}
        />
      ) : (
        <Field label={t("rich.entry")} error={error}>
          {(attributes) => (
            <Reference
              field={field}
              value={entry ?? null}
              attributes={attributes}
              orb={input.orb}
              managed={input.managed}
              onChange={setEntry}
            />
          )}
        </Field>
      )}
      {hasText || now !== undefined ? null : (
        <TextField label={t("rich.linkText")} value={text} onChange={setText} />
      )}
    </>
  );
}

export function LinkDialog(props: Props) {
  const { now, onApply, onClose } = props;
  const link = useLink(props);
  return (
    <Dialog
      title={t(now === undefined ? "rich.linkNew" : "rich.linkEdit")}
      onClose={onClose}
      actions={
        <>
          {now === undefined ? null : (
            <Button kind="quiet" onClick={() => onApply(undefined, "")}>
              {t("rich.linkRemove")}
            </Button>
          )}
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" onClick={link.apply}>
            {t("rich.linkApply")}
          </Button>
        </>
      }
    >
      {/* biome-ignore lint/a11y/noStaticElementInteractions: Enter in one of the inputs sets the link. */}
      <div
        class="rich-link"
        onKeyDown={(event) => {
          const isButton = event.target instanceof HTMLButtonElement;
          if (event.key !== "Enter" || event.defaultPrevented || isButton) return;
          event.preventDefault();
          link.apply();
        }}
      >
        <Inputs {...{ props, link }} />
      </div>
    </Dialog>
  );
}
