import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { question } from "../state/confirm.ts";
import { useTyped } from "../state/typed.ts";
import { t } from "../texts/t.ts";
import { Button, IconButton } from "./button.tsx";
import { TextField } from "./form.tsx";

/** Where the user last pressed the pointer, in pixels of the window. */
let pressed = { x: -1, y: -1 };
addEventListener(
  "pointerdown",
  ({ clientX, clientY }) => {
    pressed = { x: clientX, y: clientY };
  },
  { capture: true },
);

const isUnderPointer = (element: Element | null | undefined): boolean => {
  if (element === null || element === undefined) return false;
  const { left, right, top, bottom } = element.getBoundingClientRect();
  return pressed.x >= left && pressed.x <= right && pressed.y >= top && pressed.y <= bottom;
};

export { confirm } from "../state/confirm.ts";

/**
 * A modal dialog. Escape or a click outside closes the dialog, and the focus returns to the element that had it. If the
 * user has typed something, the dialog asks before it closes in one of these ways.
 */
export function Dialog({
  title,
  onClose,
  children,
  actions,
  wide,
  bare,
  busy,
  changed,
  question: isQuestion,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  actions?: ComponentChildren;
  wide?: boolean;
  /** Whether the dialog appears near the top without a visible heading, like the command palette. */
  bare?: boolean;
  /** Whether the dialog is doing work that closing it would stop. */
  busy?: boolean;
  /** Whether the user has changed something that no input shows. */
  changed?: boolean;
  /** Whether the dialog only asks a question, so that typed text need not be kept. */
  question?: boolean;
}) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const typed = useTyped<HTMLDivElement>(busy, changed);
  const close = () =>
    void typed.mayDiscard().then((sure) => {
      if (sure) onClose();
    });
  const [mirrored, setMirrored] = useState(false);
  // At once: until the dialog is open, keys go to the page behind it.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const shown = dialog.current;
    shown?.showModal();
    // A second click on the same spot must not confirm a dangerous action, so move its button to the other end.
    setMirrored(isUnderPointer(dialog.current?.querySelector("footer .danger")));
    // Focus the first input or action instead of the close button.
    const inputs = ":is(input, select, textarea):not(:disabled)";
    const first =
      dialog.current?.querySelector<HTMLElement>(inputs) ?? dialog.current?.querySelector("footer button");
    if (first instanceof HTMLElement) first.focus();
    return () => {
      // Until the dialog is closed, nothing behind it can have the focus.
      shown?.close();
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
        close();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) close();
      }}
    >
      <div class="dialog-body" ref={bare === true || isQuestion === true ? null : typed.ref}>
        <header>
          <h2 id={id}>{title}</h2>
          <IconButton label={t("ui.close")} icon="x" onClick={close} />
        </header>
        {children}
        {actions === undefined ? null : <footer class={mirrored ? "mirrored" : ""}>{actions}</footer>}
      </div>
    </dialog>
  );
}

function Asked({ asked }: { asked: NonNullable<typeof question.value> }) {
  const { title, text, action, danger, typed, answer } = asked;
  const form = useId();
  const [entered, setEntered] = useState("");
  const ready = typed === undefined || entered.trim() === typed;
  return (
    <Dialog
      title={title}
      onClose={() => answer(false)}
      question
      actions={
        <>
          <Button onClick={() => answer(false)}>{t("ui.cancel")}</Button>
          <Button kind={danger === true ? "danger" : "primary"} type="submit" form={form} disabled={!ready}>
            {action}
          </Button>
        </>
      }
    >
      <form
        id={form}
        onSubmit={(event) => {
          event.preventDefault();
          if (ready) answer(true);
        }}
      >
        <div class="dialog-text">{text}</div>
        {typed === undefined ? null : (
          <TextField
            label={t("ui.typeToConfirm", { text: typed })}
            value={entered}
            onChange={setEntered}
            spellcheck={false}
          />
        )}
      </form>
    </Dialog>
  );
}

/** Shows the question of {@link confirm}. The page layout contains this component once. */
export function Confirmation() {
  const asked = question.value;
  return asked === undefined ? null : <Asked key={asked.title} asked={asked} />;
}
