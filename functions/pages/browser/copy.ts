import { type Place, say, speakAt } from "./feedback.ts";

/**
 * Copies a text. If the browser does not allow it, selects the text in its field.
 * @param otherwise tells what to do if the browser does not allow it
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
    say("error", `The browser does not allow copying. ${otherwise}`);
  }
}

export const FROM_FIELD = "Copy the token from the field, and keep it secret.";
