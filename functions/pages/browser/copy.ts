import { type Place, say, speakAt } from "./feedback.ts";

/**
 * Copies a text. If the browser does not allow it, selects the text in its field.
 * @param what names the text in a sentence
 */
export async function copy(
  where: Place,
  text: string,
  field: HTMLInputElement | null,
  done: string,
  what: string,
): Promise<void> {
  speakAt(where);
  try {
    await navigator.clipboard.writeText(text);
    say("status", done);
  } catch {
    if (field === null) return;
    field.value = text;
    field.hidden = false;
    field.select();
    say("error", `The browser does not allow copying. Copy ${what} from the field, and keep it secret.`);
  }
}
