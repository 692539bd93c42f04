/** The input for a sensitive value. A stored value stays masked until the user replaces or reveals it. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { MASK } from "../../model/cells.ts";
import { t } from "../../texts/t.ts";
import { Button } from "../../ui/button.tsx";
import type { InputProps } from "./kind.ts";

export function SecretInput({
  value,
  onChange,
  attributes,
  disabled,
  revealed,
  reveal,
  children,
}: Pick<InputProps, "value" | "onChange" | "attributes" | "disabled"> & {
  /** The stored value, if it was revealed. */
  revealed: { value: unknown } | undefined;
  /**
   * Reads the stored value. The audit log records each such read. Undefined if the caller may not reveal the value.
   */
  reveal: (() => Promise<void>) | undefined;
  /** Renders the input for the field's type. */
  children: (value: unknown) => ComponentChildren;
}) {
  const [busy, setBusy] = useState(false);
  /** Whether there is a stored value that the user can keep. */
  const [stored] = useState(value === MASK);
  const isMasked = value === MASK;
  const keep = (
    <Button size="small" icon="undo" onClick={() => onChange(MASK)}>
      {t("fields.keep")}
    </Button>
  );
  if (!isMasked || revealed !== undefined)
    return (
      <>
        {children(isMasked ? (revealed?.value ?? null) : value)}
        {stored && !isMasked && disabled !== true ? <div class="secret-input">{keep}</div> : null}
      </>
    );
  return (
    <div class="secret-input">
      <input {...attributes} type="text" readOnly value={MASK} class="mono" disabled={disabled} />
      {reveal === undefined ? null : (
        <Button
          icon="eye"
          busy={busy}
          title={t("fields.revealHint")}
          onClick={() => {
            setBusy(true);
            void reveal().finally(() => setBusy(false));
          }}
        >
          {t("fields.reveal")}
        </Button>
      )}
      {disabled === true ? null : (
        <Button icon="pencil" onClick={() => onChange(null)}>
          {t("fields.replace")}
        </Button>
      )}
    </div>
  );
}
