/** The question that a dangerous action asks. `Confirmation` in `dialog.tsx` shows it. */
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";

interface Question {
  title: string;
  text: ComponentChildren;
  /** The label of the confirm button: a verb. */
  action: string;
  danger?: boolean;
  /** The user must type this text before the button can be pressed. */
  typed?: string;
}

export const question = signal<(Question & { answer: (confirmed: boolean) => void }) | undefined>(undefined);

/** Asks the user to confirm a dangerous action. Returns whether the user confirmed it. */
export function confirm(asked: Question): Promise<boolean> {
  return new Promise((resolve) => {
    // A new question replaces an open one, whose answer is no.
    question.peek()?.answer(false);
    const own = {
      ...asked,
      answer: (confirmed: boolean) => {
        // A late answer to a question that was replaced must not close the new one.
        if (question.peek() === own) question.value = undefined;
        resolve(confirmed);
      },
    };
    question.value = own;
  });
}
