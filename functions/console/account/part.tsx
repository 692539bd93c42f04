/** A part of the account page, and the results of its buttons. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { isProblem } from "../../../shared/client/problem.ts";
import { deviceWords } from "../../pages/browser/device.ts";
import { wordsOf } from "../ui/problem.tsx";
import { Said } from "../ui/states.tsx";

export interface Saying {
  status: string;
  error: string;
  busy: boolean;
  /** Shows a message. */
  say: (status: string) => void;
  /**
   * Runs the work of a button. Shows the text that the work returns, or why the work failed.
   * @param meanwhile shown while the work is running
   */
  attempt: (work: () => Promise<string>, meanwhile?: string, doing?: "register" | "login") => Promise<void>;
}

export function useSaying(first = ""): Saying {
  const [said, setSaid] = useState({ status: first, error: "" });
  const [busy, setBusy] = useState(false);
  return {
    ...said,
    busy,
    say: (status) => setSaid({ status, error: "" }),
    async attempt(work, meanwhile = "", doing = "register") {
      setBusy(true);
      setSaid({ status: meanwhile, error: "" });
      try {
        const status = await work();
        setSaid({ status, error: "" });
      } catch (error) {
        setSaid({ status: "", error: deviceWords(error, doing) ?? wordsOf(error) });
      } finally {
        setBusy(false);
      }
    },
  };
}

/** For a removal: ignores a 404, because the object is already gone. Throws every other error again. */
export function unlessGone(error: unknown): void {
  if (!isProblem(error) || error.status !== 404) throw error;
}

/** Moves the focus to the heading of a part, after the button that had it disappeared. */
export const focusPart = (id: string): void => document.getElementById(`${id}-title`)?.focus();

export function Part({
  id,
  title,
  text,
  saying,
  children,
}: {
  id: string;
  title: string;
  text?: string;
  saying?: Saying;
  children: ComponentChildren;
}) {
  return (
    <section class="card part" id={`${id}-part`} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`} tabIndex={-1}>
        {title}
      </h2>
      {text === undefined ? null : <p class="hint">{text}</p>}
      {children}
      {saying === undefined ? null : <Said id={`said-${id}`} status={saying.status} error={saying.error} />}
    </section>
  );
}
