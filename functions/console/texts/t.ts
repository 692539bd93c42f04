/**
 * All texts of the console. Each language has a file with one section for each area of the console. The page loads the
 * file of its language before the console starts.
 */

import type pages from "../../pages/texts/en.json";
import { directionOf, LANGUAGES, type Language, primaryOf } from "../../texts/languages.ts";
import {
  filled,
  formOf,
  isolated,
  type KeyOf,
  type Texts,
  type TextValues,
  textAt,
} from "../../texts/translate.ts";
import type english from "./en.json";

/** The key of a text: `<area>.<name>`. */
export type TextKey = KeyOf<typeof english> | KeyOf<Pick<typeof pages, "right">>;
export type { TextValues };

/** What the page provides. Unit tests have no page. */
const page = globalThis as {
  consoleTexts?: Texts;
  /** The address of the script that adds the texts of the areas that the code which loads first does not name. */
  moreConsoleTexts?: string;
  document?: { documentElement: { lang: string } };
};

/** The script with the texts of the page's language has assigned them to a variable. */
const texts = page.consoleTexts ?? {};

let others: Promise<unknown> | undefined;

/** Loads the texts that pages need in addition to those that the console loads first. */
export function loadTexts(): Promise<unknown> {
  others ??= (page.moreConsoleTexts === undefined ? Promise.resolve() : import(page.moreConsoleTexts)).catch(
    (error: unknown) => {
      others = undefined;
      throw error;
    },
  );
  return others;
}

/** Language of the texts. The functions choose it. */
export const LANGUAGE: Language =
  LANGUAGES.find((language) => language === page.document?.documentElement.lang) ?? LANGUAGES[0];

/** Returns a language tag in its usual form, or undefined if it is not one. */
function canonical(tag: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(tag)[0];
  } catch {
    return undefined;
  }
}

/**
 * The form of dates and numbers: that of the browser's language if it is a variant of `LANGUAGE`, such as British
 * English. Readers whose own language has no texts keep its form.
 */
export const LOCALE: string = (() => {
  const wanted = (globalThis.navigator?.languages ?? []).map(canonical).filter((tag) => tag !== undefined);
  const [first] = wanted;
  const isForeign = first !== undefined && !LANGUAGES.some((language) => language === primaryOf(first));
  if (isForeign && LANGUAGE === LANGUAGES[0]) return first;
  return wanted.find((tag) => primaryOf(tag) === LANGUAGE) ?? LANGUAGE;
})();

const plurals = new Intl.PluralRules(LANGUAGE);
const numbers = new Intl.NumberFormat(LOCALE);
const conjunction = new Intl.ListFormat(LANGUAGE, { type: "conjunction" });
/** Whether the console runs from right to left. */
export const isRightToLeft = directionOf(LANGUAGE) === "rtl";

const shownValue = isRightToLeft ? isolated : (value: string) => value;

/** Formats a number with separators: `12,500`. */
export const formatNumber = (value: number): string => numbers.format(value);

/** Joins texts to a part of a sentence: `a, b, and c`. */
export const listOfAll = (items: Iterable<string>): string => conjunction.format(items);

/** Returns a text, with its placeholders replaced by values: `t("home.entries", { count: 3 })`. */
export function t(key: TextKey, values: TextValues = {}): string {
  const form = formOf(textAt(texts, key) ?? key, plurals, Number(values.count ?? 0)) ?? key;
  return filled(form, (name) => {
    const value = values[name];
    if (value === undefined) return undefined;
    return typeof value === "number" ? formatNumber(value) : shownValue(value);
  });
}

/** Joins texts with the comma of the language: `a, b, c`. */
export const withCommas = (items: readonly string[]): string => items.join(t("ui.comma"));

/** Returns whether a text exists for a key that is built at run time, for example from a state. */
export const has = (key: string): key is TextKey => textAt(texts, key) !== undefined;

const languages = new Intl.DisplayNames(LANGUAGE, { type: "language" });

/** Returns the name of a language: `de` → `German`. */
export function languageName(tag: string): string {
  try {
    return languages.of(tag) ?? tag;
  } catch {
    return tag;
  }
}
