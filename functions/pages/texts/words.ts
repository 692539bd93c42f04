/** The texts of the sign-in pages. Each language has a file; `en.json` says which texts there are. */
import { directionOf, type Language } from "../../texts/languages.ts";
import {
  filled,
  formOf,
  isolated,
  type KeyOf,
  type Texts,
  type TextValues,
  textAt,
} from "../../texts/translate.ts";
import ar from "./ar.json" with { type: "json" };
import de from "./de.json" with { type: "json" };
import en from "./en.json" with { type: "json" };
import es from "./es.json" with { type: "json" };
import fr from "./fr.json" with { type: "json" };
import ja from "./ja.json" with { type: "json" };

const FILES: Readonly<Record<Language, Texts>> = { ar, de, en, es, fr, ja };

export type WordKey = KeyOf<typeof en>;

/** The texts of a page in its language. */
export interface Words {
  language: Language;
  /** The language that the person chose, if the page is not simply in that of the browser. */
  chosen: Language | undefined;
  /** Returns a text with its placeholders replaced by values. */
  text: (key: WordKey, values?: TextValues) => string;
  /** Returns a text with its placeholders, for values that are not only text. */
  form: (key: WordKey) => string;
  /** Returns whether there is a text for a key that is made of an error code. */
  has: (key: string) => key is WordKey;
  /** The texts of the script of the page. */
  script: Texts;
}

export function wordsIn(language: Language, chosen?: Language): Words {
  const texts = FILES[language];
  const plurals = new Intl.PluralRules(language);
  const numbers = new Intl.NumberFormat(language);
  const isRightToLeft = directionOf(language) === "rtl";
  const formFor = (key: WordKey, count = 0) => formOf(textAt(texts, key) ?? key, plurals, count) ?? key;
  return {
    language,
    chosen,
    form: (key) => formFor(key),
    text: (key, values = {}) =>
      filled(formFor(key, Number(values.count ?? 0)), (name) => {
        const value = values[name];
        if (value === undefined) return undefined;
        if (typeof value === "number") return numbers.format(value);
        return isRightToLeft ? isolated(value) : value;
      }),
    has: (key): key is WordKey => textAt(texts, key) !== undefined,
    script: { passkey: texts.passkey ?? {}, script: texts.script ?? {} },
  };
}
