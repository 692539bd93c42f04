/** The language that a person chose for the pages, in a cookie of the browser. */
import { LANGUAGE_COOKIE, LANGUAGES, type Language } from "../../texts/languages.ts";

const YEAR = 365 * 24 * 60 * 60;

/** Returns the language that the person chose; undefined if the pages are in the language of the browser. */
export function chosenLanguage(): Language | undefined {
  const found = new RegExp(`(?:^|; )${LANGUAGE_COOKIE}=([^;]*)`).exec(document.cookie)?.[1];
  return LANGUAGES.find((language) => language === found);
}

/** Keeps a choice for the next pages. Undefined removes it. The page itself changes when it is loaded again. */
export function keepLanguage(choice: Language | undefined): void {
  const age = choice === undefined ? 0 : YEAR;
  const secure = location.protocol === "https:" ? "; secure" : "";
  // biome-ignore lint/suspicious/noDocumentCookie: Firefox and Safari lack the Cookie Store API in the versions that the pages support.
  document.cookie = `${LANGUAGE_COOKIE}=${choice ?? ""}; path=/; max-age=${age}; samesite=lax${secure}`;
}
