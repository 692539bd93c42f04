import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { t } from "../texts/t.ts";
import { Button, IconButton } from "./button.tsx";

/** A modal dialog. Escape or a click outside closes the dialog, and the focus returns to the element that had it. */
export function Dialog({
  title,
  onClose,
  children,
  actions,
  wide,
  bare,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  actions?: ComponentChildren;
  wide?: boolean;
  /** Whether the dialog appears near the top without a visible heading, like the command palette. */
  bare?: boolean;
}) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    // Focus the first input or action instead of the close button.
    const inputs = ":is(input, select, textarea):not(:disabled)";
    const first =
      dialog.current?.querySelector<HTMLElement>(inputs) ?? dialog.current?.querySelector("footer button");
    if (first instanceof HTMLElement) first.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes the dialog too.
    <dialog
      ref={dialog}
      class={`${wide === true ? "wide" : ""} ${bare === true ? "bare" : ""}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      <div class="dialog-body">
        <header>
          <h2 id={id}>{title}</h2>
          <IconButton label={t("ui.close")} icon="x" onClick={onClose} />
        </header>
        {children}
        {actions === undefined ? null : <footer>{actions}</footer>}
      </div>
    </dialog>
  );
}

interface Question {
  title: string;
  text: ComponentChildren;
  action: string;
  danger: boolean;
  answer: (confirmed: boolean) => void;
}

const question = signal<Question | undefined>(undefined);

/** Asks the user to confirm a dangerous action. Returns whether the user confirmed it. */
export function confirm(asked: {
  title: string;
  text: ComponentChildren;
  /** The label of the confirm button: a verb. */
  action: string;
  danger?: boolean;
}): Promise<boolean> {
  return new Promise((resolve) => {
    question.value = {
      ...asked,
      danger: asked.danger ?? false,
      answer: (confirmed) => {
        question.value = undefined;
        resolve(confirmed);
      },
    };
  });
}

/** Shows the question of {@link confirm}. The page layout contains this component once. */
export function Confirmation() {
  const asked = question.value;
  if (asked === undefined) return null;
  const { title, text, action, danger, answer } = asked;
  return (
    <Dialog
      title={title}
      onClose={() => answer(false)}
      actions={
        <>
          <Button onClick={() => answer(false)}>{t("ui.cancel")}</Button>
          <Button kind={danger ? "danger" : "primary"} onClick={() => answer(true)}>
            {action}
          </Button>
        </>
      }
    >
      <div class="dialog-text">{text}</div>
    </Dialog>
  );
}
