import { signal } from "@preact/signals";
import { t } from "../texts/t.ts";
import { Button, IconButton } from "./button.tsx";
import { Icon } from "./icon.tsx";
import { wordsOf } from "./problem.tsx";

interface Toast {
  id: number;
  kind: "done" | "failed";
  text: string;
  action: { label: string; run: () => void } | undefined;
}

const toasts = signal<readonly Toast[]>([]);
let last = 0;

const dismiss = (id: number) => {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
};

/** Shows a message. The message replaces an earlier message with the same text. */
const add = (toast: Toast) => {
  toasts.value = [...toasts.value.filter(({ text }) => text !== toast.text).slice(-3), toast];
};

/** Milliseconds until a message disappears. Errors stay until the user closes them. */
const STAY = 6_000;

/** Shows a message about a completed action, optionally with a button to undo it. */
export function say(text: string, action?: { label: string; run: () => void }): void {
  const id = ++last;
  add({ id, kind: "done", text, action });
  setTimeout(() => dismiss(id), STAY);
}

/** Shows an error as a message. Call this only if no better place on the page can show the error. */
export function complain(error: unknown): void {
  add({ id: ++last, kind: "failed", text: wordsOf(error), action: undefined });
}

export function Toasts() {
  return (
    <div class="toasts" role="status">
      {toasts.value.map(({ id, kind, text, action }) => (
        <div class={`toast ${kind}`} key={id}>
          <Icon name={kind === "done" ? "circleCheck" : "circleAlert"} />
          <p>{text}</p>
          {action === undefined ? null : (
            <Button
              size="small"
              onClick={() => {
                dismiss(id);
                action.run();
              }}
            >
              {action.label}
            </Button>
          )}
          <IconButton label={t("ui.close")} icon="x" onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}
