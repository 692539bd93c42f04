/** The texts of the scripts in the language of the page. */
import { filled, type KeyOf, type Texts, textAt } from "../../texts/translate.ts";
import type english from "../texts/en.json";
import { byId } from "./dom.ts";

/** The sign-in page contains its texts. The console has loaded them into a variable, together with its own. */
const texts =
  (globalThis as { consoleTexts?: Texts }).consoleTexts ??
  (JSON.parse(byId("texts")?.textContent ?? "{}") as Texts);

export type ScriptKey = KeyOf<Pick<typeof english, "passkey" | "script">>;

/** Returns a text, with its placeholders replaced by values. */
export function text(key: ScriptKey, values: Readonly<Record<string, string>> = {}): string {
  const found = textAt(texts, key);
  return filled(typeof found === "string" ? found : key, (name) => values[name]);
}

/** Returns whether there is a text for a key that is made of an error code. */
export const hasText = (key: string): key is ScriptKey => typeof textAt(texts, key) === "string";
