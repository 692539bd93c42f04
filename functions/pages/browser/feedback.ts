/** Messages of the page, and the state while an action runs. */
import { byId } from "./dom.ts";
import { wordsFor } from "./words.ts";

/** Where messages appear on the page: next to the button that the user pressed. */
export type Place = "enter" | "token" | "passkeys" | "codes" | "sessions" | "tokens";
let place: Place = "enter";

/** Shows a message at a place. */
export function sayAt(where: Place, kind: "status" | "error", text: string): Element | null {
  const element = document.querySelector(`#said-${where} .${kind}`);
  if (element !== null) element.textContent = text;
  return element;
}

export function say(kind: "status" | "error", text: string): void {
  const element = sayAt(place, kind, text);
  // On a small screen, the message may be below the fold.
  if (text !== "") element?.scrollIntoView({ block: "nearest" });
}

/** Clears all messages and sets the place where new messages appear. */
export function speakAt(next: Place): void {
  say("status", "");
  say("error", "");
  place = next;
}

/** Returns whether a field is valid. Otherwise shows the error and moves the focus to the field. */
export function check(where: Place, field: HTMLElement | null, isValid: boolean, text: string): boolean {
  field?.setAttribute("aria-invalid", String(!isValid));
  if (isValid) return true;
  speakAt(where);
  say("error", text);
  field?.focus();
  return false;
}

/** Whether the user has pressed a button and waits for the result. */
let working = false;

let pressed: Element | null = null;

export function busy(on: boolean): void {
  if (on && !working) pressed = document.activeElement;
  working = on;
  for (const button of document.querySelectorAll("button")) button.disabled = on;
  byId("card")?.setAttribute("aria-busy", String(on));
  // Restore the focus for keyboard users, unless it has moved to something new.
  const lost = document.activeElement === null || document.activeElement === document.body;
  if (!on && lost && pressed instanceof HTMLButtonElement) pressed.focus();
}

/** Runs an action and shows its error. @param meanwhile message until it ends */
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

export const WAITING = "Follow the instructions of your browser or device …";
