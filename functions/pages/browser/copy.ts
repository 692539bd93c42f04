import type { Place } from "../place.ts";
import { say, speakAt } from "./feedback.ts";

/**
 * Copies text to the clipboard. If the browser does not allow that, shows the text in a field and selects it.
 * @param done message to show after the text was copied
 * @param otherwise message to show if the browser does not allow copying
 */
export async function copy(
  where: Place,
  text: string,
  field: HTMLInputElement | null,
  done: string,
  otherwise: string,
): Promise<void> {
  speakAt(where);
  try {
    await navigator.clipboard.writeText(text);
    say("status", done);
  } catch {
    if (field !== null) {
      field.value = text;
      field.hidden = false;
      field.select();
    }
    say("error", otherwise);
  }
}
