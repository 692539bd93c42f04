/** Finds out whether the user has typed or chosen something that would be lost. */
import type { RefCallback } from "preact";
import { useCallback, useRef } from "preact/hooks";
import { t } from "../texts/t.ts";
import { confirm } from "./confirm.ts";
import { useLeaveGuard } from "./leave.ts";

const CONTROLS = "input, select, textarea";
type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

const textIn = (control: Control): string =>
  control instanceof HTMLInputElement && /^(checkbox|radio)$/.test(control.type)
    ? String(control.checked)
    : control.value;

/** Records the value that each input has when it appears, and which inputs the user changes. */
class Watch {
  readonly #before = new WeakMap<Control, string>();
  readonly #touched = new Set<Control>();
  readonly #observer: MutationObserver;
  readonly #root: HTMLElement;

  constructor(root: HTMLElement) {
    this.#root = root;
    const record = () => {
      for (const control of root.querySelectorAll<Control>(CONTROLS))
        if (!this.#before.has(control)) this.#before.set(control, textIn(control));
    };
    record();
    this.#observer = new MutationObserver(record);
    this.#observer.observe(root, { childList: true, subtree: true });
    for (const name of ["input", "change"]) root.addEventListener(name, this.#touch);
  }

  readonly #touch = ({ target }: Event): void => {
    if (target instanceof Element && target.matches(CONTROLS)) this.#touched.add(target as Control);
  };

  stop(): void {
    this.#observer.disconnect();
    for (const name of ["input", "change"]) this.#root.removeEventListener(name, this.#touch);
  }

  /** Returns whether an input has another value than before. Inputs that are gone do not count. */
  hasChanges(): boolean {
    return [...this.#touched].some(
      (control) => this.#root.contains(control) && textIn(control) !== this.#before.get(control),
    );
  }
}

export interface Typed<E extends HTMLElement> {
  /** Pass it to the element that contains the inputs. It must stay the same, or the watch begins anew. */
  ref: RefCallback<E>;
  /** Asks whether to discard what the user typed. Returns true at once if there is nothing to discard. */
  mayDiscard: () => Promise<boolean>;
}

/**
 * Protects the inputs of a form or dialog that keeps no other record of its changes: the user is asked before leaving
 * the page.
 * @param busy whether the form is doing work that leaving the page would stop
 * @param changed whether something is changed that no input shows
 */
export function useTyped<E extends HTMLElement>(busy = false, changed = false): Typed<E> {
  const watch = useRef<Watch>();
  const ref = useCallback((root: E | null) => {
    watch.current?.stop();
    watch.current = root === null ? undefined : new Watch(root);
  }, []);
  const hasChanges = () => busy || changed || watch.current?.hasChanges() === true;
  const ask = () =>
    confirm({
      title: t("ui.discardTitle"),
      text: t(busy ? "ui.stopText" : "ui.discardText"),
      action: t(busy ? "ui.stop" : "ui.discard"),
      danger: true,
    });
  useLeaveGuard(hasChanges, ask);
  return { ref, mayDiscard: async () => !hasChanges() || ask() };
}
