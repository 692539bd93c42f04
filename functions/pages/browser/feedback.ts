/** Shows messages on the page, and disables its buttons while an action is running. */
import type { Place } from "../place.ts";
import { byId } from "./dom.ts";
import { wordsFor } from "./words.ts";

let place: Place = "enter";

/** Shows a message at the current place. An empty text removes the message. */
export function say(kind: "status" | "error", text: string): void {
  const element = document.querySelector(`#said-${place} .${kind}`);
  if (element !== null) element.textContent = text;
  // On a small screen, the message may be outside the visible part of the page.
  if (text !== "") element?.scrollIntoView({ block: "nearest" });
}

/** Clears the current messages, and sets the place where `say` shows new ones. */
export function speakAt(next: Place): void {
  say("status", "");
  say("error", "");
  place = next;
}

/** Returns whether a field is valid. If not, shows an error message and moves the focus to the field. */
export function check(where: Place, field: HTMLElement | null, isValid: boolean, text: string): boolean {
  field?.setAttribute("aria-invalid", String(!isValid));
  if (isValid) return true;
  speakAt(where);
  say("error", text);
  field?.focus();
  return false;
}

/** True while an action that the user started is running. */
let working = false;

let pressed: Element | null = null;

export function busy(on: boolean): void {
  if (on && !working) pressed = document.activeElement;
  working = on;
  for (const button of document.querySelectorAll("button")) button.disabled = on;
  byId("card")?.setAttribute("aria-busy", String(on));
  // Disabling the buttons removed the keyboard focus. Return the focus to the pressed button, unless another element
  // has it.
  const lost = document.activeElement === null || document.activeElement === document.body;
  if (!on && lost && pressed instanceof HTMLButtonElement) pressed.focus();
}

/**
 * Runs an action, and shows an error message if the action fails.
 * @param meanwhile message to show while the action is running
 */
export async function attempt(
  where: Place,
  act: () => Promise<void>,
  meanwhile = "",
  doing: "register" | "login" = "register",
): Promise<void> {
  speakAt(where);
  say("status", meanwhile);
  busy(true);
  try {
    await act();
  } catch (error) {
    say("status", "");
    say("error", wordsFor(error, doing));
  } finally {
    busy(false);
  }
}
